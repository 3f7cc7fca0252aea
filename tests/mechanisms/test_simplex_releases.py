"""Releases of simplex sampling: weights, idle columns, the law of the draws, and pictures of them."""

import math

import numpy as np
import pytest
from scipy import stats

from dpcore import Budget, Data
from dpcore.core.losses import get_loss
from dpcore.mechanisms.api import release_once
from dpcore.mechanisms.simplex.sampling import PreparedWeights, sampled_models, tempered
from tests.mechanisms.test_simplex_sampling import every_loss, plan_for, records

LARGE = Budget(1e6)


@every_loss
def test_idle_columns_and_columns_of_zeros_are_the_same(key):
    data = records(key, 60, 4, seed=2, idle=6)
    full = Data(np.hstack([data.X, np.zeros((60, 6))]), data.y)
    plan = plan_for(key, budget=LARGE, n=60, p=10, lam=0.3, m=200)
    short, whole = plan.mechanism.prepare(plan, data), plan.mechanism.prepare(plan, full)
    assert np.abs(whole.log_weights[:4] - short.log_weights).max() <= 2 * plan.tol
    assert np.abs(whole.log_weights[4:] - short.log_idle).max() <= 2 * plan.tol and whole.log_idle == -math.inf
    assert short.theta == pytest.approx(np.exp(short.log_weights)) and whole.theta.sum() == pytest.approx(1.0)
    # Ten columns are released whether six of them are stored or not, and the idle ones get their share: a mean of
    # 20,000 draws each, which misses by five standard deviations in 1 of 10^6 columns.
    for records_ in (data, full):
        mean = np.mean([release_once(plan, records_, seed=i).theta for i in range(100)], axis=0)
        deviation = np.sqrt(np.exp(whole.log_weights) / 20_000)
        assert mean.shape == (10,) and (np.abs(mean - np.exp(whole.log_weights)) < 5 * deviation).all()


@every_loss
def test_the_weights_are_what_their_gradient_says_and_scale_with_the_radius(key):
    data = records(key, 80, 5, seed=3)
    plan = plan_for(key, budget=LARGE, n=80, p=5, lam=0.2, radius=2.5, m=3)
    found = plan.mechanism.prepare(plan, data)
    gradient = 2.5 * get_loss(key).gradients(data, found.theta[None])[0]
    assert np.ptp(found.log_weights + gradient / 0.2) <= plan.tol and found.distance <= plan.tol
    assert found.theta.sum() == pytest.approx(2.5, rel=1e-12)
    same = plan_for(key, budget=LARGE, n=80, p=5, lam=0.2, R=2.5, m=3)
    scaled = same.mechanism.prepare(same, Data(2.5 * data.X, data.y))
    assert np.abs(scaled.log_weights - found.log_weights).max() <= 2 * plan.tol
    assert release_once(plan, data, seed=4).theta == pytest.approx(
        2.5 * release_once(same, Data(2.5 * data.X, data.y), seed=4).theta
    )


def counts_of(plan, prepared, releases, seed):
    """How often each column was drawn in all, and the sum of squares of a release's deviations, with the rest last."""
    rngs = np.random.default_rng(seed).spawn(releases)
    thetas = plan.mechanism.release_many(plan, prepared, rngs)
    counts = thetas * (plan.steps / plan.spec.reach)
    assert np.abs(counts - np.round(counts)).max() < 1e-6
    return np.column_stack([counts, plan.steps - counts.sum(axis=1)])


def p_values(counts, law, m):
    """Chi-square of the totals and of the spread between releases, which are multinomial(m, law)."""
    expected = counts.sum() * law
    total = stats.chi2.sf(((counts.sum(axis=0) - expected) ** 2 / expected).sum(), len(law) - 1)
    spread = ((counts - m * law) ** 2 / (m * law)).sum()
    middle = stats.chi2.cdf(spread, len(counts) * (len(law) - 1))
    return total, 2.0 * min(middle, 1.0 - middle)


