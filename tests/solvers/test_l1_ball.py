"""The smallest risk over an L1 ball: against hand-made problems, general solvers and its own certificate."""

import itertools

import numpy as np
import pytest
from scipy import optimize, sparse

from dpcore import Data
from dpcore.core.losses import get_loss
from dpcore.core.privacy import Unconverged
from dpcore.core.sets import L1Ball
from dpcore.solvers import minimise_on_l1_ball
from dpcore.solvers.frank_wolfe import vertices as fw

LOSSES = ["squared", "huber", "logistic", "huber_hinge"]


def records(n: int, r: int, loss: str = "squared", *, seed: int = 0, kind: str = "signs") -> Data:
    """Signs, y a quarter of four of them and noise; "twice": every column twice; "walks": columns nearly the same."""
    rng = np.random.default_rng([seed, n, r])
    X = rng.choice([-1.0, 1.0], (n, r))
    if kind == "twice":
        X = np.repeat(X[:, : (r + 1) // 2], 2, axis=1)[:, :r]
    if kind == "walks":
        X = np.cumsum(X, axis=1) / r
    y = X[:, :4].sum(axis=1) / 4.0 + rng.uniform(-0.1, 0.1, n)
    if get_loss(loss).classification:
        y = np.where(y + 0.5 * rng.standard_normal(n) > 0.0, 1.0, -1.0)
    return Data(X, y / max(1.0, np.abs(y).max()))


def gap(loss: str, data: Data, size: float, theta: np.ndarray) -> float:
    """<grad F, theta - s> anew from the records, with the smallest <grad F, s> from the dual norm."""
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    gradient = X.T @ get_loss(loss).derivative(X @ theta, data.y) / data.n
    return float(gradient @ theta + size * np.abs(gradient).max())


def test_the_l1_ball_of_an_identity_is_soft_thresholding():
    """KKT by hand: theta_j = max(linear_j - level, 0) with the level that gives the norm, 0.1 for the first."""
    risk = fw.Quadratic(np.eye(3), np.array([1.0, -0.2, 0.05]), 1.0)
    found = minimise_on_l1_ball(risk, 1.0)
    np.testing.assert_allclose(found.theta, [0.9, -0.1, 0.0], atol=1e-9)
    assert found.risk == pytest.approx(0.9**2 + 0.1**2 - 2.0 * (0.9 + 0.02) + 1.0, abs=1e-9) and found.radius == 1.0
    inside = minimise_on_l1_ball(risk, 2.0)
    np.testing.assert_allclose(inside.theta, risk.linear, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_gap_is_what_the_records_say(loss):
    for n, r, size in [(60, 8, 0.01), (60, 8, 1.0), (60, 8, 10.0), (20, 30, 1.0)]:
        data = records(n, r, loss)
        found = minimise_on_l1_ball(fw.risk_of(get_loss(loss), data), size)
        again = gap(loss, data, size, found.theta)
        assert -1e-12 <= again <= 1e-9 + 1e-12 and found.gap == pytest.approx(again, abs=1e-12 * max(1.0, size))
        assert found.risk == pytest.approx(get_loss(loss).value(data.X @ found.theta, data.y).mean(), abs=1e-12)
        nearest = size * L1Ball().project(found.theta / size)
        np.testing.assert_allclose(nearest, found.theta, atol=1e-12 * size)


@pytest.mark.parametrize(
    "size, kind",
    [
        *itertools.product([0.01, 1.0, 10.0, 100.0], ["signs", "twice"]),
        *((size, "walks") for size in (0.01, 1.0)),
        *(pytest.param(size, "walks", marks=pytest.mark.nightly) for size in (10.0, 100.0)),  # half a minute each
    ],
)
def test_the_l1_ball_takes_more_columns_than_records_and_columns_alike(kind, size):
    """Truth on the boundary at size 1, a perfect fit at the largest."""
    data = records(200, 256, kind=kind)
    found = minimise_on_l1_ball(fw.risk_of(get_loss("squared"), data), size)
    assert gap("squared", data, size, found.theta) <= 1e-9 + 1e-11
    assert np.abs(found.theta).sum() <= size * (1.0 + 1e-12)
    if kind == "signs" and size == 100.0:
        assert found.risk <= 1e-10


@pytest.mark.parametrize("loss", ["logistic", "huber"])
@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
def test_a_hundred_columns_of_forty_records_are_fitted_with_any_loss(loss, size):
    """Separable: the minimiser is far away, and Newton's method takes it there."""
    data = records(40, 100, loss)
    found = minimise_on_l1_ball(fw.risk_of(get_loss(loss), data), size)
    assert gap(loss, data, size, found.theta) <= 1e-9 + 1e-12
    assert size < 100.0 or found.risk < 1e-3


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_sparse_records_give_what_dense_ones_give(loss):
    rng = np.random.default_rng(3)
    dense = records(80, 40, loss)
    X = dense.X * (rng.random(dense.X.shape) < 0.1)
    both = [
        minimise_on_l1_ball(fw.risk_of(get_loss(loss), Data(form, dense.y)), 2.0) for form in (X, sparse.csr_array(X))
    ]
    assert both[0].risk == pytest.approx(both[1].risk, abs=2e-9)
    assert gap(loss, Data(X, dense.y), 2.0, both[1].theta) <= 1e-9 + 1e-12


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_general_solver_finds_nothing_better_and_comes_close(loss):
    """Sequential quadratic programming in theta = a - b."""
    data, value, r = records(50, 6, loss), get_loss(loss), 6
    for size in (0.3, 1.5):
        found = minimise_on_l1_ball(fw.risk_of(value, data), size)
        other = optimize.minimize(
            lambda ab: float(value.value(data.X @ (ab[:r] - ab[r:]), data.y).mean()),
            np.full(2 * r, 0.1 * size / r),
            bounds=[(0, None)] * 2 * r,
            constraints=[{"type": "ineq", "fun": lambda ab, size=size: size - ab.sum()}],
            tol=1e-12,
        ).fun
        assert found.risk <= other + 2e-9 and other <= found.risk + 1e-5


def test_what_cannot_be_certified_is_not_returned():
    """Well inside the ball the gap is at least a share of the gradient, and rounding leaves some of that."""
    data = records(60, 8)
    with pytest.raises(Unconverged, match=r"risk over the L1 ball .* certified .*1e-40"):
        minimise_on_l1_ball(fw.risk_of(get_loss("squared"), data), 10.0, tol=1e-40)
