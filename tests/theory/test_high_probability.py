"""Bounds that hold in most runs: their tails against exact laws, their sums step by step, runs on fresh records."""

import math

import numpy as np
import pytest
from scipy.stats import chi, gamma

import dpcore
from dpcore import Budget, Domain, Spec
from dpcore.core.sets import dual_order, norm_ball
from dpcore.mechanisms.frank_wolfe.one_pass import stream_of
from dpcore.mechanisms.frank_wolfe.one_pass_sensitivity import slopes_of, stream_error
from dpcore.mechanisms.gradient.phased_sgd import phases_of
from dpcore.studies.geometry.synthetic_data import population_excess, synthetic_records
from dpcore.theory import frank_wolfe, gradient_descent, high_probability


@pytest.mark.parametrize("t", [0.5, 3.0, 8.0])
def test_tails_are_those_of_chi_and_exponential_variables(t):
    """Exact laws stay below; with a tenth to a third less they would not, where Chernoff's bound is sharp."""
    for k in (1.0, 4.0, 60.0):
        tail = high_probability.martingale_tail(k, k + 1.0, 1.0, t)
        assert chi.sf(tail, k) <= math.exp(-t)
    assert chi.sf(0.85 * high_probability.martingale_tail(60.0, 61.0, 1.0, t), 60.0) > math.exp(-t)
    for m in (1, 7, 200):
        tail = high_probability.exponential_tail(np.full(m, 1.0 / m), t)
        assert gamma.sf(tail * m, m) <= math.exp(-t)
        assert m < 200 or gamma.sf(0.9 * tail * m, m) > math.exp(-t)


def test_the_range_of_errors_is_rarely_above_its_bound_for_a_share_of_runs():
    """Weighted means of ranges of Gaussian scores that move together from step to step: nothing averages out."""
    rng, J, weights, beta = np.random.default_rng(1), 20, np.array([0.2, 0.3, 0.5]), 0.05
    sigmas = np.array([1.0, 2.0, 0.5])
    shared = rng.standard_normal((50_000, J))
    ranges = np.ptp(shared, axis=1)[:, None] * sigmas
    bound = float(frank_wolfe.estimate_range(sigmas**2, J / beta) @ weights)
    assert (ranges @ weights > bound).mean() <= beta
    assert (ranges @ weights > 0.7 * bound).mean() > beta / 20


def test_the_sum_of_gradient_trees_is_that_of_its_steps():
    """Against leaf after leaf, with the variance of each leaf's own path; the formula takes the largest."""
    D, L0, L1, between, T, b, kappa, order, length, slope, t = 2.0, 1.0, 0.3, 0.2, 3, 640, 3.0, 3.0, 40.0, 5.0, 3.0
    K, steps, worst = 2 ** (T + 1) - 2, [], 0.0
    for phase in range(1, T + 1):
        for leaf in range(2**phase):
            depths = [j for j in range(1, phase + 1) if leaf >> (phase - j) & 1]
            squares = b * (2.0 * L0 / b) ** 2 + sum(b / 2**j * (4.0 * between * D / b) ** 2 for j in depths)
            scales = np.array([2.0 * L0 / b] + [4.0 * between * D / b] * len(depths))
            records = math.sqrt(squares) * (math.sqrt(kappa) + math.sqrt(2.0 * t * kappa / (order - 1.0)))
            noise = np.linalg.norm(scales) * (length + slope * math.sqrt(2.0 * t))
            steps.append(records + noise)
            worst = max(worst, squares)
    weights = np.arange(1.0, K + 1.0) * 2.0 / (K * (K + 1.0))
    found = high_probability.tree_frank_wolfe_tail(
        D, L0, L1, between, T=T, b=b, kappa=kappa, order=order, length=length, slope=slope, gaussian=True, t=t
    )
    curvature = 2.0 * L1 * D**2 / (K + 1.0)
    assert curvature + D * float(weights @ steps) <= found
    assert found == pytest.approx(curvature + D * max(steps), rel=0.03)
    assert worst <= (4.0 * L0**2 + 16.0 * (between * D) ** 2) / b


def test_the_bounds_of_choices_differ_by_their_tails_alone():
    """Errors grow by the root of ln(2 J / beta) / ln J; a choice has an exponential variable on top."""
    plan = plan_of("vertices", 4_000, 16)
    mean, tail = (bound.value for bound in plan.mechanism.bounds(plan) if bound.form == "upper")
    stream, facts = stream_of(plan), slopes_of(plan.spec)
    t, J = math.log(2.0 / high_probability.BETA), facts.vertices
    grown = math.sqrt((math.log(J) + t) / math.log(J))
    left = (1.0 - stream.step) ** stream.choices
    shares = plan.scale * stream.step * (1.0 - stream.step) ** np.arange(stream.choices)[::-1]
    error = (1.0 - left) * float(stream_error(facts, stream.first, stream.batch, stream.count, stream.step))
    assert tail - mean == pytest.approx((grown - 1.0) * error + high_probability.exponential_tail(shares, t), rel=1e-9)


