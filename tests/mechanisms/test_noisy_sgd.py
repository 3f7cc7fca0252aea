"""Noise in stochastic gradient steps: Kamath's algorithm to the letter, scales, costs, bounds, likelihood ratios."""

import copy
import dataclasses as dc
import math
from concurrent.futures import CancelledError

import numpy as np
import pytest
from scipy import stats

import dpcore
from dpcore import Budget, Data, NotApplicable, Plan, Spec
from dpcore.accounting.subsampled_rdp import subsampled_epsilon, subsampled_multiplier
from dpcore.core.losses import get_loss
from dpcore.experiments.metrics import risk
from dpcore.solvers import minimise_in_ball
from tests.oracles import DP_ACCOUNTING
from tests.problems import for_loss, random_records

DATA = random_records(200, 5, seed=7)
LITERAL = {"batches": "single", "accounting": "published"}


def plan_for(n=200, p=5, *, loss="logistic", lam=0.0, radius=2.0, epsilon=1.0, delta=1e-5, **knobs) -> Plan:
    spec = Spec(loss, n, p, lam, radius=radius)
    return dpcore.make_mechanism("noisy_sgd", **knobs).calibrate(spec, Budget(epsilon, delta))


def released(plan: Plan, data: Data, seed: int) -> np.ndarray:
    mechanism = plan.mechanism
    return mechanism.release(plan, mechanism.prepare(plan, data), np.random.default_rng(seed))


# What is released


def test_published_single_records_are_kamath_s_algorithm_3():
    """Its line for the step, in sums: n times a record's gradient and noise of n L times the multiplier."""
    n, p, L, C, epsilon, delta = 20, 3, 1.0, 2.0 * 1.5, 0.8, 1e-4
    data = random_records(n, p, seed=8)
    plan = plan_for(n, p, radius=C / 2.0, epsilon=epsilon, delta=delta, **LITERAL)
    assert plan.steps == n**2

    rng, theta = np.random.default_rng(3), np.zeros(p)
    sigma = math.sqrt(32 * L**2 * n**2 * math.log(n / delta) * math.log(1 / delta)) / epsilon
    G = math.sqrt(n**2 * L**2 + p * sigma**2)
    for t in range(1, n**2 + 1):
        i = int(n * rng.random())
        x, y = data.X[i], data.y[i]
        gradient = -y * x / (1.0 + math.exp(y * (x @ theta)))
        theta = theta - C / (G * math.sqrt(t)) * (n * gradient + sigma * rng.standard_normal(p))
        theta *= min(1.0, (C / 2.0) / np.linalg.norm(theta))
    assert np.allclose(released(plan, data, 3), theta, rtol=1e-9)
    # Power: another constant under the root is another model.
    apart = dc.replace(plan, scale=plan.scale * math.sqrt(16 / 32))
    assert not np.allclose(released(apart, data, 3), theta, rtol=1e-2)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_pairs_of_draws_have_opposite_noise_on_the_same_batches(loss):
    """After one step of a large ball the mean of a pair is the step without noise."""
    facts = {"loss": loss, "radius": 100.0, "steps": 1}
    plans = [plan_for(batch=batch, epsilon=e, **facts) for batch, e in ((7, 1.0), (200, 3.0), (7, 3.0))]
    prepared = [plan.mechanism.prepare(plan, DATA) for plan in plans]
    rngs = [np.random.default_rng(seed) for seed in (5, 6)]
    before = copy.deepcopy(rngs)
    drawn = plans[0].mechanism.draws(plans, prepared, rngs, lambda: False)
    assert drawn.thetas.shape == (3, 4, 5)
    assert [rng.bit_generator.state for rng in rngs] == [rng.bit_generator.state for rng in before]
    for k, plan in enumerate(plans):
        for r, seed in enumerate((5, 6)):
            assert drawn.thetas[k, 2 * r] == pytest.approx(released(plan, DATA, seed), rel=1e-12)
    middles = drawn.thetas.reshape(3, 2, 2, 5).mean(axis=2)
    assert np.allclose(middles[1], drawn.centres[1], atol=1e-12), "a batch of all records is no choice"
    assert np.linalg.norm(middles[0, 0] - middles[0, 1]) > 1e-3, "other batches"
    if loss == "logistic":
        assert np.allclose(middles[::2, 0], drawn.centres[::2], atol=1e-12), "the centre has the first batches"
    with pytest.raises(CancelledError):
        plans[0].mechanism.draws(plans, prepared, rngs, lambda: True)


