"""Private players on a stream against numpy: CPU time of 50 runs, all in one process.

    python -m benchmarks.ftrl

T = 10,000 steps, p = 1,000 arms, costs of -1 and 1. Plain numpy plays one run after the other, softmax and `rng.choice`
in each step: two of the 50 runs are timed and multiplied. Careful numpy makes one pass for all 50 runs: weights once a
step, their running sums, and one search for all uniforms. Ours is `FTRL.release_many`, its draws of uniforms included.
One BLAS thread, one warm-up, medians of interleaved rounds. What is compared is the same law, not the same arms: the
share of steps on the best arm is printed for all three.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from dpcore import Budget, Data, Domain, Spec
from dpcore.mechanisms.ftrl import FTRL
from dpcore.streams import stream
from dpcore.threads import one_blas_thread

T, P, RUNS, TIMED, ROUNDS = 10_000, 1_000, 50, 2, 5


def plain(X: np.ndarray, lam_sum: float, rngs: list[np.random.Generator]) -> np.ndarray:
    arms = np.empty((len(rngs), T), int)
    for run, rng in enumerate(rngs):
        scores = np.zeros(P)
        for t, x in enumerate(X):
            weights = np.exp(-(scores - scores.min()) / lam_sum)
            arms[run, t] = rng.choice(P, p=weights / weights.sum())
            scores += x
    return arms


def careful(X: np.ndarray, lam_sum: float, rngs: list[np.random.Generator]) -> np.ndarray:
    uniforms = np.array([rng.random(T) for rng in rngs]).T.copy()
    arms, scores, weights = np.empty((T, len(rngs)), int), np.zeros(P), np.empty(P)
    for t, x in enumerate(X):
        np.subtract(scores.min(), scores, out=weights)
        weights /= lam_sum
        np.exp(weights, out=weights)
        np.cumsum(weights, out=weights)
        arms[t] = np.searchsorted(weights, uniforms[t] * weights[-1], side="right")
        scores += x
    return arms.T


def main() -> None:
    one_blas_thread()
    plan = FTRL().calibrate(Spec("linear", T, P, domain=Domain(np.inf), set="simplex"), Budget(8.0, 1e-6))
    data = Data(stream("random", steps=T, p=P), np.zeros(T))
    X, lam_sum, prepared = np.asarray(data.X), T * plan.scale, plan.mechanism.prepare(plan, data)  # type: ignore[attr-defined]
    best = int(X.sum(axis=0).argmin())

    def ours(rngs: list[np.random.Generator]) -> np.ndarray:
        return plan.mechanism.release_many(plan, prepared, rngs)  # type: ignore[attr-defined]

    ways: list[tuple[str, Callable[[list[np.random.Generator]], np.ndarray], int]] = [
        ("ours", ours, RUNS),
        ("careful numpy", lambda rngs: careful(X, lam_sum, rngs), RUNS),
        ("plain numpy", lambda rngs: plain(X, lam_sum, rngs), TIMED),
    ]
    times: dict[str, list[float]] = {name: [] for name, _, _ in ways}
    shares: dict[str, float] = {}
    for timed in [False] + [True] * ROUNDS:
        for name, way, runs in ways:
            rngs = [np.random.default_rng([timed, run]) for run in range(runs)]
            started = time.process_time()
            arms = way(rngs)
            if timed:
                times[name].append((time.process_time() - started) * RUNS / runs)
            shares[name] = float((arms == best).mean())
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    for name, _, runs in ways:
        line = f"{name:14s} {1e3 * medians[name]:9.1f} ms CPU  ratio {medians[name] / medians['ours']:7.1f}"
        scaled = f"  ({runs} of {RUNS} runs timed)" if runs < RUNS else ""
        print(f"{line}  on the best arm {shares[name]:.3f}{scaled}", flush=True)


if __name__ == "__main__":
    main()
