"""Output perturbation of location losses: how far one record moves the minimiser, its certificate and its bounds."""

import dataclasses as dc
import math

import numpy as np
import pytest

import dpcore
from dpcore import Unconverged
from dpcore.core.losses import get_loss
from dpcore.core.rng import generator
from dpcore.solvers import minimise, minimise_in_ball
from dpcore.solvers.erm import location
from tests.problems import LOCATION
from tests.solvers.test_location import plain_risk, points
from tests.solvers.test_location_minimisers import shapes

every_key = pytest.mark.parametrize("key", LOCATION)
every_noise = pytest.mark.parametrize("noise", ["output_gaussian", "output_gamma"])


def plan_for(noise: str, key: str, **changes):
    facts = dict(n=20, p=3, epsilon=1.0, delta=1e-5, loss=key, lam=0.5) | changes
    return dpcore.calibrate(noise, **facts)


def minimiser_of(plan, X: np.ndarray) -> np.ndarray:
    prepared = plan.mechanism.prepare(plan, points(X))
    assert prepared.distance <= plan.tol
    return prepared.theta


def in_ball(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    X = rng.standard_normal((n, p))
    return X * (rng.uniform(0.0, 1.0, n) / np.linalg.norm(X, axis=1))[:, None]


# Sensitivity


@every_key
@pytest.mark.parametrize("n", [10, 11])
@pytest.mark.parametrize("p, lam", [(1, 0.5), (3, 0.5), (3, 1e4)])
def test_the_worst_pair_attains_the_sensitivity_of_a_point(key, n, p, lam):
    """Up to the tolerance, and to the slope 0.995 and the curvature of the smoothed distance."""
    plan = plan_for("output_gaussian", key, n=n, p=p, lam=lam)
    zero, one = (plan.mechanism.prepare(plan, side) for side in plan.mechanism.worst_pair(plan))
    reached = plan.mechanism.separation(plan, zero, one) / plan.ledger[0].sensitivity
    assert {"geometric_median": 0.997, "smooth_median": 0.96, "mean": 1.0 - 1e-6}[key] < reached <= 1.0


@every_key
def test_the_sensitivity_of_a_point_in_numbers(key):
    for R, lam, radius in ((1.0, 0.5, None), (3.0, 0.01, None), (3.0, 0.5, 0.4)):
        plan = plan_for("output_gaussian", key, R=R, lam=lam, radius=radius)
        exact = 4.0 * R / (20 * (lam + 2.0)) if key == "mean" else 2.0 / (20 * lam)
        assert plan.ledger[0].sensitivity == pytest.approx(exact + 2.0 * plan.tol, rel=1e-12)


@pytest.mark.shows("privacy", "output_gaussian", "output_gamma")
@every_key
@pytest.mark.parametrize("radius", [None, 0.3])
def test_no_replaced_point_moves_the_minimiser_farther(key, radius):
    """Random points, copies of few points and points on two sides, each with one record moved across the domain."""
    rng = np.random.default_rng(1)
    worst = 0.0
    for n in (2, 3, 9):
        tables = [in_ball(rng, n, 2), np.repeat(in_ball(rng, 1, 2), n, axis=0), np.eye(2)[np.zeros(n, int)]]
        tables.append(tables[2] * np.where(np.arange(n) % 2, -1.0, 1.0)[:, None])
        for lam in (0.05, 0.5, 5.0):
            plan = plan_for("output_gaussian", key, n=n, p=2, lam=lam, radius=radius)
            for X in tables:
                before = minimiser_of(plan, X)
                for angle in rng.uniform(0.0, 2.0 * math.pi, 4):
                    other = X.copy()
                    other[-1] = [math.cos(angle), math.sin(angle)]
                    moved = float(np.linalg.norm(minimiser_of(plan, other) - before))
                    worst = max(worst, moved / plan.ledger[0].sensitivity)
    assert 0.5 < worst <= 1.0


# The certificate


@every_key
@pytest.mark.parametrize("radius", [math.inf, 0.3])
def test_the_certificate_bounds_the_distance_at_any_point(key, radius):
    """Against a far better minimiser; near a record and on the sphere, too."""
    rng = np.random.default_rng(3)
    for lam in (0.02, 1.0):
        for X in shapes(7, rng).values():
            records, loss = points(X), get_loss(key)
            # The tolerance of losses with kinks is coarse: of the plain median the exact minimiser is as good as this.
            tol = 1e-6 if key == "geometric_median" else 1e-10
            best = location.location_regularised(loss, records, lam, radius, tol).theta
            for start in (best, X[0], X.mean(axis=0)):
                for size in (1.0, 1e-2, 1e-5, 0.0):
                    theta = start + size * rng.standard_normal(X.shape[1])
                    theta *= min(1.0, radius / max(float(np.linalg.norm(theta)), 1e-300))
                    bound = location._distance(loss, records, lam, theta, radius)
                    assert bound >= float(np.linalg.norm(theta - best)) - 1.1 * tol


@pytest.mark.parametrize("away", [1e-7, 1e-9, 1e-12])
@pytest.mark.parametrize("angle", [0.0, 1.0, 3.0])
def test_beside_a_record_that_is_the_median_the_kink_s_cost_is_part_of_the_certificate(away, angle):
    """A subgradient of the record would bring the remainder to 0 there; it costs up to twice the distance over n."""
    X, lam = np.array([[0.6, 0.0], [0.6, 0.0], [-0.2, 0.4]]), 0.1
    theta = X[0] + away * np.array([math.cos(angle), math.sin(angle)])
    bound = location._distance(get_loss("geometric_median"), points(X), lam, theta, math.inf)
    assert away * (1 - 1e-3) <= bound <= 3.0 * math.sqrt(away / lam)


def test_what_no_point_certifies_is_not_released(monkeypatch):
    plan = plan_for("output_gaussian", "geometric_median")
    monkeypatch.setattr(location, "_MAX_STEPS", 1)
    with pytest.raises(Unconverged, match=r"could be certified to .*the best one to"):
        plan.mechanism.prepare(plan, points(in_ball(np.random.default_rng(5), 20, 3)))
    with pytest.raises(ValueError, match=r"linear must be None with a radius or with mean"):
        minimise(get_loss("mean"), points(np.zeros((2, 1))), 1.0, tol=0.1, linear=np.zeros(1))


# Bounds, rules and releases


def upper(plan, quantity: str, holds: str = "expectation") -> float:
    (value,) = [b.value for b in dpcore.bounds_of(plan) if (b.quantity, b.form, b.holds) == (quantity, "upper", holds)]
    return value


@pytest.mark.shows("upper", "output_gaussian", "output_gamma")
@every_noise
@every_key
@pytest.mark.parametrize("p", [1, 4])
@pytest.mark.parametrize("lam", [0.02, 2.0])
def test_bounds_for_points_hold_on_average_and_in_nine_runs_of_ten(noise, key, p, lam):
    """2,000 draws in pairs: five standard errors, and a binomial deviation of the runs beyond the band."""
    X = in_ball(np.random.default_rng([6, p]), 40, p)
    plan = plan_for(noise, key, n=40, p=p, lam=lam, theta_norm=0.8)
    prepared, rngs = plan.mechanism.prepare(plan, points(X)), [generator(0, "points", i) for i in range(1_000)]
    (drawn,) = plan.mechanism.draws([plan], [prepared], rngs, lambda: False).thetas
    risks = np.array([plain_risk(key, X, theta) for theta in drawn])
    pairs = risks.reshape(-1, 2).mean(axis=1)
    mean, error = float(pairs.mean()), float(pairs.std() / math.sqrt(len(pairs)))
    before = plain_risk(key, X, prepared.theta)
    best = minimise_in_ball(get_loss(key), points(X), 0.8).risk
    assert mean - before <= upper(plan, "excess_over_regularised") + 5.0 * error
    assert mean - best <= upper(plan, "excess_empirical_risk") + 5.0 * error
    if key == "mean":
        assert mean - before == pytest.approx(upper(plan, "excess_over_regularised"), abs=5.0 * error)
    else:
        over = int((risks - best > upper(plan, "excess_empirical_risk", "probability")).sum())
        assert over <= 200 + 5.0 * math.sqrt(2_000 * 0.1 * 0.9)
        assert (risks - before <= np.linalg.norm(drawn - prepared.theta, axis=1) + 1e-12).all()


@every_noise
@every_key
def test_upper_bounds_for_points_in_numbers(noise, key):
    loss, n, R, B, lam = get_loss(key), 300, 1.5, 2.0, 0.1
    plan = dc.replace(plan_for(noise, key, n=n, p=5, R=R, lam=lam, theta_norm=B), tol=0.01)
    spread = {"output_gaussian": 5.0, "output_gamma": 5.0 * 6.0}[noise] * plan.scale**2
    moved = {"geometric_median": math.sqrt(spread), "mean": spread}
    smooth = min(math.sqrt(spread), 5.0 * spread)
    L, mu, bend = (4.0 * R, lam + 2.0, 0.01**2) if key == "mean" else (1.0, lam, 0.0)
    total = moved.get(key, smooth) + min(lam * B**2 / 2.0, loss.at_zero(plan.spec)) + L * 0.01 + bend
    assert upper(plan, "excess_empirical_risk") == pytest.approx(total, rel=1e-12)
    assert upper(plan, "excess_population_risk") == pytest.approx(total + 2.0 * L**2 / (n * mu), rel=1e-12)


@every_noise
@pytest.mark.parametrize("key", ["geometric_median", "smooth_median"])
def test_rules_for_lam_of_a_median(noise, key):
    """auto: 4 sqrt(noise) p^(1/4) / R, where noise / lam is that of the median; published: L / (B sqrt n)."""
    plan = plan_for(noise, key, n=900, R=2.0, lam="auto")
    noise_over_lam = plan.scale * math.sqrt(plan.mechanism.law.reach(3)[1])
    lam = float(plan.spec.lam)
    assert lam == pytest.approx(2.0 * math.sqrt(noise_over_lam * lam) * 3.0**0.25, rel=1e-3)
    assert plan_for(noise, key, n=900, lam="published", theta_norm=4.0).spec.lam == pytest.approx(1 / 120)


@every_noise
def test_automatic_lam_of_the_mean_is_the_best_one_for_a_mean_at_half_of_R(noise):
    """By exact numbers: noise in quadrature, and the ridge's pull on a mean at R / 2."""
    law = dpcore.make_mechanism(noise).law

    def excess(lam: float | str) -> tuple[float, float]:
        plan = plan_for(noise, "mean", n=90, p=5, R=3.0, lam=lam)
        lam = float(plan.spec.lam)
        return lam, (1.5 * lam / (2.0 + lam)) ** 2 + 5.0 * law.reach(5)[1] * plan.scale**2

    lam, least = excess("auto")
    assert all(least < excess(factor * lam)[1] for factor in (0.9, 1.1))
