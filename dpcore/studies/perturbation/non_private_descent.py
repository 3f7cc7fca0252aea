"""How much work descent is without privacy: all records in every step, or one of them."""

from __future__ import annotations

import dataclasses as dc

import numpy as np

from ... import data as records
from ... import theory
from ...core.arrays import Array
from ...core.cache import SharedCache
from ...core.losses import get_loss
from ...core.rng import generator
from ...core.specification import Spec
from ...experiments.cell import reference_minimum
from ...solvers.descent.non_private import Progress, projected_gd, projected_sgd


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


def work(source: str, n: int, p: int, seed: int, loss: str = "logistic") -> DescentCost:
    """Both descents on n records of a source, over the L2 ball of its theta_norm; from a cache.

    Algorithm 1 of the lecture computes n gradients of one record a step, n^3 in all, Algorithm 2 one, n^2 in all; the
    bound on what they reach is the same.

    Source: Kamath, CS 860 (2020), Lecture 13, Algorithms 1 and 2 and Theorem 2.

    >>> made = work("synthetic", n=20, p=2, seed=0)
    >>> int(made.full.gradients[-1]), int(made.single.gradients[-1])
    (8000, 400)
    """
    found = records.kept_with(source, _WORK)
    return found.get((source, n, p, seed, loss), lambda: _compute(source, n, p, seed, loss))


def _compute(source: str, n: int, p: int, seed: int, loss: str) -> DescentCost:
    B = records.get_source(source).theta_norm
    split = records.load(source, n, p, seed)
    G = get_loss(loss).largest_gradient(Spec(loss, n, p, 0.0, split.domain, B, B))
    full = projected_gd(get_loss(loss), split.train, B, steps=n**2, G=G)
    single = projected_sgd(get_loss(loss), split.train, B, steps=n**2, G=G, rng=generator(seed, "projected_sgd", 0))
    bound = np.array([theory.last_iterate_bound(2.0 * B, G, int(steps)) for steps in full.steps])
    return DescentCost(full, single, reference_minimum(source, n, p, seed, loss, B).risk, bound, n)
