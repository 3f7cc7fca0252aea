"""Losses with kinks: certified minimisers, the duality gap, and coordinate ascent on the dual."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpcore import Data, Unconverged, kernels
from dpcore.core.losses import get_loss
from dpcore.solvers import erm, minimise, minimise_in_ball, tolerance
from dpcore.solvers.erm import nonsmooth
from tests.problems import KINKED, PROBLEMS
from tests.solvers.objectives import SMALL, plain_objective, sparse

HINGE = get_loss("hinge")
every_problem = pytest.mark.parametrize("data", PROBLEMS.values(), ids=PROBLEMS)
every_kinked_loss = pytest.mark.parametrize("loss", [get_loss(key) for key in KINKED], ids=KINKED)


@every_problem
@every_kinked_loss
@pytest.mark.parametrize("lam", [1e-8, 1e-3, 0.1, 1e6])
def test_minimisers_with_kinks_are_certified_where_the_plan_asks(data, loss, lam):
    """The distance is real: a far tighter solution lies within the sum of both."""
    for form in (data, sparse(data)):
        found = minimise(loss, form, lam, tol=tolerance(loss, 1.0, data.n, lam))
        fine = minimise(loss, data, lam, tol=0.01 * tolerance(loss, 1.0, data.n, max(lam, 1e-3)))
        assert found.distance <= tolerance(loss, 1.0, data.n, lam)
        assert np.linalg.norm(found.theta - fine.theta) <= found.distance + fine.distance + 1e-15
        drop = plain_objective(loss, data, lam, found.theta)[0] - plain_objective(loss, data, lam, fine.theta)[0]
        assert drop <= lam * found.distance**2 / 2 + 1e-14


@every_kinked_loss
@pytest.mark.parametrize("lam, radius", [(0.0, 0.05), (0.0, 2.0), (0.1, np.inf), (0.1, 0.05), (0.1, 2.0), (3.0, 0.6)])
def test_the_duality_gap_is_primal_minus_dual(loss, lam, radius):
    """For any theta in the ball and any multipliers, against the two sides computed apart. 200 fixed random pairs."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        alpha = np.clip(rng.uniform(-1.5, 1.5, SMALL.n), 0.0 if loss is HINGE else -1.0, 1.0)
        theta = rng.standard_normal(4)
        theta *= min(radius, 2.0) * rng.uniform(0.0, 1.0) / np.linalg.norm(theta)
        v = (alpha * SMALL.y if loss is HINGE else alpha) @ SMALL.X / SMALL.n
        level, length = (alpha if loss is HINGE else alpha * SMALL.y).mean(), np.linalg.norm(v)
        if lam * radius >= length:
            dual = level - length**2 / (2 * lam)
        else:
            dual = level - radius * length + lam * radius**2 / 2
        gap = nonsmooth.duality_gap(nonsmooth.kinks_of(loss, SMALL.y), SMALL, lam, theta, alpha, radius)
        assert gap == pytest.approx(plain_objective(loss, SMALL, lam, theta)[0] - dual, abs=1e-13)


@every_kinked_loss
@pytest.mark.parametrize("lam", [0.0, 0.1])
def test_a_table_beyond_the_cache_has_the_minimum_of_its_records(loss, lam):
    """Copies of every record change no mean; they come in blocks, and a smoothed kink has a state for each record."""
    copies = 1 + 2**17 // SMALL.X.size
    many = Data(np.tile(SMALL.X, (copies, 1)), np.tile(SMALL.y, copies))
    if lam:
        few, found = (minimise(loss, data, lam, tol=1e-3) for data in (SMALL, many))
        assert np.linalg.norm(few.theta - found.theta) <= few.distance + found.distance
    else:
        least, found = (minimise_in_ball(loss, data, 1.5, tol=1e-4) for data in (SMALL, many))
        assert abs(least.risk - found.risk) <= 1e-4


def test_hinge_minimisers_of_tiny_problems_are_exact():
    """Two equal records: J = max(1 - t, 0) + lam t^2 / 2 is least at min(1, 1 / lam)."""
    data = Data([[1.0], [1.0]], [1.0, 1.0])
    for lam, best in [(0.5, 1.0), (4.0, 0.25), (1.0, 1.0)]:
        assert minimise(HINGE, data, lam, tol=1e-6).theta[0] == pytest.approx(best, abs=1e-6)
    assert minimise(HINGE, data, 0.5, tol=1e-6, radius=0.75).theta[0] == pytest.approx(0.75, abs=1e-6)


def test_absolute_minimisers_of_tiny_problems_are_exact():
    """J = (|t - .1| + |t - .2| + |t - .9|) / 3 + lam t^2 / 2: .2 while its kink holds, 2/3 >= lam t >= 0, then less."""
    data = Data(np.ones((3, 1)), [0.1, 0.2, 0.9])
    absolute = get_loss("absolute")
    for lam, best in [(0.5, 0.2), (1.6, 0.2), (2.0, 1 / 6), (5.0, 0.1), (20.0, 0.05)]:
        assert minimise(absolute, data, lam, tol=1e-6).theta[0] == pytest.approx(best, abs=1e-6)
    assert minimise(absolute, data, 0.5, tol=1e-6, radius=0.15).theta[0] == pytest.approx(0.15, abs=1e-6)
    assert minimise_in_ball(absolute, data, 5.0).risk == pytest.approx(0.8 / 3, abs=1e-9), "at the median"


