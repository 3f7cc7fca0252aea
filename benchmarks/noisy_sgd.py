"""Noisy descent against the numpy loops one would write without it.

    python -m benchmarks noisy_sgd

Algorithm 3 of the lecture: one record a step. The plain numpy loop is as one writes it; in the tuned loop all but the
vector operations are plain Python floats, and it draws the numbers that ours draws in double precision: "differ" is
the largest difference of the two after 1,000 steps. Loops take a part of the steps and their time is multiplied: a
step costs the same early and late. In single precision, as in charts, the run draws other numbers: "differ"
compares it with double precision where none are drawn, 100 steps on all records without noise.

Gradient descent on all records: 12 values of epsilon, all repetitions, at display accuracy as charts use it, against a
numpy loop over epsilons and repetitions in double precision and the same loop in single precision. Loops make 1
repetition for each epsilon and their time is multiplied.
"""

import dataclasses as dc
import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.runner import Accuracy, Rival, Work
from dpcore import Data
from dpcore.core.arrays import Array
from dpcore.core.losses import get_loss
from dpcore.solvers.descent.noisy_gd import Schedule, gradient_descent
from dpcore.solvers.descent.noisy_sgd import coupled_descents, noisy_descent

RADIUS, SIGMA, STEP, FULL_STEP = 5.0, 10.0, 0.1, 1.0
LOSS = get_loss("logistic")
NOISES = np.geomspace(1.0, 0.001, 12)  # what a dozen epsilons ask for


@dc.dataclass(frozen=True)
class Sizes:
    """steps: of descent on single records; loops take `short` of them. full_*: of descent on all records."""

    n: int = 2_000
    p: int = 50
    steps: int = 4_000_000
    short: int = 200_000
    full_n: tuple[int, ...] = (1_000, 2_000)
    full_p: tuple[int, ...] = (8, 50)
    full_steps: int = 400
    repetitions: int = 50
    rounds: int = 3


QUICK = Sizes(n=50, p=5, steps=2_000, short=500, full_n=(50,), full_p=(4,), full_steps=10, repetitions=4, rounds=1)


def records(n: int, p: int) -> Data:
    """Rows of norm 1 and labels of a noisy linear rule."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    return Data(X, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-8.0 * X[:, 0])), 1.0, -1.0))


def ours(data: Data, steps: int, sigma: float = SIGMA, rate: float = 0.0) -> Array:
    return noisy_descent(
        LOSS, data, steps=steps, step=STEP, decaying=True, sigma=sigma, radius=RADIUS, rate=rate,
        rng=np.random.default_rng(1),
    ).last  # fmt: skip


def ours_single(data: Data, steps: int, sigma: float = SIGMA, rate: float = 0.0) -> Array:
    """The last iterate of the one run that is asked for."""
    return coupled_descents(
        LOSS, data, steps=steps, step=np.full(1, STEP), decaying=True, sigma=np.full(1, sigma), radius=RADIUS,
        rate=rate, first=steps, rng=np.random.default_rng(1),
    )[0]  # fmt: skip


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


def one_record_a_step(sizes: Sizes) -> Iterator[Work]:
    data, part, few = records(sizes.n, sizes.p), sizes.steps / sizes.short, min(1_000, sizes.short)
    facts, note = {"n": sizes.n, "p": sizes.p, "steps": sizes.steps}, f"{sizes.short:,} steps timed"
    apart = differ(ours(data, few), tuned_loop(data, few))
    rounded = differ(ours_single(data, 100, sigma=0.0, rate=1.0), ours(data, 100, sigma=0.0, rate=1.0))
    double = Rival("ours, double", lambda: ours(data, sizes.steps))
    single = Rival("ours, single", lambda: ours_single(data, sizes.steps), lambda _: rounded)
    tuned = Rival("tuned numpy", lambda: tuned_loop(data, sizes.short), lambda _: apart, times=part, note=note)
    plain = Rival("plain numpy", lambda: plain_loop(data, sizes.short), times=part, note=note)
    yield Work("Algorithm 3, one record a step", facts, [double, dc.replace(plain, target="ratio >= 25"), tuned])
    yield Work(
        "Algorithm 3, one record a step, for charts", facts, [single, dc.replace(plain, target="ratio >= 80"), double]
    )


def together(data: Data, steps: int, repetitions: int) -> Array:
    etas = np.full(steps, FULL_STEP)
    schedules = [Schedule(etas, noise, lam=0.0, first=steps) for noise in NOISES]
    rngs = [np.random.default_rng(r) for r in range(repetitions)]
    return gradient_descent(LOSS, data, schedules, rngs, np.ones(1), radius=RADIUS, stored=data.p, single=True)


def one_by_one(data: Data, steps: int, number: type[np.floating]) -> Array:
    """The first repetition of every noise, [12, p]."""
    X, y = data.X.astype(number), data.y.astype(number)
    answers = []
    for noise in NOISES.astype(number):
        rng, theta = np.random.default_rng(0), np.zeros(data.p, number)
        for _ in range(steps):
            gradient = -(y / (1.0 + np.exp(y * (X @ theta)))) @ X / number(data.n)
            theta = theta - number(FULL_STEP) * (gradient + noise * rng.standard_normal(data.p).astype(number))
            norm = np.linalg.norm(theta)
            if norm > RADIUS:
                theta *= number(RADIUS) / norm
        answers.append(theta)
    return np.array(answers)


def all_records(sizes: Sizes, n: int, p: int) -> Work:
    data, steps, repetitions = records(n, p), sizes.full_steps, sizes.repetitions
    exact = one_by_one(data, steps, np.float64)
    ours = Rival("ours, display", lambda: together(data, steps, repetitions), lambda found: differ(found[:, 0], exact))
    rivals = [ours]
    for number, words in ((np.float64, "double"), (np.float32, "single")):
        loop, judge = partial(one_by_one, data, steps, number), partial(differ, exact)
        rivals.append(Rival(f"plain numpy, {words}", loop, judge, times=repetitions, note="1 repetition timed"))
    facts = {"n": n, "p": p, "steps": steps, "repetitions": repetitions, "epsilons": len(NOISES)}
    return Work("gradient descent on all records", facts, rivals)


def works(sizes: Sizes) -> Iterator[Work]:
    yield from one_record_a_step(sizes)
    for n, p in zip(sizes.full_n, sizes.full_p, strict=True):
        yield all_records(sizes, n, p)
