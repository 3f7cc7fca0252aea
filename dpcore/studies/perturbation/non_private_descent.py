"""How much work descent is without privacy: all records in every step, or one of them."""

from __future__ import annotations

import dataclasses as dc

import numpy as np

from ... import data as records
from ...core.arrays import Array
from ...core.cache import SharedCache
from ...core.losses import get_loss
from ...core.rng import generator
from ...core.specification import Spec
from ...mechanisms.problem import Problem
from ...solvers.descent.non_private import Progress, projected_gd, projected_sgd
from ...theory import gradient_descent as theory


@dc.dataclass(frozen=True)
class DescentCost:
    """Two descents of T = n^2 steps on the same records, and what Theorem 2 says of both.

    full, single: with the gradients of all records in each step, and with that of one. best: F* over the ball, so that
    risks minus best are excesses. bound: [m], of the mean excess after full.steps steps. n: records.
    """

    full: Progress
    single: Progress
    best: float
    bound: Array
    n: int


_WORK: SharedCache[DescentCost] = SharedCache(32)


def work(problem: Problem) -> DescentCost:
    """Both descents on a problem's n records, over the L2 ball of its theta_norm; from a cache.

    Algorithm 1 of the lecture computes n gradients of one record a step, n^3 in all, Algorithm 2 one, n^2 in all; the
    bound on what they reach is the same.

    Source: Kamath, CS 860 (2020), Lecture 13, Algorithms 1 and 2 and Theorem 2.

    >>> made = work(Problem("synthetic", n=20, p=2))
    >>> int(made.full.gradients[-1]), int(made.single.gradients[-1])
    (8000, 400)
    """
    return records.kept_with(problem.source, _WORK).get(problem, lambda: _compute(problem))


def _compute(problem: Problem) -> DescentCost:
    n, p, B, loss = problem.n, problem.p, problem.theta_norm, get_loss(problem.loss)
    split = problem.load()
    G = loss.largest_gradient(Spec(problem.loss, n, p, 0.0, split.domain, B, B))
    full = projected_gd(loss, split.train, B, steps=n**2, G=G)
    rng = generator(problem.seed, "projected_sgd", 0)
    single = projected_sgd(loss, split.train, B, steps=n**2, G=G, rng=rng)
    bound = np.array([theory.last_iterate_bound(2.0 * B, G, int(steps)) for steps in full.steps])
    return DescentCost(full, single, problem.reference().risk, bound, n)
