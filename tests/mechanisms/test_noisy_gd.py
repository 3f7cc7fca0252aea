"""Noisy gradient descent: its scale, what one record can do to a gradient, its likelihood ratios and its limits."""

import dataclasses as dc
import math

import numpy as np
import pytest
from scipy.special import ndtr

from dpcore import Budget, Data, Domain, Spec
from dpcore.accounting.gaussian import gaussian_mu, hockey_stick
from dpcore.core.losses import get_loss
from dpcore.mechanisms.gradient.gd import NoisyGD, schedule_of
from tests.problems import BALL, LOCATION, PROBLEMS, for_loss

BUDGET = Budget(1.0, 1e-5)
every_loss = pytest.mark.parametrize("key", BALL)
DOMAIN = Domain(R=2.0, y_max=0.7)


def plan_for(key="logistic", *, budget=BUDGET, n=50, p=3, lam=0.0, radius=1.5, domain=DOMAIN, **knobs):
    return NoisyGD(**knobs).calibrate(Spec(key, n, p, lam, domain, radius, 4.0), budget)


def extremes(key: str, count: int, seed: int, p: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Records at the border of the domain, in general position and along one axis."""
    loss, rng = get_loss(key), np.random.default_rng(seed)
    X = rng.standard_normal((count, p))
    X[: count // 2, 1:] = 0.0
    X *= DOMAIN.R / np.linalg.norm(X, axis=1, keepdims=True)
    y = rng.choice([-1.0, 1.0], count) * (1.0 if loss.classification else DOMAIN.y_max)
    return X, y if loss.linear else np.zeros(count)


def models(radius: float, count: int, seed: int, p: int = 3) -> np.ndarray:
    """Models of every length up to the radius, half of them along the first axis."""
    rng = np.random.default_rng([seed, 1])
    thetas = rng.standard_normal((count, p))
    thetas[: count // 2, 1:] = 0.0
    lengths = radius * np.append(1.0, rng.random(count - 1))
    return thetas * (lengths / np.linalg.norm(thetas, axis=1))[:, None]


def record_gradients(key: str, X, y, thetas) -> np.ndarray:
    """[records, models, p]: twice the same record is a data set whose F is that record's loss."""
    loss = get_loss(key)
    return np.stack([loss.gradients(Data(X[[i, i]], y[[i, i]]), thetas) for i in range(len(X))])


# Scale and sensitivity


@pytest.mark.pairwise
@every_loss
@pytest.mark.parametrize("steps", [1, 7, 400, "auto"])
def test_the_scale_is_2_G_sqrt_T_over_n_mu(key, steps):
    # Of squared distances theta cancels in the difference of two gradients, 2 (x - x').
    slope = {"squared": 2 * (2.0 * 1.5 + 0.7), "mean": 2 * 2.0}.get(key, 1.0)
    G = slope * (2.0 if key not in LOCATION else 1.0)
    plan = plan_for(key, steps=steps)
    assert plan.scale == pytest.approx(2 * G * math.sqrt(plan.steps) / (50 * gaussian_mu(BUDGET)), rel=1e-12)
    (event,) = plan.ledger
    assert (event.times, event.scale, event.sampling, event.charge) == (plan.steps, plan.scale, "all", 0.0)
    assert event.sensitivity == pytest.approx(2 * G / 50, rel=1e-12)
    mu = event.sensitivity * math.sqrt(event.times) / event.scale
    assert hockey_stick(plan.spent.epsilon, mu) <= plan.spent.delta and plan.spent == BUDGET
    assert plan.mechanism.attack_limit(plan) == pytest.approx(ndtr(mu / 2), rel=1e-12)
    assert plan.mechanism.claimed_curve(plan).mu == pytest.approx(mu, rel=1e-9)


@pytest.mark.shows("privacy", "noisy_gd")
@every_loss
def test_no_replaced_record_moves_the_gradient_beyond_the_sensitivity(key):
    """Neighbours from the border of the domain, at models throughout the ball. Most losses attain twice their largest
    gradient, logistic loss in a large ball only, squared losses never: their two largest gradients are not opposite."""
    assert plan_for(key, n=10, lam=0.3, radius=None).spec.radius == 4.0, "with a regulariser, the ball of theta_norm"
    plan = plan_for(key, n=10, lam=0.3, radius=20.0)
    assert plan.spec.radius == 20.0, "the ball that was asked for, even beyond theta_norm"
    X, y = extremes(key, 60, 3)
    gradients = record_gradients(key, X, y, models(plan.spec.radius, 60, 4)) / 10
    moves = np.linalg.norm(gradients[:, None] - gradients[None], axis=3)
    assert moves.max() <= plan.ledger[0].sensitivity * (1 + 1e-12)
    reached = {"squared": 0.5, "logistic": 0.8}.get(key, 0.99)
    assert moves.max() >= reached * plan.ledger[0].sensitivity


@every_loss
def test_theta_never_leaves_the_ball_that_the_sensitivity_is_proved_for(key):
    data = for_loss(key, PROBLEMS["full rank"])
    plan = plan_for(key, n=data.n, p=data.p, lam=0.1, radius=0.3, step=50.0, domain=Domain(), budget=Budget(0.01, 1e-5))
    thetas, theta = [], np.zeros((4, data.p))
    mechanism = plan.mechanism
    rows = mechanism.transcripts(plan, mechanism.prepare(plan, data), list(map(np.random.default_rng, range(4))))
    for t, gradients in enumerate(np.split(rows, plan.steps, axis=1)):
        theta = schedule_of(plan).after(t, theta, gradients, plan.spec.radius)
        thetas.append(np.linalg.norm(theta, axis=1))
    assert 0.3 * (1 - 1e-9) < np.max(thetas) <= 0.3 * (1 + 1e-12)


# The noise and what leads where


@pytest.mark.parametrize("key", LOCATION)
def test_releases_of_points_know_the_columns_that_no_record_fills(key):
    data = Data(PROBLEMS["two records"].X, np.zeros(2), p=5)
    plan = plan_for(key, n=2, p=5, domain=Domain(), steps=10)
    mechanism = plan.mechanism
    short = mechanism.prepare(plan, data)
    whole = dc.replace(short, theta=np.zeros(5))
    released, all_columns = (mechanism.release(plan, p, np.random.default_rng(1)) for p in (short, whole))
    assert released.shape == (3,) and np.array_equal(released, all_columns[:3])


# Limits
