"""Runs of stochastic descent that share records and normals, in single precision: a plain twin that draws the same
numbers, the law that double precision has, and what stays in double precision."""

import dataclasses as dc
import itertools
import math
from concurrent.futures import CancelledError

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array

from dpcore import Data, kernels
from dpcore.core.losses import get_loss
from dpcore.solvers.descent import noisy_sgd
from dpcore.solvers.descent.noisy_sgd import coupled_descents, noisy_descent
from tests.counters import normal_pairs, uniforms_at
from tests.problems import random_records
from tests.solvers.test_stochastic import DENSE, SPARSE, Run

FALSE_ALARM = 1e-6
KEYS = ("logistic", "huber_hinge", "huber")
STEP, SIGMA = np.array([0.5, 0.2, 0.5, 0.9]), np.array([0.3, 0.0, -0.3, 1.0])


def coupled(run: Run, data: Data, seed, *, steps=25, first=1, step=STEP, sigma=SIGMA, cancelled=lambda: False):
    """The averages of one call; run.idle columns beyond those that data stores."""
    return coupled_descents(
        run.loss, Data(data.X, data.y, p=data.stored + run.idle), steps=steps, step=step, decaying=run.decaying,
        sigma=sigma, rng=np.random.default_rng(seed), radius=run.radius, rate=run.rate, lam=run.lam, first=first,
        cancelled=cancelled,
    )  # fmt: skip


