"""Bounds of objective perturbation: on average, in one run of ten, and as published."""

import math

import numpy as np
import pytest
from scipy import stats

import dpcore
from dpcore import Budget, Data, Plan
from dpcore.core.losses import get_loss
from dpcore.data import load
from dpcore.experiments.metrics import risk
from dpcore.solvers import minimise_in_ball
from dpcore.theory import erm
from tests.problems import PROBLEMS, for_loss

FALSE_ALARM = 1e-6
every_key = pytest.mark.parametrize("key", ["objective_gamma", "objective_gaussian"])
every_loss = pytest.mark.parametrize("loss", ["logistic", "huber_hinge", "huber"])


def upper(plan: Plan, quantity: str, holds: str = "expectation") -> float:
    (value,) = [b.value for b in dpcore.bounds_of(plan) if (b.quantity, b.form, b.holds) == (quantity, "upper", holds)]
    return value


def released(plan: Plan, data: Data, seeds: range) -> list[tuple[np.ndarray, np.ndarray]]:
    """(b, theta without its solver noise) for each seed: the release, and its noise drawn a second time."""
    prepared, p = plan.mechanism.prepare(plan, data), plan.spec.p
    pairs = []
    for seed in seeds:
        theta = plan.mechanism.release(plan, prepared, np.random.default_rng(seed))
        again = np.random.default_rng(seed)
        b, solver_noise = (event.scale * plan.mechanism.law.direction(p, p, again) for event in plan.ledger)
        pairs.append((b, theta - solver_noise))
    return pairs


@pytest.mark.pairwise
@pytest.mark.shows("upper", "objective_gaussian", "objective_gamma")
@every_key
@every_loss
@pytest.mark.parametrize("name", ["full rank", "more columns than rows", "separable", "one column"])
@pytest.mark.parametrize("lam", ["auto", "population", 0.3])
@pytest.mark.parametrize("epsilon", [0.5, 10.0])
def test_upper_bounds_hold_on_average(key, loss, name, lam, epsilon):
    """The mean of 40 runs minus 5 standard errors; the constants are loose, so chance plays no part."""
    data, chosen = for_loss(loss, PROBLEMS[name]), get_loss(loss)
    plan = dpcore.calibrate(
        key, n=data.n, p=data.p, epsilon=epsilon, delta=1e-5, loss=loss, lam=lam, theta_norm=4.0, y_max=1.0
    )
    risks = np.array([chosen.value(data.X @ theta, data.y).mean() for _, theta in released(plan, data, range(40))])
    least = risks.mean() - 5.0 * risks.std(ddof=1) / math.sqrt(40)
    rng = np.random.default_rng(6)
    for _ in range(10):
        comparator = rng.standard_normal(data.p)
        comparator *= 4.0 / np.linalg.norm(comparator)
        compared = chosen.value(data.X @ comparator, data.y).mean()
        assert least - compared <= upper(plan, "excess_empirical_risk")


@every_key
@pytest.mark.parametrize("p", [1, 3, 50, 2000])
def test_the_average_bound_is_the_mean_of_the_pathwise_ones(key, p):
    """Records of norm R in one direction: mean |<b, x>| is R |b_1|. Tiny theta_norm: no bias is left."""
    n, R, lam = 40, 2.0, 0.7
    plan = dpcore.calibrate(key, n=n, p=p, epsilon=1.0, delta=1e-5, lam=lam, R=R, theta_norm=1e-50)
    mean, square = plan.mechanism.law.reach(p)
    lipschitz, curved = R * plan.scale * mean / lam, min(n, p) * plan.scale**2 * square / (2.0 * lam)
    rest = R * (plan.ledger[1].scale * mean + plan.tol)
    assert upper(plan, "excess_empirical_risk") == pytest.approx(min(lipschitz, curved) + rest, rel=1e-9)
    reach = plan.mechanism.law.mean_draw_band(p, 0.05)
    band = R * (plan.scale / lam + plan.ledger[1].scale) * reach + R * plan.tol
    assert upper(plan, "excess_empirical_risk", "probability") == pytest.approx(band, rel=1e-12)
    fresh = upper(plan, "excess_population_risk") - upper(plan, "excess_empirical_risk")
    assert fresh == pytest.approx(2.0 * R**2 / (n * lam))
    with_bias = dpcore.calibrate(key, n=n, p=p, epsilon=1.0, delta=1e-5, lam=lam, R=R, theta_norm=0.5)
    assert upper(with_bias, "excess_empirical_risk") == pytest.approx(
        upper(plan, "excess_empirical_risk") + 0.5 * lam * 0.25, rel=1e-9
    )


