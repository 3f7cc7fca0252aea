"""Composition against the formula sheet's figures, brute force, exact two-point mechanisms and dp-accounting."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore import Budget, NotApplicable
from dpcore.accounting import composition, gaussian, kamath, zcdp

from ..oracles import DP_ACCOUNTING

epsilons = st.floats(1e-3, 30.0)
deltas = st.floats(-30.0, -0.31).map(lambda power: 10.0**power)
rhos = st.floats(-8.0, 3.0).map(lambda power: 10.0**power)


# zCDP


def by_grid(rho, delta):
    """The conversion as it is published, minimised over half a million orders; +inf where it is not positive."""
    a = 1.0 + np.geomspace(1e-4, 1e8, 500_000)
    return np.min(a * rho + (math.log(1 / delta) + (a - 1) * np.log1p(-1 / a) - np.log(a)) / (a - 1))


@pytest.mark.parametrize("rho", [1e-8, 1e-4, 0.02, 0.5, 7.0, 300.0])
@pytest.mark.parametrize("delta", [1e-30, 1e-6, 1e-2, 0.4])
def test_zcdp_converts_at_the_best_order(rho, delta):
    assert zcdp.zcdp_epsilon(rho, delta) == pytest.approx(max(by_grid(rho, delta), 0.0), rel=1e-8, abs=2e-9)


@given(rhos, deltas)
def test_the_conversion_never_guarantees_more_than_one_gaussian_release_keeps(rho, delta):
    """N(mu, 1) against N(0, 1) is exactly (mu^2 / 2)-zCDP, and its exact epsilon is known."""
    epsilon = zcdp.zcdp_epsilon(rho, delta)
    assert gaussian.hockey_stick(epsilon, math.sqrt(2 * rho)) <= delta


@given(epsilons, deltas)
def test_rho_is_private_and_not_wasteful(epsilon, delta):
    rho = zcdp.zcdp_rho(Budget(epsilon, delta))
    assert zcdp.zcdp_epsilon(rho, delta) <= epsilon + 2e-9 * (1 + epsilon)
    assert zcdp.zcdp_epsilon(rho * (1 + 1e-6), delta) > epsilon


@given(epsilons, deltas)
def test_rho_by_hand_solves_its_equation_and_is_never_better(epsilon, delta):
    rho = zcdp.zcdp_rho_by_hand(Budget(epsilon, delta))
    assert rho + 2 * math.sqrt(rho * math.log(1 / delta)) == pytest.approx(epsilon, rel=1e-9)
    assert rho <= zcdp.zcdp_rho(Budget(epsilon, delta))


@pytest.mark.parametrize("case", DP_ACCOUNTING["zcdp"], ids=str)
def test_zcdp_agrees_with_dp_accounting(case):
    """Theirs is the least over 560 orders, so ours is a little below it: by less than one part in 10^4."""
    ours = zcdp.zcdp_epsilon(case["rho"], case["delta"])
    assert case["epsilon"] * (1 - 1e-4) <= ours <= case["epsilon"] * (1 + 1e-8)


# Bounded range


def two_point(eta, t):
    """P and Q on two outcomes with log-ratios t and t - eta: the extreme mechanisms of bounded range eta."""
    up = -math.expm1(t - eta) / (math.exp(t) - math.exp(t - eta))
    return np.array([up * math.exp(t), 1 - up * math.exp(t)]), np.array([up, 1 - up])


@pytest.mark.parametrize("eta", [0.05, 0.5, 1.0])
def test_bounded_range_covers_every_two_point_mechanism_and_hardly_more(eta):
    rho, largest = zcdp.bounded_range_rho(eta), 0.0
    for t in np.linspace(0.01, 0.99, 99) * eta:
        p, q = two_point(eta, t)
        for a in (1.0001, 1.5, 2.0, 5.0, 20.0):
            divergence = math.log(np.sum(p**a * q ** (1 - a))) / (a - 1)
            largest = max(largest, divergence / a)
    assert 0.95 * rho < largest <= rho * (1 + 1e-6)


def exact_delta(eta, times, epsilon, cells=16):
    """The worst adaptive composition with t on a grid of eta / cells: backwards over the privacy loss."""
    h = eta / cells
    size = math.ceil(12 * eta * math.sqrt(times) / h)
    x = h * np.arange(-size, size + 1)
    value = np.maximum(-np.expm1(epsilon - x), 0.0)
    for _ in range(times):
        padded = np.concatenate([np.full(cells, value[0]), value, np.ones(cells)])
        chosen = []
        for up in range(1, cells):
            p, _ = two_point(eta, up * h)
            rise, fall = padded[cells + up :][: len(x)], padded[up:][: len(x)]
            chosen.append(p[0] * rise + p[1] * fall)
        value = np.max(chosen, axis=0)
    return float(value[size])


@pytest.mark.parametrize("times, epsilon, delta", [(20, 1.0, 1e-6), (100, 1.0, 1e-6), (100, 5.0, 1e-6), (4, 0.5, 1e-4)])
def test_bounded_range_choices_keep_the_budget_where_the_worst_composition_is_computed(times, epsilon, delta):
    """The sheet's 6 to 8% to spare (more for four choices): the same choices with eta 25% larger break the budget."""
    eta = zcdp.bounded_range_eta(Budget(epsilon, delta), times)
    assert exact_delta(eta, times, epsilon) <= delta < exact_delta(1.25 * eta, times, epsilon)


