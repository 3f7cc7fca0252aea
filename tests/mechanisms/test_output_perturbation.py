"""Output perturbation, Gaussian and Gamma: its sensitivity and its noise; bounds are in test_output_bounds."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

import dpcore
from dpcore import Budget, Data, NotApplicable
from dpcore.accounting.gaussian import gaussian_epsilon, hockey_stick
from dpcore.core.losses import get_loss
from tests.problems import LINEAR, PROBLEMS, for_loss

FALSE_ALARM = 1e-6
every_loss = pytest.mark.parametrize("key", LINEAR)
every_noise = pytest.mark.parametrize("noise", ["output_gaussian", "output_gamma"])


def distance(plan, one: Data, other: Data) -> float:
    """Between the minimisers that the mechanism itself would release from."""
    solved = [plan.mechanism.prepare(plan, data).theta for data in (one, other)]
    return float(np.linalg.norm(solved[0] - solved[1]))


@every_noise
@pytest.mark.parametrize("loss, slack", [("huber_hinge", 1e-7), ("hinge", 2e-3), ("huber", 1e-7), ("absolute", 2e-3)])
def test_a_loss_on_its_linear_part_attains_the_sensitivity(noise, loss, slack):
    """There theta = sum y x / (n lam): a flipped label moves it by 2 R / (n lam)."""
    n, lam = 20, 0.5
    X = np.zeros((n, 3))
    X[-1] = [0.6, 0.0, 0.8]
    y = np.ones(n) if "hinge" in loss else np.zeros(n)
    up, down = (np.concatenate([y[:-1], [label]]) for label in (1.0, -1.0))
    plan = dpcore.calibrate(noise, n=n, p=3, epsilon=1.0, delta=1e-5, loss=loss, lam=lam)
    moved = distance(plan, Data(X, up), Data(X, down))
    assert moved == pytest.approx(2.0 / (n * lam), rel=slack)
    assert moved == pytest.approx(plan.ledger[0].sensitivity, rel=slack)
    assert moved <= plan.ledger[0].sensitivity


@pytest.mark.pairwise
@pytest.mark.shows("privacy", "output_gaussian", "output_gamma")
@every_loss
@pytest.mark.parametrize("lam", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("radius", [None, 0.7])
def test_no_neighbour_exceeds_the_sensitivity(key, lam, radius):
    """Adversarial search: many equal records push theta along one axis, the last record swings against them."""
    rng = np.random.default_rng(3)
    worst = 0.0
    for copies in (1, 2, 5, 30):
        n = copies + 1
        plan = dpcore.calibrate("output_gaussian", n=n, p=2, epsilon=1.0, delta=1e-5, loss=key, lam=lam, radius=radius)
        angles = np.concatenate([np.linspace(0, np.pi / 2, 6), rng.uniform(0, 2 * np.pi, 5)])
        for angle in angles:
            X = np.tile([1.0, 0.0], (n, 1))
            X[-1] = [-math.sin(angle), math.cos(angle)]
            other = X.copy()
            other[-1] = [-math.sin(angle), -math.cos(angle)]
            moved = distance(plan, Data(X, np.ones(n)), Data(other, np.ones(n)))
            worst = max(worst, moved / plan.ledger[0].sensitivity)
    assert worst <= 1.0
    if radius is None:
        # The L of squared loss covers predictions that two records rarely reach together.
        assert worst > (0.02 if key == "squared" else 0.3), "the search found no neighbour worth the name"


@every_loss
def test_the_solver_tolerance_is_part_of_the_sensitivity(key):
    """Two minimisers certified to tol can be 2 tol further apart than the exact ones; the plan pays for it."""
    data = for_loss(key, PROBLEMS["full rank"])
    plan = dpcore.calibrate("output_gaussian", n=data.n, p=data.p, epsilon=1.0, delta=1e-5, loss=key, lam=0.1)
    L = get_loss(key).lipschitz(plan.spec)
    assert plan.ledger[0].sensitivity == pytest.approx(2 * L / (data.n * 0.1) + 2 * plan.tol, rel=1e-15)
    assert 0 < plan.mechanism.prepare(plan, data).distance <= plan.tol


@pytest.mark.parametrize("accounting", ["tight", "published", "classical"])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 0.99])
def test_spent_is_what_the_noise_costs(accounting, epsilon):
    plan = dpcore.calibrate("output_gaussian", n=500, p=2, epsilon=epsilon, delta=1e-5, lam=0.1, accounting=accounting)
    mu = plan.ledger[0].sensitivity / plan.scale
    assert hockey_stick(plan.spent.epsilon, mu) <= plan.spent.delta * (1 + 1e-12)
    assert plan.spent.epsilon == pytest.approx(gaussian_epsilon(mu, 1e-5), abs=1e-6)
    if accounting != "tight":
        assert plan.spent.epsilon < 0.95 * epsilon, "the looser proofs add more noise than they need"


@pytest.mark.parametrize("accounting", ["published", "classical"])
def test_a_generous_delta_is_no_error(accounting):
    plan = dpcore.calibrate("output_gaussian", n=50, p=2, epsilon=0.1, delta=0.5, lam=0.1, accounting=accounting)
    assert plan.spent.epsilon <= 1e-9


@pytest.mark.parametrize("p", [1, 2, 8, 400])
def test_gamma_noise_has_the_planned_law(p):
    """||b|| / scale ~ Gamma(p) and a uniform direction; Kolmogorov-Smirnov, false alarm 1e-6 each.

    The twins: 90% of the noise, and a norm with one degree too many.
    """
    plan = dpcore.calibrate("output_gamma", n=100, p=p, epsilon=0.7, lam=0.1)
    assert plan.scale == pytest.approx(plan.ledger[0].sensitivity / 0.7, rel=1e-12)
    rng = np.random.default_rng(5)
    noise = plan.scale * np.stack([plan.mechanism.law.direction(p, p, rng) for _ in range(12_000 if p < 400 else 2000)])
    norms = np.linalg.norm(noise, axis=1)
    assert stats.kstest(norms, "gamma", args=(p, 0, plan.scale)).pvalue > FALSE_ALARM
    assert stats.kstest(0.9 * norms, "gamma", args=(p, 0, plan.scale)).pvalue < FALSE_ALARM
    if p <= 8:
        assert stats.kstest(norms, "gamma", args=(p + 1, 0, plan.scale)).pvalue < FALSE_ALARM
    if p > 2:
        # One coordinate of a uniform direction, squared, follows Beta(1/2, (p - 1)/2).
        share = (noise[:, 0] / norms) ** 2
        assert stats.kstest(share, "beta", args=(0.5, (p - 1) / 2)).pvalue > FALSE_ALARM
        assert abs(np.sign(noise[:, 0]).mean()) < stats.norm.isf(FALSE_ALARM / 2) / math.sqrt(len(noise))


@every_noise
def test_padding_with_zeros_is_the_literal_simulation(noise):
    """The active 8 of 64 coordinates: their exact law against the first 8 of literally drawn 64 (p = 64).

    Two-sample Kolmogorov-Smirnov on the norm and on a projection, false alarm 1e-6 each; the twin draws in R^8.
    """
    mechanism, draws = dpcore.make_mechanism(noise), 20_000
    rng = np.random.default_rng(6)
    literal = np.stack([mechanism.law.direction(64, 64, rng)[:8] for _ in range(draws)])
    padded = np.stack([mechanism.law.direction(64, 8, rng) for _ in range(draws)])
    for statistic in (lambda b: np.linalg.norm(b, axis=1), lambda b: b @ np.linspace(-1, 1, 8)):
        assert stats.ks_2samp(statistic(literal), statistic(padded)).pvalue > FALSE_ALARM
    if noise == "output_gamma":
        small = np.stack([mechanism.law.direction(8, 8, rng) for _ in range(draws)])
        assert stats.ks_2samp(np.linalg.norm(literal, axis=1), np.linalg.norm(small, axis=1)).pvalue < FALSE_ALARM


def test_gamma_is_pure_and_says_what_it_spends():
    for delta in (0.0, 1e-6, 0.3):
        plan = dpcore.calibrate("output_gamma", n=100, p=4, epsilon=0.8, delta=delta, lam=0.1)
        assert plan.spent == Budget(0.8, 0.0)
        assert plan.requested == Budget(0.8, delta)


@pytest.mark.parametrize("p", [1, 2, 3, 8, 40])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_gamma_attacker_meets_the_densities_half_way(p, epsilon):
    """P(b_1 <= Delta/2) against an integral of the density of b_1, t^(p/2) K_(p/2)(t), and against the generic cap."""
    from scipy.special import kv

    plan = dpcore.calibrate("output_gamma", n=50, p=p, epsilon=epsilon, lam=0.3)

    def density(t):
        return abs(t) ** (p / 2) * kv(p / 2, abs(t))

    half = integrate.quad(density, 0, np.inf, limit=400)[0]
    inside = integrate.quad(density, 0, epsilon / 2)[0]
    limit = plan.mechanism.attack_limit(plan)
    assert limit == pytest.approx(0.5 + inside / half / 2, abs=2e-6)
    assert limit <= math.exp(epsilon) / (1 + math.exp(epsilon))
    if p == 1:
        assert limit == pytest.approx(1 - math.exp(-epsilon / 2) / 2, abs=2e-6)


@every_noise
@pytest.mark.parametrize("p", [1, 2, 8, 50, 400])
def test_the_reach_of_the_noise(noise, p):
    """E |b_1| and E b_1^2 against closed forms and 10,000 draws (z-test, false alarm 1e-6)."""
    mechanism = dpcore.make_mechanism(noise)
    mean, square = mechanism.law.reach(p)
    nodes, weights = mechanism.law.spread(p)
    assert mean == pytest.approx(math.sqrt(2 / math.pi) * (weights @ nodes), rel=1e-9)
    assert square == pytest.approx(weights @ nodes**2, rel=1e-12)
    rng = np.random.default_rng(7)
    first = np.array([mechanism.law.direction(p, 1, rng)[0] for _ in range(10_000)])
    for sample, expected in ((np.abs(first), mean), (first**2, square)):
        assert abs(sample.mean() - expected) < 6 * sample.std() / 100
    if noise == "output_gamma":
        assert {1: 1.0, 8: 2.328, 50: 5.670, 400: 15.97}.get(p, mean) == pytest.approx(mean, rel=3e-4)


@pytest.mark.parametrize("accounting", ["published", "classical"])
def test_the_smallest_deltas_are_ordinary(accounting):
    plan = dpcore.calibrate("output_gaussian", n=50, p=2, epsilon=0.5, delta=1e-299, lam=0.1, accounting=accounting)
    assert 0 < plan.spent.epsilon <= 0.5 and math.isfinite(plan.scale)
    with pytest.raises(NotApplicable, match="delta >= 1e-300"):
        dpcore.calibrate("output_gaussian", n=50, p=2, epsilon=0.5, delta=1e-310, lam=0.1, accounting=accounting)


@pytest.mark.parametrize("n", [20, 500])
def test_kamath_s_lemma_asks_for_n_times_the_noise_and_guarantees_far_less_than_it_costs(n):
    """Its 2n/lambda against 2L/lambda; lam stays that of the right sensitivity."""
    right, kamath = (
        dpcore.calibrate("output_gaussian", n=n, p=3, epsilon=1.0, delta=1e-6, accounting=accounting)
        for accounting in ("tight", "kamath")
    )
    assert kamath.scale == pytest.approx(n * right.scale, rel=1e-12) and kamath.spec == right.spec
    assert kamath.spent.epsilon == pytest.approx(
        gaussian_epsilon(1.0 / (n * right.scale / right.ledger[0].sensitivity), 1e-6)
    )
    assert kamath.spent.epsilon < 0.05 < kamath.requested.epsilon
