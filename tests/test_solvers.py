"""Certificates of the non-private solvers, against an independent optimiser and against what they claim."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dpcore import Data, Unconverged
from dpcore.losses import LOSSES, get_loss
from dpcore.solvers import minimise, minimise_in_ball
from tests.problems import PROBLEMS, random_records

every_problem = pytest.mark.parametrize("data", PROBLEMS.values(), ids=PROBLEMS)
every_loss = pytest.mark.parametrize("loss", [get_loss(key) for key in LOSSES], ids=LOSSES)


def regularised(loss, data, lam, theta):
    z = data.X @ theta
    return loss.value(z, data.y).mean() + lam / 2 * theta @ theta


@every_problem
@every_loss
@pytest.mark.parametrize("lam", [1e-6, 1e-3, 0.1, 3.0])
def test_minimise_certifies_its_gradient(data, loss, lam):
    found = minimise(loss, data, lam, tol=1e-10)
    gradient = data.X.T @ loss.derivative(data.X @ found.theta, data.y) / data.n + lam * found.theta
    assert np.linalg.norm(gradient) == pytest.approx(found.gradient_norm, abs=1e-15)
    assert found.gradient_norm <= 1e-10


@every_problem
@every_loss
def test_minimise_agrees_with_an_independent_optimiser(data, loss):
    lam = 0.01
    found = minimise(loss, data, lam, tol=1e-11)

    def both(theta):
        z = data.X @ theta
        return regularised(loss, data, lam, theta), data.X.T @ loss.derivative(z, data.y) / data.n + lam * theta

    other = minimize(both, np.zeros(data.p), jac=True, method="L-BFGS-B", options={"gtol": 1e-10, "ftol": 1e-16})
    assert regularised(loss, data, lam, found.theta) <= other.fun + 1e-12
    assert np.allclose(found.theta, other.x, atol=1e-4)


@every_problem
@every_loss
def test_the_gradient_norm_bounds_the_distance_to_the_minimiser(data, loss):
    """lam-strong convexity: a rough solution lies within gradient_norm / lam of a much better one."""
    lam = 0.05
    rough, fine = minimise(loss, data, lam, tol=0.02), minimise(loss, data, lam, tol=1e-12)
    reach = (rough.gradient_norm + fine.gradient_norm) / lam
    assert np.linalg.norm(rough.theta - fine.theta) <= reach * (1 + 1e-9)


@every_loss
def test_a_warm_start_changes_the_work_and_not_the_answer(loss):
    data = PROBLEMS["full rank"]
    near = minimise(loss, data, 0.012, tol=1e-11).theta
    cold, warm = minimise(loss, data, 0.01, tol=1e-11), minimise(loss, data, 0.01, tol=1e-11, start=near)
    assert np.allclose(cold.theta, warm.theta, atol=1e-8)
    assert warm.steps <= cold.steps


def test_a_tolerance_out_of_reach_is_refused():
    with pytest.raises(Unconverged, match=r"needs 1e-30; nothing was released"):
        minimise(get_loss("logistic"), PROBLEMS["full rank"], 0.1, tol=1e-30)
    with pytest.raises(Unconverged, match="certified to"):
        minimise_in_ball(get_loss("logistic"), PROBLEMS["full rank"], 10.0, tol=-1.0)


@every_problem
@every_loss
@pytest.mark.parametrize("radius", [0.3, 3.0, 30.0])
def test_ball_minimum_is_feasible_and_its_gap_is_honest(data, loss, radius):
    found = minimise_in_ball(loss, data, radius)
    assert np.linalg.norm(found.theta) <= radius * (1 + 1e-12)
    assert found.risk == pytest.approx(loss.value(data.X @ found.theta, data.y).mean(), rel=1e-13)
    gradient = data.X.T @ loss.derivative(data.X @ found.theta, data.y) / data.n
    assert gradient @ found.theta + radius * np.linalg.norm(gradient) <= 2e-9
    # No projected gradient descent from several starts finds anything better.
    rng = np.random.default_rng(0)
    for _ in range(3):
        theta = rng.standard_normal(data.p)
        for _ in range(400):
            slope = data.X.T @ loss.derivative(data.X @ theta, data.y) / data.n
            theta = theta - slope / loss.curvature_bound
            theta *= min(1.0, radius / np.linalg.norm(theta))
        assert loss.value(data.X @ theta, data.y).mean() >= found.risk - 1e-9


def test_on_separable_data_the_ball_decides():
    """No unregularised minimiser exists: the risk keeps falling with the radius and the optimum sits on the sphere."""
    data = random_records(80, 4, seed=3, separable=True)
    found = [minimise_in_ball(get_loss("logistic"), data, radius) for radius in (1.0, 10.0, 100.0)]
    assert found[0].risk > found[1].risk > found[2].risk
    assert all(np.linalg.norm(f.theta) == pytest.approx(f.radius, rel=1e-9) for f in found)


def test_a_repeated_record_is_as_good_as_a_weight():
    """Degenerate Hessians (identical rows) do not stop either solver."""
    data = Data(np.tile([[0.6, 0.8]], (5, 1)), [1, 1, 1, -1, 1])
    loss = get_loss("logistic")
    assert minimise(loss, data, 1e-8, tol=1e-10).gradient_norm <= 1e-10
    assert minimise_in_ball(loss, data, 10.0).risk == pytest.approx(-0.8 * np.log(0.8) - 0.2 * np.log(0.2), abs=1e-8)
