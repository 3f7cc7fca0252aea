"""Gradient perturbation on l_p balls, p from 2 to inf: what a record moves, where models stay, bounds and refusals."""

import dataclasses as dc
import math

import numpy as np
import pytest
from scipy.sparse import csr_array

import dpcore
from dpcore import Budget, Data, Domain, NotApplicable, Spec
from dpcore.core.losses import get_loss
from dpcore.core.sets import LqBall, length, norm_ball
from dpcore.mechanisms.gradient.base import constants_of
from dpcore.mechanisms.gradient.gd import NoisyGD
from dpcore.mechanisms.gradient.sgd import NoisySGD
from dpcore.studies.geometry.synthetic_data import population_excess, synthetic_records
from dpcore.theory import gradient_descent as theory
from tests.phased import dual, hard_records

MECHANISMS = (NoisyGD(), NoisySGD(), NoisySGD(batches="single", steps=400))
every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=["all", "batches", "single"])
every_p = pytest.mark.parametrize("p_norm", [3.0, 4.0, math.inf])
every_loss = pytest.mark.parametrize("loss", ["hinge", "absolute", "logistic", "huber", "squared"])


def plan_for(mechanism, loss="hinge", p_norm=math.inf, *, n=200, d=5, q=None, radius=1.0, epsilon=1.0, lam=0.0):
    domain = Domain(dual(p_norm) if q is None else q, 1.0)
    spec = Spec(loss, n, d, lam, domain, radius, set=norm_ball(p_norm))
    return mechanism.calibrate(spec, Budget(epsilon, 1e-6))


def records(n: int, d: int, q: float, seed: int = 0) -> Data:
    """At the border of the domain; labels that depend on all columns, with noise."""
    rng = np.random.default_rng(seed)
    X = hard_records(rng, n, d, q) * (1 - 1e-12)
    return Data(X, np.where(X @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n) > 0.0, 1.0, -1.0))


def released(plan, data: Data, count: int = 4) -> np.ndarray:
    rngs = [np.random.default_rng([4, i]) for i in range(count)]
    return plan.mechanism.release_many(plan, plan.mechanism.prepare(plan, data), rngs)


# What one record can move


@pytest.mark.shows("privacy", "noisy_gd")
@every_p
@every_loss
def test_no_replaced_record_moves_a_gradient_of_the_set_beyond_its_sensitivity(loss, p_norm):
    """In L2, where the noise is; records of the dual norm, models all over the set. Flipped labels are near it."""
    plan, rng = plan_for(NoisyGD(), loss, p_norm, n=2, d=4, radius=1.5), np.random.default_rng(1)
    models = rng.standard_normal((300, 4)) * 10.0 ** rng.uniform(-2, 1, (300, 1))
    models *= np.minimum(1.0, 1.5 / length(models, p_norm))
    models[:50] = 1.5 * norm_ball(p_norm).extreme(models[:50])
    most = 0.0
    for trial in range(100):
        x = hard_records(rng, 2, 4, dual(p_norm))
        x[1] = x[0] if trial % 2 else x[1]
        y = np.array([1.0, -1.0])
        first, second = (get_loss(loss).gradients(Data(x[[i, i]], y[[i, i]]), models) for i in (0, 1))
        most = max(most, float(np.linalg.norm(first - second, axis=1).max()) / 2)  # one of two records
    assert 0.5 * plan.ledger[0].sensitivity < most <= plan.ledger[0].sensitivity * (1 + 1e-12)


@every_mechanism
def test_records_of_another_norm_cost_what_their_l2_bound_costs(mechanism):
    """The dual norms are at most 2: nothing. Entries of at most 1 are as long as the root of d."""
    moved = plan_for(mechanism, q=2.0, d=16).ledger[0].sensitivity
    for q, factor in ((1.0, 1.0), (4 / 3, 1.0), (4.0, 2.0), (math.inf, 4.0)):
        assert plan_for(mechanism, q=q, d=16).ledger[0].sensitivity == pytest.approx(factor * moved, rel=1e-12)


@every_mechanism
def test_the_ball_of_order_2_is_the_l2_ball(mechanism):
    mechanism = dc.replace(mechanism, steps=60, step=0.2)  # the rules differ, as the named ball's theta_norm is a guess
    plan, data = plan_for(mechanism, p_norm=2.0), records(200, 5, 2.0)
    named = mechanism.calibrate(dc.replace(plan.spec, set="ball"), plan.requested)
    assert (plan.scale, plan.steps, plan.descent) == (named.scale, named.steps, named.descent)
    assert np.array_equal(released(plan, data), released(named, data))


