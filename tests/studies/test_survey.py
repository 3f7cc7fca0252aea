"""Randomised response: the coin's guarantee, and estimate, interval and error bounds against the law written out."""

from __future__ import annotations

import functools
import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from dpcore import EPSILON_GRID
from dpcore.studies.survey.coin import DRAWS, Coin, coin_for
from dpcore.studies.survey.estimates import (
    against_people,
    central_bound,
    error_bound,
    people_needed,
    simulated,
    survey_of,
)

CASES = [(1, 1.0), (2, 0.5), (7, 0.5), (12, 3.0), (30, 1.0), (41, 2.0)]


@pytest.mark.parametrize("epsilon", [0.001, *EPSILON_GRID, 20.0])
def test_the_coin_keeps_as_often_as_epsilon_allows_and_no_oftener(epsilon: float):
    coin = coin_for(epsilon)
    with localcontext(prec=80):
        allowed = Decimal(epsilon).exp()
        assert Decimal(coin.keep) / (DRAWS - coin.keep) <= allowed < Decimal(coin.keep + 1) / (DRAWS - coin.keep - 1)
    assert coin.p == coin.keep / 2**32 and coin.epsilon == pytest.approx(epsilon, rel=1e-3)


@pytest.mark.parametrize("keep", [2**31, 2**32, 3.0e9, True, 0])
def test_a_coin_that_protects_nothing_or_tells_nothing_is_refused(keep: object):
    with pytest.raises(ValueError, match="keep must be"):
        Coin(keep)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 21.0, math.nan, "1"])
def test_an_epsilon_without_a_coin_is_refused(epsilon: object):
    with pytest.raises(ValueError, match=r"epsilon must be from 0\.001 to 20, got"):
        coin_for(epsilon)  # type: ignore[arg-type]


def test_the_coin_of_simulated_classes_has_the_same_law():
    coin, runs = coin_for(1.0), 200_000
    yes = [int(coin.flip(np.full(runs, true), np.random.default_rng(3)).sum()) for true in (True, False)]
    assert binomtest(yes[0], runs, coin.p).pvalue > 1e-6 and binomtest(yes[1], runs, 1 - coin.p).pvalue > 1e-6


@functools.cache
def law(n: int, epsilon: float) -> list[np.ndarray]:
    """For each number of true answers the probability of each number of messages, by convolution."""
    p = coin_for(epsilon).p
    return [
        np.convolve(binom.pmf(np.arange(k + 1), k, p), binom.pmf(np.arange(n - k + 1), n - k, 1 - p))
        for k in range(n + 1)
    ]


@pytest.mark.parametrize("n, epsilon", CASES)
def test_intervals_cover_and_error_bounds_hold_whatever_is_true_and_no_smaller_one_does(n: int, epsilon: float):
    coin = coin_for(epsilon)
    surveys = [survey_of(yes, n, coin) for yes in range(n + 1)]
    covered, near, nearer = [], [], []
    for k, probability in enumerate(law(n, epsilon)):
        error = np.array([abs(survey.estimate - k / n) for survey in surveys])
        covered.append(sum(probability[y] for y in range(n + 1) if surveys[y].low <= k / n <= surveys[y].high))
        near.append(probability[error <= surveys[0].bound + 1e-12].sum())
        nearer.append(probability[error < surveys[0].bound - 1e-12].sum())
    assert min(covered) >= 0.95 - 1e-12 and min(near) >= 0.95 - 1e-12 > min(nearer)
    for survey, more in itertools.pairwise(surveys):
        assert survey.low <= more.low and survey.high <= more.high and survey.estimate <= more.estimate
    assert all(survey.low <= survey.high for survey in surveys)


def test_the_estimate_is_unbiased_before_it_is_cut():
    n, epsilon, p = 30, 1.0, coin_for(1.0).p
    for k, probability in enumerate(law(n, epsilon)):
        mean, spread = probability @ np.arange(n + 1), probability @ np.arange(n + 1) ** 2
        assert (mean / n - (1 - p)) / (2 * p - 1) == pytest.approx(k / n)
        assert spread - mean**2 == pytest.approx(n * p * (1 - p))


def test_a_trusted_server_needs_fewer_people_and_its_error_falls_faster():
    rng = np.random.default_rng(5)
    noise = np.abs(rng.laplace(scale=1 / 0.5, size=200_000)) / 80
    assert np.quantile(noise, 0.95) == pytest.approx(central_bound(80, 0.5), rel=0.02)
    curves = against_people(1.0, (50, 200))
    assert curves.local[1] / curves.local[0] == pytest.approx(1 / 2, abs=0.06)
    assert curves.central[1] / curves.central[0] == pytest.approx(1 / 4)
    needed = people_needed(error_bound(200, coin_for(1.0)), 1.0)
    assert central_bound(needed, 1.0) <= error_bound(200, coin_for(1.0)) < central_bound(needed - 1, 1.0)


def test_a_simulated_class_knows_its_share_and_a_real_one_does_not():
    found = simulated(50, 0.3, 1.0, seed=7)
    servers = [simulated(50, 0.3, 1.0, seed).server for seed in range(300)]
    assert np.mean(np.abs(np.array(servers) - 0.3) <= central_bound(50, 1.0)) == pytest.approx(0.95, abs=0.04)
    assert found.share == 0.3 and found == simulated(50, 0.3, 1.0, seed=7) != simulated(50, 0.3, 1.0, seed=8)
    assert survey_of(found.yes, 50, found.coin).share is None
