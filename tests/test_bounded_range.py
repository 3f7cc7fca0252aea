"""Bounded-range choices: what an attacker sees of them, and the range that sampling from the simplex has."""

import math

import numpy as np
import pytest
from scipy import stats

from dpcore.composition import bounded_range_attack_limit


def two_point(eta, share):
    """Chances of the first of two outcomes under P and Q, with log-ratios share eta and (share - 1) eta."""
    up, down = math.exp(share * eta), math.exp((share - 1.0) * eta)
    q = (1.0 - down) / (up - down)
    return q * up, q


# What an attacker sees


@pytest.mark.parametrize("eta", [0.01, 0.3, 1.0, 4.0, 20.0])
def test_no_choice_of_two_outcomes_tells_more_than_the_limit_and_the_even_one_attains_it(eta):
    distances = [abs(np.subtract(*two_point(eta, share))) for share in np.linspace(0.02, 0.98, 97)]
    assert max(distances) == pytest.approx(2.0 * bounded_range_attack_limit(eta) - 1.0, rel=1e-9)
    assert np.argmax(distances) == 48


@pytest.mark.parametrize("eta, times", [(0.01, 50), (0.1, 10), (0.05, 2000), (0.5, 40), (1.0, 100), (3.0, 4)])
def test_many_such_choices_stay_below_the_limit_which_wastes_little(eta, times):
    counts, worst = np.arange(times + 1), 0.0
    for share in np.linspace(0.1, 0.9, 17):
        p, q = two_point(eta, share)
        worst = max(worst, 0.5 * np.abs(stats.binom.pmf(counts, times, p) - stats.binom.pmf(counts, times, q)).sum())
    limit = 2.0 * bounded_range_attack_limit(eta, times) - 1.0
    assert worst <= limit <= 1.4 * worst, "Pinsker is 1.25 above for small choices and more where they add up to much"


def test_each_of_the_three_inequalities_is_the_smallest_somewhere():
    assert bounded_range_attack_limit(1.0) == 0.5 + 0.5 * math.tanh(0.25)
    assert bounded_range_attack_limit(0.1, 100) == pytest.approx(0.625, rel=1e-12)
    assert bounded_range_attack_limit(1.0, 16) == pytest.approx(0.5 + 0.5 * math.sqrt(1 - math.exp(-2)), rel=1e-12)
