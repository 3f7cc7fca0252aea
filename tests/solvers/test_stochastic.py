"""The loop of stochastic gradient descent against a plain reference that draws the same numbers, and its laws."""

import dataclasses as dc
import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array

from dpcore import Data, kernels
from dpcore.core.losses import Loss, get_loss
from dpcore.solvers.descent.noisy_sgd import noisy_descent
from tests.problems import random_records

DENSE = random_records(30, 4, seed=11)
SPARSE = Data(csr_array(np.where(np.random.default_rng(5).random((30, 4)) < 0.5, DENSE.X, 0.0)), DENSE.y)
FALSE_ALARM = 1e-6  # of each test below that draws a sample
STEPS = 25


@dc.dataclass(frozen=True)
class Run:
    """The arguments of one call of the loop."""

    key: str = "logistic"
    rate: float = 0.0
    lam: float = 0.0
    step: float = 0.5
    decaying: bool = True
    sigma: float = 0.3
    radius: float = 0.8
    idle: int = 0

    @property
    def loss(self) -> Loss:
        return get_loss(self.key)


def compiled(run: Run, data: Data, seed: int, *, steps: int = STEPS, first: int = 1, keep=(), stored: int = 0):
    """(last, average, kept, norm of the idle part) of the compiled loop."""
    keep = np.array(keep, np.int64)
    stored = stored or data.stored
    theta, sums, idle, kept = np.zeros((1, stored)), np.zeros((1, stored)), np.zeros(1), np.empty((len(keep), stored))
    kernels.stochastic_descent(
        kernels.DERIVATIVE[run.key], kernels.records_of(data.X), data.y, run.loss.shape, not run.loss.linear, run.lam,
        np.array([run.step]), run.decaying, run.rate, np.array([run.sigma]), run.radius, 2.0, run.idle,
        np.random.default_rng(seed), 0, steps, theta, idle, first, sums, keep, kept, np.empty((0, stored)),
    )  # fmt: skip
    return theta[0], sums[0] / (steps - first + 1), kept, idle[0]


def reference(run: Run, data: Data, seed: int, steps: int = STEPS):
    """All iterates [steps, r] and the norms of the idle part [steps], in plain Python, with numpy's own draws."""
    rng, n = np.random.default_rng(seed), data.n
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    theta, idle = np.zeros(data.stored), 0.0
    path, idles = [], []
    for t in range(1, steps + 1):
        eta = run.step / np.sqrt(t) if run.decaying else run.step
        if run.rate == 0.0:
            batch, share = [int(n * rng.random())], 1.0
        else:
            batch, share = draw_batch(run.rate, n, rng), 1.0 / (run.rate * n)
        gradient, idle_gradient = run.lam * theta, run.lam * idle
        for i in batch:
            away = theta - X[i]
            z = X[i] @ theta if run.loss.linear else np.hypot(np.linalg.norm(away), idle)
            slope = run.loss.derivative(np.array([z]), data.y[i : i + 1])
            if run.loss.linear:
                gradient = gradient + share * slope[0] * X[i]
            elif z > 0.0:
                gradient = gradient + share * slope[0] / z * away
                idle_gradient += share * slope[0] / z * idle
        if run.sigma:
            gradient = gradient + run.sigma * rng.standard_normal(len(theta))
        theta = theta - eta * gradient
        if run.idle and run.sigma:
            along = idle - eta * idle_gradient + eta * run.sigma * rng.standard_normal()
            across = rng.chisquare(run.idle - 1) if run.idle > 1 else 0.0
            idle = np.sqrt(along**2 + (eta * run.sigma) ** 2 * across)
        scale = min(1.0, run.radius / max(np.hypot(np.linalg.norm(theta), idle), 1e-300))
        theta, idle = scale * theta, scale * idle
        path.append(theta)
        idles.append(idle)
    return np.array(path), np.array(idles)


