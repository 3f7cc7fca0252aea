"""Runs of stochastic descent that share records and normals, in single precision: they are those of double precision
from the same seed; and what stays in double precision."""

import math
from concurrent.futures import CancelledError

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpcore import Data, kernels
from dpcore.core.losses import get_loss
from dpcore.solvers.descent import noisy_sgd
from dpcore.solvers.descent.noisy_sgd import coupled_descents, noisy_descent
from tests.solvers.test_stochastic import DENSE, SPARSE, Run

KEYS = ("logistic", "huber_hinge", "huber")
STEP, SIGMA = np.array([0.5, 0.2, 0.5, 0.9]), np.array([0.3, 0.1, -0.3, 1.0])


def coupled(run: Run, data: Data, seed, *, steps=25, first=1, step=STEP, sigma=SIGMA, cancelled=lambda: False):
    """The averages of one call; run.idle columns beyond those that data stores."""
    return coupled_descents(
        run.loss, Data(data.X, data.y, p=data.stored + run.idle), steps=steps, step=step, decaying=run.decaying,
        sigma=sigma, rng=np.random.default_rng(seed), radius=run.radius, rate=run.rate, lam=run.lam, first=first,
        cancelled=cancelled,
    )  # fmt: skip


def alone(run: Run, data: Data, seed, *, steps=25, first=1, step=STEP, sigma=SIGMA):
    """The same averages, each of a run of its own in double precision."""
    wide = Data(data.X, data.y, p=data.stored + run.idle)
    args = {"first": first, "decaying": run.decaying, "radius": run.radius, "rate": run.rate}
    args |= {"steps": steps, "lam": run.lam}
    runs = [
        noisy_descent(run.loss, wide, step=eta, sigma=noise, rng=np.random.default_rng(seed), **args)
        for eta, noise in zip(step, sigma, strict=True)
    ]
    return np.stack([each.average for each in runs])


@pytest.mark.parametrize(
    "run",
    [
        *(Run(key=key, rate=rate) for key in KEYS for rate in (0.0, 0.3, 1.0)),
        Run(rate=0.01),
        Run(radius=1e3),
        Run(radius=math.inf, rate=0.3),
        Run(lam=0.5, decaying=False),
        *(Run(lam=lam, rate=rate, idle=idle) for lam, rate, idle in ((0.0, 0.0, 1), (0.5, 0.3, 2), (0.5, 0.0, 40))),
    ],
    ids=str,
)
def test_every_run_is_that_of_double_precision_with_the_same_draws(run, monkeypatch):
    """Last iterates and averages, also from several calls. Power: other noise, by 1%, is not let through.

    A batch at rate 0.01 is empty in three of four steps.
    """
    monkeypatch.setattr(noisy_sgd, "_CALL_STEPS", 10)
    for steps in (1, 2, 3, 25):
        for first in (1, steps):
            found, expected = (way(run, DENSE, 7, steps=steps, first=first) for way in (coupled, alone))
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    other = coupled(run, DENSE, 7, first=25, sigma=1.01 * SIGMA)
    assert not np.allclose(other[0], alone(run, DENSE, 7, first=25)[0], rtol=1e-4, atol=1e-6)


def test_a_run_without_noise_sees_the_records_of_the_others():
    """Opposite noise averages to it where steps are affine: residuals stay within the Huber loss's parabola."""
    run = Run("huber", rate=0.3, radius=math.inf, idle=2)
    small = Data(0.1 * DENSE.X, 0.1 * DENSE.y)
    plus, minus, without = coupled(run, small, 4, step=np.full(3, 0.5), sigma=np.array([0.2, -0.2, 0.0]))
    np.testing.assert_allclose(0.5 * (plus + minus), without, atol=1e-6)
    assert np.linalg.norm(plus - minus) > 0.01


def test_without_noise_long_descents_agree_with_double_precision():
    """10,000 projected steps on single records."""
    run = Run(radius=0.4)
    found, expected = (way(run, DENSE, 2, steps=10_000, first=10_000, sigma=np.zeros(4)) for way in (coupled, alone))
    assert np.allclose(np.linalg.norm(expected, axis=1), 0.4)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


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
    found, expected = (way(run, data, 3, steps=40, first=11) for way in (coupled, alone))
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("step, sigma", [(1e-10, 0.1), (1e10, 0.1), (0.5, 1e-10), (0.5, 1e10)])
def test_moves_beyond_the_range_of_single_precision_take_double(step, sigma):
    asked = {"steps": 5, "step": np.array([0.5, step]), "sigma": np.array([0.1, sigma])}
    found, expected = (way(Run(decaying=False), DENSE, 3, **asked) for way in (coupled, alone))
    assert np.array_equal(found, expected)


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
