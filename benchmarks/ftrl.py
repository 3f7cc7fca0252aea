"""Private players on a stream against numpy.

    python -m benchmarks ftrl

Costs of -1 and 1. Plain numpy plays one run after the other, softmax and `rng.choice` in each step: one of the runs is
timed and multiplied. Careful numpy makes one pass for all runs: weights once a step, their running sums, and one search
for all uniforms. Ours is `FTRL.release_many`, its draws of uniforms included. What is compared is the same law, not the
same arms: the share of steps on the best arm is shown for all three.
"""

import dataclasses as dc
from collections.abc import Iterator

import numpy as np

from benchmarks.runner import Accuracy, Rival, Work
from dpcore import Budget, Data, Domain, Spec
from dpcore.core.arrays import Array
from dpcore.mechanisms.simplex.ftrl import FTRL
from dpcore.studies.sparsity.streaming.adversaries import stream


@dc.dataclass(frozen=True)
class Sizes:
    steps: int = 10_000
    p: int = 1_000
    runs: int = 50
    rounds: int = 3


QUICK = Sizes(steps=50, p=10, runs=4, rounds=1)


def plain(X: Array, lam_sum: float, rngs: list[np.random.Generator]) -> Array:
    arms = np.empty((len(rngs), len(X)), int)
    for run, rng in enumerate(rngs):
        scores = np.zeros(X.shape[1])
        for t, x in enumerate(X):
            weights = np.exp(-(scores - scores.min()) / lam_sum)
            arms[run, t] = rng.choice(len(weights), p=weights / weights.sum())
            scores += x
    return arms


def careful(X: Array, lam_sum: float, rngs: list[np.random.Generator]) -> Array:
    uniforms = np.array([rng.random(len(X)) for rng in rngs]).T.copy()
    arms, scores, weights = np.empty((len(X), len(rngs)), int), np.zeros(X.shape[1]), np.empty(X.shape[1])
    for t, x in enumerate(X):
        np.subtract(scores.min(), scores, out=weights)
        weights /= lam_sum
        np.exp(weights, out=weights)
        np.cumsum(weights, out=weights)
        arms[t] = np.searchsorted(weights, uniforms[t] * weights[-1], side="right")
        scores += x
    return arms.T


def works(sizes: Sizes) -> Iterator[Work]:
    T, p, runs, mechanism = sizes.steps, sizes.p, sizes.runs, FTRL()
    plan = mechanism.calibrate(Spec("linear", T, p, domain=Domain(np.inf), set="simplex"), Budget(8.0, 1e-6))
    data = Data(stream("random", steps=T, p=p), np.zeros(T))
    X, lam_sum, prepared = np.asarray(data.X), T * plan.scale, mechanism.prepare(plan, data)
    best = int(X.sum(axis=0).argmin())

    def judge(arms: Array) -> Accuracy:
        return {"on the best arm": float((arms == best).mean())}

    def rngs(count: int) -> list[np.random.Generator]:
        return [np.random.default_rng(run) for run in range(count)]

    rivals = [
        Rival("ours", lambda: mechanism.release_many(plan, prepared, rngs(runs)), judge),
        Rival("careful numpy", lambda: careful(X, lam_sum, rngs(runs)), judge),
        Rival("plain numpy", lambda: plain(X, lam_sum, rngs(1)), judge, times=runs, note="1 run timed"),
    ]
    yield Work("players on a stream", {"steps": T, "p": p, "runs": runs}, rivals)
