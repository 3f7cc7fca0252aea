"""The mean with noise that fits a norm: its plan, its bounds, its guarantee, and the exhibit with the quoted kappa."""

import math

import numpy as np
import pytest

import dpcore
from dpcore import Budget, Data, Domain, NotApplicable, Spec
from dpcore.accounting.attack_limits import gaussian_attack_limit, zcdp_attack_limit
from dpcore.accounting.gaussian import gaussian_mu, hockey_stick
from dpcore.accounting.vertex_shift import information, same_gaussian
from dpcore.accounting.zcdp import zcdp_epsilon, zcdp_rho
from dpcore.core.sets import kappa_lq, length
from dpcore.mechanisms import make_mechanism
from dpcore.mechanisms.noise.generalized_gaussian import lp_noise

KEY, BUDGET = "generalized_gaussian", Budget(1.0, 1e-5)
LAWS = pytest.mark.parametrize("law", ["generalized_gaussian", "gaussian"])


def plan_of(*, n: int = 200, p: int = 12, q: float = math.inf, R: float = 1.0, budget: Budget = BUDGET, **knobs):
    return make_mechanism(KEY, **knobs).calibrate(Spec("mean", n, p, domain=Domain(q, R)), budget)


def people(plan, seed: int = 0) -> Data:
    """Records that use up their bound, about a place that is not 0."""
    X = np.random.default_rng(seed).uniform(-0.5, 1.0, (plan.spec.n, plan.spec.p))
    return Data(plan.spec.domain.R * X / length(X, plan.spec.domain.q), np.zeros(len(X)))


@LAWS
@pytest.mark.parametrize("q", [2.0, 3.0, 7.5, math.inf])
def test_the_scale_is_the_sensitivity_in_the_norm_times_widening_and_multiplier(law, q):
    plan = plan_of(q=q, R=0.5, noise=law)
    noise, s = lp_noise(law, q, 12), 2.0 * 0.5 / 200
    root = 12 ** (0.5 - 1.0 / q) if law == "gaussian" else math.sqrt(kappa_lq(q, 12).kappa)
    (event,) = plan.ledger
    assert event.sensitivity == pytest.approx(root * s, rel=1e-12) and plan.scale == event.scale
    assert plan.scale == pytest.approx(root * s * noise.multiplier(BUDGET), rel=1e-12)
    assert (plan.noise, plan.mechanism.noise, event.noise) == (law, law, law) and plan.spent == BUDGET


@pytest.mark.shows("privacy", "generalized_gaussian")
@LAWS
@pytest.mark.parametrize("q", [2.0, 3.0, math.inf])
def test_no_replaced_record_moves_the_mean_further_than_the_sensitivity_and_one_attains_it(law, q):
    plan = plan_of(n=5, p=6, q=q, R=0.7, noise=law)
    mechanism, rng = plan.mechanism, np.random.default_rng(7)
    farthest = 0.0
    for _ in range(200):
        pair = []
        rest = rng.standard_normal((4, 6))
        for _ in range(2):
            X = np.vstack([rest, rng.standard_normal(6) * rng.exponential(1.0, 6) ** 3])
            pair.append(mechanism.prepare(plan, Data(0.7 * X / length(X, q), np.zeros(5))))
        farthest = max(farthest, mechanism.separation(plan, *pair))
    assert farthest <= plan.ledger[0].sensitivity * (1 + 1e-12)
    worst = [mechanism.prepare(plan, data) for data in mechanism.worst_pair(plan)]
    assert mechanism.separation(plan, *worst) == pytest.approx(plan.ledger[0].sensitivity, rel=1e-12)


@pytest.mark.shows("upper", "generalized_gaussian")
@LAWS
@pytest.mark.parametrize("q", [2.0, 4.0, math.inf])
def test_the_excess_risk_is_its_bound(law, q):
    """Within five standard errors, false alarm 1e-6: the second moment is exact."""
    plan = plan_of(n=50, q=q, noise=law)
    data = people(plan)
    prepared = plan.mechanism.prepare(plan, data)
    thetas = plan.mechanism.release_many(plan, prepared, [np.random.default_rng(5)] * 20_000)
    excess = ((thetas - data.X.mean(axis=0)) ** 2).sum(axis=1)
    empirical, population = (bound for bound in dpcore.bounds_of(plan) if bound.form == "upper")
    assert abs(excess.mean() - empirical.value) < 5.0 * excess.std() / math.sqrt(len(excess))
    assert (empirical.quantity, population.quantity) == ("excess_empirical_risk", "excess_population_risk")


