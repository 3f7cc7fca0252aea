"""Curves of private Frank-Wolfe on the L1 ball: their records, what the mechanism releases on them, their shapes."""

import dataclasses as dc
import math

import numpy as np
import pytest
from scipy.linalg import hadamard

import dpcore
from dpcore import Budget, Domain, Spec, data
from dpcore.core.losses import get_loss
from dpcore.core.power_law import power_law
from dpcore.core.records import Data
from dpcore.core.rng import generator
from dpcore.mechanisms.frank_wolfe.polytope import FrankWolfePolytope
from dpcore.solvers import minimise_on_l1_ball
from dpcore.solvers.frank_wolfe import vertices as fw
from dpcore.studies.dimension.lasso import curves
from dpcore.studies.dimension.lasso import data as problem

SETTING = problem.Setting(epsilon=1.0, delta=1e-6, radius=1.0, accounting="tight", seed=7, repetitions=8)
LEAST_N = 1_000  # below, few steps are affordable


def squared_error(records, thetas):
    return np.mean((thetas @ records.X.T - records.y) ** 2, axis=-1)


def test_the_U_shape_over_T():
    """n = 10,000, p = 200, epsilon = 1: the least excess near T = 12, ten times that at either end."""
    found = curves.against_T(dc.replace(SETTING, delta=1e-8, repetitions=16), n=10_000, p=200)
    mean = found.private.measured.mean
    assert 8 <= found.x[np.argmin(mean)] <= 16
    assert mean[0] > 10 * mean.min() and mean[-1] > 10 * mean.min()
    assert (found.private.bound > mean).all()
    assert found.plain[-1] < 0.01 * mean[-1]
    assert found.auto == round(found.tuned / 6)
    near = np.abs(found.x - found.tuned).argmin()
    assert found.private.bound[near] <= 1.02 * found.private.bound.min()


def test_benign_records_fall_like_1_over_n_hard_ones_like_the_bound():
    found = curves.against_n(SETTING, p=256, T="auto")
    far = found.x >= LEAST_N
    benign, hard = (power_law(found.x[far], curve[far]).slope for curve in (found.private.measured.mean, found.dense))
    assert -1.2 <= benign <= -0.85 and -0.8 <= hard <= -0.6
    assert (found.private.bound[far] > found.dense[far]).all() and (found.dense[far] > found.packing[far]).all()
    # With T tuned by the bound itself its slope is -2/3.
    tuned = curves.against_n(dc.replace(SETTING, repetitions=2), p=256, T="bound", ns=(10_000, 20_000, 50_000, 100_000))
    slope = np.log(tuned.private.bound[-1] / tuned.private.bound[1]) / np.log(5.0)
    assert slope == pytest.approx(-2 / 3, abs=0.02)


@pytest.mark.parametrize("accounting", ["tight", "published", "published_safe"])
def test_every_number_of_steps_is_that_of_the_chosen_accounting(accounting):
    setting = dc.replace(SETTING, accounting=accounting, repetitions=2)
    found = curves.against_T(setting, n=10_000, p=256)
    assert found.auto == curves.path(setting, n=10_000, p=256, T="auto").plan.steps + 1
    assert found.tuned == curves.path(setting, n=10_000, p=256, T="bound").plan.steps + 1
    near = np.abs(found.x - found.tuned).argmin()
    assert found.private.bound[near] <= 1.05 * found.private.bound.min()


def records_of(spread):
    """The records themselves, [n, columns]."""
    rows = np.tile(hadamard(spread.columns, float), (spread.copies, 1))
    X = np.concatenate([rows, np.ones((spread.agreeing, spread.columns))])
    return Data(X, np.repeat([0.0, 1.0], [len(rows), spread.agreeing]))


@pytest.mark.parametrize("n, columns, copies", [(40, 8, 3), (17, 16, 1), (300, 64, 4)])
@pytest.mark.parametrize("radius", [0.3, 1.0, 2.0])
def test_hard_records_have_the_moments_and_the_minimum_that_are_said(n, columns, copies, radius):
    spread = problem.Spread(n, columns, copies)
    records = records_of(spread)
    assert records.X.shape == (n, columns) and set(np.unique(records.X)) <= {-1.0, 1.0}
    thetas = np.random.default_rng(n).standard_normal((4, columns))
    risk = problem.SpreadRisk(np.full(4, spread.agreeing / n), columns)
    assert risk.values(thetas) == pytest.approx(squared_error(records, thetas), rel=1e-12)
    found = minimise_on_l1_ball(fw.Records(get_loss("squared"), records), radius)
    assert spread.best(radius) == pytest.approx(squared_error(records, found.theta), abs=2e-9)


def test_hard_records_are_as_many_as_asked_for():
    for n in (17, 100, 5_000):
        made = problem.spreads(n, 16, most=6)
        assert 1 <= len(made) <= 6
        assert all(1 <= spread.agreeing < n and spread.copies >= 1 for spread in made)
        assert len({spread.copies for spread in made}) == len(made)
    assert problem.spreads(16, 16, most=6) == []
    with pytest.raises(ValueError, match=r"columns must .*2, got 12"):
        problem.spreads(100, 12, most=6)


def test_the_hardest_share_is_the_worst_that_the_mechanism_meets():
    (n,) = ns = (700,)
    found = curves.against_n(SETTING, p=64, T=6, ns=ns)
    means = []
    for spread in problem.spreads(n, 64, curves.SHARES):
        mechanism = FrankWolfePolytope(T=6)
        spec = Spec("squared", n, 64, 0.0, Domain(math.inf, 1.0, 1.1), 1.0, set="l1_ball")
        plan = mechanism.calibrate(spec, Budget(1.0, 1e-6))
        rngs = [generator(7, mechanism.key, r) for r in range(8)]
        thetas = mechanism.release_many(plan, mechanism.prepare(plan, records_of(spread)), rngs)
        means.append(float((squared_error(records_of(spread), thetas) - spread.best(1.0)).mean()))
    assert len(means) > 3 and found.dense[0] == pytest.approx(max(means), rel=1e-9)


def test_many_columns_cost_little_one_by_one_and_everything_all_at_once():
    found = curves.against_p(SETTING, n=10_000, T="auto")
    mean, whole = found.private.measured.mean, found.whole.measured.mean
    grown = mean[-1] / mean[found.x == 256]
    assert 1.0 <= grown <= 3.0, "256 times more columns"
    assert whole[-1] > 0.9 * found.nothing[-1] and whole[0] < 0.3 * found.nothing[0]
    assert (np.diff(found.private.T) < 0).all() and (found.private.bound > mean).all()
    assert found.stored == 512


def test_published_noise_says_what_it_spends_and_nothing_is_released():
    setting = dc.replace(SETTING, accounting="published")
    found = curves.against_T(setting, n=5_000, p=64, Ts=(20, 100))
    assert (found.private.spent > 1.5).all() and not any(found.private.reasons)
    records = data.load(problem.SOURCE, 5_000, 64, 7).train
    with pytest.raises(dpcore.NotApplicable, match="nothing is released"):
        dpcore.solve(
            "frank_wolfe_polytope", records.X, records.y, epsilon=1.0, delta=1e-6, y_max=1.1, radius=1.0, T=20,
            accounting="published",
        )  # fmt: skip
