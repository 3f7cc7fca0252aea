"""Published statements along epsilon: orders of growth, without constants, and Kamath's bound with its own."""

import math

import numpy as np

from ...accounting.kamath import kamath_multiplier
from ...core.arrays import Array
from ...core.losses import get_loss
from ...core.privacy import Budget, NotApplicable
from ...core.specification import Spec
from ...experiments.cell import Cell
from ...theory import gradient_descent as theory


def rate_shape(cell: Cell) -> Array:
    """The mechanism's first published rate at each epsilon of a cell, [K].

    A rate bounds the excess population risk up to a constant; only how it changes along the cell means anything.
    Raises NotApplicable where the mechanism does, and ValueError where it has no rate.

    >>> from dpcore import Axis, Experiment, Problem
    >>> (cell,) = Experiment(Problem(n=200), sweep=Axis("epsilon", (0.1, 1.0))).cells()
    >>> values = rate_shape(cell)
    >>> round(float(values[0] / values[1]), 2)
    9.69
    """
    found = []
    for epsilon in cell.epsilons:
        plan = cell.problem.plan(cell.mechanism, epsilon)
        rates = [bound.value for bound in cell.mechanism.bounds(plan) if bound.form == "rate"]
        if not rates:
            raise ValueError(f"mechanism must have a published rate, got {cell.mechanism.key}")
        found.append(rates[0])
    return np.array(found)


def kamath_bound(cell: Cell) -> Array:
    """Kamath's bound on his Algorithm 3 at each epsilon of a cell, [K]: Theorem 2 with its noise and T = n^2.

    In averages: D sqrt(G^2 + p sigma^2) times the last-iterate factor of n^2 steps, D = 2 theta_norm, with sigma / G by
    `kamath.kamath_multiplier`; nan where Kamath's accounting does not apply.

    >>> from dpcore import Experiment, Problem
    >>> bound = kamath_bound(next(Experiment(Problem("synthetic", n=2000)).cells()))  # delta = 1e-6, epsilon to 10
    >>> bool(bound[-2] > 5.0), bool(np.isnan(bound[-1]))
    (True, True)
    """
    problem = cell.problem
    B = min(problem.theta_norm, problem.radius or math.inf)
    spec = Spec(problem.loss, problem.n, problem.p, 0.0, problem.load().domain, B, B)
    G = get_loss(problem.loss).largest_gradient(spec)
    found = []
    for epsilon in cell.epsilons:
        try:
            z = kamath_multiplier(problem.n, Budget(epsilon, problem.delta))
        except NotApplicable:
            found.append(math.nan)
        else:
            found.append(theory.last_iterate_bound(2.0 * B, G * math.sqrt(1.0 + problem.p * z**2), problem.n**2))
    return np.array(found)
