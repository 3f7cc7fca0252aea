"""Steps of gradient perturbation: their bounds hold and bind, and the automatic ones are as long as noise allows."""

import dataclasses as dc
import functools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpcore import Budget, Data, Domain, Plan, Spec
from dpcore.accounting.gaussian import gaussian_mu
from dpcore.core.losses import get_loss
from dpcore.experiments.metrics import risk
from dpcore.mechanisms.gradient.base import constants_of
from dpcore.mechanisms.gradient.gd import NoisyGD
from dpcore.mechanisms.gradient.schedules import descent_of, mean_bound
from dpcore.mechanisms.gradient.sgd import NoisySGD
from dpcore.solvers import minimise_in_ball
from dpcore.theory import gradient_descent as theory
from tests.problems import BALL, PROBLEMS, for_loss, random_records

BUDGETS = tuple(Budget(epsilon, 1e-5) for epsilon in (0.1, 1.0, 10.0))
ENDS = BUDGETS[::2]
# Settings by hand under which noise, and not the distance from the start, is what costs.
LONG = {"steps": 300, "step": 0.09}
SETTINGS = [{}, LONG, {"steps": 3, "step": 0.1}]
HARD = {
    "full rank": PROBLEMS["full rank"],
    "more columns than rows": PROBLEMS["more columns than rows"],
    "separable": PROBLEMS["separable"],
    # Half of the records want theta as far as it goes one way, the others the other way.
    "opposed": Data(np.repeat([[1.0, 0.0]], 60, axis=0), np.tile([1.0, -1.0], 30)),
    "sparse": Data(csr_array(random_records(60, 8, seed=8).X), random_records(60, 8, seed=8).y, p=40),
}
QUICK = ("full rank", "opposed", "sparse")
# (lam, radius, theta_norm): the last lets the model leave the ball of its comparator.
SHAPES = [(0.0, 2.0, 10.0), (0.05, None, 1.0), (0.0, None, 0.3)]


def upper(plan: Plan) -> float | None:
    found = [b.value for b in plan.mechanism.bounds(plan) if b.form == "upper"]
    assert len(found) <= 1
    return found[0] if found else None


