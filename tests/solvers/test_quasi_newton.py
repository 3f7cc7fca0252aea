"""Quasi-Newton steps: their parts against plain numpy, and what single precision, samples and rings may not cost."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpcore import Data
from dpcore.core.losses import get_loss
from dpcore.solvers import erm, minimise
from dpcore.solvers.erm import lbfgs, smooth
from tests.problems import KINKED, LINEAR, random_records
from tests.solvers.objectives import SMALL, plain_objective, sparse

SMOOTH = [get_loss(key) for key in LINEAR if key not in KINKED]
every_smooth_loss = pytest.mark.parametrize("loss", SMOOTH, ids=[loss.key for loss in SMOOTH])
LOGISTIC = get_loss("logistic")


def two_loops(pairs, inverse, gradient):
    """Nocedal and Wright 2006, Algorithm 7.4, as it is published."""
    q, shares = gradient.copy(), []
    for s, y in reversed(pairs):
        shares.append(s @ q / (y @ s))
        q -= shares[-1] * y
    q = inverse(q)
    for (s, y), share in zip(pairs, reversed(shares), strict=True):
        q += (share - y @ q / (y @ s)) * s
    return q


@pytest.mark.parametrize("steps", [0, 1, 3, lbfgs.MEMORY, lbfgs.MEMORY + 4])
def test_directions_are_those_of_the_two_loop_recursion(steps):
    """Also once the ring is full and the oldest pairs are overwritten; lengths of steps do not matter."""
    rng = np.random.default_rng(steps)
    root = rng.standard_normal((40, 40))
    hessian, gradient = root @ root.T + np.eye(40), rng.standard_normal(40)
    secants, pairs = lbfgs.Secants(40), []
    zero = np.zeros(40)
    here = erm.objective.Iterate(zero, zero, zero, zero)
    for power in np.linspace(-25.0, 25.0, steps):
        move = 10.0**power * rng.standard_normal(40)
        pairs.append((move, hessian @ move))
        secants.add(here, erm.objective.Iterate(move, zero, zero, hessian @ move))
    secants.add(here, erm.objective.Iterate(gradient, zero, zero, -gradient))  # no convex function has such a pair
    got, expected = (
        secants.inverse_times(gradient.copy(), lambda q: q / 7.0),
        two_loops(pairs[-lbfgs.MEMORY :], lambda q: q / 7.0, gradient),
    )
    assert np.linalg.norm(got - expected) <= 1e-4 * np.linalg.norm(expected)


@every_smooth_loss
def test_steps_that_overshoot_are_shortened_and_those_that_fall_short_go_further(loss):
    """And what is known at their end is what the records say there."""
    linear = np.array([0.01, -0.02, 0.0, 0.03])
    objective = erm.objective.Objective(loss, SMALL, 0.01, linear)
    start = objective.at(np.full(4, 0.3))
    for size, single in itertools.product((1e3, 1e-3), (False, True)):
        passes = lbfgs._Single(objective, start) if single else lbfgs._Double(objective)
        there = passes.step(start, -size * start.gradient, 0.2)
        gradient = plain_objective(loss, SMALL, 0.01, there.theta)[1] + linear
        assert np.allclose(there.gradient, gradient, rtol=0, atol=1e-5 if single else 1e-10)
        assert abs(gradient @ start.gradient) <= 0.2 * start.norm**2 + 1e-6
        assert np.allclose(there.z, SMALL.X @ there.theta, rtol=0, atol=1e-5 if single else 1e-10)


@every_smooth_loss
@pytest.mark.parametrize("lam", [1e-1, 1e-4])
@pytest.mark.parametrize("share", [1e-8, 1e-12])
def test_single_precision_costs_no_digits(loss, lam, share, monkeypatch):
    """Tables large enough for it, and some too small that are told so; dense and sparse, with a linear term."""
    monkeypatch.setattr(erm.objective, "_MANY", 0)
    monkeypatch.setattr(erm.objective, "_NARROW", 0)
    rng = np.random.default_rng(3)
    for data in (random_records(1100, 30, seed=4), random_records(40, 90, seed=4), random_records(700, 1, seed=4)):
        linear = 1e-3 * rng.standard_normal(data.p)
        for form in (data, sparse(data)):
            found = minimise(loss, form, lam, tol=share / lam, linear=linear)
            gradient = plain_objective(loss, data, lam, found.theta)[1] + linear
            assert np.linalg.norm(gradient) <= share * (1 + 1e-6) + 1e-15


def test_most_passes_are_in_single_precision(monkeypatch):
    """Three points in double precision are enough for any tolerance: each leaves 2e-7 of the one before."""
    monkeypatch.setattr(erm.objective, "_MANY", 0)
    counted, real = [], erm.objective.Objective.at
    monkeypatch.setattr(erm.objective.Objective, "at", lambda self, theta: counted.append(theta) or real(self, theta))
    for form in (random_records(3000, 40, seed=1), sparse(random_records(3000, 40, seed=1))):
        counted.clear()
        found = minimise(LOGISTIC, form, 1e-3, tol=1e-9)
        assert len(counted) <= 4 and found.steps >= 5


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_preconditioners_of_numbers_beyond_single_precision_are_made_in_double(scale, monkeypatch):
    monkeypatch.setattr(erm.objective, "_MANY", 0)
    monkeypatch.setattr(erm.objective, "_NARROW", 0)
    X = scale * SMALL.X
    for form in (Data(X, SMALL.y), sparse(Data(X, SMALL.y))):
        objective = erm.objective.Objective(LOGISTIC, form, 1e-3 * scale**2)
        assert np.allclose(objective.mean_squares, np.square(X).mean(axis=0), rtol=1e-12, atol=0)
    objective = erm.objective.Objective(LOGISTIC, Data(X, SMALL.y), 1e-3 * scale**2)
    with np.errstate(over="ignore"):
        inverse = smooth.SampledHessian(objective, LOGISTIC, 0.0).inverse_at(objective.at(np.zeros(4)))
    hessian = 0.25 * 1.03 * X.T @ X / len(X) + 1e-3 * scale**2 * np.eye(4)
    assert np.allclose(hessian @ inverse(np.ones(4)), np.ones(4), rtol=1e-9, atol=0)


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_numbers_beyond_single_precision_are_solved_in_double(scale, monkeypatch):
    """Squares of them are ordinary floats; in single precision they are 0 and infinite."""
    monkeypatch.setattr(erm.objective, "_MANY", 0)
    monkeypatch.setattr(erm.objective, "_NARROW", 0)
    data, lam = random_records(200, 4, seed=2), 1e-3 * scale**2
    large = Data(scale * data.X, data.y)
    for form in (large, sparse(large)):
        found = minimise(LOGISTIC, form, lam, tol=1e-9 / scale)
        usual = minimise(LOGISTIC, data, 1e-3, tol=1e-9)
        assert np.allclose(scale * found.theta, usual.theta, rtol=0, atol=1e-8)


def test_a_useless_preconditioner_is_left_for_newton(monkeypatch):
    """Steps that are not likely to arrive are given up before their number is used up."""
    monkeypatch.setattr(smooth.SampledHessian, "inverse_at", lambda self, here: lambda g: g * np.arange(1, 41) ** 4)
    asked, newton = [], smooth.newton
    monkeypatch.setattr(smooth, "newton", lambda *arguments: asked.append(1) or newton(*arguments))
    found = minimise(LOGISTIC, random_records(2000, 40, seed=6), 1e-6, tol=1e-6)
    assert asked and found.distance <= 1e-6 and found.steps < smooth._MAX_STEPS


@every_smooth_loss
@pytest.mark.parametrize("order", ["sorted by label", "repeated in turn", "shuffled"])
def test_a_sample_is_close_to_all_records(loss, order):
    """Also where rows are sorted, and where they repeat with a period: a stride of rows would see few of those."""
    data = random_records(4096, 5, seed=7)
    X, y = data.X, data.y
    if order == "sorted by label":
        rows = np.argsort(y, kind="stable")
        X, y = X[rows], y[rows]
    elif order == "repeated in turn":
        X, y = np.tile(X[:16], (256, 1)), np.tile(y[:16], 256)
    table = Data(np.ascontiguousarray(X), y)
    objective = erm.objective.Objective(loss, table, 1e-6)
    assert smooth.rows_for(table.n, table.p) <= table.n // 2
    here = objective.at(np.full(5, 0.5))
    curvatures = loss.curvature(here.z, table.y)
    # What a record may come to curve nearby: at least 3% of the mean, and more where many are straight.
    least, mean = 0.05 * loss.curvature_bound, curvatures.mean()
    curvatures = curvatures + max(max(0.03, np.mean(curvatures < least)) * mean, least - mean)
    hessian = (table.X.T * curvatures) @ table.X / table.n + 1e-6 * np.eye(5)
    inverse = smooth.SampledHessian(objective, loss, least).inverse_at(here)
    sample = np.column_stack([inverse(column) for column in np.eye(5)])
    stretched = np.linalg.eigvals(sample @ hessian).real
    assert stretched.min() >= 0.6 and stretched.max() <= 1.5


def test_a_sample_grows_where_steps_stay_slow():
    data = random_records(4000, 6, seed=8)
    objective = erm.objective.Objective(LOGISTIC, data, 1e-3)
    hessian, rows = smooth.SampledHessian(objective, LOGISTIC, 0.0), []
    for _ in range(6):
        hessian.inverse_at(objective.at(np.zeros(6)))
        rows.append(hessian.rows)
    assert rows[0] == rows[1] < rows[2] and rows[-1] == data.n


def test_rows_of_a_sample_are_few_for_long_tables_and_all_for_short_ones():
    assert smooth.rows_for(50, 40) == 50 and smooth.rows_for(3, 1) == 3
    for n, r in itertools.product((10_000, 1_000_000), (1, 8, 50, 300)):
        rows = smooth.rows_for(n, r)
        assert min(n, 15 * r) <= rows <= max(n // 8, 15 * r)


def test_nearly_equal_columns_need_the_sample_in_double_precision(monkeypatch):
    """In single precision their Hessian has no Cholesky factor."""
    monkeypatch.setattr(erm.objective, "_MANY", 0)
    monkeypatch.setattr(erm.objective, "_NARROW", 0)
    monkeypatch.setitem(smooth._ROUNDING, np.dtype(np.float32), 0.0)
    data = random_records(600, 3, seed=9)
    doubled = Data(np.hstack([data.X, data.X * (1 + 1e-9)]), data.y)
    found = minimise(LOGISTIC, doubled, 1e-12, tol=1e4)
    assert found.distance <= 1e4


def test_nothing_is_factored_where_plain_steps_have_done(monkeypatch):
    monkeypatch.setattr(smooth, "_CHEAP", 0)
    asked = []
    monkeypatch.setattr(smooth.SampledHessian, "inverse_at", lambda self, here: asked.append(here))
    assert minimise(LOGISTIC, random_records(50, 40, seed=2), 1.0, tol=1e-8).distance <= 1e-8 and not asked


def test_flat_sparse_problems_are_solved_without_a_second_table(monkeypatch):
    monkeypatch.setattr(erm.objective, "_MANY", 0)
    X = csr_array(random_records(300, 20, seed=5).X)
    data = Data(X, np.where(np.arange(300) % 3 == 0, -1.0, 1.0))
    found = minimise(LOGISTIC, data, 1.0, tol=1e-11)
    assert "single" not in data.__dict__ and found.steps <= 8
    minimise(LOGISTIC, data, 1e-3, tol=1e-8)
    assert "single" in data.__dict__


def test_sparse_tables_of_very_many_columns_keep_no_pairs(monkeypatch):
    """The vectors would be larger than the records."""
    asked = []
    monkeypatch.setattr(lbfgs, "Secants", lambda r: asked.append(r))
    rng = np.random.default_rng(11)
    X = csr_array((rng.uniform(0.1, 0.3, 4000), (rng.integers(0, 500, 4000), rng.integers(0, 50_000, 4000))))
    data = Data(X, np.where(rng.random(X.shape[0]) < 0.5, 1.0, -1.0))
    assert minimise(LOGISTIC, data, 1e-3, tol=1e-6).distance <= 1e-6 and not asked


@pytest.mark.parametrize("loss", SMOOTH, ids=[loss.key for loss in SMOOTH])
def test_sweeps_and_lines_match_numpy(loss):
    rng = np.random.default_rng(1)
    for n, r in ((1, 1), (37, 5), (2000, 40)):
        X, theta = rng.standard_normal((n, r)), rng.standard_normal(r)
        y, before, change = np.where(rng.random(n) < 0.5, 1.0, -1.0), *rng.standard_normal((2, n))
        z, slopes, pulled = loss.sweep(X, theta, y)
        assert np.allclose(z, X @ theta, rtol=1e-13, atol=1e-13)
        assert np.array_equal(slopes, loss.derivative(z, y)) and np.allclose(pulled, slopes @ X, rtol=1e-11, atol=1e-11)
        end, there, turn = loss.along(z, change, -0.3, y, before)
        assert np.allclose(end, z - 0.3 * change, rtol=1e-14, atol=1e-14)
        assert np.array_equal(there, loss.derivative(end, y))
        assert turn == pytest.approx((there - before) @ change, rel=1e-11, abs=1e-12)


def test_large_tables_are_swept(monkeypatch):
    """The same point, from one pass or from two."""
    objective, theta = erm.objective.Objective(LOGISTIC, SMALL, 0.01, np.arange(4.0)), np.full(4, 0.2)
    two = objective.at(theta)
    monkeypatch.setattr(erm.objective, "_CACHE", 0)
    one = objective.at(theta)
    for field in ("theta", "z", "slopes", "gradient"):
        assert np.allclose(getattr(one, field), getattr(two, field), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(("lam", "worth"), [(1.0, False), (1e-4, True)])
def test_tables_that_no_cache_holds_are_copied_only_for_many_steps(lam, worth, monkeypatch):
    for name in ("_MANY", "_NARROW", "_CACHE"):
        monkeypatch.setattr(erm.objective, name, 0)
    monkeypatch.setattr(smooth, "MAX_FACTOR", 0)
    asked, real = [], erm.objective.pull_single
    monkeypatch.setattr(lbfgs, "pull_single", lambda *arguments: asked.append(1) or real(*arguments))
    assert minimise(LOGISTIC, random_records(200, 30, seed=3), lam, tol=1e-9).distance <= 1e-9
    assert bool(asked) == worth


@pytest.mark.parametrize("n", [1, 511, 512, 513, 100_003])
def test_sums_in_single_precision_are_as_good_as_their_entries(n):
    """Where all terms have one sign a plain sum of many in single precision is off by much more."""
    rng = np.random.default_rng(n)
    X, weights = rng.uniform(0.5, 1.5, (n, 7)), rng.uniform(0.5, 1.5, n)
    expected = weights @ X / n
    for form in (X.astype(np.float32), csr_array(X.astype(np.float32))):
        assert np.allclose(erm.objective.pull_single(form, weights), expected, rtol=1e-6, atol=0)
