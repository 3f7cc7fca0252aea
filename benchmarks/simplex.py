"""Entropy-regularised risk over the simplex against plain numpy, both in one run.

    python -m benchmarks.simplex

Huber loss, n = 5,000 records with entries -1 and 1, p = 1,000 columns, lam = 1e-3, from equal weights. All stop at a
duality gap of at most 1e-8, lam KL(w || softmax(-g / lam)), which each is charged for as it computes it; ours is also
timed at the residual 1e-9 in ln w that a release asks for. In numpy: exponentiated gradient in its accelerated form for
a strongly convex regulariser, which looks at the gap every tenth step, and Newton's method in w with a dense p x p
system, whose steps are halved until w stays positive and J falls.

Draws: one solve at lam = 0.001 and at 0.05 (which numpy solves soon, too), then 50 repetitions of 12 numbers of draws m
and the risk of each of these 600 models. In numpy one by one: `multinomial`, a product of the records with the model,
the mean loss. The solve is the same for both, ours, and counted apart; with numpy's own, the accelerated one to the
same gap, it is another line.

One BLAS thread, after one warm-up; competitors alternate and the medians count, but Newton's method, which takes long,
runs once. CPU and wall time.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from benchmarks.clock import median, timed
from dpcore import Data
from dpcore.losses import get_loss
from dpcore.mechanisms.simplex_sampling import PreparedWeights, sampled_models
from dpcore.mixtures.problem import risks_of
from dpcore.solvers import minimise_entropic, minimise_on_simplex
from dpcore.threads import one_blas_thread

N, P, LAM, GOAL, ROUNDS = 5_000, 1_000, 1e-3, 1e-8, 3
QUICK = 3  # the first so many competitors alternate
WALK_SIZE, WALK = (2_000, 512), np.geomspace(0.1, 1e-4, 15)
DRAWN_LAMS, REPETITIONS = (0.001, 0.05), 50
MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 3_000, 10_000]
SMOOTHNESS = 2.0  # of Huber loss with h = 1/2 and entries of size 1
LOSS = get_loss("huber")


def records(n: int, p: int) -> Data:
    """Labels are a noisy average of five columns."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (n, p))
    return Data(X, np.clip(X[:, :5] @ [0.4, 0.3, 0.1, 0.1, 0.1] + 0.3 * rng.standard_normal(n), -1.0, 1.0))


def ours(data: Data, tol: float) -> float:
    return minimise_entropic(LOSS, data, LAM, tol=tol).gap


def gradient(data: Data, w: np.ndarray) -> np.ndarray:
    return np.clip(2.0 * (data.X @ w - data.y), -1.0, 1.0) @ data.X / N


def log_softmax(u: np.ndarray) -> np.ndarray:
    u = u - u.max()
    return u - np.log(np.exp(u).sum())


def gap_of(w: np.ndarray, g: np.ndarray, lam: float = LAM) -> float:
    return lam * float(w @ (np.log(np.maximum(w, 1e-300)) - log_softmax(-g / lam)))


def accelerated(data: Data, lam: float = LAM) -> float:
    ratio = lam / SMOOTHNESS
    share = (math.sqrt(ratio**2 + 4.0 * ratio) - ratio) / 2.0
    w, u = np.full(P, 1.0 / P), np.full(P, -math.log(P))
    for step in range(100_000):
        g = gradient(data, (1.0 - share) * w + share * np.exp(u))
        u = log_softmax((share * SMOOTHNESS * u - g) / (share * SMOOTHNESS + lam))
        w = (1.0 - share) * w + share * np.exp(u)
        if step % 10 == 0 and (gap := gap_of(w, gradient(data, w), lam)) <= GOAL:
            return gap
    raise RuntimeError("no convergence")


def newton(data: Data) -> float:
    def value(w: np.ndarray) -> float:
        r = np.abs(data.X @ w - data.y)
        return float(np.where(r <= 0.5, r**2, r - 0.25).mean() + LAM * w @ np.log(w))

    w = np.full(P, 1.0 / P)
    for _ in range(1_000):
        g = gradient(data, w)
        if (gap := gap_of(w, g)) <= GOAL:
            return gap
        kept = data.X[np.abs(data.X @ w - data.y) <= 0.5]
        full = g + LAM * np.log(w)
        system = LAM * np.eye(P) + w[:, None] * (2.0 / N * kept.T @ kept)
        a, b = np.linalg.solve(system, np.column_stack([w * full, w])).T
        s = b * (a.sum() / b.sum()) - a
        share, now, slope = 1.0, value(w), float(full @ s)
        while (w + share * s).min() <= 0.0 or value(w + share * s) > now + 1e-4 * share * slope:
            share /= 2.0
        w = w + share * s
    raise RuntimeError("no convergence")


