"""Runs of Frank-Wolfe with noisy gradients: vertices and general sets, plans together, and columns that are 0."""

import dataclasses as dc
import math
from concurrent.futures import CancelledError

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from dpcore import Budget, Data, Domain, Spec
from dpcore.core.losses import get_loss
from dpcore.core.sets import L1Ball, Simplex
from dpcore.mechanisms.frank_wolfe.convex_set import noisy_models
from dpcore.solvers.frank_wolfe import vertices as fw
from dpcore.solvers.frank_wolfe.noisy_gradient import GaussianBest, descend_noisy, largest_noise
from tests.mechanisms.test_frank_wolfe_general import SETS, every_set, plan_for, records, rngs_of
from tests.nights import each


def test_vertices_and_the_general_descent_agree_where_all_columns_are_stored():
    risk = fw.risk_of(get_loss("squared"), records(60, 5, 8))
    for shape, start in ((L1Ball(), np.zeros(5)), (Simplex(), np.full(5, 0.4))):
        # By length they and their streams stand in another order, whose inverse is yet another one.
        runs = [fw.Run(7, 0.3, 0), fw.Run(7, 0.3, 1), fw.Run(2, 2.0, 1), fw.Run(12, 0.1, 1), fw.Run(12, 0.1, 0)]
        slow = descend_noisy(risk, runs, shape, rngs_of(9, 2), size=2.0, start=start)
        loud = [dc.replace(run, noise=2.0 * run.noise) for run in runs]
        choice = GaussianBest(rngs_of(9, 2), 0, signed=shape == L1Ball())
        fast = fw.models(fw.descend(risk, loud, choice, size=2.0, start=start), runs, 2.0, start, 5)
        assert np.allclose(slow, fast, rtol=1e-12, atol=1e-13)


@every_set
def test_plans_that_run_together_are_the_plans_that_run_alone(shape):
    risk = fw.risk_of(get_loss("squared"), records(60, 4, 8))
    plans = [plan_for(shape, n=60, p=p, T=T, budget=Budget(e, 1e-5)) for p, T, e in ((4, 9, 1.0), (4, 3, 50.0))]
    together = noisy_models(risk, plans, rngs_of(1, 3))
    alone = [noisy_models(risk, [plan], rngs_of(1, 3))[0] for plan in plans]
    assert np.allclose(together, alone, rtol=1e-12, atol=1e-13)
    rngs = rngs_of(1, 3)
    found = noisy_models(risk, plans, rngs)
    assert found.shape == (2, 3, 4) and np.array_equal(found, together)
    assert not np.allclose(found, noisy_models(risk, plans, rngs)), "the generators have moved on"
    with pytest.raises(CancelledError):
        noisy_models(risk, [plan_for(shape, n=60, T=100)], rngs_of(1, 3), cancelled=lambda: True)


# Columns that are 0 in every record


@pytest.mark.parametrize("count", [1, 2, 50, 65_536])
@pytest.mark.parametrize("signed", [False, True])
def test_the_largest_noise_of_idle_columns_has_its_exact_law(count, signed):
    """Kolmogorov-Smirnov with 20,000 draws, false alarm 1e-6; the law of twice as many is told apart."""
    found = largest_noise(np.random.default_rng(count).random(20_000), np.full(20_000, count), signed=signed)

    def law(columns):
        return lambda x: ((2 * ndtr(x) - 1) if signed else ndtr(x)) ** columns

    assert stats.kstest(found, law(count)).pvalue > 1e-6
    assert stats.kstest(found, law(2 * count)).pvalue < 1e-6
    assert largest_noise(np.zeros(1), np.ones(1, np.int64), signed=signed)[0] == (0.0 if signed else -np.inf)


@pytest.mark.parametrize(
    "shape, loss",
    each(2, [(s, loss) for k, s in enumerate(SETS) for loss in ("squared", "logistic")[:: -1 if k % 2 else 1]]),
    ids=lambda value: getattr(value, "label", value),
)
def test_columns_of_zeros_may_be_stored_or_not(shape, loss):
    """The law of the risk after 5 steps, 6 columns of 2 or 12: two-sample Kolmogorov-Smirnov of 1,000 runs each, false
    alarm 1e-6. Idle columns that never win are found on the L1 ball and the simplex."""
    data = records(30, 12, 4, stored=2)
    data = Data(data.X, np.sign(data.y), p=12)
    stored = Data(np.pad(data.X, ((0, 0), (0, 10))), data.y)
    plan = plan_for(shape, loss, n=30, p=12, T=6, budget=Budget(20.0, 1e-5))
    mechanism, risks = plan.mechanism, []
    for seed, side in ((1, data), (2, stored)):
        prepared = mechanism.prepare(plan, side)
        thetas = mechanism.release_many(plan, prepared, rngs_of(seed, 1000))
        assert thetas.shape == (1000, side.stored)
        risks.append(fw.risk_of(get_loss(loss), side).values(thetas))
    assert stats.ks_2samp(*risks).pvalue > 1e-6
    wide = dc.replace(mechanism.prepare(plan, data), theta=np.zeros(12))
    full = mechanism.release_many(plan, wide, rngs_of(1, 1000))
    assert np.allclose(full[:, :2], mechanism.release_many(plan, mechanism.prepare(plan, data), rngs_of(1, 1000)))
    # Idle columns are alike: every one of them, and on the L1 ball either sign.
    if isinstance(shape, L1Ball | Simplex):
        narrow = [dc.replace(plan, spec=dc.replace(plan.spec, p=2))]
        without = noisy_models(fw.risk_of(get_loss(loss), data), narrow, rngs_of(3, 1000))[0]
        assert stats.ks_2samp(fw.risk_of(get_loss(loss), data).values(without), risks[1]).pvalue < 1e-6
        taken = (np.abs(full[:, 2:]) > (0.1 / 12 if isinstance(shape, Simplex) else 0.0)).sum(axis=0)
        assert stats.chisquare(taken).pvalue > 1e-6 and taken.min() > 0
        if isinstance(shape, L1Ball):
            positive = int((full[:, 2:] > 0).sum())
            assert stats.binomtest(positive, int((full[:, 2:] != 0).sum())).pvalue > 1e-6


def test_more_idle_columns_take_more_choices_from_the_same_noise():
    risk = fw.risk_of(get_loss("squared"), records(60, 4, 8))
    plans = [
        dc.replace(plan_for(n=60, T=2), spec=Spec("squared", 60, p, 0.0, Domain(math.inf), 1.0, set="l1_ball"))
        for p in (4, 5, 50, 5_000, 10**9)
    ]
    kept = np.array([(noisy_models(risk, [plan], rngs_of(1, 200))[0] != 0.0).any(axis=1) for plan in plans])
    assert kept[0].all() and (np.diff(kept.astype(int), axis=0) <= 0).all() and kept[-1].mean() < 0.05
