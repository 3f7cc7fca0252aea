"""Adversaries: what their costs are, and the counterexample to equation (12) of Jain and Thakurta 2014."""

import math

import numpy as np
import pytest
from scipy import stats

from dpcore import Budget, Data, Domain, Spec
from dpcore.mechanisms.simplex.ftrl import FTRL, log_weights, play
from dpcore.studies.selection.streaming.adversaries import ADVERSARIES, counterexample_regret, stream
from dpcore.theory import sampling_and_regret as theory

every = pytest.mark.parametrize("key", ADVERSARIES)


@every
def test_costs_are_plus_or_minus_one_and_repeat_by_seed(key):
    costs = stream(key, steps=50, p=7, seed=3, lam=0.1)
    assert costs.shape == (50, 7) and set(np.unique(costs)) == {-1.0, 1.0}
    assert np.array_equal(costs, stream(key, steps=50, p=7, seed=3, lam=0.1))
    moved = not np.array_equal(costs, stream(key, steps=50, p=7, seed=4, lam=0.1))
    assert moved == (key in ("random", "fair"))
    for p in (1, 2, 3):
        assert stream(key, steps=9, p=p).shape == (9, p)
    assert ADVERSARIES[key].label and ADVERSARIES[key].sentence.endswith(".")


def test_coins_have_the_chances_that_the_sentences_say():
    """False alarm 1e-6 each, two-sided, over fixed seeds."""
    T, p = 40_000, 8

    def follows(lucky: np.ndarray, chance: float) -> bool:
        return stats.binomtest(int(lucky.sum()), lucky.size, chance).pvalue > 1e-6

    lucky = stream("random", steps=T, p=p, seed=5) < 0
    best = lucky.mean(axis=0).argmax()
    assert follows(lucky[:, best], 0.75) and follows(np.delete(lucky, best, axis=1), 0.5)
    assert follows(stream("fair", steps=T, p=p, seed=5) < 0, 0.5)


def test_the_adaptive_one_keeps_the_spared_arm_at_half_of_the_weight():
    """Every step follows from the weights that the learner really has; the regret is near the whole bound."""
    T, p, lam = 3000, 50, 0.01
    costs = stream("adaptive", steps=T, p=p, lam=lam)
    data = Data(costs, np.zeros(T))
    weight = np.exp(log_weights(data, T * lam)[:, 0])
    assert np.array_equal(costs[:, 0] < 0, weight <= 0.5)
    assert (costs[:, 1:] == -costs[:, :1]).all()
    assert weight.max() < 0.6 and (weight[600:] > 0.4).all()
    played = play(data, T * lam, np.empty((0, T)))
    regret, bound = played.expected.sum() - played.scores.min(), theory.regret_bound(T * lam, p, 1.0, T)
    expected = T * lam * math.log(p / 2) + T / (2 * lam * T)
    assert regret == pytest.approx(expected, rel=0.05) and 0.7 * bound < regret <= bound


@pytest.mark.parametrize("p", [2, 3, 10])
def test_the_adaptive_one_charges_exactly_above_half_of_the_weight(p):
    """At a lam that no cost meets, so that rounding decides nothing."""
    costs = stream("adaptive", steps=400, p=p, lam=0.0137 / 0.7)
    weight = np.exp(log_weights(Data(costs, np.zeros(400)), 400 * 0.0137 / 0.7)[:, 0])
    away = np.abs(weight - 0.5) > 1e-9
    assert np.array_equal((costs[:, 0] < 0)[away], (weight <= 0.5)[away]) and away.mean() > 0.4
    assert (costs[0, 0] < 0) and (costs[:, 0] > 0).any()


@pytest.mark.shows("rate", "ftrl")
@pytest.mark.parametrize("p, ratio", [(10, 6.51), (1000, 19.54), (10**6, 39.08)])
def test_equation_12_is_exceeded_by_sqrt_8_ln_p(p, ratio):
    budget, T = Budget(10.0, 1e-3), 4_000_000
    regret = counterexample_regret(T, p, theory.published_stream_lam(T, p, 1.0, budget))
    found = regret / theory.published_stream_rate(T, p, 1.0, budget)
    assert found == pytest.approx(ratio, abs=0.006)
    assert found == pytest.approx(math.sqrt(8) * math.log(p), rel=1e-3)


@pytest.mark.parametrize("p, T", [(10, 200_000), (1000, 20_000)])
def test_the_mechanism_itself_exceeds_equation_12(p, T):
    """The exact expected regret of the published plan on the stream's table; 0.5% for the finite T."""
    plan = FTRL("published").calibrate(Spec("linear", T, p, domain=Domain(math.inf), set="simplex"), Budget(10.0, 1e-3))
    played = play(Data(stream("counterexample", steps=T, p=p), np.zeros(T)), T * plan.scale, np.empty((0, T)))
    regret = played.expected.sum() - played.scores.min()
    assert regret == pytest.approx(counterexample_regret(T, p, T * plan.scale), rel=1e-9)
    (wrong,) = [bound for bound in plan.mechanism.bounds(plan) if "does not follow" in bound.source]
    assert regret / wrong.value == pytest.approx(math.sqrt(8) * math.log(p), rel=5e-3)
    assert regret <= plan.mechanism.bounds(plan)[0].value
