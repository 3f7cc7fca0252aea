"""Fingerprinting codes, tracing what private Frank-Wolfe releases, and Lemma 3.3 with its constants."""

import dataclasses as dc
import itertools
import math

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.stats import mannwhitneyu

from dpcore import Budget, Domain, Spec
from dpcore.experiments.summary import auc
from dpcore.mechanisms import make_mechanism
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


def agreement_guaranteed(kappa, tau, spare=None):
    """f >= 0 such that more than f p consensus signs agree with theta whenever n F(theta) < kappa tau w; Lemma 3.3.

    For n F(theta) = k ||theta||^2 + sum_i (<x_i, theta> - 1)^2, the sum over w users, ||theta||_1 <= 1 and
    tau = k / (w p). spare: the share of the p columns without consensus; None for tau, as in the paper. 0 says nothing.

    Let a, b be the L1 norms of theta on the columns that agree, A of them, and on the spare ones. Columns that disagree
    push every <x_i, theta> down, so <x_i, theta> <= a + b. By Cauchy's inequality ||theta||^2 >= (a + b)^2 / N, with
    N = A + spare p. With s = a + b <= 1
        n F(theta) >= k s^2 / N + w (1 - s)^2 >= 1 / (1/w + N/k) = tau w / (tau + N/p).
    So n F(theta) < kappa tau w needs A/p > 1/kappa - tau - spare. With spare = 0 this is the largest such f: models
    with equal sizes on A columns attain equality.

    The paper bounds a and b one by one and needs 1 >= sqrt(kappa f) + 2 sqrt(kappa tau), a smaller f.

    Source: Talwar, Thakurta and Zhang 2015, Lemma 3.3 (f = 3/4, kappa = 1.1, tau = 1/1000); constant derived here.
    """
    return max(0.0, 1.0 / kappa - tau - (tau if spare is None else spare))


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


def test_auc_counts_pairs():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 6, 30).astype(float), rng.integers(0, 5, 17).astype(float)
    assert auc(a, b) == pytest.approx(mannwhitneyu(a, b).statistic / (30 * 17))


def test_accurate_models_are_traced_and_private_ones_are_not(found):
    """12 runs on 6 codes: a mean auc has a standard error near 0.03, and the margins here are at least 4 of them."""
    assert found.exact > 0.85
    assert abs(found.auc[0] - 0.5) < 0.13 and found.auc[-1] > 0.75
    assert all(np.diff(found.excess) < 0) and 0 < found.excess[-1] < 0.3 * found.nothing < found.excess[0]
    assert all(np.diff(found.agreement) > 0) and found.agreement[-1] < 1.0
    assert found.every_auc.shape == (7, 12) and np.allclose(found.every_auc.mean(axis=1), found.auc)
    assert found.n == 520


def test_a_run_is_a_release_of_the_mechanism_on_a_code_of_its_repetition():
    found = tracing(seed=4, p=64, repetitions=2)
    spec = Spec("squared", n=72, p=64, domain=Domain(q=math.inf), radius=1.0, set="l1_ball")
    mechanism = make_mechanism("frank_wolfe_polytope", T=64)
    plan, traced = mechanism.calibrate(spec, Budget(300.0, 72**-2.0)), []
    for repetition in range(2):
        code = fingerprinting_code(8, 64, 100, membership.generator(4, "fingerprints", repetition))
        seeds = membership.generator(4, "frank_wolfe_polytope", repetition).integers(1 << 63, size=2)
        rngs = [np.random.default_rng(seed) for seed in seeds]
        for theta in mechanism.release_many(plan, mechanism.prepare(plan, records_of_code(code)), rngs):
            traced.append(auc(scores(theta, code.members, code.bias), scores(theta, code.strangers, code.bias)))
    assert found.epsilon[5] == 300.0 and found.every_auc[5].tolist() == traced
    assert found.limit[5] == mechanism.attack_limit(plan)


def test_nobody_is_traced_better_than_the_guarantee_allows():
    """40 codes: the standard error of a mean is below 0.03, and it exceeds the limit by 4 of them with chance 3e-5."""
    found = tracing(seed=7, p=64, repetitions=40)
    assert found.limit[0] < 0.75
    assert (found.auc < found.limit + 4 * 0.03).all()


