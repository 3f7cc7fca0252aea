"""Curves on fresh records over l_p balls are those of single releases, and errors of a private mean."""

import dataclasses as dc
import math

import numpy as np
import pytest

import dpcore
from dpcore import Budget, Domain, Plan, Spec
from dpcore.accounting.gaussian import gaussian_mu
from dpcore.core.power_law import power_law
from dpcore.core.sets import dual_order, norm_ball
from dpcore.mechanisms.frank_wolfe.tree import TreeFrankWolfe
from dpcore.solvers.frank_wolfe import one_pass
from dpcore.studies.geometry import excess_by_n, excess_by_norm, noise, synthetic_data


def test_the_first_curves_are_those_of_fewer_runs():
    asked = excess_by_n.ExcessQuestion(1.5, d=3, epsilon=1.0, delta=1e-6, seed=2, ns=(300, 400), runs=14)
    first, second, last = asked.snapshots()
    assert (first.runs, second.runs, last.runs) == (4, 12, 14)
    (alone,) = dc.replace(asked, runs=4).snapshots()
    assert np.array_equal(first.private.mean, alone.private.mean) and not np.array_equal(first.plain, last.plain)
    assert np.isfinite(second.private.q90).all() and np.isnan(first.private.q90).all()


def test_runs_above_the_bound_on_most_of_them_are_counted(monkeypatch):
    call = {"d": 3, "epsilon": 1.0, "delta": 1e-6, "seed": 2, "ns": (300,), "runs": 12}
    found, bounds = excess_by_n.excess_against_n(1.5, **call), TreeFrankWolfe.bounds
    assert found.above[0] == 0

    def lower(self, plan):
        return tuple(dc.replace(bound, value=found.private.mean[0]) for bound in bounds(self, plan))

    monkeypatch.setattr(TreeFrankWolfe, "bounds", lower)
    assert 2 <= excess_by_n.excess_against_n(1.5, **call).above[0] <= 10


def test_what_one_run_in_twenty_exceeds_is_measured_from_twenty_runs_on():
    asked = excess_by_n.ExcessQuestion(1.5, d=3, epsilon=1.0, delta=1e-6, seed=2, ns=(300, 600), runs=21)
    first, *_, last = asked.snapshots()
    assert np.isnan(first.most).all()
    assert (last.private.q90 <= last.most).all() and (last.most < last.tail).all()
    found = excess_by_n.excess_against_n(1.5, d=3, epsilon=1.0, delta=1e-6, seed=2, ns=(300,), runs=20)
    assert found.private.q90[0] < found.most[0], "two runs lie above nine tenths, one above the rest"


def test_where_nothing_is_released_the_curve_says_why():
    found = excess_by_n.excess_against_n(1.5, d=4, epsilon=1.0, delta=1e-6, seed=0, ns=(2, 400), runs=2)
    assert "3 records" in found.reasons[0] and np.isnan(found.private.mean[0]) and found.reasons[1] == ""
    assert np.isfinite(found.private.mean[1])
    with pytest.raises(ValueError, match=r"runs must .*>= 2, got 1"):
        excess_by_n.excess_against_n(1.5, d=4, epsilon=1.0, delta=1e-6, seed=0, runs=1)


@pytest.mark.parametrize("p_norm", [2.0, math.inf])
def test_many_passes_come_last_and_leave_less_than_phases(p_norm):
    asked = excess_by_n.ExcessQuestion(p_norm, d=8, epsilon=1.0, delta=1e-6, seed=0, ns=(500, 2_000), runs=6)
    *before, found = asked.snapshots()
    assert [each.runs for each in before] == [4, 6] and found.runs == 6
    assert [each.passes for each in before] == [None, None]
    assert [asked.share_done(each) for each in before] == pytest.approx([0.7 * 4 / 6, 0.7])
    assert asked.share_done(found) == 1.0
    assert (found.passes < 0.6 * found.private.mean).all() and (found.passes > 0.0).all()
    assert found.reads == pytest.approx(16 * found.n)
    assert np.array_equal(found.private.mean, before[-1].private.mean)


@pytest.mark.parametrize("p_norm", [1.0, 1.5, 2.0, math.inf])
def test_the_work_is_linear_in_n(p_norm):
    found = excess_by_n.excess_against_n(p_norm, d=4, epsilon=1.0, delta=1e-6, seed=0, runs=2)
    assert found.exponents[2] == pytest.approx(1.0, abs=0.1)
    far = found.n >= 1_000
    for exponent, curve in zip(found.exponents, (found.private.mean, found.bound, found.gradients), strict=True):
        assert exponent == power_law(found.n[far], curve[far]).slope


def planned(p_norm: float) -> Plan:
    spec = Spec("logistic", 1_000, 3, 0.0, Domain(q=dual_order(p_norm)), radius=1.0, set=norm_ball(p_norm))
    return dpcore.make_mechanism(excess_by_n.learner_key(p_norm)).calibrate(spec, Budget(1.0, 1e-6))


