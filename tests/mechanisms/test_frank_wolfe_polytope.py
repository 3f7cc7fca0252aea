"""Private Frank-Wolfe on polytopes: what noise costs, explicit bounds and published rates."""

import math

import numpy as np
import pytest

from dpcore import Budget, Data, Domain, NotApplicable, Spec
from dpcore.accounting.composition import advanced_epsilon
from dpcore.accounting.zcdp import bounded_range_eta, zcdp_rho
from dpcore.core.losses import get_loss
from dpcore.core.sets import Polytope
from dpcore.mechanisms import api
from dpcore.mechanisms.frank_wolfe.polytope import FrankWolfePolytope
from dpcore.mechanisms.frank_wolfe.step_count import LARGEST_T, constants_of
from dpcore.solvers.frank_wolfe import vertices as fw
from dpcore.theory import frank_wolfe as theory

LOSSES = ("squared", "logistic", "huber_hinge", "huber")
BUDGET = Budget(1.0, 1e-6)
SQUARE = Polytope(((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)))


def spec_for(loss="squared", n=10_000, p=200, size=1.0, shape="l1_ball", q=math.inf, R=1.0, y_max=1.0):
    return Spec(loss, n, p, domain=Domain(q, R, y_max), radius=size, set=shape)


def plan_for(loss="squared", *, budget=BUDGET, accounting="tight", T="auto", **facts):
    return FrankWolfePolytope(accounting, T).calibrate(spec_for(loss, **facts), budget)


def upper(plan):
    (found,) = [b.value for b in plan.mechanism.bounds(plan) if b.form == "upper"]
    return found


def records(loss, n, p, *, seed):
    """Signs as entries, a few columns that matter."""
    rng = np.random.default_rng([seed, n, p])
    X = rng.choice([-1.0, 1.0], (n, p))
    y = np.clip(X[:, : min(p, 4)].mean(axis=1) + 0.1 * rng.standard_normal(n), -1.0, 1.0)
    return Data(X, np.where(y > 0.0, 1.0, -1.0) if get_loss(loss).classification else y)


# What noise costs


@pytest.mark.shows("privacy", "frank_wolfe_polytope")
def test_the_range_of_a_choice_is_the_larger_of_the_sum_s_and_zcdp_s():
    for budget, T in ((BUDGET, 201), (BUDGET, 2), (Budget(5.0, 1e-9), 40), (Budget(0.3), 7)):
        plan = plan_for(budget=budget, T=T)
        eta = 2.0 * plan.ledger[0].sensitivity / plan.scale
        assert eta == pytest.approx(bounded_range_eta(budget, T - 1), rel=1e-9)
        assert eta <= bounded_range_eta(budget, T - 1)
        assert plan.ledger[0].sensitivity == 2.0 * 4.0 / 10_000, "2 L R size / n, L = 2 (size + y_max)"
        assert plan.spent <= budget and plan.ledger[0].times == plan.steps == T - 1
    assert 0.3 * (1 - 1e-11) < plan_for(budget=Budget(0.3), T=9).spent.epsilon <= 0.3, "delta = 0: by the sum"


@pytest.mark.parametrize("epsilon, spent", [(0.1, 0.154), (1.0, 1.797), (5.0, 11.0)])
def test_the_published_scale_costs_what_the_formula_sheet_says(epsilon, spent):
    """T choices by zCDP of pure privacy; T - 1 are made, which costs less by the square root of the share at most."""
    T = 1_001
    plan = plan_for(budget=Budget(epsilon, 1e-6), accounting="published", T=T)
    assert plan.scale == pytest.approx(4.0 * math.sqrt(8.0 * T * math.log(1e6)) / (10_000 * epsilon), rel=1e-12)
    assert spent * math.sqrt((T - 1) / T) * 0.995 <= plan.spent.epsilon <= spent * 1.005
    assert not plan.spent <= plan.requested and plan.noise == "laplace"
    with pytest.raises(NotApplicable, match="exhibit"):
        api.release_once(plan, records("squared", 10_000, 200, seed=0))


@pytest.mark.parametrize("T", [2, 3, 30, 1_000, 10_000])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.01, 0.5, 0.9, 0.999])
def test_the_safe_scale_never_overspends_and_composes_as_the_textbook_says(T, delta):
    for epsilon in (1e-3, 0.1, 1.0, 1.01, 3.0, 20.0):
        plan = plan_for(budget=Budget(epsilon, delta), accounting="published_safe", T=T)
        each = 2.0 * plan.ledger[0].sensitivity / plan.scale
        assert plan.spent <= plan.requested
        if epsilon <= 1.0 and delta <= 0.5:
            published = plan_for(budget=Budget(epsilon, delta), accounting="published", T=T)
            assert plan.scale == pytest.approx(4.0 * published.scale, rel=1e-14)
        else:  # the short form holds for epsilon <= 4 ln(1/delta) or so
            assert epsilon < 0.5 or advanced_epsilon(each, T - 1, delta) == pytest.approx(epsilon, rel=1e-8)
            assert advanced_epsilon(each, T - 1, delta) <= epsilon