# Models and runs


@every_mechanism
@every_p
def test_iterates_follow_from_the_transcript_and_never_leave_the_set(mechanism, p_norm):
    """Every step of its definition, noise so large that most steps leave the set."""
    plan, data = plan_for(dc.replace(mechanism, step=0.3), p_norm=p_norm), records(200, 5, dual(p_norm))
    prepared, rng = plan.mechanism.prepare(plan, data), np.random.default_rng(0)
    (path, quiet), outside = plan.mechanism.paths(plan, prepared, rng), 0
    assert (length(path, p_norm) <= 1 + 1e-12).all() and (length(quiet, p_norm) <= 1 + 1e-12).all()
    gradients = plan.mechanism.transcripts(plan, prepared, [np.random.default_rng(0)]).reshape(plan.steps, -1)
    for t, gradient in enumerate(gradients):
        eta = plan.descent.step / (math.sqrt(t + 1) if plan.descent.decaying else 1.0)
        moved = path[t] - eta * gradient
        away = moved - path[t + 1]
        # The variational inequality of the nearest point.
        assert away @ (norm_ball(p_norm).extreme(-away) - path[t + 1]) <= 1e-9 * max(1.0, np.linalg.norm(moved))
        outside += length(moved, p_norm)[0] > 1.0
    assert outside > plan.steps / 4
    (theta,) = plan.mechanism.release_many(plan, prepared, [np.random.default_rng(0)])
    assert np.allclose(theta, path[plan.descent.first :].mean(axis=0), rtol=1e-9, atol=1e-12)


@every_mechanism
@pytest.mark.parametrize("p_norm", [4.0, math.inf])
def test_columns_that_are_not_stored_take_part_and_sparse_records_are_the_dense_ones(mechanism, p_norm):
    data = records(60, 4, dual(p_norm))
    wide = Data(np.pad(data.X, ((0, 0), (0, 6))), data.y)
    plan = plan_for(mechanism, p_norm=p_norm, n=60, d=10)
    for narrow in (Data(data.X, data.y, p=10), Data(csr_array(data.X), data.y, p=10)):
        found = released(plan, narrow)
        assert found.shape == (4, 4) and np.allclose(found, released(plan, wide)[:, :4], rtol=1e-9, atol=1e-12)
        drawn = plan.mechanism.draws(
            [plan], [plan.mechanism.prepare(plan, narrow)], [np.random.default_rng([4, 0])], bool
        )
        assert drawn.thetas.shape == (1, 2, 4) and drawn.centres.shape == (1, 4)
        assert np.allclose(drawn.thetas[0, 0], found[0], atol=1e-3), "single precision is for pictures"


# Bounds


@pytest.mark.shows("upper", "noisy_sgd")
@every_mechanism
@every_p
@pytest.mark.parametrize("loss", ["hinge", "absolute", "logistic"])
def test_mean_excess_is_below_the_bounds_on_these_and_on_fresh_records(mechanism, p_norm, loss):
    """Against a model of the set that is nearly best for all people that there are, of whom 400 are drawn."""
    n, d, q = 400, 5, dual(p_norm)
    plan, fresh = plan_for(mechanism, loss, p_norm, n=n, epsilon=3.0), records(20_000, d, q, seed=9)
    crowd = plan_for(NoisyGD(steps=500), loss, p_norm, n=20_000, epsilon=1e5)
    (star,) = released(crowd, fresh, 1)
    value, seen, new = get_loss(loss).value, [], []
    for seed in range(4):
        rows = np.random.default_rng(seed).choice(20_000, n)
        data = Data(fresh.X[rows], fresh.y[rows])
        for of, found in ((data, seen), (fresh, new)):
            best = value(of.X @ star, of.y).mean()
            found += [value(z, of.y).mean() - best for z in of.margins(released(plan, data))]
    upper = {b.quantity: b.value for b in plan.mechanism.bounds(plan) if b.form == "upper"}
    B = d ** (0.5 - 1.0 / p_norm)
    assert upper["excess_population_risk"] == pytest.approx(upper["excess_empirical_risk"] + 2 * B / math.sqrt(n))
    assert np.mean(seen) < upper["excess_empirical_risk"] and np.mean(new) < upper["excess_population_risk"]
    assert mechanism.last_iterate or upper["excess_empirical_risk"] < 1.0


