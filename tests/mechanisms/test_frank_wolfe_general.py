"""Frank-Wolfe with noisy gradients: its scale, what one record can do, and its bound on five sets."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from dpcore import Budget, Data, Domain, Spec
from dpcore.accounting.gaussian import gaussian_mu, hockey_stick
from dpcore.core.losses import get_loss
from dpcore.core.sets import Ball, Box, L1Ball, LqBall, Polytope, Simplex
from dpcore.mechanisms.frank_wolfe.convex_set import FrankWolfeGeneral, largest_gradient, noisy_models
from dpcore.solvers.frank_wolfe import vertices as fw
from dpcore.solvers.frank_wolfe.noisy_gradient import descend_noisy

BUDGET = Budget(1.0, 1e-5)
L1 = L1Ball()
SETS = (L1, Simplex(), Ball(), LqBall(1.5), Box())
VERTICES = Polytope(((1.0, 0.0, 0.0), (0.0, 2.0, -1.0), (-1.0, -1.0, 1.0), (0.0, 0.0, 3.0)))
every_set = pytest.mark.parametrize("shape", SETS, ids=lambda shape: shape.label)
every_q = pytest.mark.parametrize("q", [2.0, math.inf])


def plan_for(shape=L1, loss="squared", *, n=50, p=4, q=math.inf, R=1.0, radius=1.0, budget=BUDGET, **knobs):
    return FrankWolfeGeneral(**knobs).calibrate(Spec(loss, n, p, "auto", Domain(q, R), radius, set=shape), budget)


def rngs_of(seed: int, count: int) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, i]) for i in range(count)]


def records(n: int, p: int, seed: int, *, q: float = math.inf, stored: int = 0) -> Data:
    """Records at the border of the domain whose labels depend on the first two columns."""
    rng = np.random.default_rng([seed, 1])
    X = rng.choice([-1.0, 1.0], (n, stored or p)) / (math.sqrt(p) if q == 2.0 else 1.0)
    y = np.clip(X[:, :2].sum(axis=1) * 0.5 + 0.1 * rng.standard_normal(n), -1.0, 1.0)
    return Data(X, y, p=p)


# What the noise is and what it costs


@pytest.mark.pairwise
@every_set
@every_q
@pytest.mark.parametrize("T", [2, 30, "auto", "bound"])
def test_the_scale_is_2_G_sqrt_of_the_steps_over_n_mu(shape, q, T):
    plan = plan_for(shape, q=q, R=2.0, radius=1.5, T=T)
    reach = 1.5 * shape.norm(2 if q == 2.0 else 1, 4)
    G = 2.0 * (2.0 * reach + 1.0) * 2.0 * (1.0 if q == 2.0 else 2.0)
    assert largest_gradient(plan.spec) == pytest.approx(G, rel=1e-12)
    assert plan.scale == pytest.approx(2 * G * math.sqrt(plan.steps) / (50 * gaussian_mu(BUDGET)), rel=1e-11)
    (event,) = plan.ledger
    assert (event.noise, event.times, event.scale) == ("gaussian", plan.steps, plan.scale)
    assert event.sensitivity == pytest.approx(2 * G / 50, rel=1e-12)
    mu = event.sensitivity * math.sqrt(event.times) / event.scale
    assert 0.999 * BUDGET.delta < hockey_stick(BUDGET.epsilon, mu) <= BUDGET.delta and plan.spent == BUDGET
    assert plan.mechanism.attack_limit(plan) == pytest.approx(ndtr(mu / 2), rel=1e-12)
    assert plan.mechanism.claimed_curve(plan).mu == pytest.approx(mu, rel=1e-9)
    assert isinstance(T, str) or plan.steps == T - 1
    assert plan.mechanism.calibrate(plan.spec, plan.spent) == plan, "a plan's mechanism makes it again"


def test_the_published_number_of_steps_is_that_of_the_width():
    plan = plan_for(n=10_000, p=200, budget=Budget(1.0, 1e-8), T="published")
    width = plan.spec.unit_set.width(200)
    expected = (8 * 10_000 / (4 * math.sqrt(200) * (width.value + width.error))) ** (2 / 3)
    assert plan.steps + 1 == round(expected)
    best = plan_for(n=10_000, p=200, budget=Budget(1.0, 1e-8), T="bound")
    assert plan_for(n=10_000, p=200, budget=Budget(1.0, 1e-8)).steps + 1 == round((best.steps + 1) / 4)
    values = {T: upper(plan_for(n=10_000, p=200, budget=Budget(1.0, 1e-8), T=T)) for T in range(2, 200)}
    assert min(values, key=values.get) == best.steps + 1


@pytest.mark.shows("privacy", "frank_wolfe_general")
@every_set
@every_q
def test_no_replaced_record_moves_the_gradient_beyond_the_sensitivity_and_the_worst_pair_does(shape, q):
    """Half a slope of 1 in a set so small that no margin leaves the linear part of the loss."""
    radius = 0.4 / shape.norm(2 if q == 2.0 else 1, 4)
    plan = plan_for(shape, "huber_hinge", n=10, q=q, radius=radius)
    mechanism = plan.mechanism
    zero, one = (mechanism.prepare(plan, data) for data in mechanism.worst_pair(plan))
    sensitivity = plan.ledger[0].sensitivity
    assert mechanism.separation(plan, zero, one) == pytest.approx(sensitivity, rel=1e-12)
    assert (zero.data.X == one.data.X).all() and np.count_nonzero(zero.data.y != one.data.y) == 1
    rng, loss = np.random.default_rng(5), get_loss("squared")
    plan = plan_for(shape, "squared", n=10, q=q, radius=1.5)
    thetas = 1.5 * shape.extreme(rng.standard_normal((40, 4)))
    X = np.concatenate([np.sign(rng.standard_normal((60, 4))), -np.sign(thetas)])
    X /= 2.0 if q == 2.0 else 1.0
    y = rng.choice([-1.0, 1.0], 100)
    each = np.stack([loss.gradients(Data(X[[i, i]], y[[i, i]]), thetas) for i in range(100)]) / 10
    moves = np.linalg.norm(each[:, None] - each[None], axis=3)
    assert 0.4 * plan.ledger[0].sensitivity < moves.max() <= plan.ledger[0].sensitivity * (1 + 1e-12)


# The bound


def upper(plan) -> float:
    return next(bound.value for bound in plan.mechanism.bounds(plan) if bound.form == "upper")


@pytest.mark.shows("upper", "frank_wolfe_general")
@every_set
@pytest.mark.parametrize("seed", range(2))
def test_the_mean_excess_is_below_the_bound(shape, seed):
    """The minimum is bounded from below by the Frank-Wolfe gap. 100 runs, 5 standard errors: false alarm below 1e-6.

    At epsilon = 1,000 a hundred times the noise breaks it, but for the box, whose bound is vacuous."""
    data, epsilon = records(400, 6, seed), (30.0, 1000.0)[seed]
    plan = plan_for(shape, n=400, p=6, budget=Budget(epsilon, 1e-5), T="bound")
    mechanism, risk = plan.mechanism, fw.risk_of(get_loss("squared"), data)
    start = np.full(6, 1 / 6) if isinstance(shape, Simplex) else np.zeros(6)
    best = descend_noisy(risk, [fw.Run(1000, 0.0)], shape, rngs_of(0, 1), size=1.0, start=start)
    slope = get_loss("squared").gradients(data, best)[0]
    lowest = risk.values(best)[0] - (slope @ best[0] - slope @ shape.extreme(slope))
    prepared = mechanism.prepare(plan, data)
    excess = risk.values(mechanism.release_many(plan, prepared, rngs_of(seed, 100))) - lowest
    assert excess.min() >= 0.0
    assert excess.mean() + 5 * excess.std() / 10 <= upper(plan)
    loud = risk.values(mechanism.release_many(plan.weakened(100.0), prepared, rngs_of(seed, 100))) - lowest
    assert loud.mean() > upper(plan) or shape == Box() or seed == 0


def test_both_bounds_of_a_drawn_width_by_hand():
    """Radius 2, entries of records up to 1, ||vertex||_1 <= 3, 6 apart: reach 6, slope 2 (6 + 1), Gamma 2 (2 6)^2."""
    plan, width = plan_for(VERTICES, p=3, T=12, radius=2.0), VERTICES.width(3)
    assert width.error > 1e-4 * width.value
    widest = 2.0 * (width.value + width.error)
    start, curvature = 14.0 * 12.0, 2.0 * 12.0**2
    expected = (2 * start + 2 * curvature * 11) / (12 * 13) + plan.scale * widest * (1 - 2 / (12 * 13))
    rate = curvature ** (1 / 3) * (14 * math.sqrt(3) * widest) ** (2 / 3) * math.log(50 / 1e-5) ** 2 / 50 ** (2 / 3)
    for made in (plan, plan.weakened(0.5)):
        values = {bound.form: bound.value for bound in made.mechanism.bounds(made)}
        assert values == pytest.approx({"upper": expected, "rate": rate}, rel=1e-12), "of the noise that was planned"


@pytest.mark.shows("rate", "frank_wolfe_general")
def test_figures_of_one_problem():
    """Records of +-1, n = 10^4, p = 200, epsilon = 1."""
    budget = Budget(1.0, 1e-8)
    plan = plan_for(n=10_000, p=200, budget=budget, T="bound")
    assert plan.spec.unit_set.width(200).value == pytest.approx(2.969, abs=1e-3)
    assert plan.steps + 1 == 30 and upper(plan) == pytest.approx(1.4216, abs=1e-4)
    data = records(10_000, 200, 0)
    risk = fw.risk_of(get_loss("squared"), data)
    assert 0.05 < risk.values(noisy_models(risk, [plan], rngs_of(3, 16))[0]).mean() < 0.5


# Runs
