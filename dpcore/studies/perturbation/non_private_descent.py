"""Projected gradient descent without privacy, with all records in each step or with one: the cost of each."""

import dataclasses as dc

import numpy as np

from ... import data as records
from ...core.arrays import Array
from ...core.cache import SharedCache
from ...core.losses import Loss, get_loss
from ...core.records import Data
from ...core.rng import generator
from ...core.specification import Spec
from ...mechanisms.problem import Problem
from ...solvers.descent.noisy_sgd import noisy_descent
from ...theory import gradient_descent as theory

_CHECKPOINTS = 40


@dc.dataclass(frozen=True)
class Progress:
    """Fall of the risk: after `steps` [m] steps, for which `gradients` [m] of one record were computed, F of the last
    iterate was `risks` [m]. The steps are at most 40, spread evenly on a logarithmic axis, the first and the last too.
    """

    steps: np.ndarray
    gradients: np.ndarray
    risks: Array


@dc.dataclass(frozen=True)
class DescentCost:
    """Two descents of T = n^2 steps on the same records, and the bound of Theorem 2 on both.

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
    """Two descents on a problem's n records, over the L2 ball of its theta_norm; from a cache.

    Kamath's Algorithm 1 computes n gradients of single records a step, n^3 in all, Algorithm 2 one, n^2 in all;
    both have the same bound.

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
    full = projected_descent(loss, split.train, B, steps=n**2, G=G)
    single = projected_descent(loss, split.train, B, steps=n**2, G=G, rng=generator(problem.seed, "projected_sgd", 0))
    bound = np.array([theory.last_iterate_bound(2.0 * B, G, int(steps)) for steps in full.steps])
    return DescentCost(full, single, problem.reference().risk, bound, n)


def projected_descent(
    loss: Loss, data: Data, radius: float, *, steps: int, G: float, rng: np.random.Generator | None = None
) -> Progress:
    """Descent with the gradient of F over all n records in each step, or with an rng, of one uniformly drawn record.

    theta_t = Proj(theta_{t-1} - eta_t (that gradient at theta_{t-1})) over the L2 ball of `radius`, with theta_0 = 0
    and eta_t = 2 radius / (G sqrt(t)). G: the largest norm of one record's gradient in the ball. The (mean) risk after
    T steps is at most `theory.last_iterate_bound(2 radius, G, T)` above the smallest in the ball.

    Randomness: one uniform index a step. Source: Kamath, CS 860 (2020), Lecture 13, Algorithms 1 and 2, in averages.

    >>> data = Data([[1.0], [1.0]], [1.0, 1.0])
    >>> progress = projected_descent(get_loss("hinge"), data, 0.5, steps=3, G=1.0)
    >>> progress.steps.tolist(), progress.gradients.tolist(), progress.risks.tolist()
    ([1, 2, 3], [2, 4, 6], [0.5, 0.5, 0.5])
    """
    seen = np.unique(np.geomspace(1, steps, _CHECKPOINTS).round().astype(np.int64))
    # A batch that holds every record draws nothing.
    rate, per_step = (1.0, data.n) if rng is None else (0.0, 1)
    run = noisy_descent(
        loss, data, steps=steps, step=2.0 * radius / G, decaying=True, sigma=0.0, radius=radius, rate=rate, keep=seen,
        rng=rng or np.random.default_rng(0),
    )  # fmt: skip
    risks = [loss.value(z, data.y).mean() for z in loss.predictions(data, run.kept)]
    return Progress(seen, per_step * seen, np.array(risks))
