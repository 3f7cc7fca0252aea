"""The bet against a claim: a fair game at the claim, ruin by luck is rare, and bugs pay quickly."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import expit

from dpcore import Budget
from dpcore.accounting.gaussian import gaussian_mu
from dpcore.accounting.objective import objective_mu
from dpcore.accounting.tradeoff import GaussianCurve, ObjectiveCurve, PureCurve, RepeatedChoiceCurve
from dpcore.audit.betting import BettingTest

MU = gaussian_mu(Budget(1.0, 1e-5))
VERTICES = ((1, 0.0), (2, 0.5), (1, 1.0))


def one_pair(curve, epsilon: float, zero: float, one: float) -> float:
    bet = BettingTest(curve, epsilon)
    bet.update(np.array([zero]), np.array([one]))
    return math.exp(bet.logs[-1])


def mean_after_one_pair(curve, epsilon: float, zeros: dict[float, float], ones: dict[float, float]) -> float:
    """E wealth, exactly: scores and their probabilities on either side."""
    return sum(
        p * q * one_pair(curve, epsilon, zero, one)
        for (zero, p), (one, q) in itertools.product(zeros.items(), ones.items())
    )


# The bet


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("size", [0.5, 1.0])
def test_a_pair_of_runs_of_a_true_claim_wins_nothing_on_average(epsilon, swap, size):
    """Randomised response at exactly epsilon, scores log-ratios or half as large; a claim of 0.9 epsilon is beaten."""
    right = float(expit(epsilon))
    zeros, ones = (
        {size * epsilon: 1 - right, -size * epsilon: right},
        {size * epsilon: right, -size * epsilon: 1 - right},
    )
    if swap:
        zeros, ones = ones, zeros
    assert mean_after_one_pair(PureCurve(epsilon), epsilon, zeros, ones) <= 1.0 + 1e-12
    if not swap:
        assert mean_after_one_pair(PureCurve(0.9 * epsilon), 0.9 * epsilon, zeros, ones) > 1.0 + 1e-4 * epsilon**2


@pytest.mark.parametrize(
    "curve, epsilon",
    [
        (GaussianCurve(MU), 1.0),
        (RepeatedChoiceCurve(0.08, times=12), 0.9),
        (ObjectiveCurve(objective_mu(Budget(1.0, 1e-5), 0.4, VERTICES), 0.4, VERTICES), 1.0),
    ],
    ids=["gaussian", "draws", "objective"],
)
def test_no_pair_of_laws_that_a_curve_allows_wins_on_average(curve, epsilon):
    """Laws on three scores, as far apart along random directions as the curve allows; and ten times as far.

    An event S is allowed where P1(S) - e^e P0(S) <= delta(e) for every e looked at, either way round.
    """
    rng = np.random.default_rng(2)
    grid = np.concatenate([np.zeros(1), np.geomspace(1e-3, 8.0, 120), np.array([0.25, 0.5, 1.0]) * epsilon])
    deltas, ratio = curve.delta(grid), np.exp(grid)

    def allowed(zeros, ones):
        for p, q in ((zeros, ones), (ones, zeros)):
            if np.any(np.maximum(q[:, None] - ratio * p[:, None], 0.0).sum(axis=0) > deltas):
                return False
        return True

    scores, beaten = np.array([-2.0, 0.0, 2.0]) * epsilon, 0
    for _ in range(30):
        middle = rng.uniform(0.0, 0.8)
        zeros = np.array([(1 - middle) / 2, middle, (1 - middle) / 2])
        away = np.array([-1.0, 0.0, 1.0]) + rng.uniform(-0.2, 0.2) * np.array([1.0, -2.0, 1.0])
        low, high = 0.0, 1.0
        for _ in range(40):
            t = 0.5 * (low + high)
            p, q = zeros - t * away, zeros + t * away
            good = min(p.min(), q.min()) >= 0.0 and allowed(p, q)
            low, high = (t, high) if good else (low, t)
        p, q = zeros - low * away, zeros + low * away
        law = [dict(zip(scores, each, strict=True)) for each in (p, q)]
        assert mean_after_one_pair(curve, epsilon, *law) <= 1.0 + 1e-12
        far = min(10.0 * low, 0.999 * (1 - middle) / 2 / np.abs(away).max())
        law = [dict(zip(scores, each, strict=True)) for each in (zeros - far * away, zeros + far * away)]
        beaten += mean_after_one_pair(curve, epsilon, *law) > 1.0
    assert beaten > 15


# The game


def luck(mu: float, games: int, pairs: int, *, claim: float = MU) -> tuple[int, int]:
    """How many of many games of Gaussian scores ever reach 20 and 1,000."""
    rng, reached = np.random.default_rng(6), np.zeros(2, int)
    for _ in range(games):
        zeros, ones = mu * rng.standard_normal((2, pairs)) + 0.5 * mu**2 * np.array([[-1.0], [1.0]])
        bet = BettingTest(GaussianCurve(claim), epsilon=1.0)
        bet.update(zeros, ones)
        reached += [at is not None for at in bet.reached]
    return int(reached[0]), int(reached[1])


def test_correct_code_rarely_loses_the_bet_and_a_bug_soon_does():
    """300 games of 3,000 pairs. At the claim 1,000 is reached by more than 4 with probability below 2e-5 and 20 by more
    than 35 with probability 3e-6 (binomial at 1/1000 and 1/20, which Ville's inequality bounds)."""
    suspicious, contradicted = luck(MU, games=300, pairs=3_000)
    assert contradicted <= 4 and suspicious <= 35
    assert luck(2.0 * MU, games=30, pairs=3_000) == (30, 30)


def test_long_updates_are_worked_off_in_chunks_of_the_same_game(monkeypatch):
    from dpcore.audit import betting

    rng = np.random.default_rng(3)
    zeros, ones = rng.standard_normal((2, 1_000))
    whole, chunks = (BettingTest(GaussianCurve(0.5), epsilon=1.0) for _ in range(2))
    whole.update(zeros, ones)
    monkeypatch.setattr(betting, "_CHUNK", 64)
    chunks.update(zeros, ones)
    assert np.array_equal(chunks.pairs, whole.pairs) and np.allclose(chunks.logs, whole.logs, atol=1e-9)