@every_p
@pytest.mark.parametrize("mechanism", MECHANISMS[:2], ids=["all", "batches"])
def test_steps_on_other_balls(mechanism, p_norm):
    """Those of the smallest bound; a quarter and four times as long have larger bounds, and on these records excess."""
    n, d = 1_000, 8
    data = synthetic_records(p_norm, n, d, seed=0)
    for loss in ("hinge", "logistic"):
        plan, means, bounds = plan_for(mechanism, loss, p_norm, n=n, d=d), [], []
        facts, T, step = constants_of(plan.spec), plan.steps, plan.descent.step
        error = plan.mechanism.estimate_error(plan)
        r = facts.norm / (error * math.sqrt(T))
        smooth, kinked = r / (1.0 + facts.curvature * r), facts.norm / (math.hypot(1.0, error) * math.sqrt(T))
        assert step == pytest.approx(kinked if loss == "hinge" else min(smooth, 2.0 / (3.0 * facts.curvature)))
        for factor in (0.25, 1.0, 4.0):
            other = plan_for(dc.replace(mechanism, step=factor * step), loss, p_norm, n=n, d=d)
            means.append(population_excess(released(other, data, 8), p_norm, count=5_000, seed=1).mean())
            bounds += [b.value for b in other.mechanism.bounds(other) if b.quantity == "excess_population_risk"]
        assert np.argmin(bounds) == 1
        assert loss == "hinge" or means[1] < min(means[0], means[2])


def test_the_distance_that_bounds_count_is_that_of_the_farthest_model_in_l2():
    for p_norm, far in ((2.0, 1.0), (4.0, 2.0), (math.inf, 4.0)):
        facts = constants_of(plan_for(NoisyGD(), p_norm=p_norm, d=16, radius=2.5, lam=0.1).spec)
        assert (facts.norm, facts.reach) == pytest.approx((2.5 * far, 2.5 * far))
        assert facts.gradient == pytest.approx(1.0 + 0.1 * 2.5 * far) and facts.dimensions == 16


def test_no_class_of_models_fits_signs_better_than_its_gap_allows():
    """Twice the mean of the dual norm of a signed mean of records, on the L2 ball and the box."""
    rng, n, d = np.random.default_rng(3), 100, 6
    X = hard_records(rng, n, d, 2.0)
    signs = rng.choice([-1.0, 1.0], (4_000, n))
    for p_norm in (2.0, math.inf):
        widest = 2.0 * length(signs @ X, dual(p_norm)).mean() / n
        gap = theory.fresh_records_gap(1.0, d ** (0.5 - 1.0 / p_norm), n)
        assert 0.5 * gap < widest <= gap


# What is refused


@every_mechanism
def test_other_sets_and_other_losses_are_refused(mechanism):
    for shape in ("l1_ball", "simplex", LqBall(1.5)):
        with pytest.raises(NotApplicable, match=r"works on R\^p or in an l_p ball with p from 2 to inf, got set"):
            mechanism.calibrate(Spec("hinge", 100, 3, set=shape), Budget(1.0, 1e-6))
    with pytest.raises(NotApplicable, match=r"works on R\^p or in an L2 ball, got set 'box'"):
        mechanism.calibrate(Spec("geometric_median", 100, 3, set="box", domain=Domain(2.0)), Budget(1.0, 1e-6))
    with pytest.raises(ValueError, match=r"\|\|x\|\|_1"):
        dpcore.solve(mechanism.key, np.ones((100, 3)), np.ones(100), loss="hinge", set="box", epsilon=1.0, delta=1e-6)


# Audits


@pytest.mark.parametrize("p_norm", [4.0, math.inf])
def test_an_audit_believes_the_noise_on_other_balls_and_not_half_of_it(p_norm):
    """Steps so long that they leave the set: the likelihood ratio follows the iterates through the projection."""
    plan = plan_for(NoisyGD(steps=5, step=3.0), "huber_hinge", p_norm, n=10, d=3, radius=0.4, epsilon=2.0)
    assert dpcore.run_audit(plan, runs=10_000).verdict != "contradicted"
    assert dpcore.run_audit(plan.weakened(0.5), runs=10_000).verdict == "contradicted"