def test_a_loss_without_two_lines_has_no_kinks():
    with pytest.raises(ValueError, match=r"loss must be .* two lines, got squared"):
        nonsmooth.kinks_of(get_loss("squared"), SMALL.y)


@every_kinked_loss
def test_kinks_on_wide_sparse_records(loss):
    rng = np.random.default_rng(11)
    X = csr_array((rng.uniform(0.1, 0.3, 20_000), (rng.integers(0, 2000, 20_000), rng.integers(0, 50_000, 20_000))))
    data = Data(X, np.where(rng.random(X.shape[0]) < 0.5, 1.0, -1.0))
    found, fine = (minimise(loss, data, 1e-3, tol=tol) for tol in (1e-3, 1e-5))
    assert np.linalg.norm(found.theta - fine.theta) <= 1.01e-3


@every_kinked_loss
def test_a_sweep_maximises_the_dual_over_one_multiplier_after_the_other(loss):
    """Against a dense loop; row 2 is empty, its loss does not depend on theta: its multiplier is an end."""
    kinks = nonsmooth.kinks_of(loss, SMALL.y)
    X = SMALL.X.copy()
    X[2] = 0.0
    X[np.abs(X) < 0.1] = 0.0
    table, step, low = csr_array(X), 1.0 / (40 * 0.05), kinks.low
    rng = np.random.default_rng(14)
    alpha = rng.uniform(low, 1.0, 40)
    theta = step * (alpha * kinks.turn) @ X
    order = rng.permutation(40)[:30]
    expected = alpha.copy()
    for i in order:

        def dual(a, i=i):
            trial = expected.copy()
            trial[i] = a
            return (trial * kinks.offset).mean() - 0.05 / 2 * np.sum((step * (trial * kinks.turn) @ X) ** 2)

        # A concave parabola through three points, or a line.
        here, middle, there = dual(0.0), dual(0.5), dual(1.0)
        bend = 2.0 * (here + there - 2.0 * middle)
        end = 1.0 if there > here else low
        expected[i] = end if bend > -1e-12 else np.clip(-(there - here - bend) / (2.0 * bend), low, 1.0)
    rows = kernels.unsigned(table.indptr), kernels.unsigned(table.indices), table.data
    squares = np.sum(X**2, axis=1)
    kernels.kink_sweep(*rows, kinks.offset, kinks.turn, low, squares, step, order, alpha, theta)
    assert alpha == pytest.approx(expected, abs=1e-9)
    assert theta == pytest.approx(step * (alpha * kinks.turn) @ X, abs=1e-12)
    assert len(set(alpha[order])) > 3 and alpha.min() == low and alpha.max() == 1.0


def wide_records():
    rng = np.random.default_rng(15)
    X = csr_array((rng.uniform(0.1, 0.3, 40_000), (rng.integers(0, 2000, 40_000), rng.integers(0, 5_000, 40_000))))
    return Data(X, np.where(rng.random(X.shape[0]) < 0.5, 1.0, -1.0))


@every_kinked_loss
def test_on_wide_sparse_records_coordinate_ascent_needs_no_newton_steps(loss, monkeypatch):
    data, lam = wide_records(), 1e-4
    monkeypatch.setattr(nonsmooth, "_MAX_ROUNDS", 0)
    found = minimise(loss, data, lam, tol=tolerance(loss, 1.0, data.n, lam))
    assert 0 < found.steps <= 50
    again = minimise(loss, data, lam, tol=tolerance(loss, 1.0, data.n, lam), start=found.theta)
    assert np.linalg.norm(found.theta - again.theta) <= found.distance + again.distance


@every_kinked_loss
@pytest.mark.parametrize("goal", [1e-2, 1e-6, 1e-10])
def test_the_gap_of_a_point_is_that_of_its_theta_and_multipliers(loss, goal, monkeypatch):
    for limit, data in itertools.product((0, erm.objective.MAX_FACTOR), (SMALL, sparse(SMALL))):
        monkeypatch.setattr(nonsmooth, "MAX_FACTOR", limit)
        start = np.full(data.n, 0.3)
        kinks, point = nonsmooth.kinks_of(loss, data.y), nonsmooth.minimise_kinked(loss, data, 0.01, goal, start)
        assert point.residual <= goal
        assert point.residual == pytest.approx(
            nonsmooth.duality_gap(kinks, data, 0.01, point.theta, point.alpha), rel=1e-9
        )
        assert point.alpha.min() >= kinks.low and point.alpha.max() <= 1.0
        assert np.all(start == 0.3), "the caller's multipliers stay as they are"


def test_where_coordinate_ascent_stops_short_the_multipliers_go_on(monkeypatch):
    """One sweep is not enough here, so the answer comes from Newton steps and agrees with that of many sweeps."""
    data, lam = wide_records(), 1e-4
    fine = minimise(HINGE, data, lam, tol=1e-3)
    monkeypatch.setattr(nonsmooth, "_MAX_SWEEPS", 1)
    other = minimise(HINGE, data, lam, tol=1e-3)
    assert other.steps > 1 and other.distance <= 1e-3
    assert np.linalg.norm(fine.theta - other.theta) <= fine.distance + other.distance
    monkeypatch.setattr(nonsmooth, "_MAX_ROUNDS", 0)
    with pytest.raises(Unconverged, match=r"gap of .* in 1 steps"):
        minimise(HINGE, data, lam, tol=1e-3)