@pytest.mark.shows("upper", "generalized_gaussian")
def test_the_risk_on_fresh_records_is_below_its_bound_and_not_without_the_sampling_error():
    """Fair signs have the largest variance: equality in the mean, here within five standard errors of 3,000 runs."""
    plan = plan_of(n=50, budget=Budget(50.0, 1e-5))
    rng, excess = np.random.default_rng(11), np.empty(3_000)
    for i in range(len(excess)):
        X = rng.integers(0, 2, (50, 12)) * 2.0 - 1.0
        prepared = plan.mechanism.prepare(plan, Data(X, np.zeros(50)))
        excess[i] = (plan.mechanism.release(plan, prepared, rng) ** 2).sum()
    empirical, population = dpcore.bounds_of(plan)
    error = excess.std() / math.sqrt(len(excess))
    assert abs(excess.mean() - population.value) < 5.0 * error
    assert excess.mean() - 5.0 * error > 2.0 * empirical.value


# The guarantee


def test_attack_limits_are_those_of_the_laws():
    gaussian, other = plan_of(noise="gaussian"), plan_of()
    assert gaussian.mechanism.attack_limit(gaussian) == pytest.approx(
        gaussian_attack_limit(gaussian_mu(BUDGET)), rel=1e-9
    )
    assert gaussian.mechanism.claimed_curve(gaussian).mu == gaussian_mu(BUDGET)
    M = lp_noise(KEY, math.inf, 12).multiplier(BUDGET)
    assert other.mechanism.attack_limit(other) == pytest.approx(zcdp_attack_limit(0.5 / M**2), rel=1e-9)
    claim = other.mechanism.claimed_curve(other)
    assert claim.mu == pytest.approx(1.0 / M) and claim.mu > math.sqrt(2.0 * zcdp_rho(BUDGET))
    before, at = claim.delta(np.array([0.9, 1.0]))
    assert at == pytest.approx(1e-5) and before > 2e-5
    # Gaussian noise is zCDP too, and near its limit for small mu.
    for mu in (1e-3, 0.1, 1.0, 3.0, 8.0):
        assert 0.5 < gaussian_attack_limit(mu) <= zcdp_attack_limit(mu**2 / 2.0) <= 1.0
    assert zcdp_attack_limit(0.5e-6) - 0.5 < 1.3 * (gaussian_attack_limit(1e-3) - 0.5)


@pytest.mark.parametrize("epsilon", [0.03, 1.0, 7.0, 30.0])
def test_a_certified_epsilon_is_that_of_the_noise(epsilon):
    """The inverse of the calibration, also beyond the budgets of exact accounting; 0 and inf at the ends."""
    law = lp_noise(KEY, math.inf, 12)
    curve = law.curve(Budget(epsilon, 1e-5))
    assert curve.epsilon(curve.mu, 1e-5) == pytest.approx(epsilon, rel=1e-9)
    assert curve.epsilon(1.01 * curve.mu, 1e-5) > 1.005 * epsilon
    assert curve.epsilon(0.0, 1e-5) == 0.0 and curve.epsilon(1e3, 1e-5) == math.inf


def test_the_curve_allows_larger_shifts_what_follows_from_a_small_one():
    """The ratio of a small shift, with the factor that `test_vertex_shift` finds to be enough."""
    law, epsilons = lp_noise(KEY, math.inf, 12), np.array([0.2, 1.0, 3.0])
    curve = law.curve(Budget(5.0, 1e-5))
    m = curve.mu / law.widening * math.sqrt(information(12, law.order))
    ratio = same_gaussian(12, law.order)(epsilons / m) * (1.0 + 0.009 * m)
    expected = [hockey_stick(e, m * each) for e, each in zip(epsilons, ratio, strict=True)]
    assert 1.0 < m < 2.0 and curve.bound(epsilons) == pytest.approx(expected, rel=1e-9)


