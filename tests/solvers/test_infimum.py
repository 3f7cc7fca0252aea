"""The infimum of the unregularised risk over all models, against linear programs, plain formulas and what it claims."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from dpcore import Data
from dpcore.core.losses import get_loss
from dpcore.solvers import infimum, minimise_in_ball
from tests.problems import KINKED, LINEAR, LOCATION, for_loss, random_records
from tests.solvers.objectives import plain_objective, sparse

REACH = 1e3
every_loss = pytest.mark.parametrize("key", LINEAR)


def drawn(key, seed):
    """Records of many kinds: few and many, with zeros, with equal columns, on a grid, separable or not."""
    rng = np.random.default_rng([seed, len(key)])
    n, p = int(rng.integers(2, 50)), int(rng.integers(1, 9))
    X = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-1.5, 0.0, p)
    if seed % 4 == 1:
        X = np.where(rng.random((n, p)) < 0.5, 0.0, X)
    if seed % 4 == 2:
        X[:, : p // 2] = X[:, :1]
    if seed % 4 == 3:
        X = np.round(2.0 * X) / 2.0
    X /= max(1.0, np.linalg.norm(X, axis=1).max())
    y = np.where(X @ rng.normal(size=p) >= 0.0, 1.0, -1.0)
    y = np.where(rng.random(n) < 0.2 * (seed % 3), -y, y)
    return for_loss(key, Data(X, y))


def largest_margin(data):
    """max over |theta_j| <= 1 of min_i y_i <x_i, theta>."""
    p = data.p
    rows = np.hstack([-data.y[:, None] * data.X, np.ones((data.n, 1))])
    bounds = [(-1.0, 1.0)] * p + [(None, None)]
    return -linprog(np.append(np.zeros(p), -1.0), rows, np.zeros(data.n), bounds=bounds).fun


def independent_infimum(key, data):
    """By a linear program for losses with kinks, least squares, or quasi-Newton steps on the plain formula."""
    loss, (n, p) = get_loss(key), data.X.shape
    if key == "squared":
        residuals = data.X @ np.linalg.lstsq(data.X, data.y)[0] - data.y
        return float(np.mean(residuals**2))
    if key not in KINKED:
        options = {"gtol": 1e-12, "ftol": 1e-16, "maxiter": 20_000, "maxfun": 100_000}
        return minimize(
            lambda t: plain_objective(loss, data, 0.0, t), np.zeros(p), jac=True, method="L-BFGS-B", options=options
        ).fun
    if key == "hinge":
        rows, least = np.hstack([data.y[:, None] * data.X, np.eye(n)]), np.ones(n)
    else:
        rows = np.block([[data.X, np.eye(n)], [-data.X, np.eye(n)]])
        least = np.concatenate([data.y, -data.y])
    weights = np.concatenate([np.zeros(p), np.full(n, 1.0 / n)])
    return linprog(weights, -rows, -least, bounds=[(None, None)] * p + [(0.0, None)] * n).fun


@every_loss
def test_no_model_is_better_and_the_model_found_is_as_good(key):
    """Against an independent optimiser, and against models of every length, most of them near the best one."""
    loss, rng = get_loss(key), np.random.default_rng(0)
    for seed in range(40):
        data = drawn(key, seed)
        found = infimum(loss, data, REACH)
        assert found.gap <= 5e-9 and found.radius == np.inf
        risk = plain_objective(loss, data, 0.0, found.theta)[0]
        assert found.risk == pytest.approx(risk, rel=1e-12) or not found.attained
        # Where it is approached at infinity only, the other optimiser stops on its way.
        assert -found.gap - 1e-9 <= independent_infimum(key, data) - found.risk <= 1e-4
        lengths = 10.0 ** rng.uniform(-3.0, 7.0, 60)
        ways = rng.normal(size=(60, data.p)) * 10.0 ** rng.uniform(-9.0, 1.0, (60, 1)) + found.theta
        others = ways * (lengths / np.linalg.norm(ways, axis=1))[:, None]
        for other in [*others, *(found.theta + 1e-3 * others / lengths[:, None])]:
            allowed = found.gap * max(1.0, np.linalg.norm(other) / REACH) + 1e-13
            assert plain_objective(loss, data, 0.0, other)[0] >= found.risk - allowed


@pytest.mark.parametrize("key", [key for key in LINEAR if get_loss(key).classification])
def test_records_are_called_separated_where_they_are_and_only_there(key):
    """A linear program decides; the infimum is then 0 exactly, and logistic loss does not attain it."""
    kinds = set()
    for seed in range(60):
        data = drawn(key, seed)
        margin = largest_margin(data)
        found = infimum(get_loss(key), data, REACH)
        if 0.0 < margin < 1e-6:
            continue  # too close for the program
        kinds.add(margin > 0.0)
        assert (found.risk == 0.0) == (margin > 0.0)
        assert found.attained == (margin <= 0.0 or key != "logistic")
        if margin > 0.0:
            assert found.gap == 0.0 and (data.y * (data.X @ found.theta)).min() > 0.0
    assert kinds == {True, False}


def test_the_infimum_is_found_where_only_some_records_can_be_separated():
    """Two records contradict each other; a third is right the more, the longer the model."""
    data = Data([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, -1.0, 1.0])
    expected = {"logistic": 2 * np.log(2) / 3, "huber_hinge": 2 / 3, "hinge": 2 / 3}
    for key, least in expected.items():
        found = infimum(get_loss(key), data, REACH)
        assert found.gap <= 1e-9 and found.risk == pytest.approx(least, abs=1e-9)


@every_loss
def test_a_ball_around_the_model_changes_nothing_and_a_smaller_one_does(key):
    loss, data = get_loss(key), for_loss(key, random_records(120, 6, seed=1))
    found = infimum(loss, data, REACH)
    length = np.linalg.norm(found.theta)
    assert minimise_in_ball(loss, data, 2.0 * length).risk == pytest.approx(found.risk, abs=2e-9)
    assert minimise_in_ball(loss, data, 0.5 * length).risk > found.risk + 1e-4
    assert abs(infimum(loss, sparse(data), REACH).risk - found.risk) <= 2e-9


@pytest.mark.parametrize("key", LOCATION)
def test_no_point_outside_a_ball_of_all_records_is_nearer(key):
    loss, rng = get_loss(key), np.random.default_rng(1)
    data = Data(rng.normal(size=(20, 3)) + 2.0, np.zeros(20))
    found = infimum(loss, data, REACH)
    others = np.concatenate([found.theta + rng.normal(size=(200, 3)) * 10.0 ** rng.uniform(-3, 2, (200, 1)), data.X])
    risks = [loss.value(z, data.y).mean() for z in loss.predictions(data, others)]
    assert found.gap <= 1e-9 and min(risks) >= found.risk - found.gap


def test_degenerate_records_are_solved():
    repeated = Data(np.tile([[0.6, 0.8, 0.0]], (5, 1)), [1, 1, 1, -1, 1])
    for key in LINEAR:
        for data in (repeated, Data(np.zeros((3, 2)), [1, -1, 1]), Data([[1.0], [1.0]], [1, -1])):
            assert infimum(get_loss(key), data, REACH).gap <= 1e-9
    with pytest.raises(ValueError, match="reach must be a finite number > 0, got 0"):
        infimum(get_loss("logistic"), repeated, 0.0)