@pytest.mark.parametrize("factor", [1.0, 0.5, 2.0])
def test_releases_follow_the_law_of_independent_draws(factor):
    """False alarm: 4 in 10^6 for each factor. The law with one weight 5% larger, and m draws all alike, are told."""
    data = records("huber", 60, 4, seed=5, R=1.5, idle=3)
    plan = plan_for("huber", n=60, p=7, lam=0.6, m=50, radius=1.5, R=1.5).weakened(factor)
    prepared = plan.mechanism.prepare(plan, data)
    full = np.append(prepared.log_weights, np.full(3, prepared.log_idle)) / factor
    law = np.exp(full) / np.exp(full).sum()
    law = np.append(law[:4], law[4:].sum())
    assert tempered(prepared, plan).theta == pytest.approx(1.5 * law[:4], rel=1e-12)
    counts = counts_of(plan, prepared, 4000, seed=6)
    assert min(p_values(counts, law, 50)) > 1e-6
    wrong = law * np.array([1.05, 1.0, 1.0, 1.0, 1.0])
    assert p_values(counts, wrong / wrong.sum(), 50)[0] < 1e-6
    assert p_values(50 * np.random.default_rng(7).multinomial(1, law, 4000), law, 50)[1] < 1e-6
    assert p_values(np.tile(50 * law, (4000, 1)), law, 50)[1] < 1e-6


def weights(law, idle=0.0):
    law = np.asarray(law)
    return PreparedWeights(law, 0.0, np.log(law), math.log(idle) if idle else -math.inf)


def test_pictures_are_nested_follow_the_same_law_and_move_little_with_the_weights():
    """False alarms of the chi-square tests: 1 in 10^6 each."""
    law, idle, ms = np.array([0.5, 0.2, 0.1, 0.05]), 0.15, [1, 7, 50, 400]

    def streams(count):
        return np.random.default_rng(8).spawn(count)

    models = sampled_models(weights(law, idle), ms, streams(1000), radius=2.0)
    assert models.shape == (1000, 4, 4)
    counts = np.round(models / 2.0 * np.array(ms)[:, None]).astype(int)
    assert (np.diff(counts, axis=1) >= 0).all() and (counts.sum(axis=2) <= ms).all()
    for k, m in enumerate(ms):
        own = np.column_stack([counts[:, k], m - counts[:, k].sum(axis=1)])
        assert min(p_values(own, np.append(law, idle), m)) > 1e-6
    moved = sampled_models(weights(law * (1 + 1e-4), idle), ms, streams(1000), radius=2.0)
    assert 0.0 < np.abs(moved - models)[:, 3].sum() < 1000 * 2.0 * 2 * 1e-3
    # A list of one is the same stream.
    assert np.array_equal(sampled_models(weights(law, idle), [50], streams(1000), radius=2.0)[:, 0], models[:, 2])


def test_pictures_of_many_draws_come_from_whole_multinomials_and_are_nested_too():
    law, ms = np.array([0.6, 0.4]), [1000, 1 << 17, (1 << 17) + 1, 10**6, 10**12]
    models = sampled_models(weights(law), ms, np.random.default_rng(9).spawn(200), radius=1.0)
    counts = models * np.array(ms)[:, None]
    assert np.abs(counts.sum(axis=2) / ms - 1.0).max() < 1e-12
    assert (np.diff(counts[:, :4], axis=1) >= 0).all()
    # The mean of 200 lies within six of its standard deviations: a false alarm in 1 of 10^8.
    for k, m in enumerate(ms):
        assert abs(models[:, k, 0].mean() - 0.6) < 6 * math.sqrt(0.24 / m / 200) + 1e-12
        assert models[:, k, 0].std() == pytest.approx(math.sqrt(0.24 / m), rel=0.25)
    large = sampled_models(weights(law), [10**9], np.random.default_rng(9).spawn(2), radius=1.0)
    assert large.shape == (2, 1, 2) and large.sum() == pytest.approx(2.0)


def test_draws_share_their_noise_between_plans_and_not_within_a_pair():
    data = records("huber", 400, 6, seed=10)
    plans = [plan_for(n=400, p=6, lam=0.2, m=m) for m in (10, 200)] + [plan_for(n=400, p=6, lam=0.2001, m=200)]
    plans.append(plans[1].weakened(0.25))
    prepared = plans[0].mechanism.prepare_many(plans, data, lambda: False)
    drawn = plans[0].mechanism.draws(plans, prepared, np.random.default_rng(11).spawn(50), lambda: False)
    assert drawn.thetas.shape == (4, 100, 6) and drawn.risks is None
    assert drawn.centres[0] == pytest.approx(prepared[0].theta) and drawn.centres[3].max() > prepared[1].theta.max()
    assert np.abs(drawn.thetas[1] - drawn.thetas[2]).max() <= 3 / 200 + 1e-12, "nearly the same draws"
    small, large = np.round(drawn.thetas[0] * 10), np.round(drawn.thetas[1] * 200)
    assert (large >= small).all(), "more draws go on from fewer"
    pairs = drawn.thetas[1].reshape(50, 2, 6)[:, :, 0]
    assert abs(np.corrcoef(pairs.T)[0, 1]) < 0.6, "independent: a false alarm in 1 of 10^5"