def test_tracing_depends_on_the_seed_and_on_nothing_else(found):
    tracing.cache.clear()
    small = tracing(seed=3, p=64, repetitions=2)
    assert tracing(seed=3, p=64, repetitions=2) is small
    tracing.cache.clear()
    again = tracing(seed=3, p=64, repetitions=2)
    more = tracing(seed=3, p=64, repetitions=3)
    assert again is not small and (again.every_auc == small.every_auc).all() and again.exact == small.exact
    assert (more.every_auc[:, :4] == small.every_auc).all()  # 2 repetitions are a prefix of 3
    other = tracing(seed=4, p=64, repetitions=2)
    assert other.exact != small.exact and (other.every_auc != small.every_auc).any()


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


@pytest.mark.parametrize("spare", [0, 3, 10])
@pytest.mark.parametrize(("w", "k"), [(3, 5), (8, 40), (20, 200)])
def test_no_model_agrees_less_than_the_lemma_guarantees(w, k, spare):
    """The best model that agrees on A columns at most, exact where its L1 norm is below 1; random ones besides.

    Where no column is spare, the lemma is attained: less agreement could not be guaranteed.
    """
    p, rng = 40, np.random.default_rng([w, k, spare])
    signs = rng.choice([-1.0, 1.0], p)
    members = np.tile(signs, (w, 1))
    members[:, p - spare :] = 1.0
    members[np.arange(spare) % w, np.arange(p - spare, p)] = -1.0  # one user each breaks the consensus
    tau, common = k / (w * p), p - spare
    for agreeing in range(common + 1):
        # Signs of theta: free on spare columns, with the consensus on the first A, else against it or 0.
        with_it = np.where(np.arange(common) < agreeing, signs[:common], -signs[:common])
        sides = np.zeros((p, p + spare))
        sides[np.arange(common), np.arange(common)] = with_it
        sides[common:, common:] = np.hstack([np.eye(spare), -np.eye(spare)])
        rows = np.vstack([math.sqrt(k) * sides, members @ sides])
        part, _ = nnls(rows, np.concatenate([np.zeros(p), np.ones(w)]))
        theta = sides @ part
        theta /= max(1.0, np.abs(theta).sum())
        kappa = loss_by_hand(theta, members, k) / (tau * w)
        guaranteed = agreement_guaranteed(kappa * (1 + 1e-9), tau, spare / p)
        assert guaranteed <= agreeing / p
        if not spare and agreeing:
            assert guaranteed == pytest.approx(agreeing / p, abs=1e-6)
    for theta in rng.standard_normal((200, p)) * rng.random((200, 1)) / p:
        theta[:common] = np.where(rng.random(common) < 0.9, np.abs(theta[:common]) * signs[:common], theta[:common])
        theta /= max(1.0, np.abs(theta).sum())
        agree = np.count_nonzero(np.sign(theta[:common]) == signs[:common]) / p
        kappa = loss_by_hand(theta, members, k) / (tau * w)
        assert agreement_guaranteed(kappa * (1 + 1e-9), tau, spare / p) <= agree


def test_the_papers_argument_guarantees_less():
    kappa, tau, share = 1.1, 0.001, 0.75
    assert math.sqrt(kappa * share) + 2 * math.sqrt(kappa * tau) <= 1  # as published, for its own numbers
    for kappa, tau in itertools.product((1.01, 1.1, 1.5, 4.0), (1e-4, 1e-3, 1e-2, 0.1)):
        published = max(0.0, 1 - 2 * math.sqrt(kappa * tau)) ** 2 / kappa
        assert agreement_guaranteed(kappa, tau) >= published or not published
    assert agreement_guaranteed(1.1, 0.001) == pytest.approx(0.9071, abs=1e-4)
    assert agreement_guaranteed(100.0, 0.1) == 0.0


def test_the_literal_size_is_the_smallest_and_cannot_be_built():
    size, tau = literal_size(), 0.001
    w = size.m / math.log(size.m)
    assert w >= 1 / tau > (size.m - 1) / math.log(size.m - 1)
    assert size.p == size.m**2 / tau and size.n >= w + tau * w * size.p >= size.p
    assert size.m == 9119 and size.n == pytest.approx(8.3e10, rel=0.01)
    assert size.excess == pytest.approx(3.9e-13, rel=0.02)


def test_results_are_frozen(found):
    with pytest.raises(dc.FrozenInstanceError):
        found.w = 9
