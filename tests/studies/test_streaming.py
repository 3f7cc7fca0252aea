"""The engine behind pictures of streams: curves and plays against direct computation. Seeds are fixed."""

import math

import numpy as np
import pytest

from dpcore import Budget, Data, Domain, NotApplicable, Spec
from dpcore.core.rng import generator
from dpcore.mechanisms.simplex.ftrl import FTRL
from dpcore.studies.selection.streaming.adversaries import ADVERSARIES, stream
from dpcore.studies.selection.streaming.regret import play, regret_curve
from dpcore.theory import sampling_and_regret as theory

BUDGET = {"epsilon": 4.0, "delta": 1e-4}


def by_hand(adversary: str, p: int, T: int, runs: int, seed: int):
    """The plan, the costs, the weights before each step, and the arms of each run, one loop after the other."""
    plan = FTRL().calibrate(Spec("linear", T, p, domain=Domain(math.inf), set="simplex"), Budget(4.0, 1e-4))
    X = stream(adversary, steps=T, p=p, seed=seed, lam=plan.scale)
    sums = np.vstack([np.zeros(p), X.cumsum(axis=0)])
    weights = np.exp(-(sums[:-1] - sums[:-1].min(axis=1, keepdims=True)) / (T * plan.scale))
    weights /= weights.sum(axis=1, keepdims=True)
    prepared = plan.mechanism.prepare(plan, _data(X))
    arms = np.array([plan.mechanism.release(plan, prepared, generator(seed, "ftrl", i)) for i in range(runs)], int)
    return plan, X, sums, weights, arms


def _data(X: np.ndarray) -> Data:
    return Data(X, np.zeros(len(X)))


def test_long_plays_are_thinned_and_their_marks_are_exact():
    made = play("random", 5, 1234, **BUDGET, seed=5)
    _, X, sums, _, arms = by_hand("random", 5, 1234, 3, 5)
    assert len(made.marks) <= 401 and made.marks[0] == 0 and made.marks[-1] == 1234
    assert (np.diff(made.marks) >= 1).all()
    regret = np.append(0.0, X[np.arange(1234), arms[0]].cumsum()) - sums.min(axis=1)
    assert made.regret == pytest.approx(regret[made.marks], abs=1e-9)


def test_what_does_not_apply_leaves_its_reason_and_no_numbers():
    single, two = (regret_curve("random", p, (10, 20), **BUDGET, lam="published", repetitions=2) for p in (1, 2))
    assert all("p >= 2" in reason for reason in single.reasons)
    assert np.isnan(single.mean).all() and np.isnan(single.bound).all() and single.steps.tolist() == [10.0, 20.0]
    assert two.reasons == (None, None) and np.isfinite(two.mean).all()
    pure = regret_curve("random", 4, [30], epsilon=4.0, delta=0.0, repetitions=2)
    assert np.isnan(pure.published).all() and pure.spent[0] <= 4.0
    dear = regret_curve("random", 4, [30], **BUDGET, lam=0.01, repetitions=2)
    assert dear.spent[0] > 4.0 and np.isfinite(dear.mean).all()
    with pytest.raises(NotApplicable, match="p >= 2"):
        play("random", 1, 30, **BUDGET, lam="published")


def test_a_single_arm_has_no_regret():
    curve = regret_curve("random", 1, [10, 40], **BUDGET, repetitions=3)
    assert not curve.mean.any() and not curve.expected.any()
    made = play("adaptive", 1, 40, **BUDGET)
    assert made.trust.tolist() == [1.0] * 41 and not made.regret.any()


def test_the_mean_of_runs_follows_the_exact_mean():
    """400 runs, five standard errors of costs in [-1, 1] at worst; the exact mean is within the bound."""
    for adversary in ADVERSARIES:
        curve = regret_curve(adversary, 16, [400], **BUDGET, repetitions=400, seed=8)
        assert abs(curve.mean[0] - curve.expected[0]) <= 5 * math.sqrt(400) / math.sqrt(400)
        assert 0.0 < curve.expected[0] <= curve.bound[0]
        lam = play(adversary, 16, 400, **BUDGET).plan.scale
        assert curve.bound[0] == theory.regret_bound(400 * lam, 16, 1.0, 400)
