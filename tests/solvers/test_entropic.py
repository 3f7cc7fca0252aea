"""Minimisers over the simplex: certificates recomputed in plain numpy, independent optimisers, and what must agree."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import log_softmax, logsumexp

from dpcore import Data, Unconverged
from dpcore.core.losses import get_loss
from dpcore.solvers import minimise_entropic, minimise_on_simplex
from dpcore.solvers.simplex import entropic

# (value, derivative) of each loss in plain numpy, h = 1/2.
PLAIN = {
    "logistic": lambda z, y: (np.logaddexp(0.0, -y * z), -y / (1.0 + np.exp(np.minimum(y * z, 700.0)))),
    "huber_hinge": lambda z, y: (
        np.where(y * z < 0.5, 1 - y * z, np.maximum(1.5 - y * z, 0.0) ** 2 / 2),
        -y * np.clip(1.5 - y * z, 0.0, 1.0),
    ),
    "squared": lambda z, y: ((z - y) ** 2, 2.0 * (z - y)),
    "huber": lambda z, y: (
        np.where(np.abs(z - y) <= 0.5, (z - y) ** 2, np.abs(z - y) - 0.25),
        np.clip(2.0 * (z - y), -1.0, 1.0),
    ),
    "linear": lambda z, y: (z, np.ones_like(z)),
}
every_loss = pytest.mark.parametrize("key", PLAIN)
curved_loss = pytest.mark.parametrize("key", [key for key in PLAIN if key != "linear"])


def records(n, p, *, seed, key="huber", idle=0):
    """Entries in [-1, 1] and noisy labels of a sparse average of the columns."""
    rng = np.random.default_rng([seed, n, p])
    X = rng.uniform(-1.0, 1.0, (n, p))
    scores = 2.0 * X @ rng.dirichlet(np.full(p, 0.2)) + 0.2 * rng.standard_normal(n)
    y = np.where(scores > 0, 1.0, -1.0) if get_loss(key).classification else np.clip(scores, -1.0, 1.0)
    return Data(X, y, p=p + idle)


def plain_risk(key, data, theta):
    value, slope = PLAIN[key](data.X @ theta, data.y)
    return value.mean(), slope @ data.X / data.n


def all_columns(found, data):
    """ln w of all p columns."""
    return np.append(found.log_weights, np.full(data.p - data.stored, found.log_idle))


def plain_certificates(key, data, lam, radius, u):
    """The residual and lam KL(w || softmax(-g / lam)), column by column."""
    g = radius * np.append(plain_risk(key, data, radius * np.exp(u[: data.stored]))[1], np.zeros(data.p - data.stored))
    return np.ptp(u + g / lam), lam * np.exp(u) @ (u - log_softmax(-g / lam))


def plain_objective(key, data, lam, radius, w):
    risk, gradient = plain_risk(key, data, radius * w)
    logs = np.log(np.maximum(w, 1e-300))
    return risk + lam * w @ logs, radius * gradient + lam * (logs + 1.0)


def independent_weights(key, data, lam, radius):
    """The minimum of J by sequential quadratic programming."""
    p = data.stored
    return minimize(
        lambda w: plain_objective(key, data, lam, radius, w),
        np.full(p, 1.0 / p),
        jac=True,
        method="SLSQP",
        bounds=[(1e-12, 1.0)] * p,
        constraints=[{"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": lambda w: np.ones(p)}],
        options={"ftol": 1e-15, "maxiter": 1000},
    ).x


@every_loss
@pytest.mark.parametrize("radius", [1.0, 3.0])
def test_the_minimiser_agrees_with_quadratic_programming(key, radius):
    data, lam = records(60, 6, seed=1, key=key), 0.05
    found = minimise_entropic(get_loss(key), data, lam, tol=1e-10, radius=radius)
    expected = independent_weights(key, data, lam, radius)
    assert np.abs(np.exp(found.log_weights) - expected).max() < 1e-5
    mine, theirs = (plain_objective(key, data, lam, radius, w)[0] for w in (np.exp(found.log_weights), expected))
    assert mine <= theirs + 1e-13


@pytest.mark.pairwise
@every_loss
@pytest.mark.parametrize("shape", [(80, 12), (20, 150), (900, 400)], ids=str)
@pytest.mark.parametrize("idle", [0, 1000])
@pytest.mark.parametrize("lam", [3.0, 1e-2, 1e-6])
def test_the_certificates_hold_when_they_are_recomputed(key, shape, idle, lam):
    """(900, 400) needs conjugate gradients. Rounding of g / lam, up to 1 / lam here, is the floor of a residual."""
    data, tol = records(*shape, seed=2, key=key, idle=idle), max(1e-11, 2e-15 / lam)
    found = minimise_entropic(get_loss(key), data, lam, tol=tol)
    u = all_columns(found, data)
    residual, gap = plain_certificates(key, data, lam, 1.0, u)
    assert found.residual <= tol
    assert residual == pytest.approx(found.residual, abs=2e-15 / lam + 1e-14)
    assert found.gap == pytest.approx(gap, abs=1e-14)
    assert abs(logsumexp(u)) < 1e-12
    assert np.isfinite(found.log_weights).all()


@curved_loss
def test_the_gap_bounds_the_loss_in_the_objective(key):
    """At a loose tolerance there is a loss to bound, and the bound is not an order of magnitude away."""
    data, lam = records(100, 30, seed=3, key=key, idle=20), 0.01
    best = minimise_entropic(get_loss(key), data, lam, tol=1e-11)
    start, seen = np.log(np.random.default_rng(0).dirichlet(np.ones(30))), []
    for tol in (30.0, 3.0, 0.3, 0.03, 0.003):
        rough = minimise_entropic(get_loss(key), data, lam, tol=tol, start=start)
        u, v = all_columns(rough, data), all_columns(best, data)
        values = [plain_risk(key, data, np.exp(w[:30]))[0] + lam * np.exp(w) @ w for w in (u, v)]
        assert 0.0 < values[0] - values[1] <= rough.gap + 1e-15
        assert rough.gap == pytest.approx(plain_certificates(key, data, lam, 1.0, u)[1], rel=1e-9, abs=1e-15)
        seen.append(rough.gap / (values[0] - values[1]))
    assert min(seen) < 10.0


def test_a_linear_cost_has_the_explicit_weights():
    data, lam = records(50, 40, seed=4, key="linear", idle=7), 1e-3
    found = minimise_entropic(get_loss("linear"), data, lam, tol=1e-10, radius=2.0)
    expected = log_softmax(np.append(-2.0 * data.X.mean(axis=0), np.zeros(7)) / lam)
    assert np.abs(all_columns(found, data) - expected).max() < 1e-9


@every_loss
@pytest.mark.parametrize("lam", [1.0, 1e-2, 1e-5])
def test_idle_columns_are_the_same_problem_as_explicit_zeros(key, lam):
    data = records(70, 15, seed=5, key=key, idle=400)
    explicit = Data(np.hstack([data.X, np.zeros((70, 400))]), data.y)
    one, other = (minimise_entropic(get_loss(key), d, lam, tol=1e-9) for d in (data, explicit))
    assert np.abs(all_columns(one, data) - other.log_weights).max() < 1e-8
    assert other.log_idle == -np.inf


@every_loss
@pytest.mark.parametrize("shape", [(60, 25), (700, 450)], ids=str)
def test_sparse_records_give_the_same_weights(key, shape):
    data = records(*shape, seed=6, key=key, idle=30)
    X = np.where(np.random.default_rng(0).random(shape) < 0.2, data.X, 0.0)
    one, other = (
        minimise_entropic(get_loss(key), Data(x, data.y, p=data.p), 1e-3, tol=1e-10) for x in (X, csr_array(X))
    )
    assert np.abs(one.log_weights - other.log_weights).max() < 1e-9
    assert one.log_idle == pytest.approx(other.log_idle, abs=1e-9)


@every_loss
@pytest.mark.parametrize("idle", [0, 50])
def test_a_start_changes_the_work_and_not_the_answer(key, idle):
    data, lam = records(300, 60, seed=8, key=key, idle=idle), 1e-3
    cold = minimise_entropic(get_loss(key), data, lam, tol=1e-10)
    near = minimise_entropic(get_loss(key), data, 1.05 * lam, tol=1e-10)
    warm = minimise_entropic(get_loss(key), data, lam, tol=1e-10, start=near.log_weights)
    far = minimise_entropic(get_loss(key), data, lam, tol=1e-10, start=np.linspace(0.0, -2000.0, 60))
    assert np.abs(warm.log_weights - cold.log_weights).max() < 1e-9
    assert np.abs(far.log_weights - cold.log_weights).max() < 1e-9
    assert warm.steps < cold.steps or key == "linear"
    again = minimise_entropic(get_loss(key), data, lam, tol=1e-9, start=cold.log_weights)
    assert again.steps <= 1


@curved_loss
def test_starts_that_lead_nowhere_at_a_tiny_lam_are_left_for_equal_weights(key):
    """Of 12 random starts some end, for most losses, where a step gains less than rounding."""
    rng = np.random.default_rng(18)
    for _ in range(12):
        data = Data(rng.choice([-1.0, 1.0, 0.3], (50, 8)), rng.choice([-1.0, 1.0], 50))
        start = rng.normal(0.0, 1000.0, 8)
        cold, far = (minimise_entropic(get_loss(key), data, 1e-6, tol=1e-6, start=at) for at in (None, start))
        assert far.residual <= 1e-6 and np.abs(far.log_weights - cold.log_weights).max() <= 2e-6


def test_weights_far_below_the_smallest_float_keep_their_logarithm():
    """At lam = 1e-6 a column whose gradient is 0.1 worse has weight exp(-100,000)."""
    data = records(400, 50, seed=9)
    found = minimise_entropic(get_loss("huber"), data, 1e-6, tol=1e-8)
    assert found.log_weights.min() < -10_000.0
    assert np.isfinite(found.log_weights).all()


def test_idle_columns_count_in_the_certificate(monkeypatch):
    """Equal weights, where the single stored column has nothing beside it but columns that are not stored."""

    def equal(objective, tol):
        u = objective.log_counts - math.log(objective.data.p)
        z = objective.push(np.exp(u))
        return objective.point(u, z, objective.value(u, z), 0)

    monkeypatch.setattr(entropic, "_descend", equal)
    data = Data(np.ones((4, 1)), np.ones(4), p=5)
    with pytest.raises(Unconverged, match="nothing was released"):
        minimise_entropic(get_loss("logistic"), data, lam=0.01, tol=1e-6)


@pytest.mark.parametrize("key", ["logistic", "squared", "huber"])
def test_a_tolerance_below_rounding_is_refused(key):
    data = records(200, 20, seed=11, key=key)
    with pytest.raises(Unconverged, match="nothing was released"):
        minimise_entropic(get_loss(key), data, 1e-6, tol=1e-16)


@pytest.mark.parametrize("solve", [lambda *a: minimise_entropic(*a, 0.1, tol=1e-6), minimise_on_simplex])
@pytest.mark.parametrize("key", ["hinge", "geometric_median", "mean"])
def test_losses_without_a_curvature_bound_or_a_prediction_are_refused(solve, key):
    with pytest.raises(ValueError, match=f"loss must be .*, got {get_loss(key).label}"):
        solve(get_loss(key), records(10, 3, seed=12))


@pytest.mark.parametrize("start", [np.zeros(4), np.array([0.0, np.nan, 0.0])])
def test_a_start_of_the_wrong_kind_is_refused(start):
    with pytest.raises(ValueError, match=r"start must be .* 3 entries"):
        minimise_entropic(get_loss("huber"), records(10, 3, seed=12), 0.1, tol=1e-6, start=start)


@every_loss
@pytest.mark.parametrize("idle", [0, 300])
@pytest.mark.parametrize("radius", [0.5, 5.0])
def test_the_smallest_risk_agrees_with_quadratic_programming(key, idle, radius):
    """With idle columns the stored weights may sum to less: an inequality for the other optimiser."""
    data = records(80, 7, seed=13, key=key, idle=idle)
    found = minimise_on_simplex(get_loss(key), data, radius)
    other = minimize(
        lambda t: plain_risk(key, data, t),
        np.full(7, radius / 7),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, radius)] * 7,
        constraints=[{"type": "ineq" if idle else "eq", "fun": lambda t: radius - t.sum()}],
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    risk, gradient = plain_risk(key, data, found.theta)
    lowest = min(gradient.min(), 0.0) if idle else gradient.min()
    assert found.risk == pytest.approx(risk, abs=1e-15)
    assert found.gap == pytest.approx(gradient @ found.theta - radius * lowest, abs=1e-14)
    assert 0.0 <= found.gap <= 1e-9
    assert -found.gap - 1e-14 <= other.fun - found.risk < 1e-7
    assert (found.theta >= 0.0).all()
    assert found.theta.sum() <= radius * (1 + 1e-12)
    assert idle or found.theta.sum() == pytest.approx(radius, rel=1e-12)


@curved_loss
def test_the_smallest_risk_over_a_face_where_it_lies(key):
    """Columns that are worse than others in every record get no weight: the same minimum as without them."""
    data = records(60, 5, seed=15, key=key)
    worse = np.hstack([data.X, data.X - 5.0]) if key == "logistic" else np.hstack([data.X, 10.0 + 0.0 * data.X])
    labels = np.ones(60) if key in ("logistic", "huber_hinge") else data.y
    worse = worse if key != "huber_hinge" else np.hstack([data.X, data.X - 5.0])
    whole = minimise_on_simplex(get_loss(key), Data(worse, labels))
    face = minimise_on_simplex(get_loss(key), Data(data.X, labels))
    assert whole.risk == pytest.approx(face.risk, abs=2e-9)
    assert whole.theta[5:].max() < 1e-9


def test_a_gap_below_rounding_is_refused():
    data = records(200, 20, seed=17)
    with pytest.raises(Unconverged):
        minimise_on_simplex(get_loss("huber"), data, 1e3, tol=1e-17)