# Constants and bounds


@pytest.mark.parametrize("size", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("loss, gamma", [("squared", 8.0), ("logistic", 1.0), ("huber_hinge", 4.0), ("huber", 8.0)])
@pytest.mark.parametrize("shape", ["l1_ball", "simplex"])
def test_curvature_is_the_table_s_and_attained_by_a_pair_of_vertices(loss, gamma, size, shape):
    """Records of signs, two columns opposite to one another: d = size (e_1 - e_2), where l'' is largest."""
    facts = constants_of(spec_for(loss, size=size, shape=shape))
    assert facts.curvature == pytest.approx(gamma * size**2, rel=1e-12)
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (200, 3))
    X[:, 1] = -X[:, 0]
    curvature = get_loss(loss).curvature_bound
    vertices = size * (np.vstack([np.eye(3), -np.eye(3)]) if shape == "l1_ball" else np.eye(3))
    found = [curvature * np.mean((X @ (a - b)) ** 2) for a in vertices for b in vertices]
    assert max(found) == pytest.approx(facts.curvature, rel=1e-12)
    # The bound on l'' is its value where the loss bends most.
    z = np.linspace(-0.45, 1.45, 39)
    assert get_loss(loss).curvature(z, np.ones(39)).max() == pytest.approx(curvature, rel=1e-6)


def _quiet_runs(plan, data, T):
    mechanism, spec = plan.mechanism, plan.spec
    data, signed = mechanism.prepare(plan, data).data, spec.set == "l1_ball"
    start = np.zeros(data.p) if signed else np.full(data.p, spec.size / data.p)
    runs = [fw.Run(T, 0.0)]
    risk = fw.risk_of(get_loss(spec.loss), data)
    chosen = fw.descend(risk, runs, fw.Best(signed=signed), size=spec.size, start=start)
    return chosen, runs, spec.size, start, data.p


def test_the_formula_sheet_s_tuned_run():
    """n = 10^4, p = 200, epsilon = 1, delta = 1 / n^2."""
    plan = plan_for(budget=Budget(1.0, 1e-8), T="bound")
    assert plan.steps + 1 == 112 and upper(plan) == pytest.approx(0.413, abs=5e-4)
    auto = plan_for(budget=Budget(1.0, 1e-8))
    assert auto.steps + 1 == 19 and auto.mechanism.T == 19
    for epsilon, T, found in ((0.1, 23, 1.737), (10.0, 479, 0.101)):
        plan = plan_for(budget=Budget(epsilon, 1e-8), T="bound")
        assert plan.steps + 1 == pytest.approx(T, rel=0.02) and upper(plan) == pytest.approx(found, abs=1e-3)


@pytest.mark.parametrize("accounting", ["tight", "published", "published_safe"])
def test_no_other_number_of_steps_has_a_smaller_bound(accounting):
    facts = {"n": 3_000, "p": 50, "accounting": accounting}
    best = plan_for(T="bound", **facts)
    found = [upper(plan_for(T=T, **facts)) for T in range(2, 3 * best.steps)]
    assert upper(best) == min(found) and np.argmin(found) == best.steps - 1


@pytest.mark.parametrize(
    "facts, T",
    [
        ({"n": 10_000, "p": 200, "budget": Budget(1.0, 1e-8)}, 19),  # a sixth of 112
        ({"n": 10_000, "p": 200, "budget": Budget(0.2, 1e-8)}, 8),  # Gamma / h for squared loss: 8 over F(0) <= 1
        ({"n": 300, "p": 200, "budget": Budget(0.2, 1e-8)}, 256),  # a choice costs more than 3
        # Gamma / h = 1 / ln 2, a sixth of 18
        ({"loss": "logistic", "n": 10_000, "p": 200, "budget": Budget(0.1, 1e-8)}, 4),
        # Gamma / h = 80,000, and beyond the range of a float: 10,000 at most
        ({"n": 10_000, "p": 200, "R": 100.0}, 10_000),
        ({"n": 2, "p": 1, "R": 1e100, "y_max": 1e-100, "budget": Budget(1e-98, 1e-8)}, 10_000),
    ],
)
def test_automatic_steps_are_a_sixth_of_the_bound_s_but_neither_too_few_nor_hopeless(facts, T):
    assert plan_for(**facts).steps + 1 == T