@functools.cache
def measured(every_shape: bool) -> dict[tuple[str, ...], tuple[Plan, float, float]]:
    """Mean excess over the best model of the comparator's ball, and its standard error, over 10 pairs of releases."""
    found = {}
    for i, key in enumerate(BALL):
        for name in HARD if every_shape else [QUICK[i % 3]]:
            data = for_loss(key, HARD[name])
            for shape in SHAPES if every_shape else [SHAPES[i // 3 % 3]]:
                lam, radius, B = shape
                spec = Spec(key, data.n, data.p, lam, Domain(), radius, B)
                best = minimise_in_ball(get_loss(key), data, min(B, radius or math.inf)).risk
                for knobs in SETTINGS:
                    mechanism = NoisyGD(**knobs)
                    plans = [mechanism.calibrate(spec, budget) for budget in (BUDGETS if every_shape else ENDS)]
                    rngs = [np.random.default_rng([5, r]) for r in range(10)]
                    drawn = mechanism.draws(plans, mechanism.prepare_many(plans, data, never), rngs, never)
                    for plan, thetas in zip(plans, drawn.thetas, strict=True):
                        pairs = np.array([risk(get_loss(key), t, data) for t in thetas]).reshape(10, 2).mean(axis=1)
                        case = key, name, str(shape), str(knobs), f"{plan.spent.epsilon:g}"
                        found[case] = plan, pairs.mean() - best, pairs.std(ddof=1) / math.sqrt(10)
    return found


def never() -> bool:
    return False


def exceeded(bound: Callable[[Plan], float | None], every_shape: bool = False) -> list[tuple[str, ...]]:
    claims = [(case, bound(plan), mean - 5 * se) for case, (plan, mean, se) in measured(every_shape).items()]
    return [case for case, claim, least in claims if claim is not None and least > claim]


@pytest.mark.shows("upper", "noisy_gd")
def test_no_mean_excess_is_above_its_upper_bound(monkeypatch):
    """Each loss, setting and end of the budgets, on a data set and in a shape of the problem that take turns.

    A mean over 10 pairs lies 5 standard errors above its expectation in less than 0.05% of cases (Student's t); a bound
    that is met with equality would be needed, and most are far above. A twentieth of the bound, or one that forgets the
    noise, fails."""
    cases = measured(False)
    assert len(cases) == len(ENDS) * len(SETTINGS) * len(BALL)
    assert all(upper(plan) is not None for plan, *_ in cases.values())
    assert exceeded(upper) == []
    assert exceeded(lambda plan: upper(plan) / 20)
    monkeypatch.setattr(NoisyGD, "estimate_error", lambda self, plan: 0.0)
    assert {case[3] for case in exceeded(upper)} >= {str(LONG)}


# Measured by another implementation: logistic loss on the unit sphere, a ball of 5, delta = 1 / n^2


TABLE = [
    # n, p, epsilon, smooth bound, averaged bound, last-iterate bound
    (2_000, 10, 0.1, 0.626, 0.882, 15.4),
    (2_000, 10, 10.0, 0.0121, 0.250, 5.7),
    (10_000, 50, 1.0, 0.0393, 0.253, 5.8),
]


@pytest.mark.shows("rate", "noisy_gd", "noisy_sgd")
@pytest.mark.parametrize("n, p, epsilon, smooth, averaged, last", TABLE)
def test_bounds_are_those_of_the_sheet(n, p, epsilon, smooth, averaged, last):
    """The smooth bound to three digits, with the sheet's 1,000 steps. The averaged bound to a per cent: it counts the
    start, not theta_T, so ours is larger by 1 / (2T). The last-iterate bound to two digits, times what ours is sharper:
    2.1 + 0.75 ln T in the place of 2.5 + 1.5 ln T."""
    spec, budget, B = Spec("logistic", n, p, 0.0, radius=5.0, theta_norm=5.0), Budget(epsilon, 1 / n**2), 5.0

    def error_of(steps: int) -> float:
        plan = NoisyGD(steps=steps).calibrate(spec, budget)
        return plan.mechanism.estimate_error(plan)

    free = B / (math.sqrt(1_000) * error_of(1_000))
    found = theory.smooth_bound(B, free / (1.0 + 0.25 * free), 1_000, error_of(1_000) ** 2, 0.25)
    assert found == pytest.approx(smooth, rel=5e-3)
    T = max(5, math.ceil(min((n * gaussian_mu(budget)) ** 2 / (4 * p), 400)))
    G = math.hypot(1.0, error_of(T))
    found = theory.averaged_bound(B, B / (G * math.sqrt(T)), T, G, 1)
    assert found / (1 + 0.5 / T) == pytest.approx(averaged, rel=5e-3)
    sharper = (2.1 + 0.75 * math.log(T)) / (2.5 + 1.5 * math.log(T))
    assert theory.last_iterate_bound(2.0 * B, G, T) / sharper == pytest.approx(last, abs=0.051)


SPEC = Spec("logistic", 2_000, 10, 0.0, radius=5.0, theta_norm=5.0)


def at(spec: Spec = SPEC, epsilon: float = 0.3, **knobs) -> Plan:
    return NoisyGD(**knobs).calibrate(spec, Budget(epsilon, 1e-6))


@pytest.mark.parametrize("n, most", [(50, 300), (599, 300), (1_000, 500), (1_999, 999), (100_000, 1_000)])
def test_under_auto_few_records_get_one_step_for_two_of_them_at_most(n, most):
    assert at(dc.replace(SPEC, n=n), epsilon=1e4).steps == most


def test_under_auto_noise_moves_a_coordinate_by_seven_times_the_size_that_lam_allows_or_by_twice():
    for spec, size in (
        (SPEC, 5 ** (2 / 3) / 16),
        (Spec("hinge", 500, 7, 0.0, Domain(R=2.0), None, 10.0), 20 ** (2 / 3) / 16 / 2),
        (Spec("smooth_median", 500, 7, 0.0, Domain(R=2.0)), 0.1 * 2),
    ):
        plan = at(spec, 0.05)
        factor = 7 if get_loss(spec.loss).classification else 2
        assert descent_of(plan).step * plan.scale * math.sqrt(plan.steps) == pytest.approx(factor * size)
        # Little noise: the step is held to what is stable.
        quiet, facts = at(spec, 1_000.0), constants_of(spec)
        stable = 2 / 3 / facts.curvature
        if math.isinf(facts.curvature):
            stable = (
                facts.norm / math.hypot(facts.gradient, quiet.mechanism.estimate_error(quiet)) / math.sqrt(quiet.steps)
            )
        assert descent_of(quiet).step == pytest.approx(stable)


@pytest.mark.parametrize("key", ["logistic", "hinge"])
def test_the_bound_on_a_tail_counts_the_noise_of_the_steps_before_it(key):
    """The smaller of B^2 / (2 eta N) + (T / N) eta V / (2 (1 - eta beta)) and B^2 / (2 eta N) + (T + 1) eta G^2 / (2 N)
    for the last N iterates."""
    smaller = set()
    for knobs in ({}, {"steps": 11}, {"steps": 300, "step": 3.0}, {"steps": 300, "step": 5.0}):
        plan = at(Spec(key, 2_000, 10, 0.0, radius=5.0, theta_norm=4.0), **knobs)
        T, N, eta = plan.steps, plan.steps - plan.steps // 2, descent_of(plan).step
        V, beta = 10 * plan.scale**2, get_loss(key).curvature_bound
        start = 4.0**2 / (2 * eta * N)
        smooth = start + T / N * eta * V / (2 * (1 - eta * beta)) if eta * beta < 1 else math.inf
        kinked = start + (T + 1) * eta * (1 + V) / (2 * N)
        assert upper(plan) == pytest.approx(min(smooth, kinked), rel=1e-12)
        smaller.add("smooth" if smooth < kinked else "any")
    assert smaller == ({"smooth", "any"} if key == "logistic" else {"any"})


@pytest.mark.parametrize("mechanism", [NoisyGD(), NoisySGD()])
@pytest.mark.parametrize("loss", ["huber", "absolute", "squared"])
@pytest.mark.parametrize("B", [0.01, 3.0])
def test_under_auto_the_path_of_numbers_ends_where_the_lam_of_objective_perturbation_would_hold_it(mechanism, loss, B):
    """lam = R sigma m^(1/3) / y_max + 5 p sigma^2 / (B R)^2 (docs/formulas.md): sigma is the noise in the mean of all
    gradients, m = sigma n / (2 G), and G the largest gradient in the ball."""
    G = 2 * 2.0 * (2.0 * B + 0.5) if loss == "squared" else 2.0
    plan = mechanism.calibrate(Spec(loss, 500, 7, 0.0, Domain(R=2.0, y_max=0.5), None, B), Budget(0.05, 1e-6))
    sigma = mechanism.estimate_error(plan) / math.sqrt(7 * plan.steps)
    parts = 2 * sigma * (sigma / (2 * G / 500)) ** (1 / 3) / 0.5, 5 * 7 * (sigma / (2 * B)) ** 2
    assert descent_of(plan).step * plan.steps == pytest.approx(1 / sum(parts))
    assert (parts[0] > parts[1]) == (B == 3.0)


def test_the_last_iterate_has_a_bound_for_its_own_steps_only():
    def single(spec: Spec = SPEC, **knobs) -> Plan:
        return NoisySGD(batches="single", steps=500, **knobs).calibrate(spec, Budget(0.3, 1e-6))

    plan = single()
    error = plan.mechanism.estimate_error(plan)
    assert upper(plan) == pytest.approx(theory.last_iterate_bound(10.0, error, 500))
    assert descent_of(plan).step == pytest.approx(10.0 / error) and descent_of(plan).decaying
    assert upper(single(step=1.0)) is None
    assert single(Spec("hinge", 500, 7, 0.0, theta_norm=3.0)).spec.radius == 3.0, "its proof needs a ball"


def test_noise_counts_in_the_span_of_the_records_unless_a_ball_feels_all_of_it():
    for spec, dimensions in (
        (Spec("hinge", 20, 300, 0.0), 20),
        (Spec("hinge", 300, 20, 0.0), 20),
        (Spec("hinge", 20, 300, 0.0, radius=1.0), 300),
        (Spec("hinge", 20, 300, 0.1), 300),
        (Spec("geometric_median", 20, 300, 0.0), 300),
    ):
        plan = at(spec)
        assert plan.mechanism.estimate_error(plan) == pytest.approx(plan.scale * math.sqrt(dimensions))


def test_a_regulariser_adds_its_curvature_its_gradient_and_its_bias():
    spec = Spec("huber", 400, 3, 0.5, Domain(R=2.0), None, 4.0)
    plan = at(spec)
    facts = constants_of(plan.spec)
    assert (facts.norm, facts.reach, facts.dimensions) == (4.0, 4.0, 3)
    assert facts.curvature == pytest.approx(2 * 4.0 + 0.5) and facts.gradient == pytest.approx(2.0 + 0.5 * 4.0)
    over_J = mean_bound(facts, plan.steps, descent_of(plan), plan.mechanism.estimate_error(plan))
    assert upper(plan) == pytest.approx(over_J + 0.25 * 16.0)


def test_no_rule_for_lam_asks_for_any():
    assert at(Spec("logistic", 100, 3, "auto")).spec.lam == at(Spec("logistic", 100, 3, "published")).spec.lam == 0.0
