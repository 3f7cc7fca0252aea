"""Distance of a release from the model without privacy, and bounds on the excess risk by its noise, as p grows.

Distance: root mean square of ||theta - theta_hat||_2 over the noise, all p coordinates counted, also those of idle
columns, which no prediction sees. Damage: E F(theta) - F(theta_hat), the excess risk that the noise alone causes.
"""

import dataclasses as dc
import math
from collections.abc import Iterable

import numpy as np

from ...core.arrays import Array
from ...core.cancel import never
from ...core.privacy import NotApplicable
from ...experiments.cell import Cell
from ...mechanisms.base import Mechanism
from ...mechanisms.objective.base import ObjectivePerturbation
from ...mechanisms.plan import Plan


@dc.dataclass(frozen=True)
class NoiseGrowth:
    """Noise of one mechanism along p, from public facts; only `length` depends on the records.

    mechanism: its key. p: [K]. distance: [K], see `noise_length`; exact: False if it is only an upper bound.
    damage_bound: [K], proved, nan where nothing is proved. earlier: [K], the published rate that grows fastest, a shape
    only; earlier_source says whose, and is empty where there is none. length: ||theta_hat||, the distance from 0 to the
    model without privacy.
    """

    mechanism: str
    p: Array
    distance: Array
    exact: bool
    damage_bound: Array
    earlier: Array
    earlier_source: str
    length: float


def growth_of(cells: Iterable[Cell]) -> dict[str, NoiseGrowth]:
    """Noise growth of each mechanism along the cells of an experiment that sweeps p at one epsilon.

    cells: `Experiment.cells()`. Where a mechanism does not apply its values are nan.
    Raises ValueError for cells with several epsilons, and Unconverged like `prepare`.

    >>> from dpcore import Axis, Experiment, Problem
    >>> swept = Experiment(Problem("synthetic_padded", n=200, lam=0.1), sweep=Axis("p", (8, 32)))
    >>> far = growth_of(swept.cells())["output_gaussian"].distance
    >>> round(float(far[1] / far[0]), 9)
    2.0
    """
    by_key: dict[str, list[Cell]] = {}
    for cell in cells:
        if len(cell.epsilons) != 1:
            raise ValueError(f"cells must have one epsilon each, got {len(cell.epsilons)}")
        by_key.setdefault(cell.mechanism.key, []).append(cell)
    return {key: _growth(key, along) for key, along in by_key.items()}


def noise_length(mechanism: Mechanism, plan: Plan) -> float:
    """sqrt(E ||theta - theta_hat||_2^2) over the noise, for all p coordinates.

    Output perturbation, exactly: s sqrt(p) for Gaussian, s sqrt(p (p + 1)) for Gamma noise. Objective perturbation: at
    most that with s / lam in place of s. An idle column holds exactly -b_j / lam and solver noise; the others move
    by at most ||b|| / lam, because J is lam-strongly convex.

    >>> from dpcore import Budget, Spec, make_mechanism
    >>> gamma = make_mechanism("output_gamma")
    >>> plan = gamma.calibrate(Spec("logistic", n=100, p=3, lam=0.1), Budget(1.0))
    >>> round(noise_length(gamma, plan) / plan.scale, 6) == round(math.sqrt(3 * 4), 6)
    True
    """
    size = math.sqrt(plan.spec.p * mechanism.law.reach(plan.spec.p)[1])
    if isinstance(mechanism, ObjectivePerturbation):
        return math.hypot(plan.scale / float(plan.spec.lam), plan.ledger[1].scale) * size + plan.tol
    return plan.scale * size


def _growth(key: str, cells: list[Cell]) -> NoiseGrowth:
    p = np.array([cell.problem.p for cell in cells], float)
    distance, damage, length = np.full(len(p), np.nan), np.full(len(p), np.nan), math.nan
    rates: dict[str, Array] = {}
    for k, cell in enumerate(cells):
        try:
            plan = cell.problem.plan(cell.mechanism, cell.epsilons[0])
        except NotApplicable:
            continue
        if math.isnan(length):
            length = float(np.linalg.norm(cell.problem.prepared(cell.mechanism, [plan], never)[0].theta))
        distance[k] = noise_length(cell.mechanism, plan)
        bounds = cell.mechanism.bounds(plan)
        proved = [b.value for b in bounds if (b.quantity, b.form) == ("excess_over_regularised", "upper")]
        damage[k] = min(proved, default=math.nan)
        for bound in bounds:
            if bound.form == "rate":
                rates.setdefault(bound.source, np.full(len(p), np.nan))[k] = bound.value
    source = max(rates, key=lambda s: rates[s][-1] / rates[s][0], default="")
    exact = not isinstance(cells[0].mechanism, ObjectivePerturbation)
    return NoiseGrowth(key, p, distance, exact, damage, rates.get(source, np.full(len(p), np.nan)), source, length)
