"""What an attacker may believe, and how often he is right, against laws whose outcomes are laid out one by one."""

import math

import numpy as np
import pytest

from dpcore import Budget, calibrate
from dpcore.accounting.gaussian import gaussian_mu
from dpcore.accounting.tradeoff import GaussianCurve, PureCurve
from dpcore.studies.decide.posterior import belief_of
from dpcore.studies.decide.repeated_releases import repeated_releases

PRIORS = (1 / 2, 1 / 10, 1 / 1000)


@pytest.mark.parametrize("prior", [*PRIORS, 0.9])
def test_no_outcome_of_a_pure_release_makes_anybody_believe_more(prior):
    rng, epsilon, most = np.random.default_rng(0), 1.3, 0.0
    for _ in range(100):
        zero, moved = rng.dirichlet(np.ones(4)), rng.integers(0, 2, 4)
        for size in np.linspace(2.0 * epsilon, 0.0, 300):
            one = zero * np.exp(size * moved)
            one /= one.sum()
            if abs(np.log(one / zero)).max() <= epsilon:
                break
        most = max(most, float(np.max(prior * one / (prior * one + (1.0 - prior) * zero))))
    assert most <= belief_of(Budget(epsilon), PureCurve(epsilon), prior).after * (1 + 1e-12)
    # Randomised response attains it.
    one = 1.0 / (1.0 + math.exp(-epsilon))
    attained = prior * one / (prior * one + (1.0 - prior) * (1.0 - one))
    assert attained == pytest.approx(belief_of(Budget(epsilon), PureCurve(epsilon), prior).after, rel=1e-12)
    assert most > 0.97 * attained


@pytest.mark.parametrize("prior", [*PRIORS, 0.3, 0.8])
@pytest.mark.parametrize("mu", [0.3, 2.0])
def test_the_best_guess_is_right_as_often_as_the_best_threshold(prior, mu):
    at = np.linspace(-8.0, 10.0, 40_001)
    tail = np.array([0.5 * math.erfc(t / math.sqrt(2.0)) for t in at])
    shifted = np.array([0.5 * math.erfc((t - mu) / math.sqrt(2.0)) for t in at])
    best = float(np.max(prior * shifted + (1.0 - prior) * (1.0 - tail)))
    assert belief_of(Budget(1.0), GaussianCurve(mu), prior).right == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("prior", [0.02, 0.3, 0.6, 0.98])
def test_randomised_response_is_guessed_by_its_answer_or_by_the_prior(prior):
    right = max(prior, 1.0 - prior, 1.0 / (1.0 + math.exp(-1.0)))
    assert belief_of(Budget(1.0), PureCurve(1.0), prior).right == pytest.approx(right, rel=1e-12)


def test_with_delta_nothing_is_said_of_a_single_outcome():
    curve = GaussianCurve(gaussian_mu(Budget(1.0, 1e-6)))
    for prior in PRIORS:
        belief = belief_of(Budget(1.0, 1e-6), curve, prior)
        assert belief.after is None and "guesses" in belief.words
        assert belief.before <= belief.right < 1.0
    assert belief_of(Budget(1.0, 1e-6), curve, 0.5).right == pytest.approx(curve.attack_limit())
    # Who accuses in vain once in a hundred cases finds few.
    assert 0.01 < belief.caught < 0.03


def test_a_pure_release_after_several_is_pure():
    plan = calibrate("output_gamma", n=1000, p=4, epsilon=0.5)
    after = repeated_releases(plan, releases=2, records=2)
    belief = belief_of(Budget(after.epsilon, after.delta), after.curve, 1 / 10)
    assert belief.after == pytest.approx(0.1 * math.exp(2.0) / (0.9 + 0.1 * math.exp(2.0)))
    assert "suspected you with a probability of 10% " in belief.words
    assert belief.right <= max(belief.before, belief.after) + 1e-12


def test_words_are_rounded_to_the_safe_side_and_priors_checked():
    belief = belief_of(Budget(1.0), PureCurve(1.0), 1 / 1000)
    assert "a probability of 0.1% may suspect you with at most 0.3%" in belief.words
    with pytest.raises(ValueError, match=r"prior must .*\(0, 1\), got 1"):
        belief_of(Budget(1.0), PureCurve(1.0), 1.0)
