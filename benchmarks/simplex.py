"""Entropy-regularised risk over the simplex against plain numpy.

    python -m benchmarks simplex

Huber loss, records with entries -1 and 1, lam = 1e-3, from equal weights. All stop at a duality gap of at most 1e-8,
lam KL(w || softmax(-g / lam)), which each is charged for as it computes it; ours is also timed at the residual 1e-9 in
ln w that a release asks for. In numpy: exponentiated gradient in its accelerated form for a strongly convex
regulariser, which looks at the gap every tenth step, and Newton's method in w with a dense p x p system, whose steps
are halved until w stays positive and J falls; it takes long and runs once.

Draws: one solve at lam = 0.001 and at 0.05 (which numpy solves soon, too), then repetitions of 12 numbers of draws m
and the risk of each of these models. In numpy one by one: `multinomial`, a product of the records with the model, the
mean loss. The solve is the same for both, ours, and left out; it is timed beside it, and numpy's own to the same gap.
"differ" is the largest difference of mean risks, in standard errors.
"""

import dataclasses as dc
import math
from collections.abc import Iterator

import numpy as np

from benchmarks.runner import Accuracy, Rival, Work
from dpcore import Data
from dpcore.core.arrays import Array
from dpcore.core.losses import get_loss
from dpcore.mechanisms.simplex.sampling import PreparedWeights, sampled_models
from dpcore.solvers import minimise_entropic
from dpcore.studies.sparsity.simplex.data import risks_of

LAM, GOAL = 1e-3, 1e-8
DRAWN_LAMS = 0.001, 0.05
MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 3_000, 10_000]
SMOOTHNESS = 2.0  # of Huber loss with h = 1/2 and entries of size 1
LOSS = get_loss("huber")


@dc.dataclass(frozen=True)
class Sizes:
    n: int = 5_000
    p: int = 1_000
    repetitions: int = 50
    rounds: int = 3


QUICK = Sizes(n=60, p=10, repetitions=4, rounds=1)


