"""Independent draws from one choice of bounded range: their exact cost, and the trade-off curve that audits test."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpcore.accounting.attack_limits import bounded_range_attack_limit
from dpcore.accounting.composition import repeated_choice_delta
from dpcore.accounting.tradeoff import GaussianCurve, RepeatedChoiceCurve
from tests.mechanisms.test_bounded_range import two_point

CASES = [(0.5, 7, 1.0), (0.1, 100, 1.0), (1.0, 3, 0.5), (0.05, 500, 0.2), (2.0, 4, 0.0), (0.3, 1, 0.1)]


def spent(ps: np.ndarray, qs: np.ndarray, epsilon: float) -> float:
    """delta of one pair of laws."""
    return float(np.maximum(ps - math.exp(epsilon) * qs, 0.0).sum())


@pytest.mark.parametrize("eta, times, epsilon", CASES)
def test_delta_is_the_largest_over_all_pairs_of_two_outcomes(eta, times, epsilon):
    counts = np.arange(times + 1)
    chances = np.array([two_point(eta, share) for share in np.linspace(1e-6, 1.0 - 1e-6, 4_001)])
    ps, qs = (stats.binom.pmf(counts, times, chance[:, None]) for chance in chances.T)
    found = max(spent(p, q, epsilon) for p, q in zip(ps, qs, strict=True))
    delta = float(repeated_choice_delta(eta, times, np.array([epsilon]))[0])
    assert found <= delta * (1 + 1e-9) and delta <= found * (1 + 1e-3)


def test_no_choice_of_four_outcomes_costs_more():
    """By enumeration of all draws; the most that is seen comes near what is allowed."""
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(400):
        eta, times, epsilon = rng.uniform(0.05, 2.0), int(rng.integers(1, 5)), rng.uniform(0.0, 1.5)
        q = rng.dirichlet(np.full(4, rng.choice([0.3, 3.0])))
        lift = rng.uniform(0.0, eta, 4) if rng.random() < 0.5 else eta * rng.integers(0, 2, 4)
        p = q * np.exp(lift)
        p /= p.sum()
        draws = list(itertools.product(range(4), repeat=times))
        ps, qs = (np.array([math.prod(law[i] for i in draw) for draw in draws]) for law in (p, q))
        allowed = float(repeated_choice_delta(eta, times, np.array([epsilon]))[0])
        for one, other in ((ps, qs), (qs, ps)):
            delta = spent(one, other, epsilon)
            assert delta <= allowed + 1e-12
            worst = max(worst, delta / allowed if allowed > 1e-3 else 0.0)
    assert worst > 0.9


def test_nothing_is_left_beyond_the_sum_of_the_ranges():
    assert not repeated_choice_delta(0.5, 4, np.array([2.0, 2.1, 800.0])).any()
    assert (repeated_choice_delta(0.5, 4, np.array([1.9, 1.0, 0.0])) > 0.0).all()


@pytest.mark.parametrize("eta, times", [(0.01, 50), (0.1, 150), (1.0, 3)])
def test_the_curve_s_limit_is_the_sharp_one_and_its_two_readings_agree(eta, times):
    curve = RepeatedChoiceCurve(eta, times)
    assert curve.attack_limit() <= bounded_range_attack_limit(eta, times) * (1 + 1e-12)
    counts, (p, q) = np.arange(times + 1), two_point(eta, 0.5)
    even = 0.5 * np.abs(stats.binom.pmf(counts, times, p) - stats.binom.pmf(counts, times, q)).sum()
    assert 0.5 + 0.5 * even <= curve.attack_limit() * (1 + 1e-9) <= (0.5 + 0.5 * even) * 1.03
    for delta in (1e-6, 1e-3):
        epsilon = curve.epsilon(eta, delta)
        assert float(repeated_choice_delta(eta, times, np.array([epsilon]))[0]) == pytest.approx(delta, rel=1e-6)
        assert curve.epsilon(0.5 * eta, delta) < epsilon < curve.epsilon(2.0 * eta, delta)


def test_what_is_needed_is_what_the_best_attack_on_that_range_shows():
    """Rates of the best event at one threshold of the even pair need almost the whole range, and no more."""
    eta, times = 0.2, 60
    curve, (p, q) = RepeatedChoiceCurve(eta, times), two_point(eta, 0.5)
    for least in (25, 30, 36):
        true, false = (float(stats.binom.sf(least - 1, times, chance)) for chance in (p, q))
        (needed,) = curve.needed(np.array([true]), np.array([false]))
        assert 0.95 * eta < needed <= eta * (1 + 1e-6)
        assert needed == pytest.approx(2.0 / math.sqrt(times) * GaussianCurve(1.0).needed(true, false), rel=0.02)
    assert curve.needed(np.array([0.3, 0.5]), np.array([0.3, 0.6])).tolist() == [0.0, 0.0]
    assert curve.epsilon(0.0, 1e-6) == 0.0


def test_of_many_rates_the_telling_ones_are_asked_about():
    """40 thresholds of a pair of range 0.2 in an unordered row: what all need is what the best of them needs alone."""
    curve, (p, q) = RepeatedChoiceCurve(0.1, 40), two_point(0.2, 0.5)
    order = np.random.default_rng(1).permutation(40)
    true, false = (stats.binom.sf(order, 40, chance) for chance in (p, q))
    alone = np.array([curve.needed(true[i : i + 1], false[i : i + 1])[0] for i in range(40)])
    together = curve.needed(true, false)
    assert together.max() == alone.max() > 0.19
    assert ((together == alone) | (together == 0.0)).all()
