"""Equal records are solved once, with a weight, and every model is the one of all the copies."""

import dataclasses as dc

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpcore import Data, Problem
from dpcore.core.losses import get_loss
from dpcore.mechanisms import problem as problems
from dpcore.solvers import minimise, minimise_in_ball, minimise_many, penalised, perturbed_minimisers
from dpcore.solvers.descent.noisy_gd import Schedule, gradient_descent
from dpcore.solvers.erm.objective import Objective
from dpcore.solvers.erm.smooth import minimise_smooth, newton
from tests.problems import KINKED, LINEAR

every_smooth_loss = pytest.mark.parametrize("key", sorted(set(LINEAR) - set(KINKED)))
# 500 rows of breast cancer's kind, some drawn often: wide enough for samples of the Hessian and single precision.
X = np.random.default_rng(1).normal(size=(500, 20)) / 5.0
Y = np.sign(X[:, 0] + 0.3 * X[:, 1])
ROWS = (np.random.default_rng(2).random(6_000) ** 3 * 500).astype(int)
COPIES = Data.drawn(X, Y, ROWS)
ONE_BY_ONE = Data(COPIES.X, COPIES.y)


def gradient(loss, theta, lam):
    """Of J over all the copies, from the formula."""
    return loss.derivative(ONE_BY_ONE.X @ theta, ONE_BY_ONE.y) @ ONE_BY_ONE.X / ONE_BY_ONE.n + lam * theta


def test_weights_are_the_shares_of_the_copies():
    merged = COPIES.merged
    assert merged.n < 500 and merged.weights.mean() == pytest.approx(1.0) and merged.weights.max() > 5.0
    for k in range(merged.n):
        copies = np.count_nonzero((merged.X[k] == ONE_BY_ONE.X).all(axis=1))
        assert merged.weights[k] / merged.n == pytest.approx(copies / ONE_BY_ONE.n)
    np.testing.assert_allclose(merged.gram, ONE_BY_ONE.gram, atol=1e-14)


def test_other_records_do_not_inherit_the_copies():
    assert COPIES.merged is not None and dc.replace(COPIES, y=-COPIES.y).merged is None


def test_with_more_columns_they_are_the_same_records_and_know_what_was_computed():
    wide = COPIES.widened(50)
    assert (wide.p, wide.stored, COPIES.p) == (50, 20, 20) and wide.merged is COPIES.merged
    records = Data(csr_array(np.eye(3)[:, [0, 2]] @ np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0]])), np.ones(3))
    norms, fewer = records.row_norms, records.nonempty[1]
    wide = records.widened(5)
    assert wide.row_norms is norms and (fewer.p, wide.nonempty[1].p) == (3, 5)
    with pytest.raises(ValueError, match="p must be an integer >= 3, got 2"):
        records.widened(2)


@every_smooth_loss
@pytest.mark.parametrize("lam", [1e-4, 0.05])
def test_a_minimiser_is_that_of_all_copies_within_its_certificate(key, lam):
    loss = get_loss(key)
    found = minimise(loss, COPIES, lam, tol=1e-9)
    assert np.linalg.norm(gradient(loss, found.theta, lam)) / lam <= found.distance + 1e-12 <= 1.1e-9
    ball = minimise_in_ball(loss, COPIES, radius=0.4)
    assert ball.risk == pytest.approx(minimise_in_ball(loss, ONE_BY_ONE, radius=0.4).risk, abs=2e-9)


@every_smooth_loss
def test_newton_steps_and_diagonals_count_copies(key):
    loss, start = get_loss(key), np.full(20, 0.3)
    whole, merged = Objective(loss, ONE_BY_ONE, 1e-3), Objective(loss, COPIES.merged, 1e-3)
    np.testing.assert_allclose(merged.gradient(start), gradient(loss, start, 1e-3), atol=1e-12)
    np.testing.assert_allclose(merged.mean_squares, whole.mean_squares, rtol=1e-6)
    here, _ = newton(merged, merged.at(start), 1e-10)
    assert np.linalg.norm(gradient(loss, here.theta, 1e-3)) <= 1.1e-10
    near = minimise_smooth(loss, COPIES.merged, 1e-3, 1e-10)  # by quasi-Newton steps
    np.testing.assert_allclose(near.theta, here.theta, atol=1e-6)


@every_smooth_loss
def test_perturbed_models_and_their_risks_are_those_of_all_copies(key):
    loss, lams, scales = get_loss(key), np.array([0.05, 0.05]), np.array([1e-3, 0.02])
    directions = np.random.default_rng(3).normal(size=(4, 20))
    asked = {"start": minimise(loss, COPIES, 0.05, tol=1e-9).theta, "accuracy": 1e-6}
    found = perturbed_minimisers(loss, COPIES, lams, scales, directions, **asked)
    whole = perturbed_minimisers(loss, ONE_BY_ONE, lams, scales, directions, **asked)
    np.testing.assert_allclose(found.thetas, whole.thetas, atol=1e-5)
    np.testing.assert_allclose(found.risks, whole.risks, atol=1e-7)


@every_smooth_loss
def test_many_models_at_once_are_those_of_all_copies(key):
    loss, tilts = get_loss(key), 0.01 * np.random.default_rng(4).normal(size=(3, 20))
    for theta, tilt in zip(minimise_many(loss, COPIES, 0.05, tilts, tol=1e-8, start=np.zeros(20)), tilts, strict=True):
        assert np.linalg.norm(gradient(loss, theta, 0.05) + tilt) <= 1.01 * 0.05 * 1e-8


@pytest.mark.parametrize("key", LINEAR)
@pytest.mark.parametrize("columns", [4, 20])
@pytest.mark.parametrize("single", [False, True])
def test_noisy_descent_follows_the_gradient_of_all_copies(key, columns, single):
    data = Data.drawn(np.ascontiguousarray(X[:, :columns]), Y, ROWS)
    plan = [Schedule(np.full(30, 0.3), noise=0.05, lam=0.01, first=10)]
    found, whole = (
        gradient_descent(
            get_loss(key), each, plan, [np.random.default_rng(5)], np.ones(1), radius=1.0, stored=columns, single=single
        )
        for each in (data, Data(data.X, data.y))
    )
    np.testing.assert_allclose(found, whole, atol=2e-4 if single or key in KINKED else 1e-10)


@pytest.mark.parametrize("by_spread", [True, False])
def test_the_learner_without_privacy_is_that_of_all_copies(by_spread):
    penalty = problems.solvers.Penalty(5.0, by_spread)
    found, whole = (penalised(get_loss("logistic"), data, penalty) for data in (COPIES, ONE_BY_ONE))
    np.testing.assert_allclose(found, whole, atol=5e-3)


def test_copies_of_a_set_learn_with_the_penalty_of_the_set():
    """Copies tell nothing new: the model of 100 times as many records is much the same."""
    one, copied = (Problem("wine", n=n) for n in (125, 12_500))
    split = copied.load()
    assert split.train.merged.n <= 125
    models = [each.learner() for each in (one, copied)]
    right = [np.mean(split.test.y * (split.test.X @ theta) > 0.0) for theta in models]
    assert abs(right[0] - right[1]) <= 0.02
    assert np.linalg.norm(models[0] - models[1]) <= 0.3 * np.linalg.norm(models[0])
