"""Fingerprinting codes, tracing what private Frank-Wolfe releases, and Lemma 3.3 with its constants."""

import math

import numpy as np
import pytest
from scipy.optimize import nnls

from dpcore import Domain
from dpcore.studies.sparsity.l1 import membership
from dpcore.studies.sparsity.l1.membership import (
    fingerprinting_code,
    literal_size,
    records_of_code,
    scores,
    tracing,
)


@pytest.fixture(scope="module")
def found():
    return tracing(seed=1, p=512, repetitions=6)


def loss_by_hand(theta, members, k):
    """k ||theta||^2 + sum over members of (<x_i, theta> - 1)^2."""
    return k * theta @ theta + ((members @ theta - 1) ** 2).sum()


def test_a_code_is_biased_coins_and_constant_columns_in_random_order():
    """One of 384 columns of 4,000 coins misses its bias by 6 standard errors with probability below 1e-6."""
    code = fingerprinting_code(8, 512, 4_000, np.random.default_rng(3))
    everyone = np.vstack([code.members, code.strangers])
    assert set(np.unique(everyone)) == {-1.0, 1.0} and code.members.shape == (8, 512)
    constant = np.isnan(code.bias)
    assert constant.sum() == 128 and np.abs(everyone[:, constant].mean(axis=0)).min() == 1.0
    assert everyone[0, constant].sum() == 0.0
    chance = code.bias[~constant]
    assert chance.min() >= 1 / 36 and chance.max() <= 35 / 36
    error = np.abs((everyone[:, ~constant] > 0).mean(axis=0) - chance) / np.sqrt(chance * (1 - chance) / 4_008)
    assert error.max() < 6
    # The arcsine law: uniform angles; Kolmogorov's distance of 3,840 draws is beyond 0.04 with probability 1e-5.
    biases = np.concatenate([fingerprinting_code(8, 512, 1, np.random.default_rng(s)).bias for s in range(10)])
    low, chances = math.asin(math.sqrt(1 / 36)), biases[np.isfinite(biases)]
    angles = np.sort((np.arcsin(np.sqrt(chances)) - low) / (math.pi / 2 - 2 * low))
    assert np.abs(angles - (np.arange(3_840) + 0.5) / 3_840).max() < 0.04
    # In order, the first 384 columns would be the coins.
    assert 64 < np.isnan(code.bias[:384]).sum() < 128


def test_consensus_is_what_all_members_agree_on():
    members = np.array([[1.0, -1.0, 1.0], [1.0, -1.0, -1.0]])
    assert membership.Code(members, members, np.full(3, 0.5)).consensus.tolist() == [1.0, -1.0, 0.0]


def test_the_records_make_a_ridge_of_the_members():
    rng = np.random.default_rng(0)
    code = fingerprinting_code(5, 32, 1, rng)
    data = records_of_code(code)
    data.check_domain(Domain(q=math.inf))
    assert data.n == 37
    for theta in rng.standard_normal((5, 32)):
        assert ((data.X @ theta - data.y) ** 2).sum() == pytest.approx(loss_by_hand(theta, code.members, 32), rel=1e-12)


def test_scores_of_strangers_are_centred_with_unit_variance():
    """8,000 strangers to a model without zeros: mean within 5 standard errors, variance within 0.1, chance below 1e-6.

    A zero coordinate names nothing and only takes variance away.
    """
    rng = np.random.default_rng(2)
    code = fingerprinting_code(8, 256, 8_000, rng)
    theta = rng.standard_normal(256)
    found = scores(theta, code.strangers, code.bias)
    assert abs(found.mean()) < 5 / math.sqrt(8_000) and abs(found.var() - 1) < 0.1
    theta[::2] = 0
    assert scores(theta, code.strangers, code.bias).var() < 0.7
    by_hand = scores(np.array([2.0, -0.1, 5.0]), np.array([[1.0, -1.0, 1.0]]), np.array([0.2, 0.5, np.nan]))
    assert by_hand[0] == pytest.approx((1.6 / 0.8 + 1.0) / math.sqrt(2))


def test_accurate_models_are_traced_and_private_ones_are_not(found):
    """12 runs on 6 codes: a mean auc has a standard error near 0.03, and the margins here are at least 4 of them."""
    assert found.exact > 0.85
    assert abs(found.auc[0] - 0.5) < 0.13 and found.auc[-1] > 0.75
    assert all(np.diff(found.excess) < 0) and 0 < found.excess[-1] < 0.3 * found.nothing < found.excess[0]
    assert all(np.diff(found.agreement) > 0) and found.agreement[-1] < 1.0
    assert found.every_auc.shape == (7, 12) and np.allclose(found.every_auc.mean(axis=1), found.auc)
    assert found.n == 520


def test_nobody_is_traced_better_than_the_guarantee_allows():
    """40 codes: the standard error of a mean is below 0.03, and it exceeds the limit by 4 of them with chance 3e-5."""
    found = tracing(seed=7, p=64, repetitions=40)
    assert found.limit[0] < 0.75
    assert (found.auc < found.limit + 4 * 0.03).all()


def test_the_best_model_is_the_best():
    """Against a solver of another kind, on the code of each repetition: nonnegative parts, one for either sign."""
    found, risks = tracing(seed=5, p=128, repetitions=2), []
    for repetition in range(2):
        code = fingerprinting_code(8, 128, 100, membership.generator(5, "fingerprints", repetition))
        sides = np.hstack([np.eye(128), -np.eye(128)])
        rows = np.vstack(
            [math.sqrt(128) * sides, code.members @ sides, np.full((1, 256), 1e-6)]
        )  # the last makes parts exclusive
        free, _ = nnls(rows, np.concatenate([np.zeros(128), np.ones(8), [0.0]]))
        assert free.sum() < 1  # so the ball does not bind
        risks.append(loss_by_hand(sides @ free, code.members, 128) / 136)
    assert found.nothing == pytest.approx(8 / 136 - np.mean(risks), abs=1e-9)


def test_the_literal_size_is_the_smallest_and_cannot_be_built():
    size, tau = literal_size(), 0.001
    w = size.m / math.log(size.m)
    assert w >= 1 / tau > (size.m - 1) / math.log(size.m - 1)
    assert size.p == size.m**2 / tau and size.n >= w + tau * w * size.p >= size.p
    assert size.m == 9119 and size.n == pytest.approx(8.3e10, rel=0.01)
    assert size.excess == pytest.approx(3.9e-13, rel=0.02)