def draw_batch(rate: float, n: int, rng: np.random.Generator) -> list[int]:
    if rate == 1.0:
        return list(range(n))
    batch, i = [], -1
    while True:
        i += 1 + int(np.log1p(-rng.random()) / np.log1p(-rate))
        if i >= n:
            return batch
        batch.append(i)


ALL_STEPS = range(1, STEPS + 1)
CASES = [
    *(Run(key=key, rate=rate) for key in ("logistic", "squared", "smooth_median") for rate in (0.0, 0.3, 1.0)),
    *(Run(key=key, radius=1e3) for key in ("huber_hinge", "hinge", "huber", "geometric_median")),
    *(
        Run(key=key, rate=0.3, radius=radius, idle=3)
        for key in ("logistic", "geometric_median")
        for radius in (0.8, 1e3)
    ),
    Run(idle=1, key="geometric_median"),
    Run(lam=0.5, decaying=False, idle=2),
    Run(lam=0.5, key="smooth_median", idle=2),
    Run(sigma=0.0, idle=2),
    Run(sigma=-0.3, rate=0.3, idle=2),
]


@pytest.mark.parametrize("data", [DENSE, SPARSE], ids=["dense", "CSR"])
@pytest.mark.parametrize("run", CASES, ids=str)
def test_every_step_is_that_of_a_plain_loop_with_the_same_draws(run, data):
    theta, average, path, idle = compiled(run, data, seed=7, keep=ALL_STEPS)
    expected, idles = reference(run, data, seed=7)
    np.testing.assert_allclose(path, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(theta, expected[-1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(average, expected.mean(axis=0), rtol=1e-9, atol=1e-12)
    assert idle == pytest.approx(idles[-1], rel=1e-9)


def test_the_cases_have_projections_and_steps_without():
    """Without this the test above could miss one of the two."""
    shares = []
    for run in CASES:
        path, idles = reference(run, DENSE, seed=7)
        shares.append(np.mean(np.hypot(np.linalg.norm(path, axis=1), idles) > run.radius * (1 - 1e-9)))
    assert 0.0 in shares and any(0.2 < share < 0.8 for share in shares)


@pytest.mark.parametrize("first", [1, 11, STEPS])
def test_the_average_is_that_of_the_iterates_from_the_first_one_on(first):
    _, average, path, _ = compiled(Run(), DENSE, seed=1, first=first, keep=ALL_STEPS)
    np.testing.assert_allclose(average, path[first - 1 :].mean(axis=0), rtol=1e-12)


def test_kept_iterates_are_those_of_the_steps_asked_for_and_change_nothing():
    theta, _, path, _ = compiled(Run(), DENSE, seed=1, keep=ALL_STEPS)
    other, _, few, _ = compiled(Run(), DENSE, seed=1, keep=[3, 4, 20])
    assert np.array_equal(few, path[[2, 3, 19]]) and np.array_equal(other, theta)


@pytest.mark.parametrize("key", ["logistic", "squared", "smooth_median"])
@pytest.mark.parametrize("data", [DENSE, SPARSE], ids=["dense", "CSR"])
def test_coordinates_beyond_the_records_are_those_of_columns_of_zeros(key, data):
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    wide = Data(np.hstack([X, np.zeros((data.n, 3))]), data.y)
    run = Run(key, rate=0.3)
    followed, whole = compiled(run, data, 5, stored=data.stored + 3)[0], compiled(run, wide, 5)[0]
    np.testing.assert_allclose(followed, whole, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("key", ["squared", "huber_hinge", "smooth_median"])
def test_the_public_function_passes_its_arguments_on(key):
    """Of 3 columns that data does not store one is followed and two are idle."""
    run = Run(key, rate=0.3, lam=0.2, decaying=False, idle=2)
    r = DENSE.stored
    found = noisy_descent(
        run.loss, Data(DENSE.X, DENSE.y, p=r + 3), steps=STEPS, step=run.step, decaying=run.decaying,
        sigma=run.sigma, rate=run.rate, radius=run.radius, lam=run.lam, first=5, keep=np.array([2, 9]), stored=r + 1,
        rng=np.random.default_rng(3),
    )  # fmt: skip
    theta, average, kept, _ = compiled(run, DENSE, seed=3, first=5, keep=[2, 9], stored=r + 1)
    for ours, expected in ((found.last, theta), (found.average, average), (found.kept, kept)):
        assert np.array_equal(ours, expected)


@pytest.mark.parametrize("key, idle", [("logistic", 0), ("geometric_median", 3)])
def test_without_a_ball_idle_columns_matter_to_distances_only(key, idle):
    wide = Data(DENSE.X, DENSE.y, p=DENSE.stored + 3)
    found = noisy_descent(
        get_loss(key), wide, steps=STEPS, step=0.5, decaying=True, sigma=0.3, rng=np.random.default_rng(3)
    )
    expected = compiled(Run(key, radius=np.inf, idle=idle), DENSE, seed=3)[0]
    assert np.array_equal(found.last, expected)


def test_a_distance_has_gradient_zero_at_its_own_record():
    data = Data(np.zeros((3, 2)), np.zeros(3))
    assert np.array_equal(compiled(Run("geometric_median", sigma=0.0), data, seed=0)[0], np.zeros(2))


@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("key", ["logistic", "smooth_median"])
def test_idle_columns_have_the_law_of_columns_of_zeros(key, columns):
    """Kolmogorov-Smirnov on what the two samples of runs say of both parts; false alarms: 2 at 5e-7."""
    run, times, r = Run(key, radius=0.5, idle=columns), 1500, DENSE.stored
    wide = Data(np.hstack([DENSE.X, np.zeros((DENSE.n, columns))]), DENSE.y)
    ends = [compiled(run, DENSE, seed=[columns, 0, k], steps=8) for k in range(times)]
    full = np.array([compiled(dc.replace(run, idle=0), wide, seed=[columns, 1, k], steps=8)[0] for k in range(times)])
    stored, idle = np.array([end[0] for end in ends]), np.array([end[3] for end in ends])
    for ours, expected in ((idle, np.linalg.norm(full[:, r:], axis=1)), (stored[:, 0], full[:, 0])):
        assert stats.ks_2samp(ours, expected).pvalue > FALSE_ALARM / 2


def batches(rate: float, times: int, n: int) -> np.ndarray:
    """Which records entered each step, [times, n]: record i alone moves coordinate i, always with the slope -1."""
    run = Run("hinge", rate=rate, step=1e-6, decaying=False, sigma=0.0, radius=np.inf)
    path = compiled(run, Data(np.eye(n), np.ones(n)), seed=8, steps=times, keep=range(1, times + 1))[2]
    moved = np.diff(path, axis=0, prepend=0.0) * (rate * n if rate else 1.0) / run.step
    np.testing.assert_allclose(moved, moved.round(), atol=1e-6)
    return moved.round().astype(int)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_every_subset_is_as_frequent_as_independent_inclusion_makes_it(rate):
    """Chi-square over all 16 batches of 4 records; false-alarm rate 1e-6."""
    times, n = 100_000, 4
    observed = np.bincount(batches(rate, times, n) @ (1 << np.arange(n)), minlength=2**n)
    sizes = np.array([bin(code).count("1") for code in range(2**n)])
    assert stats.chisquare(observed, times * rate**sizes * (1 - rate) ** (n - sizes)).pvalue > FALSE_ALARM


def test_at_rate_one_every_record_enters_every_step():
    assert (batches(1.0, 50, 4) == 1).all()


def test_single_records_are_uniform_and_independent_from_step_to_step():
    """Chi-square over the 25 pairs of successive indices; false-alarm rate 1e-6."""
    times, n = 100_000, 5
    chosen = batches(0.0, times, n)
    assert (chosen.sum(axis=1) == 1).all()
    index = chosen.argmax(axis=1).reshape(-1, 2)
    counts = [((index == pair).all(axis=1)).sum() for pair in itertools.product(range(n), repeat=2)]
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