# Scales, costs and refusals


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_scales_are_as_published(epsilon):
    n, delta, G = 500, 1e-6, 0.5
    budget = Budget(epsilon, delta)

    def plan(**knobs) -> Plan:
        spec = Spec("logistic", n, 3, 0.0, dpcore.Domain(R=G), radius=2.0)
        return dpcore.make_mechanism("noisy_sgd", **knobs).calibrate(spec, budget)

    by_hand = G * math.sqrt(32 * math.log(n / delta) * math.log(1 / delta)) / epsilon
    assert plan(**LITERAL).scale == pytest.approx(by_hand, rel=1e-12)
    tight = plan(batches="single")
    assert tight.scale == G * subsampled_multiplier(budget, 1 / n, n**2, "uniform") and tight.steps == n**2
    default = plan()
    assert default.steps == 400 and default.ledger[0].rate == 20 / n
    assert default.scale == pytest.approx(G / 20 * subsampled_multiplier(budget, 20 / n, 400, "poisson"), rel=1e-12)
    for made in (plan(**LITERAL), tight, default):
        (event,) = made.ledger
        assert (event.scale, event.times, event.sampling) == (made.scale, made.steps, made.mechanism.sampling)
        assert event.sensitivity == pytest.approx(2.0 * G / (event.rate * n), rel=1e-12)
        cost = subsampled_epsilon(
            2 * event.scale / event.sensitivity, event.rate, event.times, delta, made.mechanism.sampling
        )
        assert made.spent.epsilon == pytest.approx(cost, rel=1e-6) and made.spent.delta == delta


@pytest.mark.parametrize(
    "n, batch, steps", [(10, 10, 400), (30, 20, 400), (500, 20, 400), (1_001, 20, 801), (4_000, 25, 1_600)]
)
def test_batches_are_small_and_see_each_record_sixteen_times_within_limits(n, batch, steps):
    plan = plan_for(n)
    assert plan.ledger[0].rate * n == pytest.approx(batch, rel=1e-12) and plan.steps == steps
    assert plan_for(n, batch=float(n)).steps == 400


def test_what_the_published_noise_costs_is_always_less_than_was_asked_for():
    """A tenth of it at epsilon = 1; up to the end of the theorem's range, for small and large n and delta."""
    for n in (2, 20, 500, 3000):
        for delta in (1e-12, 1e-5, 0.1, 0.9):
            last = 2.0 * math.sqrt(-math.log(delta))
            for epsilon in (0.01 * last, 0.5 * last, 0.999 * last):
                plan = plan_for(n, epsilon=epsilon, delta=delta, **LITERAL)
                assert plan.spent <= plan.requested, (n, delta, epsilon)
    assert 0.05 < plan_for(500, delta=1 / 500**2, **LITERAL).spent.epsilon < 0.1


def test_steps_by_hand_open_single_records_to_many_people():
    plan = plan_for(100_000, batches="single", steps=1000)
    assert plan.steps == 1000 and plan.descent.decaying and plan.descent.first == 1000


@pytest.mark.shows("privacy", "noisy_sgd")
def test_an_independent_accountant_agrees_with_the_cost_of_poisson_batches():
    """dp-accounting's privacy loss distributions, in its convention for replacing a record (see tests/oracles).

    They are tighter than Renyi divergences, which ask for up to 30% more noise here.
    """
    oracle = DP_ACCOUNTING["poisson_distribution"]
    for case in (c for c in oracle if c["rate"] * 2_000 >= 1 and c["delta"] < 1e-4):
        knobs = {"batch": case["rate"] * 2_000, "steps": case["times"]}
        plan = plan_for(2_000, delta=case["delta"], epsilon=case["epsilon"], **knobs)
        z = 2.0 * plan.scale / plan.ledger[0].sensitivity
        assert case["z"] <= z <= 1.3 * case["z"], case