def test_the_published_number_of_steps():
    for n, epsilon in ((10_000, 1.0), (3_000, 0.1), (100_000, 1.0)):
        T = (8.0 * n * epsilon / 4.0) ** (2.0 / 3.0)
        assert plan_for(n=n, budget=Budget(epsilon, 1e-8), T="published").steps + 1 == round(T)
    with pytest.raises(NotApplicable, match=r"T from 2 to 10,000.* Theorem 2\.5 .* 1 "):
        plan_for(n=20, budget=Budget(0.01, 1e-8), T="published")


@pytest.mark.parametrize("n, epsilon", [(10_000, 1.0), (100_000, 0.3), (30_000, 3.0)])
def test_the_tuned_bound_in_closed_form_is_the_smallest_explicit_one_without_its_start(n, epsilon):
    budget = Budget(epsilon, 1e-8)
    A = 4.0 * math.log(400) * math.sqrt(2.0 / zcdp_rho(budget)) / n
    T = np.arange(2.0, LARGEST_T + 1.0)
    explicit = theory.frank_wolfe_bound(0.0, 8.0, A * np.sqrt(T - 1.0), T)
    best, steps = theory.tuned_frank_wolfe_bound(8.0, A), (32.0 / A) ** (2 / 3)
    assert (explicit <= 16.0 / T + A * np.sqrt(T)).all()
    assert best * (1.0 - 3.0 / steps) <= explicit.min() <= best
    assert abs(T[explicit.argmin()] - steps) <= 4.0
    assert best == pytest.approx(2.381 * 2.0 * A ** (2 / 3), rel=1e-3)
    around = steps * np.array([0.99, 1.01])
    assert (16.0 / around + A * np.sqrt(around) > best).all()


@pytest.mark.shows("rate", "frank_wolfe_polytope")
def test_published_rates_are_the_paper_s_formulas_and_shapes_only():
    plan = plan_for(budget=Budget(1.0, 1e-8), T=30)
    rates = {b.source.split("2015, ")[1].split(" as")[0]: b for b in plan.mechanism.bounds(plan) if b.form == "rate"}
    L, scale = math.log(1e8), 10_000 ** (2 / 3)
    assert rates["Theorem 2.5"].value == pytest.approx(2.0 * 4.0 ** (2 / 3) * math.log(4e6) * math.sqrt(L) / scale)
    assert rates["Theorem 1.1"].value == pytest.approx(math.log(2e6) * math.sqrt(L) / scale)
    assert rates["Corollary 2.7"].value == pytest.approx((math.log(2e6) + L) / scale)
    assert all(b.quantity == "excess_empirical_risk" for b in rates.values())
    plan = plan_for("logistic", T=30)
    assert [b.source for b in plan.mechanism.bounds(plan) if b.form == "rate"] == [
        "Talwar, Thakurta and Zhang 2015, Theorem 2.5 as published"
    ]
    pure = plan_for(budget=Budget(1.0), T=30)
    assert {b.form for b in pure.mechanism.bounds(pure)} <= {"upper", "lower"}


@pytest.mark.pairwise
@pytest.mark.shows("upper", "frank_wolfe_polytope")
@pytest.mark.parametrize("accounting", ["tight", "published", "published_safe"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "shape, size, p",
    [("l1_ball", 0.5, 8), ("l1_ball", 1.0, 40), ("l1_ball", 3.0, 8), ("simplex", 2.0, 8), (SQUARE, 1.0, 2)],
    ids=str,
)
def test_the_mean_excess_of_releases_is_below_the_bound(accounting, loss, shape, size, p):
    """20 releases of three plans; F* is that of 300 steps without noise, 2 Gamma / 300 from it at most."""
    data = records(loss, 500, p, seed=5)
    value = get_loss(loss).value
    shortest = None
    for T in ("auto", "bound", 3):
        plan = plan_for(loss, n=500, p=p, size=size, shape=shape, T=T, accounting=accounting)
        prepared = plan.mechanism.prepare(plan, data)
        if shortest is None:
            best = fw.models(*_quiet_runs(plan, data, 300))[0]
            best = best @ shape.table if isinstance(shape, Polytope) else best
            shortest = value(data.X @ best, data.y).mean()
        thetas = plan.mechanism.release_many(plan, prepared, np.random.default_rng(1).spawn(20))
        excess = np.mean([value(data.X @ theta, data.y).mean() for theta in thetas]) - shortest
        facts = constants_of(plan.spec)
        assert excess + 2.0 * facts.curvature / 300 > 0.0 and excess + 2.0 * facts.curvature / 300 <= upper(plan)


@pytest.mark.shows("lower", "frank_wolfe_polytope")
def test_lower_bounds_of_the_l1_ball_stand_beside_the_upper_one():
    plan = plan_for(budget=Budget(0.1), p=2_000, T=30)
    (lower,) = [b.value for b in plan.mechanism.bounds(plan) if b.form == "lower"]
    assert 0.0 < lower < upper(plan)