def delta_seen(plan, runs: int) -> tuple[float, float]:
    """Mean and standard error of delta at the asked epsilon on the worst pair, by the densities of releases."""
    mechanism = plan.mechanism
    zero, one = (mechanism.prepare(plan, data) for data in mechanism.worst_pair(plan))
    seen = mechanism.transcripts(plan, one, [np.random.default_rng(6)] * runs)
    beyond = np.minimum(plan.requested.epsilon - mechanism.log_ratio(plan, zero, one, seen), 0.0)
    return float(-np.expm1(beyond).mean()), float(np.expm1(beyond).std(ddof=1) / math.sqrt(runs))


@pytest.mark.parametrize("p", [12, 100])
def test_releases_attain_delta_for_the_largest_entry_and_a_tenth_less_noise_exceeds_it(p):
    """Five standard errors either way, false alarm 1e-6."""
    plan = plan_of(p=p, budget=Budget(1.0, 1e-2))
    value, error = delta_seen(plan, 30_000)
    assert abs(value - 1e-2) < 5.0 * error < 1.5e-3
    value, error = delta_seen(plan.weakened(0.9), 30_000)
    assert value - 5.0 * error > 1e-2


def test_the_quoted_kappa_spends_more_than_was_asked_for_and_is_not_released():
    plan = plan_of(p=100, accounting="published")
    quoted = 2.0 * math.log(100)
    proved = quoted * 100 ** (2.0 / (quoted + 1.0))
    assert plan.spent.epsilon == pytest.approx(zcdp_epsilon(proved / quoted * zcdp_rho(BUDGET), 1e-5), rel=1e-6)
    assert plan.spent.epsilon > 1.5 and plan.spent.delta == 1e-5 and plan.requested == BUDGET
    # As quoted: sigma = sqrt(kappa) s M.
    M = lp_noise(KEY, math.inf, 100).zcdp_multiplier(BUDGET)
    assert plan.scale == pytest.approx(math.sqrt(quoted) * 2.0 / 200 * M, rel=1e-12)
    with pytest.raises(NotApplicable, match=r"exhibit.*nothing is released"):
        dpcore.solve(KEY, np.zeros((50, 100)), epsilon=1.0, delta=1e-5, accounting="published")


def test_the_quoted_kappa_is_right_for_small_q_and_is_released_there():
    published, tight = plan_of(p=100, q=4.0, accounting="published"), plan_of(p=100, q=4.0)
    assert published.spent == BUDGET and published.scale == tight.scale
    release = dpcore.solve(KEY, np.zeros((50, 100)), epsilon=1.0, delta=1e-5, q=4.0, accounting="published", seed=1)
    assert release.spent == BUDGET


# How the norm is said


def test_the_norm_of_the_domain_is_an_argument():
    """None is the mechanism's own norm, or the set's where one is named."""
    facts = dict(n=100, p=4, epsilon=1.0, delta=1e-5)
    for key, own in ((KEY, math.inf), ("output_gaussian", 2.0), ("frank_wolfe_general", math.inf)):
        assert dpcore.calibrate(key, **facts).spec.domain.q == own
    assert dpcore.calibrate(KEY, **facts, q=3).spec.domain == Domain(3.0)
    assert dpcore.calibrate(KEY, **facts, set="ball").spec.domain.q == 2.0
    assert dpcore.calibrate("frank_wolfe_general", **facts, q=2).spec.domain.q == 2.0
    with pytest.raises(NotApplicable, match=r"output_gaussian is proved for \|\|x\|\|_2 <= R, got q = 3"):
        dpcore.calibrate("output_gaussian", **facts, q=3)
    X = np.full((10, 4), 0.6)
    assert dpcore.solve(KEY, X, epsilon=1.0, delta=1e-5).plan.spec.domain.q == math.inf
    with pytest.raises(ValueError, match=r"\|\|x\|\|_4 <= R = 0\.7 in every row"):
        dpcore.solve(KEY, X, epsilon=1.0, delta=1e-5, q=4, R=0.7)
    assert dpcore.solve(KEY, X, epsilon=1.0, delta=1e-5, q=4, R=0.7, clip=True).clipped == 10