@pytest.mark.shows("upper", "objective_gaussian", "objective_gamma")
@every_key
@pytest.mark.parametrize("p", [1, 2, 6, 60])
def test_the_one_run_band_holds_in_nine_runs_of_ten(key, p):
    """2,000 draws of the pathwise right side: binomial test, false alarm 1e-6; half of the band is caught."""
    plan = dpcore.calibrate(key, n=30, p=p, epsilon=1.0, delta=1e-5, lam=0.1, theta_norm=1e-50)
    band = upper(plan, "excess_empirical_risk", "probability")
    rng = np.random.default_rng(8)
    first = np.array([plan.mechanism.law.direction(p, 1, rng)[0] for _ in range(2000)])
    reach = plan.scale * np.abs(first) / 0.1
    assert stats.binomtest(int((reach > band).sum()), 2000, 0.1, alternative="greater").pvalue > FALSE_ALARM
    assert stats.binomtest(int((reach > 0.5 * band).sum()), 2000, 0.1, alternative="greater").pvalue < FALSE_ALARM


@every_key
@pytest.mark.parametrize("lam", ["auto", "population"])
def test_the_population_bound_holds_on_fresh_records(key, lam):
    """On 100,000 records of the same law, whose own best model makes the excess larger."""
    split = load("synthetic", 300, 8, 3)
    plan = dpcore.calibrate(key, n=300, p=8, epsilon=2.0, delta=1e-6, lam=lam, theta_norm=6.0)
    thetas = np.stack([theta for _, theta in released(plan, split.train, range(40))])
    loss = get_loss("logistic")
    fresh = load("synthetic", 100_000, 8, 3).train
    risks = [risk(loss, theta, fresh) for theta in thetas]
    assert 0.0 < np.mean(risks) - minimise_in_ball(loss, fresh, 6.0).risk <= upper(plan, "excess_population_risk")


@pytest.mark.shows("rate", "objective_gaussian", "objective_gamma")
def test_rates_are_shapes_with_the_published_exponents():
    def rates(key: str, **changed) -> list[float]:
        facts = dict(n=10_000, p=64, epsilon=1.0, delta=1e-6, lam=0.5, theta_norm=2.0, R=1.0) | changed
        found = [b for b in dpcore.bounds_of(dpcore.calibrate(key, **facts)) if b.form == "rate"]
        assert all(b.quantity == "excess_population_risk" and b.holds == "probability" for b in found)
        return [b.value for b in found]

    def exponents(key: str, name: str, before: float, after: float) -> list[float]:
        pairs = zip(rates(key, **{name: before}), rates(key, **{name: after}), strict=True)
        return [math.log(b / a) / math.log(after / before) for a, b in pairs]

    assert exponents("objective_gaussian", "p", 64, 256) == pytest.approx([0.0, 0.5])
    assert exponents("objective_gaussian", "R", 1.0, 2.0) == pytest.approx([2.0, 1.0])
    assert exponents("objective_gaussian", "theta_norm", 1.0, 2.0) == pytest.approx([1.0, 1.0])
    logs = 2.0 * math.log(math.log(40_000) / math.log(10_000)) / math.log(4.0)
    assert exponents("objective_gaussian", "n", 10_000, 40_000) == pytest.approx([logs - 0.5, -0.5])
    assert exponents("objective_gamma", "n", 10_000, 40_000) == pytest.approx([-0.5])
    assert exponents("objective_gamma", "epsilon", 1.0, 2.0) == pytest.approx([-1.0])
    growth = math.log(256 * math.log(256) / (64 * math.log(64))) / math.log(4.0)
    assert exponents("objective_gamma", "p", 64, 256) == pytest.approx([growth])
    value = erm.published_objective_rate(1.0, 1.0, 10_000, 2.0, Budget(1.0, 1e-6))
    assert value == pytest.approx(math.log(10_000) ** 2 * 2.0 * math.sqrt(math.log(1e6) + 1.0) / 100.0)
