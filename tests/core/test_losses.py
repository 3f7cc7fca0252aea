"""The constants of the losses as functions of the domain; values and derivatives are tested in test_kernels."""

import math

import numpy as np
import pytest

import dpcore
from dpcore import Data, Domain, Spec
from dpcore.core.losses import LOSSES, get_loss
from dpcore.solvers import minimise
from tests.problems import LINEAR, PROBLEMS, for_loss

every_loss = pytest.mark.parametrize("key", LINEAR)
SQUARED = get_loss("squared")


def squared_spec(lam, *, n=2, R=1.0, y_max=1.0, radius=None) -> Spec:
    return Spec("squared", n, 1, lam, Domain(R=R, y_max=y_max), radius)


def test_an_unknown_loss_is_refused_by_name():
    with pytest.raises(ValueError, match=r"loss must be .*logistic, huber_hinge, .*, mean, got 'zero_one'"):
        get_loss("zero_one")


def test_a_key_from_an_array_of_texts_is_a_key():
    assert get_loss(np.array(["hinge"])[0]) is LOSSES["hinge"]


@every_loss
def test_lipschitz_bounds_the_slope_on_the_whole_domain(key):
    """On every prediction |z| <= R radius and every label, and attained there by squared loss."""
    loss, R, radius, y_max = get_loss(key), 1.5, 4.0, 1.0
    spec = Spec(key, 10, 2, 0.1, Domain(R=R, y_max=y_max), radius)
    z, y = (a.ravel() for a in np.meshgrid(np.linspace(-R * radius, R * radius, 401), [-y_max, -0.3, 0.8, y_max]))
    slope = np.abs(loss.derivative(z, y)).max()
    assert slope <= loss.lipschitz(spec) * (1 + 1e-12)
    assert slope == pytest.approx(loss.lipschitz(spec), rel=0.03)


@pytest.mark.parametrize("lam", [1e-3, 0.05, 1.0, 20.0])
@pytest.mark.parametrize("name", PROBLEMS)
def test_squared_loss_keeps_its_minimiser_where_its_slope_is_bounded(name, lam):
    """J(theta_hat) <= J(0) <= y_max^2, hence ||theta_hat|| <= y_max sqrt(2 / lam)."""
    data = for_loss("squared", PROBLEMS[name])
    theta = minimise(SQUARED, data, lam, tol=1e-9).theta
    assert np.linalg.norm(theta) <= math.sqrt(2 / lam)
    z = data.X @ theta
    assert np.abs(SQUARED.derivative(z, data.y)).max() <= SQUARED.lipschitz(squared_spec(lam))


def test_a_fixed_slope_would_break_the_guarantee_of_squared_loss():
    """Many small records push theta_hat to 7; one record of norm R then pulls with slope 2 (7 + 1), not 2 y_max."""
    n, lam = 4000, 0.01
    X = np.full((n, 1), math.sqrt(n * lam / 2 / (n - 1)))
    X[-1] = 0.0
    pulled = X.copy()
    pulled[-1] = 1.0
    y = np.ones(n)
    against = np.concatenate([y[:-1], [-1.0]])
    plan = dpcore.calibrate("output_gaussian", n=n, p=1, epsilon=1.0, delta=1e-5, loss="squared", lam=lam)
    one, other = (minimise(SQUARED, data, lam, tol=plan.tol).theta for data in (Data(X, y), Data(pulled, against)))
    moved = np.linalg.norm(one - other)
    assert moved <= plan.ledger[0].sensitivity
    assert moved > 2 * 2 / (n * lam), "the slope at theta = 0 would not have been enough"
