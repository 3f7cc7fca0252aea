"""Published orders of growth along epsilon: shapes without constants."""

from __future__ import annotations

import numpy as np

from . import data as records
from .cells import Cell
from .types import Array, Budget, Spec


def rate_shape(cell: Cell) -> tuple[str, Array]:
    """Who published the mechanism's first rate, and its value at each epsilon of a cell, [K].

    A rate bounds the excess population risk up to a constant; only how it changes along the cell means anything.
    Raises NotApplicable where the mechanism does, and ValueError where it has no rate.

    >>> from dpcore import Axis, Experiment
    >>> (cell,) = Experiment(n=200, sweep=Axis("epsilon", (0.1, 1.0))).cells()
    >>> source, values = rate_shape(cell)
    >>> source, round(float(values[0] / values[1]), 2)
    ('Jain and Thakurta 2014, Theorem 1 as printed (with probability 2/3)', 9.69)
    """
    domain = records.load(cell.source, cell.n, cell.p, cell.seed).domain
    spec = Spec(cell.loss, cell.n, cell.p, cell.lam, domain, cell.radius, cell.theta_norm)  # type: ignore[arg-type]
    found = []
    for epsilon in cell.epsilons:
        plan = cell.mechanism.calibrate(spec, Budget(epsilon, cell.delta))
        rates = [bound for bound in cell.mechanism.bounds(plan) if bound.form == "rate"]
        if not rates:
            raise ValueError(f"mechanism must have a published rate, got {cell.mechanism.key}")
        found.append(rates[0])
    return found[0].source, np.array([rate.value for rate in found])
