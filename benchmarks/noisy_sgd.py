"""Noisy descent against the numpy loop one would write without it, both in one run.

    python -m benchmarks.noisy_sgd

Algorithm 3 of the lecture: n = 2,000 records, p = 50, one record a step, 4 million steps, in double precision. The
numpy loop is as one writes it; in the tuned loop all but the vector operations are plain Python floats, and it draws
the numbers that ours draws. Loops take 200,000 steps and their time is multiplied by 20: a step costs the same early
and late.

Gradient descent on all records: 400 steps, 50 repetitions, 12 values of epsilon, with n and p as the page "Doors"
begins and as above, at display accuracy as charts use it, against a numpy loop over epsilons and repetitions in double
precision and the same loop in single precision. Loops make 1 repetition for each epsilon and their time is multiplied
by 50.

One BLAS thread, CPU time, after one warm-up; competitors alternate and the medians count.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable

import numpy as np

from dpcore import Data
from dpcore.losses import get_loss
from dpcore.solvers.descent import Schedule, Streams, gradient_descent
from dpcore.solvers.stochastic import noisy_descent
from dpcore.threads import one_blas_thread

N, P, STEPS, SHORT = 2_000, 50, 4_000_000, 200_000
RADIUS, SIGMA, STEP, ROUNDS = 5.0, 10.0, 0.1, 3
LOSS = get_loss("logistic")
FULL_STEPS, REPETITIONS, FULL_STEP = 400, 50, 1.0
FULL_SIZES = (1_000, 8), (N, P)
NOISES = np.geomspace(1.0, 0.001, 12)  # what a dozen epsilons ask for


def records(n: int, p: int) -> Data:
    """Rows of norm 1 and labels of a noisy linear rule."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    return Data(X, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-8.0 * X[:, 0])), 1.0, -1.0))


def ours(data: Data, steps: int) -> np.ndarray:
    run = noisy_descent(
        LOSS, data, steps=steps, step=STEP, decaying=True, sigma=SIGMA, radius=RADIUS, rng=np.random.default_rng(1)
    )
    return run.last


def numpy_loop(data: Data, steps: int) -> np.ndarray:
    rng, theta = np.random.default_rng(1), np.zeros(P)
    for t in range(1, steps + 1):
        i = rng.integers(N)
        x, y = data.X[i], data.y[i]
        gradient = -y * x / (1.0 + np.exp(y * (x @ theta))) + SIGMA * rng.standard_normal(P)
        theta = theta - STEP / np.sqrt(t) * gradient
        norm = np.linalg.norm(theta)
        if norm > RADIUS:
            theta *= RADIUS / norm
    return theta


def tuned_loop(data: Data, steps: int) -> np.ndarray:
    rng, theta = np.random.default_rng(1), np.zeros(P)
    X, labels = data.X, data.y.tolist()
    for t in range(1, steps + 1):
        i = int(N * rng.random())
        x, y = X[i], labels[i]
        gradient = -y / (1.0 + math.exp(y * float(x @ theta))) * x + SIGMA * rng.standard_normal(P)
        theta -= STEP / math.sqrt(t) * gradient
        square = float(theta @ theta)
        if square > RADIUS**2:
            theta *= RADIUS / math.sqrt(square)
    return theta


def cpu_seconds(function: Callable[[], object]) -> float:
    started = time.process_time()
    function()
    return time.process_time() - started


def algorithm_3() -> None:
    data = records(N, P)
    apart = np.abs(ours(data, 1_000) - tuned_loop(data, 1_000)).max()
    numpy_loop(data, 1_000)
    runs = [lambda: ours(data, STEPS), lambda: numpy_loop(data, SHORT), lambda: tuned_loop(data, SHORT)]
    times = [[cpu_seconds(run) for run in runs] for _ in range(ROUNDS)]
    mine, plain, tuned = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"Algorithm 3, n {N:,}, p {P}, {STEPS:,} steps: ours {mine:.2f} s, {1e9 * mine / STEPS:.0f} ns a step")
    for name, seconds in (("numpy loop", plain), ("tuned loop", tuned)):
        total = seconds * STEPS / SHORT
        print(
            f"  {name} {total:6.1f} s ({STEPS // SHORT} times {SHORT:,} steps)   ratio {total / mine:5.1f}", flush=True
        )
    print(f"  after 1,000 steps ours and the tuned loop differ by {apart:.0e}")


def together(data: Data) -> np.ndarray:
    etas = np.full(FULL_STEPS, FULL_STEP)
    schedules = [Schedule(etas, noise, lam=0.0, first=FULL_STEPS) for noise in NOISES]
    streams = Streams([np.random.default_rng(r) for r in range(REPETITIONS)], stored=data.p)
    return gradient_descent(LOSS, data, schedules, streams, np.ones(1), radius=RADIUS, single=True)


def one_by_one(data: Data, number: type[np.floating]) -> np.ndarray:
    """The first repetition of every noise, [12, p]."""
    X, y = data.X.astype(number), data.y.astype(number)
    answers = []
    for noise in NOISES.astype(number):
        rng, theta = np.random.default_rng(0), np.zeros(data.p, number)
        for _ in range(FULL_STEPS):
            gradient = -(y / (1.0 + np.exp(y * (X @ theta)))) @ X / number(data.n)
            theta = theta - number(FULL_STEP) * (gradient + noise * rng.standard_normal(data.p).astype(number))
            norm = np.linalg.norm(theta)
            if norm > RADIUS:
                theta *= number(RADIUS) / norm
        answers.append(theta)
    return np.array(answers)


def full_batch(n: int, p: int) -> None:
    data = records(n, p)
    apart = np.abs(together(data)[:, 0] - one_by_one(data, np.float64)).max()
    one_by_one(data, np.float32)
    runs = [
        lambda: together(data),
        lambda: one_by_one(data, np.float64),
        lambda: one_by_one(data, np.float32),
    ]
    times = [[cpu_seconds(run) for run in runs] for _ in range(ROUNDS)]
    mine, double, single = (statistics.median(column) for column in zip(*times, strict=True))
    shape = f"{FULL_STEPS} steps x {REPETITIONS} repetitions x {len(NOISES)} epsilons"
    print(f"Gradient descent, n {n:,}, p {p}, {shape}: ours {mine:.2f} s")
    for name, seconds in (("numpy loop, double", double), ("numpy loop, single", single)):
        total = seconds * REPETITIONS
        print(f"  {name} {total:6.1f} s ({REPETITIONS} times 1 repetition)   ratio {total / mine:5.1f}", flush=True)
    print(f"  ours and the double loop differ by {apart:.0e}")


def main() -> None:
    one_blas_thread()
    algorithm_3()
    for n, p in FULL_SIZES:
        full_batch(n, p)


if __name__ == "__main__":
    main()