def medians(runs: list[Callable[[], object]]) -> list[tuple[float, float]]:
    """CPU and wall seconds of each."""
    rounds = [[timed(run) for run in runs] for _ in range(ROUNDS)]
    return [median(r) for r in zip(*rounds, strict=True)]


def one_solve() -> None:
    data = records(N, P)
    same = math.sqrt(8.0 * GOAL / LAM)  # a residual whose gap is at most GOAL, since KL <= residual^2 / 8
    ours(data, same)
    gaps: dict[str, float] = {}
    runs = {
        "ours": lambda: ours(data, same),
        "ours to residual 1e-9": lambda: ours(data, 1e-9),
        "accelerated": lambda: accelerated(data),
        "Newton, dense": lambda: newton(data),
    }
    kept = [lambda name=name, run=run: gaps.__setitem__(name, run()) for name, run in runs.items()]
    times = medians(kept[:QUICK]) + [timed(run) for run in kept[QUICK:]]
    print(f"n {N:,}, p {P:,}, lam {LAM:g}, gap {GOAL:g}")
    for name, (cpu, wall) in zip(runs, times, strict=True):
        ratio = cpu / times[0][0]
        print(
            f"  {name:<22} {cpu:6.2f} s CPU, {wall:6.2f} s wall   ratio {ratio:5.1f}   gap {gaps[name]:.0e}", flush=True
        )


def walk(data: Data) -> None:
    start = None
    for lam in WALK:
        start = minimise_entropic(LOSS, data, float(lam), tol=1e-9, start=start).log_weights


def walk_and_reference() -> None:
    data = records(*WALK_SIZE)
    walked, reference = medians([lambda: walk(data), lambda: minimise_on_simplex(LOSS, data)])
    n, p = WALK_SIZE
    print(
        f"n {n:,}, p {p}: {len(WALK)} values of lam from {WALK[0]:g} to {WALK[-1]:g}, each from the last, residual 1e-9"
    )
    print(
        f"  {walked[0]:.2f} s CPU, {walked[1]:.2f} s wall; the smallest risk, gap 1e-9: {reference[0]:.2f} s CPU, ",
        end="",
    )
    print(f"{reference[1]:.2f} s wall")


def solved(data: Data, lam: float) -> PreparedWeights:
    tol = math.sqrt(8.0 * GOAL / lam)
    found = minimise_entropic(LOSS, data, lam, tol=tol)
    return PreparedWeights(np.exp(found.log_weights), found.residual, found.log_weights, found.log_idle)


def drawn_together(data: Data, weights: PreparedWeights) -> np.ndarray:
    """Risks, shape [50, 12]."""
    rngs = [np.random.default_rng(r) for r in range(REPETITIONS)]
    models = sampled_models(weights, MS, rngs, 1.0)
    return risks_of(LOSS, data, models.reshape(-1, P)).reshape(models.shape[:2])


def drawn_one_by_one(data: Data, w: np.ndarray) -> np.ndarray:
    risks = np.empty((REPETITIONS, len(MS)))
    for repetition in range(REPETITIONS):
        rng = np.random.default_rng(repetition)
        for k, m in enumerate(MS):
            r = np.abs(data.X @ (rng.multinomial(m, w) / m) - data.y)
            risks[repetition, k] = np.where(r <= 0.5, r**2, r - 0.25).mean()
    return risks


def draws(lam: float) -> None:
    data = records(N, P)
    weights = solved(data, lam)
    w = weights.theta / weights.theta.sum()
    ours, theirs = drawn_together(data, weights), drawn_one_by_one(data, w)
    apart = np.abs(ours.mean(axis=0) - theirs.mean(axis=0))
    errors = np.sqrt((ours.var(axis=0, ddof=1) + theirs.var(axis=0, ddof=1)) / REPETITIONS)
    batched, solve, plain, its_solve = medians(
        [
            lambda: drawn_together(data, weights),
            lambda: solved(data, lam),
            lambda: drawn_one_by_one(data, w),
            lambda: accelerated(data, lam),
        ]
    )
    print(f"n {N:,}, p {P:,}, lam {lam:g}: {REPETITIONS} repetitions x {len(MS)} numbers of draws, and their risks")
    for words, mine, their in (
        ("draws and risks", batched, plain),
        ("with the same solve", np.add(batched, solve), np.add(plain, solve)),
        ("each with its own solve", np.add(batched, solve), np.add(plain, its_solve)),
    ):
        print(
            f"  {words:<24} ours {mine[0]:.2f} s CPU, {mine[1]:.2f} s wall, numpy {their[0]:.2f} s CPU, "
            f"{their[1]:.2f} s wall   ratio {their[0] / mine[0]:.1f}",
            flush=True,
        )
    print(f"  mean risks differ by at most {(apart / errors).max():.1f} standard errors")


def main() -> None:
    one_blas_thread()
    one_solve()
    walk_and_reference()
    for lam in DRAWN_LAMS:
        draws(lam)


if __name__ == "__main__":
    main()
