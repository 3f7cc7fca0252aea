"""Objective perturbation: its releases and what it refuses."""

import dataclasses as dc
import math

import numpy as np
import pytest
from scipy import stats

import dpcore
from dpcore import Data, NotApplicable, Unconverged, solvers
from dpcore.core.losses import get_loss
from dpcore.mechanisms import api
from dpcore.mechanisms.noise.rounding import grid_of
from tests.mechanisms.test_objective_perturbation import every_key, every_loss, plan_of


@every_key
@every_loss
def test_a_release_is_the_minimiser_of_the_tilted_objective_and_solver_noise(key, loss):
    """The noise is drawn again from the same seed; the gradient of J vanishes there up to the solver noise."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 4))
    data = Data(X / np.linalg.norm(X, axis=1)[:, None], np.sign(rng.standard_normal(60)), p=6)
    plan = plan_of(key, loss, 1.0, lam=0.1, n=60, p=6)
    theta = api.release_once(plan, data, seed=4).theta
    off = 2.5 * grid_of(plan.mechanism.resolution(plan))  # sqrt(6): what rounding moves a model by, at most
    noise = np.random.default_rng(4)
    b, solver_noise = (event.scale * plan.mechanism.law.direction(6, 6, noise) for event in plan.ledger)
    exact = theta - solver_noise
    found = get_loss(loss)
    gradient = found.derivative(data.X @ exact[:4], data.y) @ data.X / 60 + 0.1 * exact[:4] + b[:4]
    assert np.linalg.norm(gradient) <= 0.1 * plan.tol * (1 + 1e-6) + (found.curvature_bound + 0.1) * off
    assert np.allclose(exact[4:], -b[4:] / 0.1, rtol=1e-9, atol=off), "idle columns hold noise only"
    assert np.linalg.norm(solver_noise) < 1e-3 * np.linalg.norm(b), "the solver noise is not seen"
    prepared = plan.mechanism.prepare(plan, data)
    whole = dc.replace(prepared, theta=np.zeros(6))
    (many,) = plan.mechanism.release_many(plan, whole, [np.random.default_rng(4)])
    assert np.linalg.norm(many - theta) <= 2.0 * plan.tol + off, "many releases have idle columns too"
    narrow = plan.mechanism.release(plan, prepared, np.random.default_rng(4))
    assert narrow.shape == (4,) and np.isfinite(narrow).all()


@pytest.mark.parametrize("lam, epsilon", [(1e-5, 5.0), (0.1, 1e-4), (1e3, 1e-3), (1e-2, 1e6), (1.0, 1e-9)])
@every_key
def test_small_and_huge_noise_are_solved_to_the_certificate(key, lam, epsilon):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((400, 20))
    data = Data(X / np.linalg.norm(X, axis=1)[:, None], np.sign(X[:, 0]))
    plan = plan_of(
        key, "logistic", epsilon, lam=max(lam, 1.1 * 0.25 / 400 / math.expm1(min(epsilon, 9.0))), n=400, p=20
    )
    prepared = plan.mechanism.prepare(plan, data)
    for seed in range(5):
        assert np.isfinite(plan.mechanism.release(plan, prepared, np.random.default_rng(seed))).all()


@pytest.mark.parametrize("key, loss", [("objective_gamma", "logistic"), ("objective_gamma", "huber_hinge")])
def test_the_certificate_holds_where_predictions_cancel_and_lam_is_tiny(key, loss):
    """Models of norm 10^7 that are large across the records: predictions are rounded, here they are summed exactly."""
    n, p, epsilon = 1000, 300, 10.0
    lengths, y = np.where(np.arange(n) % 2, np.linspace(0.3, 1.0, n), 1.0), np.where(np.arange(n) % 2, 1.0, -1.0)
    data = Data(lengths[:, None] * np.full(p, (1.0 - 1e-15) / math.sqrt(p)), y)
    lam = 2.0 * get_loss(loss).curvature_bound / (n * math.expm1(0.99 * epsilon))
    plan = plan_of(key, loss, epsilon, lam=lam, n=n, p=p)
    prepared = plan.mechanism.prepare(plan, data)
    seeds = range(4)
    thetas = plan.mechanism.release_many(plan, prepared, [np.random.default_rng(seed) for seed in seeds])
    for theta, seed in zip(thetas, seeds, strict=True):
        noise = np.random.default_rng(seed)
        b, solver_noise = (event.scale * plan.mechanism.law.direction(p, p, noise) for event in plan.ledger)
        exact = theta - solver_noise
        z = data.X[:, 0] * math.fsum(exact)
        gradient = get_loss(loss).derivative(z, y) @ data.X / n + lam * exact + b
        assert np.linalg.norm(gradient) <= lam * plan.tol
    assert np.linalg.norm(exact) > 1e6


@every_key
def test_a_solver_that_misses_the_tolerance_releases_nothing(key, monkeypatch):
    plan = plan_of(key, "logistic", 1.0, lam=0.1, n=60, p=3)
    X = np.eye(3)[np.arange(60) % 3]
    data = Data(X, np.where(np.arange(60) < 40, 1.0, -1.0))
    prepared = plan.mechanism.prepare(plan, data)
    original = solvers.minimise

    def sloppy(*args, tol, **kwargs):
        found = original(*args, tol=tol, **kwargs)
        return dc.replace(found, distance=1.01 * tol)

    monkeypatch.setattr(solvers, "minimise", sloppy)
    with pytest.raises(Unconverged, match="nothing was released"):
        plan.mechanism.release(plan, prepared, np.random.default_rng(0))


@every_key
def test_a_plan_that_spends_more_than_was_asked_for_is_an_exhibit(key):
    plan = plan_of(key, "huber", 1.0, lam=2.0, accounting="published")
    assert not plan.spent <= plan.requested
    with pytest.raises(NotApplicable, match=r"exhibit.*nothing is released"):
        api.release_once(plan, Data([[0.0], [1.0]], [0.0, 0.5]))


@every_key
def test_refusals_name_the_smallest_lam_and_it_is_the_smallest(key):
    with pytest.raises(NotApplicable, match=r"needs lam > 0\.00147821 for epsilon = 1 and n = 100, got 0\.001"):
        plan_of(key, "logistic", 1.0, lam=0.001, n=100)
    assert plan_of(key, "logistic", 1.0, lam=0.00147822, n=100).scale > 0.0
    with pytest.raises(NotApplicable, match="needs lam"):
        plan_of(key, "logistic", 1.0, lam=0.00147820, n=100)


# lam


@every_key
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0])
def test_auto_lam_of_classes_is_13_times_the_mean_of_two_rules(key, epsilon):
    """Geometric mean of p sigma^2 / (R B)^2 and R sigma, at the noise that lam itself leads to."""
    plan = dpcore.calibrate(key, n=1000, p=7, epsilon=epsilon, delta=1e-6, loss="huber_hinge", theta_norm=20.0, R=2.0)
    sigma = plan.scale * math.sqrt(plan.mechanism.law.reach(7)[1])
    found = 13 * math.sqrt(7 * sigma**2 / (2 * 20) ** 2 * 2 * sigma)
    assert plan.spec.lam == pytest.approx(found, rel=1e-5)


@every_key
@pytest.mark.parametrize("theta_norm", [0.01, 20.0])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0])
def test_auto_lam_of_numbers_lets_noise_grow_with_epsilon_and_adds_five_times_the_best_ridge(key, epsilon, theta_norm):
    facts = {"loss": "huber", "R": 2.0, "y_max": 0.5, "theta_norm": theta_norm}
    plan = dpcore.calibrate(key, n=1000, p=7, epsilon=epsilon, delta=1e-6, **facts)
    sigma = plan.scale * math.sqrt(plan.mechanism.law.reach(7)[1])
    rules = 2 * sigma / 0.5 * (sigma / (2 * 2 / 1000)) ** (1 / 3), 5 * 7 * sigma**2 / (2 * theta_norm) ** 2
    assert plan.spec.lam == pytest.approx(sum(rules), rel=1e-5)
    assert (rules[0] > rules[1]) == (theta_norm == 20.0)


@every_key
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0])
def test_population_lam_minimises_the_lipschitz_form(key, epsilon):
    def form(lam: float | str) -> float:
        plan = dpcore.calibrate(key, n=1000, p=7, epsilon=epsilon, delta=1e-6, lam=lam, theta_norm=3.0)
        lam, mean = plan.spec.lam, plan.mechanism.law.reach(7)[0]
        return plan.scale * mean / lam + 2.0 / (1000 * lam) + 0.5 * lam * 9.0

    best = dpcore.calibrate(key, n=1000, p=7, epsilon=epsilon, delta=1e-6, lam="population", theta_norm=3.0).spec.lam
    assert form("population") == pytest.approx(form(best), rel=1e-12)
    for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0):
        try:
            assert form(factor * best) > form(best)
        except NotApplicable:
            assert factor < 1.0


@every_key
@pytest.mark.parametrize(
    "lam, facts", [("auto", {"R": 1e100}), ("population", {"R": 1e100}), ("auto", {"R": 1e49, "epsilon": 1e-80})]
)
def test_a_rule_that_leaves_the_range_of_lam_says_so(key, lam, facts):
    with pytest.raises(ValueError, match=rf"lam must be .*'{lam}' .* 1e-100"):
        dpcore.calibrate(key, **({"n": 100, "p": 2, "epsilon": 1.0, "delta": 1e-5, "lam": lam} | facts))


@every_key
def test_published_lam_is_that_of_theorem_2(key):
    plan = dpcore.calibrate(key, n=2500, p=7, epsilon=5.0, delta=1e-6, lam="published", theta_norm=3.0, R=2.0)
    assert plan.spec.lam == pytest.approx(2.0 / (50.0 * math.sqrt(10.0)))


def test_hinge_loss_sticks_to_a_record_and_would_leak_it():
    """n = 1, x = y = 1, lam = 1: theta = 1 for every b in [-1, 0], which has probability 0.1106 at beta = 0.25."""
    thetas = np.linspace(-3.0, 4.0, 70_001)
    objective = np.maximum(1.0 - thetas, 0.0) + 0.5 * thetas**2
    for b, expected in ((-0.9, 1.0), (-0.5, 1.0), (-0.1, 1.0), (-1.5, 1.5), (0.5, 0.5)):
        assert thetas[np.argmin(objective + b * thetas)] == pytest.approx(expected, abs=1e-4)
    law = stats.laplace(scale=4.0)
    assert law.cdf(0.0) - law.cdf(-1.0) == pytest.approx(0.1106, abs=5e-5)
