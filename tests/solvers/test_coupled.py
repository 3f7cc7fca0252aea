"""Runs of stochastic descent that share records and normals: each is the run that it would be alone."""

from concurrent.futures import CancelledError

import numpy as np
import pytest

from dpcore import Data
from dpcore.solvers.descent import noisy_sgd
from dpcore.solvers.descent.noisy_sgd import noisy_descent
from tests.solvers.test_stochastic import DENSE, SPARSE, Run

STEP, SIGMA = np.array([0.5, 0.2, 0.5, 0.9]), np.array([0.3, 0.1, -0.3, 1.0])


def coupled(run: Run, data: Data, seed, *, steps=25, first=1, step=STEP, sigma=SIGMA, cancelled=lambda: False):
    """The averages of one call; run.idle columns beyond those that data stores."""
    return noisy_descent(
        run.loss, Data(data.X, data.y, p=data.stored + run.idle), steps=steps, step=step, decaying=run.decaying,
        sigma=sigma, rng=np.random.default_rng(seed), radius=run.radius, rate=run.rate, lam=run.lam, first=first,
        cancelled=cancelled,
    ).average  # fmt: skip


@pytest.mark.parametrize("data", [DENSE, SPARSE], ids=["dense", "CSR"])
@pytest.mark.parametrize(
    "run",
    [
        Run(),
        Run("huber", rate=0.01),  # empty batches in three of four steps
        Run("hinge", rate=1.0, radius=np.inf),
        Run("geometric_median", rate=0.3, idle=3),
        Run(lam=0.5, decaying=False, rate=0.3, idle=40),
    ],
    ids=str,
)
def test_every_run_is_the_one_of_its_own_with_the_same_draws(run, data, monkeypatch):
    """Also from several calls of the loop."""
    wide = Data(data.X, data.y, p=data.stored + run.idle)
    args = {"decaying": run.decaying, "radius": run.radius, "rate": run.rate, "lam": run.lam}
    for steps, first in ((1, 1), (25, 1), (25, 25)):
        alone = [
            noisy_descent(
                run.loss, wide, step=eta, sigma=noise, rng=np.random.default_rng(7), steps=steps, first=first, **args
            ).average
            for eta, noise in zip(STEP, SIGMA, strict=True)
        ]
        for call in (1 << 14, 10):
            monkeypatch.setattr(noisy_sgd, "_CALL_STEPS", call)
            found = coupled(run, data, 7, steps=steps, first=first)
            np.testing.assert_allclose(found, alone, rtol=1e-10, atol=1e-13)


def test_a_run_without_noise_sees_the_records_of_the_others():
    """Opposite noise averages to it where steps are affine: residuals stay within the Huber loss's parabola."""
    run = Run("huber", rate=0.3, radius=np.inf, idle=2)
    small = Data(0.1 * DENSE.X, 0.1 * DENSE.y)
    plus, minus, without = coupled(run, small, 4, step=np.full(3, 0.5), sigma=np.array([0.2, -0.2, 0.0]))
    np.testing.assert_allclose(0.5 * (plus + minus), without, atol=1e-12)
    assert np.linalg.norm(plus - minus) > 0.01


def test_the_reader_may_leave_in_the_middle(monkeypatch):
    """Asked before each call of the loop."""
    monkeypatch.setattr(noisy_sgd, "_CALL_STEPS", 10)
    asked = []
    with pytest.raises(CancelledError):
        coupled(Run(), DENSE, 1, steps=1000, cancelled=lambda: bool(asked.append(1) or len(asked) == 3))
    assert len(asked) == 3