def test_bounded_range_figures_of_the_sheet():
    budget = Budget(1.0, 1e-6)
    assert zcdp.bounded_range_eta(budget, 100) == pytest.approx(0.04414, abs=5e-6)
    assert zcdp.bounded_range_eta(budget, 200) == pytest.approx(0.03121, abs=5e-6)
    assert math.sqrt(8 * zcdp.zcdp_rho_by_hand(budget) / 200) == pytest.approx(0.02643, abs=5e-6)
    assert zcdp.bounded_range_eta(Budget(1.0, 1e-8), 137) == pytest.approx(0.03170, abs=5e-6)
    # The Gaussian limit, which is not a proof.
    assert 2 * gaussian.gaussian_mu(budget) / 10 == pytest.approx(0.04734, abs=5e-6)


@given(epsilons, deltas, st.integers(1, 10_000))
def test_bounded_range_inverts_and_basic_composition_wins_for_few_choices(epsilon, delta, times):
    eta = zcdp.bounded_range_eta(Budget(epsilon, delta), times)
    assert zcdp.bounded_range_eta(Budget(epsilon), times) == epsilon / times <= eta
    spent = zcdp.zcdp_epsilon(zcdp.bounded_range_rho(eta, times), delta)
    assert min(spent, times * eta) <= epsilon * (1 + 1e-8) + 1e-8


# Basic and advanced composition, Kamath's formulas


def randomised_response_delta(epsilon, times, total):
    """The hockey-stick divergence of `times` binary randomised responses, exactly."""
    p = 1 / (1 + math.exp(-epsilon))
    k = np.arange(times + 1)
    log_count = np.array([math.lgamma(times + 1) - math.lgamma(j + 1) - math.lgamma(times - j + 1) for j in k])
    true, false = (np.exp(log_count + k * math.log(a) + (times - k) * math.log(1 - a)) for a in (p, 1 - p))
    return float(np.sum(np.maximum(true - math.exp(total) * false, 0.0)))


@pytest.mark.parametrize("epsilon, times", [(0.01, 1000), (0.1, 100), (0.5, 20), (1.0, 5)])
def test_composition_covers_randomised_response(epsilon, times):
    """The worst pure mechanism; a quarter of the advanced epsilon would not cover it."""
    assert randomised_response_delta(epsilon, times, times * epsilon) <= 1e-12
    assert randomised_response_delta(epsilon, times, composition.advanced_epsilon(epsilon, times, 1e-4)) <= 1e-4
    assert randomised_response_delta(epsilon, times, 0.25 * composition.advanced_epsilon(epsilon, times, 1e-4)) > 1e-4


def test_advanced_composition_is_the_published_formula():
    """The sheet: the published Frank-Wolfe scale at the textbook proof, eps0 = 4 eps / sqrt(8 T L), k = T steps."""
    for epsilon, total in [(0.1, 0.2015), (1.0, 2.15)]:
        step = 4 * epsilon / math.sqrt(8 * 100_000 * math.log(1e6))
        assert composition.advanced_epsilon(step, 100_000, 1e-6) == pytest.approx(total, rel=3e-3)
    assert composition.advanced_epsilon(0.3, 7, 0.01) == pytest.approx(
        0.3 * math.sqrt(14 * math.log(100)) + 2.1 * (math.exp(0.3) - 1), rel=1e-12
    )


@pytest.mark.parametrize("n, largest", [(500, 7.05), (2000, 7.80), (10_000, 8.58)])
def test_kamath_s_noise_is_refused_where_its_argument_ends(n, largest):
    assert 2 * math.sqrt(math.log(n**2)) == pytest.approx(largest, abs=6e-3)
    kamath.kamath_multiplier(n, Budget(largest - 0.01, 1 / n**2))
    with pytest.raises(NotApplicable, match=r"needs epsilon < 2 sqrt\(ln\(1/delta\)\) = .*, got epsilon = "):
        kamath.kamath_multiplier(n, Budget(largest + 0.01, 1 / n**2))


@pytest.mark.parametrize("rate", [1e-4, 0.01, 0.3, 1.0])
def test_kamath_s_lemma_covers_the_exact_cost_below_one(rate):
    """ln(1 + rate (e^epsilon - 1)) is the exact cost; at epsilon = 1.3 twice the rate would no longer cover it."""
    for epsilon in np.linspace(0.01, 0.999, 50):
        exact = math.log1p(rate * math.expm1(epsilon))
        assert exact <= kamath.kamath_subsampled_epsilon(epsilon, rate)
    with pytest.raises(NotApplicable, match="Lemma 3 needs epsilon < 1, got epsilon = 1"):
        kamath.kamath_subsampled_epsilon(1.0, rate)
    assert math.log1p(1e-4 * math.expm1(1.3)) > 2e-4 * 1.3