def records(n: int, p: int) -> Data:
    """Labels are a noisy average of five columns."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (n, p))
    return Data(X, np.clip(X[:, :5] @ [0.4, 0.3, 0.1, 0.1, 0.1] + 0.3 * rng.standard_normal(n), -1.0, 1.0))


def gradient(data: Data, w: Array) -> Array:
    return np.clip(2.0 * (data.X @ w - data.y), -1.0, 1.0) @ data.X / data.n


def log_softmax(u: Array) -> Array:
    u = u - u.max()
    return u - np.log(np.exp(u).sum())


def gap_of(w: Array, g: Array, lam: float = LAM) -> float:
    return lam * float(w @ (np.log(np.maximum(w, 1e-300)) - log_softmax(-g / lam)))


def accelerated(data: Data, lam: float = LAM) -> float:
    ratio = lam / SMOOTHNESS
    share = (math.sqrt(ratio**2 + 4.0 * ratio) - ratio) / 2.0
    w, u = np.full(data.p, 1.0 / data.p), np.full(data.p, -math.log(data.p))
    for step in range(100_000):
        g = gradient(data, (1.0 - share) * w + share * np.exp(u))
        u = log_softmax((share * SMOOTHNESS * u - g) / (share * SMOOTHNESS + lam))
        w = (1.0 - share) * w + share * np.exp(u)
        if step % 10 == 0 and (gap := gap_of(w, gradient(data, w), lam)) <= GOAL:
            return gap
    raise RuntimeError("no convergence")


def newton(data: Data) -> float:
    def value(w: Array) -> float:
        r = np.abs(data.X @ w - data.y)
        return float(np.where(r <= 0.5, r**2, r - 0.25).mean() + LAM * w @ np.log(w))

    w = np.full(data.p, 1.0 / data.p)
    for _ in range(1_000):
        g = gradient(data, w)
        if (gap := gap_of(w, g)) <= GOAL:
            return gap
        kept = data.X[np.abs(data.X @ w - data.y) <= 0.5]
        full = g + LAM * np.log(w)
        system = LAM * np.eye(data.p) + w[:, None] * (2.0 / data.n * kept.T @ kept)
        a, b = np.linalg.solve(system, np.column_stack([w * full, w])).T
        s = b * (a.sum() / b.sum()) - a
        share, now, slope = 1.0, value(w), float(full @ s)
        while (w + share * s).min() <= 0.0 or value(w + share * s) > now + 1e-4 * share * slope:
            share /= 2.0
        w = w + share * s
    raise RuntimeError("no convergence")


def told(gap: float) -> Accuracy:
    return {"gap": gap}


def one_solve(sizes: Sizes) -> Work:
    data = records(sizes.n, sizes.p)
    same = math.sqrt(8.0 * GOAL / LAM)  # a residual whose gap is at most GOAL, since KL <= residual^2 / 8
    rivals = [
        Rival("ours", lambda: minimise_entropic(LOSS, data, LAM, tol=same).gap, told),
        Rival("ours to residual 1e-9", lambda: minimise_entropic(LOSS, data, LAM, tol=1e-9).gap, told),
        Rival("accelerated numpy", lambda: accelerated(data), told),
        Rival("dense Newton in numpy", lambda: newton(data), told, once=True),
    ]
    return Work("entropic minimum", {"n": sizes.n, "p": sizes.p, "lam": LAM}, rivals)


def solved(data: Data, lam: float) -> PreparedWeights:
    tol = math.sqrt(8.0 * GOAL / lam)
    found = minimise_entropic(LOSS, data, lam, tol=tol)
    return PreparedWeights(np.exp(found.log_weights), found.residual, found.log_weights, found.log_idle)


def drawn_together(data: Data, weights: PreparedWeights, repetitions: int) -> Array:
    """Risks, shape [repetitions, 12]."""
    rngs = [np.random.default_rng(r) for r in range(repetitions)]
    models = sampled_models(weights, MS, rngs, 1.0)
    return risks_of(LOSS, data, models.reshape(-1, data.p)).reshape(models.shape[:2])


def drawn_one_by_one(data: Data, w: Array, repetitions: int) -> Array:
    risks = np.empty((repetitions, len(MS)))
    for repetition in range(repetitions):
        rng = np.random.default_rng(repetition)
        for k, m in enumerate(MS):
            r = np.abs(data.X @ (rng.multinomial(m, w) / m) - data.y)
            risks[repetition, k] = np.where(r <= 0.5, r**2, r - 0.25).mean()
    return risks


def draws(sizes: Sizes, lam: float) -> Iterator[Work]:
    data, repetitions = records(sizes.n, sizes.p), sizes.repetitions
    weights = solved(data, lam)
    w = weights.theta / weights.theta.sum()
    ours, theirs = drawn_together(data, weights, repetitions), drawn_one_by_one(data, w, repetitions)
    apart = np.abs(ours.mean(axis=0) - theirs.mean(axis=0))
    errors = np.sqrt((ours.var(axis=0, ddof=1) + theirs.var(axis=0, ddof=1)) / repetitions)
    differ = {"differ": float((apart / errors).max())}
    facts = {"n": data.n, "p": data.p, "lam": lam, "repetitions": repetitions, "ms": len(MS)}
    drawing = [
        Rival("ours", lambda: drawn_together(data, weights, repetitions)),
        Rival("plain numpy", lambda: drawn_one_by_one(data, w, repetitions), lambda _: differ),
    ]
    yield Work("draws and their risks", facts, drawing)
    solving = [
        Rival("ours", lambda: solved(data, lam)),
        Rival("accelerated numpy", lambda: accelerated(data, lam), told),
    ]
    yield Work("the solve before them", facts, solving)


def works(sizes: Sizes) -> Iterator[Work]:
    yield one_solve(sizes)
    for lam in DRAWN_LAMS:
        yield from draws(sizes, lam)
