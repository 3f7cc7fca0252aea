"""What adaptive choices of bounded range cost together: against brute force over few choices, and known laws."""

import math

import numpy as np
import pytest
from scipy import stats

from dpcore.accounting import adaptive_bounded_range
from dpcore.accounting.adaptive_bounded_range import MOST_CHOICES, choices_delta
from dpcore.accounting.composition import repeated_choice_delta
from dpcore.accounting.zcdp import zcdp_epsilon
from tests.mechanisms.test_bounded_range import two_point

EPSILONS = np.array([0.0, 0.03, 0.2, 0.5, 1.0, 1.7])


def best_of_two(first: float, second: float, epsilon: float, grid: int = 201) -> float:
    """The largest delta over a grid of two-point laws for the first choice and for the second after each outcome."""

    def laws(eta: float) -> tuple[np.ndarray, np.ndarray]:
        t = eta * np.linspace(0.0, 1.0, grid)[1:-1]
        p = np.expm1(t - eta) / math.expm1(-eta)
        return np.stack([p, 1.0 - p], axis=1), np.stack([p * np.exp(-t), (1.0 - p) * np.exp(eta - t)], axis=1)

    (ps, qs), (ps2, qs2) = laws(first), laws(second)
    # [first law, its outcome, second law, its outcome]
    excess = ps[:, :, None, None] * ps2 - math.exp(epsilon) * qs[:, :, None, None] * qs2
    return float(np.maximum(excess, 0.0).sum(axis=3).max(axis=2).sum(axis=1).max())


@pytest.mark.parametrize("first, second", [(1.0, 1.0), (0.3, 0.3), (1.0, 0.4), (0.2, 0.9)])
def test_two_choices_cost_what_the_best_of_all_adaptive_pairs_does(first, second):
    for epsilon in EPSILONS:
        found, brute = choices_delta((first, second), np.array([epsilon]))[0], best_of_two(first, second, epsilon)
        assert brute <= found + 1e-15
        assert found <= brute + 3e-3 * first


@pytest.mark.parametrize("eta, times", [(0.7, 1), (0.4, 3), (2.0, 4), (0.1, 40)])
def test_adaptive_choices_cost_no_less_than_repeated_ones_and_no_more_than_zcdp(eta, times):
    ours, repeated = choices_delta((eta,) * times, EPSILONS), repeated_choice_delta(eta, times, EPSILONS)
    assert (ours >= repeated).all() and (ours <= 1.25 * repeated + 2e-3 * eta).all()
    for delta in (1e-6, 1e-3):
        epsilon = np.array([zcdp_epsilon(times * eta**2 / 8.0, delta)])
        assert choices_delta((eta,) * times, epsilon)[0] < delta
    assert choices_delta((1.3 * eta,) * times, np.zeros(1))[0] > ours[0]


def test_one_choice_after_another_of_no_matter_is_one_choice():
    exact = repeated_choice_delta(0.8, 1, EPSILONS)
    for ranges in ((0.8, 1e-9), (1e-9, 0.8), (0.8,)):
        found = choices_delta(ranges, EPSILONS)
        assert (found >= exact).all() and np.allclose(found, exact, rtol=0, atol=1e-3)


@pytest.mark.parametrize("epsilon, times", [(0.3, 5), (1.0, 2), (0.05, 100)])
def test_choices_of_known_epsilon_are_randomised_responses(epsilon, times):
    counts, chance = np.arange(times + 1), 1.0 / (1.0 + math.exp(-epsilon))
    ps, qs = (stats.binom.pmf(counts, times, p) for p in (chance, 1.0 - chance))
    exact = np.array([np.maximum(ps - math.exp(e) * qs, 0.0).sum() for e in EPSILONS])
    found = choices_delta((epsilon,) * times, EPSILONS, pure=True)
    assert (found >= exact).all() and np.allclose(found, exact, rtol=2e-3, atol=1e-3 * epsilon)


def test_a_range_is_worth_less_than_its_epsilon_and_nothing_is_left_beyond_the_sum():
    pure, ranged = choices_delta((0.5,) * 4, EPSILONS, pure=True), choices_delta((0.5,) * 4, EPSILONS)
    assert (ranged <= pure).all() and ranged[0] < 0.6 * pure[0]
    assert (choices_delta((0.5, 0.25), np.array([0.76, 5.0, 200.0])) < 1e-12).all()
    assert choices_delta((400.0,), np.array([3.0]))[0] == 1.0
    (p, q), beyond = two_point(4.0, 0.5), np.array([3.9, 1.0])
    assert (choices_delta((4.0,) * 3, beyond) >= max(p, q) ** 3 - np.exp(beyond) * min(p, q) ** 3).all()


def test_too_many_choices_are_refused():
    with pytest.raises(ValueError, match=f"ranges must be 1 to {MOST_CHOICES} numbers, got {MOST_CHOICES + 1}"):
        choices_delta((0.1,) * (MOST_CHOICES + 1), np.zeros(1))
    with pytest.raises(ValueError, match="numbers, got 0"):
        choices_delta((), np.zeros(1))


def test_what_lies_beyond_a_short_grid_is_not_forgotten(monkeypatch):
    """A grid that ends where a hundredth is left: bounds stay bounds, and become wide."""
    exact = repeated_choice_delta(0.2, 30, EPSILONS)
    usual = choices_delta((0.2,) * 30, EPSILONS)
    monkeypatch.setattr(adaptive_bounded_range, "_TAIL", 1.0)
    adaptive_bounded_range._values.cache_clear()
    short = choices_delta((0.2,) * 30, EPSILONS)
    adaptive_bounded_range._values.cache_clear()
    assert (short >= exact).all() and (short >= usual).all() and short[-1] > 10.0 * usual[-1]


def test_a_plain_sum_limits_adaptive_choices_too_in_every_case_tried():
    """tanh(s / 4) is proved for independent choices; the exact optimum of adaptive ones is compared with it here."""
    rng = np.random.default_rng(0)
    cases = [(eta,) * k for k in (2, 3, 5, 8, 16, 32, 64, 128) for eta in np.geomspace(1e-3, 20.0 / k, 8)]
    cases += [tuple(np.exp(rng.uniform(-5.0, 1.0, rng.integers(2, 9)))) for _ in range(100)]
    shares = [choices_delta(ranges, np.zeros(1))[0] / math.tanh(math.fsum(ranges) / 4.0) for ranges in cases]
    assert 0.9 < max(shares) <= 1.0