def twin(run: Run, data: Data, seed, *, steps=25, step=STEP, sigma=SIGMA):
    """All iterates [steps, M, r] in float64 numpy, with the uniforms and normals of the counters."""
    rng, n, r = np.random.default_rng(seed), data.n, data.stored
    call = min(noisy_sgd._CALL_STEPS, int(noisy_sgd._CALL_NUMBERS / (r * max(1.0, run.rate * n))))
    key = rng.integers(1 << 32, size=2, dtype=np.uint32)
    block = max(1, 2048 // r)
    pairs = -(-block * r // 2)
    theta, idle, path = np.zeros((len(step), r)), np.zeros(len(step)), []
    for high, start in enumerate(range(0, steps, call)):
        length = min(call, steps - start)
        along = rng.standard_normal(call) if run.idle else np.zeros(call)
        across = rng.chisquare(run.idle - 1, call) if run.idle > 1 else np.zeros(call)
        uniforms = iter(uniforms_at(np.arange(length * (n + 1)), high, *key))
        for k in range(length):
            eta = step / math.sqrt(start + k + 1) if run.decaying else step
            if k % block == 0:
                g = normal_pairs(k // block * pairs + np.arange(pairs), high, *key).ravel()[: block * r].reshape(-1, r)
            batch = draw_batch(run.rate, n, uniforms)
            share = 1.0 / (run.rate * n) if run.rate else 1.0
            slopes = [run.loss.derivative(theta @ data.X[i], np.full(len(step), data.y[i])) for i in batch]
            gradient = sum(np.outer(share * slope, data.X[i]) for i, slope in zip(batch, slopes, strict=True))
            theta = theta - eta[:, None] * (gradient + run.lam * theta + sigma[:, None] * g[k % block])
            noise = eta * sigma
            idle = np.hypot((1.0 - eta * run.lam) * idle + noise * along[k], noise * math.sqrt(across[k]))
            back = np.minimum(1.0, run.radius / np.maximum(np.hypot(np.linalg.norm(theta, axis=1), idle), 1e-300))
            theta, idle = back[:, None] * theta, back * idle
            path.append(theta)
    return np.array(path)


def draw_batch(rate: float, n: int, uniforms) -> list[int]:
    if rate == 0.0:
        return [int(n * next(uniforms))]
    if rate == 1.0:
        return list(range(n))
    batch, i = [], -1
    while True:
        i += 1 + min(n, int(math.log1p(-next(uniforms)) / math.log1p(-rate)))
        if i >= n:
            return batch
        batch.append(i)


CASES = [
    *(Run(key=key, rate=rate) for key in KEYS for rate in (0.0, 0.3, 1.0)),
    Run(rate=0.01),
    Run(radius=1e3),
    Run(radius=math.inf, rate=0.3),
    Run(lam=0.5, decaying=False),
    *(Run(lam=lam, rate=rate, idle=idle) for lam, rate, idle in ((0.0, 0.0, 1), (0.5, 0.3, 2), (0.5, 0.0, 40))),
]


@pytest.mark.parametrize("run", CASES, ids=str)
def test_every_step_is_that_of_a_plain_loop_with_the_same_draws(run):
    """In float64; step by step through the averages of ever longer runs. Power: other noise, by 1%, is not let through.

    A batch at rate 0.01 is empty in three of four steps.
    """
    expected = twin(run, DENSE, 7)
    for steps in (1, 2, 3, 10, 25):
        last, mean = (coupled(run, DENSE, 7, steps=steps, first=first) for first in (steps, 1))
        np.testing.assert_allclose(last, expected[steps - 1], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(mean, expected[:steps].mean(axis=0), rtol=1e-4, atol=1e-6)
    other = coupled(run, DENSE, 7, first=25, sigma=1.01 * SIGMA)
    assert not np.allclose(other[0], expected[-1][0], rtol=1e-4, atol=1e-6)


def test_the_cases_have_projections_and_steps_without():
    """Without this the test above could miss one of the two."""
    shares = [np.mean(np.linalg.norm(twin(run, DENSE, 7), axis=2) > 0.8 * (1 - 1e-9)) for run in CASES]
    assert 0.0 in [round(share, 2) for share in shares] and any(0.2 < share < 0.8 for share in shares)


@pytest.mark.parametrize("columns", [1, 3, 5])
def test_calls_and_blocks_follow_each_other(columns, monkeypatch):
    """1,500 steps, in calls of 700 and blocks of 2048 // columns; an odd number of normals leaves one over."""
    monkeypatch.setattr(noisy_sgd, "_CALL_STEPS", 700)
    data, run = random_records(30, columns, seed=3), Run(rate=0.05, idle=3)
    expected = twin(run, data, 5, steps=1500)
    found = coupled(run, data, 5, steps=1500, first=1500)
    np.testing.assert_allclose(found, expected[-1], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(coupled(run, data, 5, steps=1500), expected.mean(axis=0), rtol=1e-4, atol=1e-6)


def test_without_noise_long_descents_agree_with_double_precision():
    """10,000 projected steps on single records."""
    run = Run(radius=0.4)
    expected = twin(run, DENSE, 2, steps=10_000, sigma=np.zeros(4))
    found = coupled(run, DENSE, 2, steps=10_000, first=10_000, sigma=np.zeros(4))
    assert np.allclose(np.linalg.norm(expected[-1], axis=1), 0.4)
    np.testing.assert_allclose(found, expected[-1], rtol=1e-4)


def test_steps_below_the_last_digit_are_not_lost():
    """The slope is -1 up to theta = 4.5. A million steps of 2e-8 above 1, where float32 numbers are 1.2e-7 apart."""
    data = Data(np.ones((2, 1)), np.full(2, 5.0))
    args = {"decaying": False, "sigma": np.zeros(1), "lam": 0.0}
    start, steps = 1.0, 1_000_000
    rest = {"steps": steps, "step": np.array([(1.0 + start) / steps]), "first": steps}
    found = coupled_descents(get_loss("huber"), data, rng=np.random.default_rng(0), **args, **rest)
    assert found[0, 0] == pytest.approx(2.0, rel=1e-6)


def test_averages_of_millions_of_iterates_keep_their_digits():
    """All iterates are 1.9: a sum in single precision would take them for 1.875 or 2 from 2^20 on."""
    data, steps = Data(np.ones((2, 1)), np.full(2, 5.0)), 2_000_000
    found = coupled_descents(
        get_loss("huber"), data, steps=steps, step=np.array([3.0]), decaying=False, sigma=np.zeros(1), radius=1.9,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    assert found[0, 0] == pytest.approx(1.9, rel=1e-6)


def test_each_run_is_what_it_is_without_the_others_up_to_rounding():
    together = coupled(Run(rate=0.3, idle=2), DENSE, 4, first=25)
    for m in range(4):
        alone = coupled(Run(rate=0.3, idle=2), DENSE, 4, first=25, step=STEP[m : m + 1], sigma=SIGMA[m : m + 1])
        np.testing.assert_allclose(alone[0], together[m], rtol=1e-5, atol=1e-7)


def test_opposite_noise_averages_to_the_run_without_where_steps_are_affine():
    """Residuals stay within the Huber loss's parabola; other records would not do."""
    run = Run("huber", rate=0.3, radius=math.inf, idle=2)
    small = Data(0.1 * DENSE.X, 0.1 * DENSE.y)
    plus, minus, without = coupled(run, small, 4, step=np.full(3, 0.5), sigma=np.array([0.2, -0.2, 0.0]))
    np.testing.assert_allclose(0.5 * (plus + minus), without, atol=1e-6)
    assert np.linalg.norm(plus - minus) > 0.01


def test_a_seed_gives_the_same_runs_and_another_one_others():
    first, again, other = (coupled(Run(rate=0.3, idle=2), DENSE, seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again) and not np.allclose(first, other, rtol=1e-2)


@pytest.mark.parametrize("idle", [1, pytest.param(2, marks=pytest.mark.nightly), 5])
def test_idle_columns_have_the_law_of_columns_of_zeros(idle):
    """Kolmogorov-Smirnov on lengths and on a coordinate of the two samples."""
    run, times = Run(radius=0.5, idle=idle), 1000
    wide = Data(np.hstack([DENSE.X, np.zeros((DENSE.n, idle))]), DENSE.y)
    args = {"steps": 8, "first": 8, "step": np.array([0.5]), "sigma": np.array([0.3])}
    short = np.array([coupled(run, DENSE, [idle, 0, k], **args)[0] for k in range(times)])
    full = np.array([coupled(dc.replace(run, idle=0), wide, [idle, 1, k], **args)[0] for k in range(times)])
    for ours, expected in ((short, full[:, : DENSE.stored]), (short[:, :1], full[:, :1])):
        ends = [np.linalg.norm(x, axis=1) * np.sign(x[:, 0]) for x in (ours, expected)]
        assert stats.ks_2samp(*ends).pvalue > FALSE_ALARM / 2


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_mean_risks_are_those_of_double_precision(rate):
    """Of 1,250 pairs of opposite noise each; a false alarm has probability 1e-6. Power: noise 10% too large is caught.

    Beside the risk the squared distance within a pair: it feels a share of the noise twice.
    """
    pairs, steps, sigma = 1_250, 900 if rate == 0.0 else 100, 0.5
    run = Run(radius=20.0, rate=rate)

    def figures(thetas: np.ndarray) -> np.ndarray:
        """[pairs, 2]: mean risk of a pair and its squared distance."""
        z = thetas @ DENSE.X.T
        risks = run.loss.value(z.ravel(), np.tile(DENSE.y, len(z))).reshape(pairs, -1).mean(axis=1)
        return np.stack([risks, ((thetas[::2] - thetas[1::2]) ** 2).sum(axis=1)], axis=1)

    def single(by: float) -> np.ndarray:
        sides = by * sigma * np.array([1.0, -1.0])
        args = {"steps": steps, "first": steps, "step": np.ones(2), "sigma": sides}
        return figures(np.concatenate([coupled(run, DENSE, [1, k], **args) for k in range(pairs)]))

    args = {"steps": steps, "step": 1.0, "decaying": True, "radius": 20.0, "rate": rate}
    double = figures(
        np.stack([
            noisy_descent(run.loss, DENSE, sigma=side, rng=np.random.default_rng([2, k]), **args).last
            for k, side in itertools.product(range(pairs), (sigma, -sigma))
        ])
    )  # fmt: skip

    def score(ours: np.ndarray) -> float:
        spread = np.sqrt((ours.var(axis=0, ddof=1) + double.var(axis=0, ddof=1)) / pairs)
        return float(np.abs((ours.mean(axis=0) - double.mean(axis=0)) / spread).max())

    limit = stats.norm.isf(FALSE_ALARM / 4)
    assert score(single(1.0)) < limit
    assert score(single(1.1)) > limit


@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_every_subset_is_as_frequent_as_independent_inclusion_makes_it(rate):
    """As in test_stochastic: chi-square over all 16 batches of 4 records, each of a run of its own without noise."""
    times, n = 8_000, 4
    y = np.full(n, 100.0)  # slope -1 everywhere
    data, counts = Data(np.eye(n), y), np.zeros(2**n, int)
    for seed in range(times):
        found = coupled_descents(
            get_loss("huber"), data, steps=1, step=np.ones(1), decaying=False, sigma=np.zeros(1),
            rng=np.random.default_rng([7, seed]), rate=rate,
        )  # fmt: skip
        counts[int((found[0] > 0.0) @ (1 << np.arange(n)))] += 1
    sizes = np.array([bin(code).count("1") for code in range(2**n)])
    assert stats.chisquare(counts, times * rate**sizes * (1 - rate) ** (n - sizes)).pvalue > FALSE_ALARM


# What stays in double precision


@pytest.mark.parametrize(
    "run, data",
    [
        (Run("squared"), DENSE),
        (Run("hinge"), DENSE),
        (Run("smooth_median", idle=2), DENSE),
        (Run(), SPARSE),
        (Run(), Data(csr_array(DENSE.X), DENSE.y)),
        (Run(), Data(1e-10 * DENSE.X, DENSE.y)),
        (Run(), Data(1e10 * DENSE.X, DENSE.y)),
        (Run(radius=1e-12), DENSE),
        (Run("huber"), Data(DENSE.X, 1e6 * DENSE.y)),
    ],
    ids=str,
)
def test_where_single_precision_would_not_do_runs_are_those_of_double_precision(run, data):
    found = coupled(run, data, 3, steps=40, first=11)
    for m in range(4):
        args = {"step": STEP[m], "sigma": SIGMA[m], "decaying": True, "radius": run.radius, "first": 11, "steps": 40}
        wide = Data(data.X, data.y, p=data.stored + run.idle)
        assert np.array_equal(found[m], noisy_descent(run.loss, wide, rng=np.random.default_rng(3), **args).average)


@pytest.mark.parametrize("step, sigma", [(1e-10, 0.1), (1e10, 0.1), (0.5, 1e-10), (0.5, 1e10)])
def test_moves_beyond_the_range_of_single_precision_take_double(step, sigma):
    args = {"steps": 5, "decaying": False}
    found = coupled_descents(
        get_loss("logistic"), DENSE, step=np.array([0.5, step]), sigma=np.array([0.1, sigma]),
        rng=np.random.default_rng(3), **args,
    )  # fmt: skip
    rng = np.random.default_rng(3)
    alone = noisy_descent(get_loss("logistic"), DENSE, step=step, sigma=sigma, rng=rng, **args)
    assert np.array_equal(found[1], alone.average)


@pytest.mark.parametrize("key", ["logistic", "squared"])
def test_the_reader_may_leave_in_the_middle(key, monkeypatch):
    """Asked before each call of the kernel, or before each run in double precision."""
    monkeypatch.setattr(noisy_sgd, "_CALL_STEPS", 10)
    asked = []
    with pytest.raises(CancelledError):
        coupled(Run(key), DENSE, 1, steps=1000, cancelled=lambda: bool(asked.append(1) or len(asked) == 3))
    assert len(asked) == 3


def test_losses_in_single_precision_are_of_linear_predictions_with_bounded_slope():
    """What the kernel takes for granted."""
    assert set(kernels.SINGLE_DERIVATIVE) == set(KEYS)
    assert all(get_loss(key).linear and get_loss(key).slope == 1.0 for key in KEYS)
