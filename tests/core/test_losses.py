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


SMOOTH = ("logistic", "huber_hinge", "squared", "huber")


def corrections(key, step, reach, apart, y_max):
    """|l'(z + eta (w - z); y) - (1 - eta) l'(z; y)| at 20,000 random and as many regular pairs z, w.

    Each with labels at both ends and, for numbers, those that put a bend of Huber loss at one of both predictions."""
    loss, rng, line = get_loss(key), np.random.default_rng(1), np.linspace(-1.0, 1.0, 141)
    pairs = np.concatenate([np.stack(np.meshgrid(line, line)).reshape(2, -1), rng.uniform(-1.0, 1.0, (2, 20_000))], 1)
    z, w = reach * pairs
    w = np.clip(w, z - apart, z + apart)
    after = z + step * (w - z)
    bends = [] if loss.classification else [at + side for at in (z, after) for side in (-loss.shape, loss.shape)]
    top = 1.0 if loss.classification else y_max
    labels = [np.clip(y, -top, top) for y in (0.0 * z - top, 0.0 * z + top, *bends)]
    return np.abs([loss.derivative(after, y) - (1.0 - step) * loss.derivative(z, y) for y in labels])


@pytest.mark.parametrize("key", SMOOTH)
def test_no_correction_is_larger_than_the_bound_which_is_attained(key):
    """For steps from 0.001 to 1 and sets from far within a bend of the loss to far beyond; over |w - z| <= 2 reach it
    is the maximum, up to the gaps of the places. With less room between z and w it is no larger, and still the maximum
    but for logistic loss."""
    rng, loss, shares = np.random.default_rng(3), get_loss(key), []
    for _ in range(40):
        step, reach, y_max = 10 ** rng.uniform(-3, 0), 10 ** rng.uniform(-1.5, 1.0), 10 ** rng.uniform(-1, 1)
        most = float(loss.largest_correction(step, reach, 2 * reach, y_max))
        shares.append(corrections(key, step, reach, 2 * reach, y_max).max() / most)
        apart = reach * rng.uniform(0.05, 1.95)
        nearer = float(loss.largest_correction(step, reach, apart, y_max))
        share = corrections(key, step, reach, apart, y_max).max() / nearer
        assert (0.6 if key == "logistic" else 0.9) < share <= 1 + 1e-9 and nearer <= most
    assert max(shares) <= 1 + 1e-9 and min(shares) > 0.9 and np.median(shares) > 0.99


def test_corrections_of_given_records():
    """By hand: squared loss eta L; both slopes of Huber loss, or one of the hinge, where a step crosses the bend."""
    assert get_loss("squared").largest_correction(0.1, 2.0, 4.0, 1.0) == pytest.approx(0.1 * 2 * 3)
    assert get_loss("huber").largest_correction(0.1, 100.0, 200.0, 1.0) == pytest.approx(1.9)
    assert get_loss("huber_hinge").largest_correction(0.1, 100.0, 200.0, 1.0) == pytest.approx(1.0)
    assert get_loss("huber_hinge").largest_correction(0.1, 0.4, 0.8, 1.0) == pytest.approx(0.1), "its slope is 1"
    logistic = get_loss("logistic").largest_correction(np.array([1e-9, 1.0]), 1.0, 2.0, 1.0)
    assert logistic == pytest.approx([0.75e-9, 1 / (1 + math.exp(-1.0))], rel=1e-8)