# The error of a step, bounds and limits


@pytest.mark.parametrize("knobs", [{"batch": 5}, {"batch": 40}, {"batches": "single"}], ids=str)
def test_the_error_of_a_step_is_what_the_rules_are_told(knobs):
    """Attained where all gradients are alike (for single records only their second moment is).

    4,000 sums: their variance is within 10% of its mean with probability 1 - 1e-4 at least, by Chebyshev's inequality
    for the fourth moment of a batch's size; the seed is fixed.
    """
    n, G = 50, 1.0
    data = Data(np.full((n, 1), G), np.ones(n))
    plan = plan_for(n, 1, loss="hinge", epsilon=5.0, steps=1, **knobs)
    prepared = plan.mechanism.prepare(plan, data)
    seen = plan.mechanism.transcripts(plan, prepared, [np.random.default_rng([1, k]) for k in range(4_000)])
    square = plan.mechanism.estimate_error(plan) ** 2
    measured = np.mean((seen + G) ** 2) if plan.mechanism.batches == "poisson" else np.mean(seen**2)
    assert measured == pytest.approx(square, rel=0.1)
    facts = plan.mechanism.facts(plan.spec)
    assert np.mean(seen**2) == pytest.approx(facts.gradient**2 + square, rel=0.1)


@pytest.mark.shows("upper", "noisy_sgd")
@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared", "geometric_median"])
@pytest.mark.parametrize("batches", ["poisson", "single"])
def test_measured_means_stay_under_the_bounds(loss, batches):
    """Means of 20 releases, all below three quarters of their bounds: a false alarm has probability below 1e-6."""
    data = for_loss(loss, DATA)
    lowest = minimise_in_ball(get_loss(loss), data, 2.0).risk
    for epsilon in (0.5, 20.0):
        knobs = {"batches": batches, "steps": 300 if batches == "poisson" else 2_000}
        plan = plan_for(loss=loss, epsilon=epsilon, **knobs)
        upper = [b.value for b in plan.mechanism.bounds(plan) if b.form == "upper"]
        mean = np.mean([risk(get_loss(loss), released(plan, data, seed), data) for seed in range(20)]) - lowest
        assert len(upper) == 1 and mean <= 0.75 * upper[0], (epsilon, mean, upper)


# Audits


@pytest.mark.parametrize("knobs", [{"batch": 2}, {"batch": 10}, {"batches": "single"}], ids=str)
def test_scores_are_log_ratios_of_mixtures(knobs):
    """Each step against densities written out; power: a step that always holds the record scores otherwise."""
    plan = plan_for(10, 2, loss="huber_hinge", radius=0.3, steps=3, **knobs)
    zero, one = (plan.mechanism.prepare(plan, data) for data in plan.mechanism.worst_pair(plan))
    outputs = np.random.default_rng(2).normal(0.0, plan.scale, (40, 6))
    rate, u = plan.ledger[0].rate, np.full(2, math.sqrt(0.5))
    expected = np.zeros(40)
    for seen in np.split(outputs, 3, axis=1):  # in a ball so small the slope of this loss is 1 everywhere
        absent = (1.0 - rate) * stats.multivariate_normal(np.zeros(2), plan.scale**2).pdf(seen)
        for sign in (1.0, -1.0):
            shift = -sign * u / (rate * 10)
            density = absent + rate * stats.multivariate_normal(shift, plan.scale**2).pdf(seen)
            expected += sign * np.log(density)
    assert np.allclose(plan.mechanism.log_ratio(plan, zero, one, outputs), expected, atol=1e-9)
    always = dc.replace(plan, ledger=(dc.replace(plan.ledger[0], rate=1.0),))
    other = plan.mechanism.log_ratio(always, zero, one, outputs)
    assert rate == 1.0 or not np.allclose(other, expected, atol=1e-2)


def test_only_pairs_whose_other_records_have_no_gradient_are_audited():
    plan = plan_for(steps=2)
    prepared = plan.mechanism.prepare(plan, DATA)
    with pytest.raises(NotApplicable, match=r"one record .* gradient"):
        plan.mechanism.log_ratio(plan, prepared, prepared, np.zeros((1, 10)))