def test_phases_evaluate_a_gradient_for_each_record_that_they_read():
    plan = planned(2.0)
    assert plan.mechanism.gradients(plan) == 500 + 250 + 125 + 62 + 31 + 15 + 7 + 3 + 1


def test_minibatches_evaluate_two_gradients_of_each_record_behind_the_first_batch(monkeypatch):
    plan, seen, real = planned(1.0), [], one_pass.batch_mean

    def batch_mean(loss, data, batch, thetas):
        seen.append(len(batch))
        return real(loss, data, batch, thetas)

    monkeypatch.setattr(one_pass, "batch_mean", batch_mean)
    prepared = plan.mechanism.prepare(plan, synthetic_data.synthetic_records(1.0, 1_000, 3, 0))
    plan.mechanism.release(plan, prepared, np.random.default_rng(0))
    assert plan.mechanism.gradients(plan) == sum(seen)


def test_knobs_make_curves_of_their_own():
    call = {"d": 4, "epsilon": 0.5, "delta": 1e-6, "seed": 0, "ns": (500, 1_000), "runs": 2}
    one, other = (excess_by_n.excess_against_n(1.5, noise=law, **call) for law in ("gaussian", "generalized_gaussian"))
    assert not np.array_equal(one.private.mean, other.private.mean) and np.array_equal(one.plain, other.plain)


@pytest.mark.parametrize("p_norm", [1.0, 1.25, 2.0])
def test_the_noise_of_the_ball_is_that_of_forty_people_and_its_models_are_best_for_it(p_norm):
    found, q = noise.ball_picture(p_norm, epsilon=1.0, delta=1e-6), dual_order(p_norm)
    scale = 2.0 / 40 * 2.0 ** (0.5 - 1.0 / q) / gaussian_mu(Budget(1.0, 1e-6))
    # 400 normals: their mean square is within a quarter of 1 but with probability 4e-4 (chi-square).
    assert np.mean((found.noisy - found.mean) ** 2) == pytest.approx(scale**2, rel=0.25)
    assert np.linalg.norm(found.mean, q) == pytest.approx(1.0)
    best = np.linalg.norm(found.noisy, q, axis=1)  # the largest <x, mean> over the ball
    assert np.allclose((found.models * found.noisy).sum(axis=1), best, rtol=1e-9)
    assert found.best @ found.mean == pytest.approx(1.0) and found.records == 40


def test_errors_of_a_private_mean_are_those_of_the_law_and_the_bound_holds():
    """Where the order of the law is q the bound is nearly attained, and 200 draws are 1% off at most."""
    n, budget = 500, Budget(1.0, 1e-6)
    for d, q in ((16, math.inf), (300, 3.0), (300, math.inf)):
        found = noise.mean_errors(q, d, n, budget.epsilon, budget.delta, seed=0, draws=200)
        scale = 2.0 / n * d ** (0.5 - 1.0 / q) / gaussian_mu(budget)
        drawn = np.linalg.norm(scale * np.random.default_rng(1).standard_normal((2_000, d)), q, axis=1)
        assert found.gaussian == pytest.approx(drawn.mean(), rel=0.05) and found.generalized < 1.01 * found.bound
    few = noise.mean_errors(math.inf, 16, n, budget.epsilon, budget.delta, seed=0, draws=200)
    assert few.generalized < 0.9 * few.gaussian
    same = noise.mean_errors(2.0, 50, n, budget.epsilon, budget.delta, seed=0, draws=200)
    assert same.generalized == pytest.approx(same.gaussian, rel=0.05), "one law"


@pytest.mark.parametrize("records", excess_by_norm.RECORDS)
@pytest.mark.parametrize(("d", "n", "epsilon"), [(8, 300, 3.0), (1_000, 2_000, 1.0), (200, 50, 0.1)])
def test_the_excess_against_the_norm_order_stays_below_its_bounds(records, d, n, epsilon):
    found = excess_by_norm.against_order(d, n, epsilon, 1e-6, seed=1, repetitions=20, records=records)
    for side in (found.vertices, found.gaussian):
        assert (side.noiseless <= side.mean + 1e-12).all() and (side.mean <= side.bound + 4.0 * side.se + 1e-12).all()
    assert (found.signal[0] > 0.5) >= (records == "all"), "no record is zero"


@pytest.mark.parametrize("p_norm", [1.0, 1.5])
def test_the_bound_for_such_records_comes_with_the_last_runs_and_lies_between_measurement_and_theorem(p_norm):
    asked = excess_by_n.ExcessQuestion(p_norm, d=4, epsilon=2.0, delta=1e-6, seed=2, ns=(300, 2_000), runs=14)
    first, *_, last = asked.snapshots()
    assert np.isnan(first.proved).all()
    error = 4.0 * (last.private.se + last.proved_se)
    assert (last.private.mean <= last.proved + error).all() and (last.proved - error < last.bound).all()


def test_phases_have_no_bound_for_such_records():
    found = excess_by_n.excess_against_n(2.0, d=3, epsilon=1.0, delta=1e-6, seed=2, ns=(300,), runs=2)
    assert np.isnan(found.proved).all()
