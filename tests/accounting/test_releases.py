"""Releases of several kinds together cost what the laws of their losses say."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import binom, norm

from dpcore import calibrate
from dpcore.accounting.releases import Cost, least_epsilon, loss_epsilon
from dpcore.accounting.tradeoff import GaussianCurve, PureCurve, repeated_releases_curve
from dpcore.core.privacy import Budget


def epsilon_of(delta_at, delta: float) -> float:
    return brentq(lambda e: delta_at(e) - delta, 0.0, 50.0, xtol=1e-12)


def responses_delta(sizes, epsilon: float) -> float:
    """Of randomised responses at these epsilons, over all their outcomes."""
    found = 0.0
    for signs in itertools.product((1, -1), repeat=len(sizes)):
        loss = sum(sign * e for sign, e in zip(signs, sizes, strict=True))
        chance = math.prod(1.0 / (1.0 + math.exp(-sign * e)) for sign, e in zip(signs, sizes, strict=True))
        found += chance * max(0.0, -math.expm1(epsilon - loss))
    return found


def test_pure_releases_of_many_sizes():
    sizes = np.random.default_rng(0).uniform(0.05, 0.6, 11).tolist()
    right = epsilon_of(lambda e: responses_delta(sizes, e), 1e-3)
    found = loss_epsilon([PureCurve(e) for e in sizes], 1e-3)
    assert right <= found <= 1.01 * right < sum(sizes)


@pytest.mark.parametrize("times", [2, 11, 40, 100])
def test_equal_releases_with_a_failure(times):
    """A bounded loss: the grid must have room for the sum of its rounded steps."""
    e, failure, j = 0.3, 1e-6, np.arange(times + 1)
    epsilon = 0.5 * times * e
    losses, chances = (2 * j - times) * e, binom.pmf(j, times, 1.0 / (1.0 + math.exp(-e)))
    kept = float(chances @ np.maximum(0.0, -np.expm1(np.minimum(epsilon - losses, 0.0))))
    right = 1.0 - (1.0 - failure) ** times * (1.0 - kept)
    found = repeated_releases_curve(PureCurve(e, failure), times, 1).delta(np.array([epsilon]))[0]
    assert right * (1 - 1e-9) <= found <= 1.02 * right


def test_gaussian_pure_and_failing_releases_together():
    mus, sizes, failure = (0.3, 0.5), (0.4, 0.7), 1e-5
    mu = math.hypot(*mus)

    def delta_at(epsilon: float) -> float:
        """Given the loss s of the Gaussian part, the responses must tell the rest."""
        law = norm(0.5 * mu**2, mu)
        kept = quad(lambda s: law.pdf(s) * responses_delta(sizes, epsilon - s), *law.interval(1 - 1e-15), limit=400)[0]
        return failure + (1.0 - failure) * kept

    right = epsilon_of(delta_at, 1e-3)
    curves = [*map(GaussianCurve, mus), PureCurve(sizes[0], failure), PureCurve(sizes[1])]
    assert right <= loss_epsilon(curves, 1e-3) <= 1.001 * right
    assert loss_epsilon(curves, failure) == loss_epsilon(curves, 0.0) == math.inf


def test_a_release_that_tells_all_has_no_sum_of_losses():
    """e^800 is beyond any float."""
    assert loss_epsilon([PureCurve(0.1), PureCurve(800.0)], 1e-5) == math.inf


@pytest.mark.parametrize("kinds", [1, 3])
def test_folds_of_the_default_mechanism_cost_far_less_than_their_sum(kinds):
    """As Gaussian releases of the same cost do, about."""
    plans = [calibrate("noisy_sgd", n=800 + i % kinds, p=4, epsilon=1.0, delta=1e-6) for i in range(10)]
    found = loss_epsilon([plan.mechanism.claimed_curve(plan) for plan in plans], 1e-5)
    assert loss_epsilon([GaussianCurve(0.2)] * 10, 1e-5) < found < 4.0


def test_what_the_others_leave_of_delta():
    gaussian, other = Cost(Budget(1.0, 1e-6), gdp=0.25, rho=0.03125), Cost(Budget(0.5, 4e-6))
    right = epsilon_of(lambda e: norm.cdf(0.25 - e / 0.5) - math.exp(e) * norm.cdf(-0.25 - e / 0.5), 6e-6)
    assert least_epsilon([gaussian] * 4 + [other], 1e-5) == pytest.approx(right + 0.5, rel=1e-6)
    assert least_epsilon([gaussian, other], 5e-6) == 1.5, "the sum alone has no delta left over"
    assert least_epsilon([other] * 2, 7.9e-6) == math.inf
