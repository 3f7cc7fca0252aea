"""Kamath's published bound along epsilon."""

import math

import numpy as np

from ...accounting.kamath import kamath_multiplier
from ...core.arrays import Array
from ...core.losses import get_loss
from ...core.privacy import Budget, NotApplicable
from ...core.specification import Spec
from ...experiments.cell import Cell
from ...theory import gradient_descent as theory


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
