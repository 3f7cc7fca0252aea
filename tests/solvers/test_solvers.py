"""Certificates of the non-private solvers, against independent optimisers, plain formulas and what they claim."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

from dpcore import Data, Unconverged
from dpcore.core.losses import get_loss
from dpcore.core.roots import find_root
from dpcore.solvers import erm, minimise, minimise_in_ball, tolerance
from dpcore.solvers.erm import nonsmooth, smooth
from tests.problems import KINKED, LINEAR, PROBLEMS, random_records
from tests.solvers.objectives import SMALL, plain_objective, sparse

every_problem = pytest.mark.parametrize("data", PROBLEMS.values(), ids=PROBLEMS)
every_loss = pytest.mark.parametrize("loss", [get_loss(key) for key in LINEAR], ids=LINEAR)
SMOOTH = [get_loss(key) for key in LINEAR if key not in KINKED]
every_smooth_loss = pytest.mark.parametrize("loss", SMOOTH, ids=[loss.key for loss in SMOOTH])


def independent_minimum(loss, data, lam, radius):
    """The minimum of J over the ball by sequential quadratic programming; with kinks, a slack for each record."""
    n, p = data.X.shape
    ball = {
        "type": "ineq",
        "fun": lambda t: radius**2 - t[:p] @ t[:p],
        "jac": lambda t: -2 * np.eye(len(t))[:p].T @ t[:p],
    }
    options = {"ftol": 1e-15, "maxiter": 1000}
    if loss.key not in KINKED:
        found = minimize(
            lambda t: plain_objective(loss, data, lam, t),
            np.zeros(p),
            jac=True,
            method="SLSQP",
            constraints=[ball],
            options=options,
        )
        return found.x[:p]
    if loss.key == "hinge":
        rows, least = np.hstack([data.y[:, None] * data.X, np.eye(n)]), np.ones(n)
    else:
        rows = np.block([[data.X, np.eye(n)], [-data.X, np.eye(n)]])
        least = np.concatenate([data.y, -data.y])
    margin = {"type": "ineq", "fun": lambda t: rows @ t - least, "jac": lambda t: rows}
    found = minimize(
        lambda t: (t[p:].mean() + lam / 2 * t[:p] @ t[:p], np.concatenate([lam * t[:p], np.full(n, 1 / n)])),
        np.concatenate([np.zeros(p), np.ones(n)]),
        jac=True,
        method="SLSQP",
        constraints=[ball, margin],
        bounds=[(None, None)] * p + [(0.0, None)] * n,
        options=options,
    )
    return found.x[:p]


@pytest.mark.pairwise
@every_problem
@every_smooth_loss
@pytest.mark.parametrize("lam", [1e-8, 1e-3, 0.1, 1e6])
def test_the_distance_is_the_gradient_norm_at_the_returned_theta(data, loss, lam):
    for form in (data, sparse(data)):
        tol = tolerance(loss, 10.0, data.n, lam)
        found = minimise(loss, form, lam, tol=tol)
        _, gradient = plain_objective(loss, data, lam, found.theta)
        assert found.distance <= tol
        assert np.linalg.norm(gradient) == pytest.approx(lam * found.distance, rel=1e-6, abs=1e-13)


@pytest.mark.pairwise
@every_loss
@pytest.mark.parametrize("lam", [0.02, 0.5])
@pytest.mark.parametrize("radius", [None, 0.3, pytest.param(100.0, marks=pytest.mark.nightly)])
def test_minimise_agrees_with_an_independent_optimiser(loss, lam, radius):
    other = independent_minimum(loss, SMALL, lam, radius or 10.0)
    other *= min(1.0, (radius or np.inf) / np.linalg.norm(other))
    for form in (SMALL, sparse(SMALL)):
        found = minimise(loss, form, lam, tol=1e-6, radius=radius)
        ours, theirs = (plain_objective(loss, SMALL, lam, theta)[0] for theta in (found.theta, other))
        assert np.linalg.norm(found.theta) <= (radius or np.inf) * (1 + 1e-12)
        assert abs(ours - theirs) <= 1e-9
        assert np.linalg.norm(found.theta - other) <= found.distance + 1e-4
        if radius == 0.3 and lam == 0.02:
            assert np.linalg.norm(found.theta) == pytest.approx(0.3, rel=1e-9)


@pytest.mark.pairwise
@every_problem
@every_loss
@pytest.mark.parametrize("radius", [None, 0.2, 2.0])
def test_rough_solutions_lie_within_their_distance_of_fine_ones(data, loss, radius):
    """Tolerances of a tenth and less: here a distance that were too small would show."""
    lam = 0.01
    fine = minimise(loss, data, lam, tol=1e-6, radius=radius)
    for tol in (1.0, 0.1, 0.01):
        rough = minimise(loss, data, lam, tol=tol, radius=radius)
        assert rough.distance <= tol
        assert np.linalg.norm(rough.theta - fine.theta) <= rough.distance + fine.distance + 1e-15


@every_smooth_loss
def test_on_the_sphere_the_distance_is_the_residual_of_the_normal_cone(loss):
    found = minimise(loss, SMALL, 0.01, tol=1e-8, radius=0.2)
    _, gradient = plain_objective(loss, SMALL, 0.01, found.theta)
    residuals = [np.linalg.norm(gradient + t * found.theta) for t in np.linspace(0.0, 20.0, 2001)]
    assert found.distance <= 1e-8
    best = -gradient @ found.theta / (found.theta @ found.theta)
    assert np.linalg.norm(gradient + best * found.theta) == pytest.approx(0.01 * found.distance, rel=1e-4, abs=1e-14)
    assert 0.01 * found.distance <= min(residuals)


@pytest.mark.pairwise
@every_problem
@every_loss
@pytest.mark.parametrize("limit", [0, 3])
def test_every_way_to_a_newton_direction_gives_the_same_answer(data, loss, limit, monkeypatch):
    """Conjugate gradients everywhere (no system may be factored), or where both sides of the table exceed three."""
    usual = minimise(loss, data, 1e-3, tol=1e-5)
    monkeypatch.setattr(erm.objective, "MAX_FACTOR", limit)
    monkeypatch.setattr(smooth, "MAX_FACTOR", limit)
    monkeypatch.setattr(nonsmooth, "MAX_FACTOR", limit)
    for form in (data, sparse(data)):
        other = minimise(loss, form, 1e-3, tol=1e-5)
        assert other.distance <= 1e-5
        assert np.linalg.norm(usual.theta - other.theta) <= usual.distance + other.distance + 1e-15


@every_loss
def test_directions_solve_the_newton_system(loss, monkeypatch):
    """Cholesky of the columns, of the records (Woodbury) and conjugate gradients against a dense solve."""
    data = PROBLEMS["more columns than rows"]
    if loss.key in KINKED:
        loss = nonsmooth._Smoothed(nonsmooth.kinks_of(loss, data.y), np.linspace(0.0, 1.0, 30), width=2.0)
    tall = Data(np.ascontiguousarray(data.X[:, :7]), data.y)
    rng = np.random.default_rng(9)
    for table, limit in itertools.product((data, tall), (erm.objective.MAX_FACTOR, 0)):
        monkeypatch.setattr(erm.objective, "MAX_FACTOR", limit)
        theta = rng.standard_normal(table.p)
        z, gradient = table.X @ theta, rng.standard_normal(table.p)
        hessian = (table.X.T * loss.curvature(z, table.y)) @ table.X / table.n + 1e-6 * np.eye(table.p)
        for form in (table, sparse(table)):
            direction = erm.objective.Objective(loss, form, 1e-6).newton_direction(z, gradient, 1e-9)
            assert np.linalg.norm(hessian @ direction + gradient) <= 1e-8 * np.linalg.norm(gradient)


@every_smooth_loss
@pytest.mark.parametrize("lam", [1e-6, 1e-10])
def test_ill_conditioned_records_are_solved_by_conjugate_gradients(loss, lam, monkeypatch):
    """Condition numbers up to 1e10, beyond what a product in single precision resolves."""
    monkeypatch.setattr(erm.objective, "MAX_FACTOR", 0)
    monkeypatch.setattr(smooth, "_MAX_STEPS", 0)
    rng = np.random.default_rng(13)
    common = rng.standard_normal((60, 1))
    X = common + 1e-4 * rng.standard_normal((60, 8))
    data = Data(X / np.linalg.norm(X, axis=1).max(), np.sign(common[:, 0] + rng.standard_normal(60)))
    for form in (data, sparse(data)):
        found = minimise(loss, form, lam, tol=1e-11 / lam)
        assert np.linalg.norm(plain_objective(loss, data, lam, found.theta)[1]) <= 1.001e-11


def test_woodbury_keeps_its_digits_where_lam_is_tiny():
    """Without refinement the relative residual is about 1e-16 / lam."""
    data, lam, loss = PROBLEMS["more columns than rows"], 1e-10, get_loss("squared")
    rng = np.random.default_rng(12)
    gradient = rng.standard_normal(data.n) @ data.X
    direction = erm.objective.Objective(loss, data, lam).newton_direction(np.zeros(data.n), gradient, 1e-9)
    image = 2 * (data.X @ direction) @ data.X / data.n + lam * direction
    assert np.linalg.norm(image + gradient) <= 1e-10 * np.linalg.norm(gradient)


@pytest.mark.parametrize(
    "f", [lambda x: x**9 - 1e-4, lambda x: np.log(x + 1e-9), lambda x: max(x - 0.3, 1e-3 * (x - 0.3))]
)
def test_roots_are_found_where_one_end_of_the_bracket_would_stay(f):
    """Plain regula falsi needs hundreds of steps on each of these."""
    evaluations = []
    x = find_root(lambda t: evaluations.append(t) or f(t), 0.0, f(0.0), 2.0, f(2.0), 1e-10, 200)
    assert abs(f(x)) <= 1e-10
    assert len(evaluations) <= 60


@every_smooth_loss
def test_wide_sparse_records_need_no_dense_table(loss):
    rng = np.random.default_rng(10)
    X = csr_array((rng.uniform(0.1, 0.3, 20_000), (rng.integers(0, 2000, 20_000), rng.integers(0, 50_000, 20_000))))
    data = Data(X, np.where(rng.random(X.shape[0]) < 0.5, 1.0, -1.0))
    found = minimise(loss, data, 1e-3, tol=1e-6)
    assert np.linalg.norm(plain_objective(loss, data, 1e-3, found.theta)[1]) <= 1.001e-9


@every_loss
def test_a_warm_start_changes_the_work_and_not_the_answer(loss):
    data = PROBLEMS["full rank"]
    near = minimise(loss, data, 0.0102, tol=1e-5).theta
    cold, warm = minimise(loss, data, 0.01, tol=1e-5), minimise(loss, data, 0.01, tol=1e-5, start=near)
    assert np.linalg.norm(cold.theta - warm.theta) <= cold.distance + warm.distance + 1e-15
    assert warm.steps < cold.steps or cold.steps == 1
    if loss.curvature_bound < np.inf:
        again = minimise(loss, data, 0.01, tol=1e-5, start=cold.theta)
        assert again.steps == 0 and np.array_equal(again.theta, cold.theta)


@every_loss
def test_a_start_far_off_does_not_cost_the_answer(loss):
    for data, lam in itertools.product((random_records(200, 600, seed=5), SMALL), (1e-6, 1e-2)):
        cold = minimise(loss, data, lam, tol=1e-2)
        warm = minimise(loss, data, lam, tol=1e-2, start=np.full(data.p, 1e3))
        assert np.linalg.norm(cold.theta - warm.theta) <= cold.distance + warm.distance


@pytest.mark.pairwise
@every_problem
@every_loss
@pytest.mark.parametrize("radius", [0.3, 3.0, 30.0])
def test_ball_minimum_is_feasible_and_its_gap_is_a_bound(data, loss, radius):
    found = minimise_in_ball(loss, data, radius)
    assert found.gap <= 1e-9
    assert np.linalg.norm(found.theta) <= radius * (1 + 1e-12)
    assert found.risk == pytest.approx(plain_objective(loss, data, 0.0, found.theta)[0], rel=1e-13)
    if loss.key not in KINKED:
        _, gradient = plain_objective(loss, data, 0.0, found.theta)
        gap = gradient @ found.theta + radius * np.linalg.norm(gradient)
        assert gap == pytest.approx(found.gap, rel=1e-3, abs=1e-14 * max(1.0, radius))
    other = minimise_in_ball(loss, sparse(data), radius)
    assert abs(found.risk - other.risk) <= found.gap + other.gap + 1e-14


@every_loss
@pytest.mark.parametrize("radius", [0.3, 5.0, 50.0])
def test_ball_minimum_agrees_with_an_independent_optimiser(loss, radius):
    found = minimise_in_ball(loss, SMALL, radius)
    other = independent_minimum(loss, SMALL, 0.0, radius)
    other *= min(1.0, radius / np.linalg.norm(other))
    risk = plain_objective(loss, SMALL, 0.0, other)[0]
    assert found.risk - found.gap <= risk + 1e-14
    assert risk <= found.risk + 1e-7  # what the independent optimiser reaches


def test_on_separable_data_the_ball_decides():
    """No unregularised minimiser exists: the risk keeps falling with the radius and the optimum sits on the sphere."""
    data = random_records(80, 4, seed=3, separable=True)
    found = [minimise_in_ball(get_loss("logistic"), data, radius) for radius in (1.0, 10.0, 100.0)]
    assert found[0].risk > found[1].risk > found[2].risk
    assert all(np.linalg.norm(f.theta) == pytest.approx(f.radius, rel=1e-6) for f in found)


@every_loss
def test_degenerate_records_are_solved(loss):
    """Repeated rows, a column of zeros, a table of zeros, two opposite records."""
    repeated = Data(np.tile([[0.6, 0.8, 0.0]], (5, 1)), [1, 1, 1, -1, 1])
    for data in (repeated, Data(np.zeros((3, 2)), [1, -1, 1]), Data([[1.0], [1.0]], [1, -1])):
        for lam in (1e-8, 1.0, 1e6):
            tol = tolerance(loss, 10.0, data.n, lam)
            assert minimise(loss, data, lam, tol=tol).distance <= tol
        assert minimise_in_ball(loss, data, 10.0).gap <= 1e-9
        assert minimise(loss, data, 0.1, tol=1e-5, radius=0.1).distance <= 1e-5


@every_loss
def test_a_tolerance_out_of_reach_is_refused(loss):
    with pytest.raises(Unconverged, match=r"proof needs .* nothing was released") as caught:
        minimise(loss, SMALL, 0.1, tol=1e-30)
    assert "\n" not in str(caught.value)
    with pytest.raises(Unconverged, match="nothing was released"):
        minimise(loss, SMALL, 0.01, tol=1e-30, radius=0.1)