def followed(L: float, D: float, d: int, phases: list[tuple[int, float, float]], beta: float) -> float:
    """Bound on the excess in 1 - beta of runs by distances that are followed step by step; (size, step, noise) each.

    One event for the records of all phases, and for the noise of each phase half as much as for that of the last."""
    away, total, records = D, 0.0, 0.0
    for i, (size, step, noise) in enumerate(phases, start=1):
        count = size + 1
        apart = np.minimum(2.0 * D, away + step * L * np.arange(count))
        total += away**2 / (2.0 * step * count) + 0.5 * step * L**2
        records += float(apart @ apart) * (2.0 * L / count) ** 2  # squared lengths of the intervals of differences
        away = noise * chi.isf(0.5 * beta * 0.5**i, d)
    return total + math.sqrt(0.5 * math.log(2.0 / beta) * records) + L * away


@pytest.mark.parametrize("jump, M", [(0.0, 2.1), (2.0, 2.1), (0.0, 60.0)])
def test_the_sum_over_phases_is_that_of_its_steps(jump, M):
    """Those that are followed are a little smaller."""
    L, D, d, eta, beta = 0.7, 1.3, 9, 0.02, 0.05
    sizes = gradient_descent.phase_sizes(3_000)
    phases = [(size, eta / 4.0**i, 2.0 * M * L * eta / 4.0**i * size / (size + 1)) for i, size in enumerate(sizes, 1)]
    total = followed(L, D, d, phases, beta) + jump**2 * L**2 * eta / 64.0
    found = high_probability.phased_tail(L, D, d, M, sizes, eta, jump=jump, beta=beta)
    assert total <= found <= 1.03 * total


CASES = {
    "vertices": (1.0, {}),
    "trees": (1.5, {}),
    "trees, generalised": (1.5, {"noise": "generalized_gaussian"}),
    "phases": (2.0, {}),
    "phases on the box": (math.inf, {}),
}
NAMES = {1.0: "polyhedral_frank_wolfe", 1.5: "tree_frank_wolfe", 2.0: "phased_sgd", math.inf: "phased_sgd"}


def plan_of(case: str, n: int, d: int, epsilon: float = 1.0) -> dpcore.Plan:
    p_norm, knobs = CASES[case]
    spec = Spec("logistic", n, d, 0.0, Domain(q=dual_order(p_norm)), radius=1.0, set=norm_ball(p_norm))
    return dpcore.make_mechanism(NAMES[p_norm], **knobs).calibrate(spec, Budget(epsilon, 1e-6))


@pytest.mark.parametrize("case", CASES)
def test_each_learner_states_both_bounds_and_the_one_for_most_runs_is_larger(case):
    """By no more than 8 times; for phases, where records alone add much, by what their steps and noise say."""
    plan = plan_of(case, 4_000, 16)
    mean, tail = (bound for bound in plan.mechanism.bounds(plan) if bound.form == "upper")
    assert (mean.holds, tail.holds) == ("expectation", "probability")
    assert "in 95% of runs" in tail.assumes and mean.value < tail.value
    if plan.mechanism.key == "phased_sgd":
        slope, away = 1.0 / (1.0 + math.exp(-1.0)), 1.0 if case == "phases" else math.sqrt(16)
        total = followed(slope, away, 16, [(it.size, it.step, it.scale) for it in phases_of(plan)], 0.05)
        assert total <= tail.value <= 1.06 * total
    else:
        assert tail.value < 8.0 * mean.value


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n, runs", [(600, 20), pytest.param(3_000, 400, marks=pytest.mark.nightly)])
def test_most_runs_on_fresh_tables_are_below_the_bound(case, n, runs):
    """Each run has records of its own."""
    p_norm, d = CASES[case][0], 8
    plan = plan_of(case, n, d)
    tail = next(bound.value for bound in plan.mechanism.bounds(plan) if bound.holds == "probability")
    thetas = []
    for run in range(runs):
        data = synthetic_records(p_norm, n, d, run)
        prepared = plan.mechanism.prepare(plan, data)
        thetas.append(plan.mechanism.release_many(plan, prepared, [np.random.default_rng([run, 7])])[0])
    excess = population_excess(np.array(thetas), p_norm, count=10_000, seed=3)
    assert (excess > tail).mean() <= high_probability.BETA
