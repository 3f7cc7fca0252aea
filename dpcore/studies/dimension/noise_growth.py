"""Bounds on the excess risk by the noise of a release, and earlier rates, as p grows.

Damage: E F(theta) - F(theta_hat), the excess risk that the noise alone causes.
"""

import dataclasses as dc
import math
from collections.abc import Iterable

import numpy as np

from ...core.arrays import Array
from ...core.privacy import NotApplicable
from ...experiments.cell import Cell


@dc.dataclass(frozen=True)
class NoiseGrowth:
    """Noise of one mechanism along p, from public facts.

    mechanism: its key. p: [K]. damage_bound: [K], proved, nan where nothing is proved. earlier: [K], the published rate
    that grows fastest, a shape only.
    """

    mechanism: str
    p: Array
    damage_bound: Array
    earlier: Array


def growth_of(cells: Iterable[Cell]) -> dict[str, NoiseGrowth]:
    """Noise growth of each mechanism along the cells of an experiment that sweeps p at one epsilon.

    cells: `Experiment.cells()`. Where a mechanism does not apply its values are nan.
    Raises ValueError for cells with several epsilons.

    >>> from dpcore import Axis, Experiment, Problem
    >>> swept = Experiment(Problem("synthetic_padded", n=200, lam=0.1), sweep=Axis("p", (8, 32)))
    >>> bound = growth_of(swept.cells())["output_gaussian"].damage_bound
    >>> round(float(bound[1] / bound[0]), 9)
    1.0
    """
    by_key: dict[str, list[Cell]] = {}
    for cell in cells:
        if len(cell.epsilons) != 1:
            raise ValueError(f"cells must have one epsilon each, got {len(cell.epsilons)}")
        by_key.setdefault(cell.mechanism.key, []).append(cell)
    return {key: _growth(key, along) for key, along in by_key.items()}


def _growth(key: str, cells: list[Cell]) -> NoiseGrowth:
    p = np.array([cell.problem.p for cell in cells], float)
    damage = np.full(len(p), np.nan)
    rates: dict[str, Array] = {}
    for k, cell in enumerate(cells):
        try:
            plan = cell.problem.plan(cell.mechanism, cell.epsilons[0])
        except NotApplicable:
            continue
        bounds = cell.mechanism.bounds(plan)
        proved = [b.value for b in bounds if (b.quantity, b.form) == ("excess_over_regularised", "upper")]
        damage[k] = min(proved, default=math.nan)
        for bound in bounds:
            if bound.form == "rate":
                rates.setdefault(bound.source, np.full(len(p), np.nan))[k] = bound.value
    earlier = max(rates.values(), key=lambda rate: rate[-1] / rate[0], default=np.full(len(p), np.nan))
    return NoiseGrowth(key, p, damage, earlier)
