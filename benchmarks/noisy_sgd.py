"""Noisy descent against the numpy loops one would write without it.

    python -m benchmarks noisy_sgd

Algorithm 3 of the lecture: one record a step. The plain numpy loop is as one writes it; in the tuned loop all but the
vector operations are plain Python floats, and it draws the numbers that ours draws in double precision: "differ" is
the largest difference of the two after 1,000 steps. Loops take a part of the steps and their time is multiplied: a
step costs the same early and late.
"""

import dataclasses as dc
import math
from collections.abc import Iterator

import numpy as np

from benchmarks.runner import Accuracy, Rival, Work
from dpcore import Data
from dpcore.core.arrays import Array
from dpcore.core.losses import get_loss
from dpcore.solvers.descent.noisy_sgd import noisy_descent

RADIUS, SIGMA, STEP = 5.0, 10.0, 0.1
LOSS = get_loss("logistic")


@dc.dataclass(frozen=True)
class Sizes:
    """Loops take `short` of the steps."""

    n: int = 2_000
    p: int = 50
    steps: int = 4_000_000
    short: int = 200_000
    rounds: int = 3


QUICK = Sizes(n=50, p=5, steps=2_000, short=500, rounds=1)


def records(n: int, p: int) -> Data:
    """Rows of norm 1 and labels of a noisy linear rule."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    return Data(X, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-8.0 * X[:, 0])), 1.0, -1.0))


def ours(data: Data, steps: int) -> Array:
    return noisy_descent(
        LOSS, data, steps=steps, step=STEP, decaying=True, sigma=SIGMA, radius=RADIUS, rng=np.random.default_rng(1)
    ).last


def differ(these: Array, those: Array) -> Accuracy:
    return {"differ": float(np.abs(these - those).max())}


def plain_loop(data: Data, steps: int) -> Array:
    rng, theta = np.random.default_rng(1), np.zeros(data.p)
    for t in range(1, steps + 1):
        i = rng.integers(data.n)
        x, y = data.X[i], data.y[i]
        gradient = -y * x / (1.0 + np.exp(y * (x @ theta))) + SIGMA * rng.standard_normal(data.p)
        theta = theta - STEP / np.sqrt(t) * gradient
        norm = np.linalg.norm(theta)
        if norm > RADIUS:
            theta *= RADIUS / norm
    return theta


def tuned_loop(data: Data, steps: int) -> Array:
    rng, theta = np.random.default_rng(1), np.zeros(data.p)
    X, labels, n, p = data.X, data.y.tolist(), data.n, data.p
    for t in range(1, steps + 1):
        i = int(n * rng.random())
        x, y = X[i], labels[i]
        gradient = -y / (1.0 + math.exp(y * float(x @ theta))) * x + SIGMA * rng.standard_normal(p)
        theta -= STEP / math.sqrt(t) * gradient
        square = float(theta @ theta)
        if square > RADIUS**2:
            theta *= RADIUS / math.sqrt(square)
    return theta


def works(sizes: Sizes) -> Iterator[Work]:
    data, part, few = records(sizes.n, sizes.p), sizes.steps / sizes.short, min(1_000, sizes.short)
    facts, note = {"n": sizes.n, "p": sizes.p, "steps": sizes.steps}, f"{sizes.short:,} steps timed"
    apart = differ(ours(data, few), tuned_loop(data, few))
    tuned = Rival("tuned numpy", lambda: tuned_loop(data, sizes.short), lambda _: apart, times=part, note=note)
    plain = Rival("plain numpy", lambda: plain_loop(data, sizes.short), times=part, note=note)
    rivals = [Rival("ours", lambda: ours(data, sizes.steps)), plain, tuned]
    yield Work("Algorithm 3, one record a step", facts, rivals)
