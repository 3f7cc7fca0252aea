"""Noisy gradient descent: its scale, what one record can do to a gradient, its limits, and audits of every step."""

import dataclasses as dc
import itertools
import math
import pickle

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

import dpcore
from dpcore import Axis, Budget, Data, Domain, NotApplicable, Spec
from dpcore.accounting.gaussian import gaussian_mu, hockey_stick
from dpcore.core.losses import get_loss
from dpcore.experiments.metrics import risk
from dpcore.mechanisms.gradient.base import descent_of
from dpcore.mechanisms.gradient.gd import NoisyGD, schedule_of
from dpcore.solvers import minimise_in_ball
from tests.audits import refuted
from tests.nights import each
from tests.problems import BALL, LOCATION, PROBLEMS, for_loss
from tests.solvers.test_descent import plain_gradient

from ..flat_fields import experiment_of

BUDGET = Budget(1.0, 1e-5)
RULES = ("auto", "smooth", "averaging", "last_iterate")
SMOOTH = [key for key in BALL if math.isfinite(get_loss(key).curvature_bound)]
every_loss = pytest.mark.parametrize("key", BALL)
DOMAIN = Domain(R=2.0, y_max=0.7)


def plan_for(key="logistic", *, budget=BUDGET, n=50, p=3, lam=0.0, radius=1.5, domain=DOMAIN, **knobs):
    return NoisyGD(**knobs).calibrate(Spec(key, n, p, lam, domain, radius, 4.0), budget)


def extremes(key: str, count: int, seed: int, p: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Records at the border of the domain, in general position and along one axis."""
    loss, rng = get_loss(key), np.random.default_rng(seed)
    X = rng.standard_normal((count, p))
    X[: count // 2, 1:] = 0.0
    X *= DOMAIN.R / np.linalg.norm(X, axis=1, keepdims=True)
    y = rng.choice([-1.0, 1.0], count) * (1.0 if loss.classification else DOMAIN.y_max)
    return X, y if loss.linear else np.zeros(count)


def models(radius: float, count: int, seed: int, p: int = 3) -> np.ndarray:
    """Models of every length up to the radius, half of them along the first axis."""
    rng = np.random.default_rng([seed, 1])
    thetas = rng.standard_normal((count, p))
    thetas[: count // 2, 1:] = 0.0
    lengths = radius * np.append(1.0, rng.random(count - 1))
    return thetas * (lengths / np.linalg.norm(thetas, axis=1))[:, None]


def record_gradients(key: str, X, y, thetas) -> np.ndarray:
    """[records, models, p]: twice the same record is a data set whose F is that record's loss."""
    loss = get_loss(key)
    return np.stack([loss.gradients(Data(X[[i, i]], y[[i, i]]), thetas) for i in range(len(X))])


# Scale and sensitivity


@pytest.mark.pairwise
@every_loss
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("steps", [1, 7, 400, "auto"])
def test_the_scale_is_2_G_sqrt_T_over_n_mu(key, rule, steps):
    # Of squared distances theta cancels in the difference of two gradients, 2 (x - x').
    slope = {"squared": 2 * (2.0 * 1.5 + 0.7), "mean": 2 * 2.0}.get(key, 1.0)
    G = slope * (2.0 if key not in LOCATION else 1.0)
    if rule == "smooth" and key not in SMOOTH:
        with pytest.raises(NotApplicable, match="without kinks"):
            plan_for(key, rule=rule, steps=steps)
        return
    plan = plan_for(key, rule=rule, steps=steps)
    assert plan.scale == pytest.approx(2 * G * math.sqrt(plan.steps) / (50 * gaussian_mu(BUDGET)), rel=1e-12)
    (event,) = plan.ledger
    assert (event.times, event.scale, event.sampling, event.charge) == (plan.steps, plan.scale, "all", 0.0)
    assert event.sensitivity == pytest.approx(2 * G / 50, rel=1e-12)
    mu = event.sensitivity * math.sqrt(event.times) / event.scale
    assert hockey_stick(plan.spent.epsilon, mu) <= plan.spent.delta and plan.spent == BUDGET
    assert plan.mechanism.attack_limit(plan) == pytest.approx(ndtr(mu / 2), rel=1e-12)
    assert plan.mechanism.claimed_curve(plan).mu == pytest.approx(mu, rel=1e-9)


def test_the_noise_of_all_steps_together_does_not_depend_on_how_many_they_are():
    plans = [plan_for(steps=steps) for steps in (1, 10, 1000)]
    assert np.ptp([plan.scale / math.sqrt(plan.steps) for plan in plans]) < 1e-15
    assert np.ptp([plan.mechanism.attack_limit(plan) for plan in plans]) < 1e-12
    # Under "auto" neither does what they move a coordinate of theta by, where nothing caps the step.
    tight = [plan_for(budget=Budget(0.01, 1e-5), steps=steps) for steps in (100, 1000)]
    moved = [descent_of(plan).step * plan.scale * math.sqrt(plan.steps) for plan in tight]
    assert moved[0] == pytest.approx(moved[1], rel=1e-12)


@every_loss
@pytest.mark.parametrize("radius", [None, 0.5, 30.0])
def test_no_gradient_in_the_domain_is_larger_than_G_and_some_are_as_large(key, radius):
    """Where the ball is small, the slope of logistic and Huber loss stays below the bound."""
    reach = plan_for(key, radius=radius).spec.radius or 30.0
    G = get_loss(key).largest_gradient(plan_for(key, radius=radius).spec)
    X, y = extremes(key, 40, 1)
    sizes = np.linalg.norm(record_gradients(key, X, y, models(reach, 400, 2)), axis=2)
    assert sizes.max() <= G * (1 + 1e-12)
    if reach >= 4.0 or key in ("squared", "hinge", "huber_hinge", "huber", "mean", "geometric_median"):
        assert sizes.max() >= 0.999 * G


@pytest.mark.shows("privacy", "noisy_gd")
@every_loss
def test_no_replaced_record_moves_the_gradient_beyond_the_sensitivity(key):
    """Neighbours from the border of the domain, at models throughout the ball. Most losses attain twice their largest
    gradient, logistic loss in a large ball only, squared losses never: their two largest gradients are not opposite."""
    assert plan_for(key, n=10, lam=0.3, radius=None).spec.radius == 4.0, "with a regulariser, the ball of theta_norm"
    plan = plan_for(key, n=10, lam=0.3, radius=20.0)
    assert plan.spec.radius == 20.0, "the ball that was asked for, even beyond theta_norm"
    X, y = extremes(key, 60, 3)
    gradients = record_gradients(key, X, y, models(plan.spec.radius, 60, 4)) / 10
    moves = np.linalg.norm(gradients[:, None] - gradients[None], axis=3)
    assert moves.max() <= plan.ledger[0].sensitivity * (1 + 1e-12)
    reached = {"squared": 0.5, "logistic": 0.8}.get(key, 0.99)
    assert moves.max() >= reached * plan.ledger[0].sensitivity


@every_loss
def test_theta_never_leaves_the_ball_that_the_sensitivity_is_proved_for(key):
    data = for_loss(key, PROBLEMS["full rank"])
    plan = plan_for(key, n=data.n, p=data.p, lam=0.1, radius=0.3, step=50.0, domain=Domain(), budget=Budget(0.01, 1e-5))
    thetas, theta = [], np.zeros((4, data.p))
    mechanism = plan.mechanism
    rows = mechanism.transcripts(plan, mechanism.prepare(plan, data), list(map(np.random.default_rng, range(4))))
    for t, gradients in enumerate(np.split(rows, plan.steps, axis=1)):
        theta = schedule_of(plan).after(t, theta, gradients, plan.spec.radius)
        thetas.append(np.linalg.norm(theta, axis=1))
    assert 0.3 * (1 - 1e-9) < np.max(thetas) <= 0.3 * (1 + 1e-12)


# The noise and what leads where


def noise_of(plan, data: Data, runs: int) -> np.ndarray:
    """What was added to the gradients, in units of the scale that the budget asks for: [runs, T, p]."""
    mechanism, claimed = plan.mechanism, plan.ledger[0].scale
    prepared = mechanism.prepare(plan, data)
    rows = mechanism.transcripts(plan, prepared, [np.random.default_rng([9, r]) for r in range(runs)])
    theta, noise = np.zeros((runs, data.p)), []
    for t, seen in enumerate(np.split(rows, plan.steps, axis=1)):
        clean = get_loss(plan.spec.loss).gradients(data, theta) + plan.spec.lam * theta
        noise.append((seen - clean) / claimed)
        theta = schedule_of(plan).after(t, theta, seen, plan.spec.radius)
    return np.stack(noise, axis=1)


@pytest.mark.parametrize("key, lam", [("logistic", 0.0), ("squared", 0.1), ("geometric_median", 0.0)])
def test_every_step_gets_fresh_normal_noise_of_the_planned_size(key, lam):
    """400 runs of 20 steps in 6 columns. Chi-square tests of all of it, of each step and of each column, neighbouring
    steps uncorrelated, and Kolmogorov-Smirnov: false alarm below 1e-5. 95% of the noise, or the noise of one step in
    the place of twenty's, is found."""
    data = for_loss(key, PROBLEMS["full rank"])
    plan = plan_for(key, n=data.n, p=data.p, lam=lam, domain=Domain(), steps=20)

    def level(noise) -> float:
        def two_sided(part) -> float:
            return 2 * min(stats.chi2.cdf((part**2).sum(), part.size), stats.chi2.sf((part**2).sum(), part.size))

        parts = [noise, *np.moveaxis(noise, 1, 0), *np.moveaxis(noise, 2, 0)]
        lagged = (noise[:, 1:] * noise[:, :-1]).sum() / math.sqrt(noise[:, 1:].size)
        normal = stats.kstest(noise.ravel(), "norm").pvalue
        return min(normal, 2 * stats.norm.sf(abs(lagged)), *map(two_sided, parts))

    assert level(noise_of(plan, data, 400)) > 1e-7
    assert level(noise_of(plan.weakened(0.95), data, 400)) < 1e-7
    assert level(noise_of(plan.weakened(1 / math.sqrt(20)), data, 400)) < 1e-7


@every_loss
@pytest.mark.parametrize("rule", RULES)
def test_the_transcript_leads_to_the_release(key, rule):
    data = for_loss(key, PROBLEMS["full rank"])
    if rule == "smooth" and key not in SMOOTH:
        return
    plan = plan_for(key, n=data.n, p=data.p, domain=Domain(), rule=rule, steps=9)
    mechanism, prepared = plan.mechanism, NoisyGD().prepare(plan, data)
    theta, kept = np.zeros((1, data.p)), []
    rows = mechanism.transcripts(plan, prepared, [np.random.default_rng(7)])
    for t, seen in enumerate(np.split(rows, plan.steps, axis=1)):
        theta = schedule_of(plan).after(t, theta, seen, plan.spec.radius)
        kept.append(theta[0])
    first = {"auto": 5, "last_iterate": 9}.get(rule, 1)
    assert descent_of(plan).first == first
    released = mechanism.release(plan, prepared, np.random.default_rng(7))
    assert np.allclose(released, np.mean(kept[first - 1 :], axis=0), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("key", ["logistic", "squared", "huber", "mean", "geometric_median"])
@pytest.mark.parametrize("rule", ["auto", "last_iterate"])
def test_the_log_ratio_is_that_of_two_gaussian_densities(key, rule):
    lam = 0.2 if key == "logistic" else 0.0
    plan = plan_for(key, n=6, p=2, lam=lam, radius=0.8, domain=Domain(R=2.0), rule=rule, steps=5)
    mechanism = plan.mechanism
    zero, one = (mechanism.prepare(plan, data) for data in mechanism.worst_pair(plan))
    rows = mechanism.transcripts(plan, one, list(map(np.random.default_rng, range(3))))
    found = mechanism.log_ratio(plan, zero, one, rows)
    for row, ratio in zip(rows, found, strict=True):
        theta, expected = np.zeros(2), 0.0
        for t, seen in enumerate(row.reshape(5, 2)):
            for side, sign in ((one, 1.0), (zero, -1.0)):
                mean = plain_gradient(key, side.data, theta) + lam * theta
                expected += sign * stats.norm.logpdf(seen, mean, plan.scale).sum()
            theta = theta - schedule_of(plan).etas[t] * seen
            theta *= min(1.0, plan.spec.radius / np.linalg.norm(theta))
        assert ratio == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_draws_are_pairs_around_a_run_without_noise_and_single_releases_of_the_same_law():
    data = PROBLEMS["full rank"]
    mechanism = NoisyGD(steps=25)
    plans = [
        mechanism.calibrate(Spec("logistic", data.n, data.p, radius=2.0), Budget(e, 1e-5)) for e in (0.5, 30.0, 1e9)
    ]
    prepared = mechanism.prepare_many(plans, data, lambda: False)
    drawn = mechanism.draws(plans, prepared, list(map(np.random.default_rng, (4, 5))), lambda: False)
    assert drawn.thetas.shape == (3, 4, data.p) and drawn.centres.shape == (3, data.p)
    for k, plan in enumerate(plans):
        for r, seed in enumerate((4, 5)):
            exact = mechanism.release(plan, prepared[k], np.random.default_rng(seed))
            assert np.allclose(drawn.thetas[k, 2 * r], exact, rtol=1e-3, atol=1e-4)
    assert np.allclose(drawn.thetas[2], drawn.centres[2], atol=1e-3), "little noise moves little"
    small = drawn.thetas[1] - drawn.centres[1]
    assert np.linalg.norm(small[0] + small[1]) < 0.3 * np.linalg.norm(small[0] - small[1]), "signs are opposite"


@pytest.mark.parametrize("key", LOCATION)
def test_releases_of_points_know_the_columns_that_no_record_fills(key):
    data = Data(PROBLEMS["two records"].X, np.zeros(2), p=5)
    plan = plan_for(key, n=2, p=5, domain=Domain(), steps=10)
    mechanism = plan.mechanism
    short = mechanism.prepare(plan, data)
    whole = dc.replace(short, theta=np.zeros(5))
    released, all_columns = (mechanism.release(plan, p, np.random.default_rng(1)) for p in (short, whole))
    assert released.shape == (3,) and np.array_equal(released, all_columns[:3])


# Limits


@pytest.mark.parametrize(
    "rule, key", [*itertools.product(["auto"], BALL), *each(3, itertools.product(["averaging"], BALL))]
)
def test_without_noise_the_minimiser_over_the_ball_comes_back(key, rule):
    data = for_loss(key, PROBLEMS["full rank"])
    radius = 0.2 if key in LOCATION else 0.8
    steps = 2_000 if rule == "auto" else 4_000
    plan = plan_for(
        key, n=data.n, p=data.p, domain=Domain(), radius=radius, rule=rule, steps=steps, budget=Budget(1e14, 1e-5)
    )
    released = plan.mechanism.release(plan, plan.mechanism.prepare(plan, data), np.random.default_rng(0))
    best = minimise_in_ball(get_loss(key), data, radius)
    assert np.linalg.norm(best.theta) > 0.05
    excess = risk(get_loss(key), released, data) - best.risk
    smooth = rule == "auto" and key in SMOOTH
    assert -1e-8 <= excess <= (1e-5 if smooth else 0.01)
    assert np.linalg.norm(released) <= radius * (1 + 1e-9)


@pytest.mark.parametrize("key", SMOOTH)
def test_without_noise_the_regularised_minimiser_comes_back(key):
    data = for_loss(key, PROBLEMS["full rank"])
    plan = plan_for(
        key, n=data.n, p=data.p, domain=Domain(), radius=None, lam=0.2, steps=2_000, budget=Budget(1e14, 1e-5)
    )
    released = plan.mechanism.release(plan, plan.mechanism.prepare(plan, data), np.random.default_rng(0))
    slope = get_loss(key).gradients(data, released[None])[0] + 0.2 * released
    assert np.linalg.norm(slope) / 0.2 < 1e-4, "J is 0.2-strongly convex"


# Audits


@pytest.mark.parametrize(
    "knobs", [{}, {"rule": "last_iterate"}, {"rule": "smooth", "steps": 4}, {"rule": "averaging", "step": 3.0}], ids=str
)
@pytest.mark.parametrize("repeats, runs", [(1, 5_000), pytest.param(20, 20_000, marks=pytest.mark.nightly)])
def test_correct_code_is_not_contradicted_and_broken_code_is(knobs, repeats, runs):
    """At most 20 seeds: a false alarm in at most 2% of choices of them. Faults are missed with probability < 1e-6."""
    mechanism = NoisyGD(**knobs)
    plan = mechanism.calibrate(mechanism.worst_spec, BUDGET)
    reports = [dpcore.run_audit(plan, runs=min(runs // 2, 5_000), seed=seed) for seed in range(repeats)]
    assert "contradicted" not in [report.verdict for report in reports]
    assert all(report.sensitivity_share == pytest.approx(1.0) for report in reports)
    assert refuted(plan, 1_000, runs, bug="halved_noise") and refuted(plan, 500, runs, bug="lam_of_the_sum")


@pytest.mark.parametrize("steps", [4, 30])
def test_noise_that_pays_for_one_step_and_is_used_for_all_is_contradicted(steps):
    mechanism = NoisyGD(steps=steps)
    plan = mechanism.calibrate(mechanism.worst_spec, BUDGET)
    one = NoisyGD(steps=1).calibrate(mechanism.worst_spec, BUDGET)
    wrong = dc.replace(plan, scale=one.scale, ledger=(dc.replace(plan.ledger[0], scale=one.scale),))
    assert wrong.scale == pytest.approx(plan.weakened(steps**-0.5).scale)
    assert dpcore.run_audit(wrong, runs=3_000).verdict == "contradicted"
    assert dpcore.run_audit(one, runs=3_000).verdict == "no contradiction found"


@pytest.mark.parametrize("key", ["hinge", "geometric_median", "mean", "squared"])
def test_audits_of_other_losses_pass_and_see_missing_noise(key):
    """Where the pair does not reach the sensitivity the report says by how much."""
    plan = plan_for(key, n=10, domain=Domain(), radius=0.4, steps=5)
    report = dpcore.run_audit(plan, runs=2_000)
    reached = {"squared": 1 / 1.4}.get(key, 1.0)
    assert report.verdict == "no contradiction found" and report.sensitivity_share == pytest.approx(reached, rel=1e-6)
    assert refuted(plan.weakened(0.4), 1_000, 3_000)


# Many columns, and plans as values


def test_a_hundred_thousand_columns_cost_what_the_stored_ones_do():
    """Without a ball idle columns change nothing; in a ball their noise takes up its room."""
    facts = dict(source="synthetic_padded", n=400, sweep=Axis("epsilon", (1.0,)), repetitions=20, lam=0.0)

    def excess(p, radius, rule):
        table = dpcore.run(
            experiment_of(mechanisms=(NoisyGD(rule=rule, steps=50, step=1.0),), p=p, radius=radius, **facts)
        )
        assert set(table.status) == {"ok"}
        return float(table[table.metric == "excess_empirical_risk"]["mean"].iloc[0])

    assert excess(100_000, None, "auto") == pytest.approx(excess(8, None, "auto"), rel=1e-3)
    crowded, free = excess(100_000, 5.0, "auto"), excess(8, 5.0, "auto")
    assert crowded > free + 0.1
    data = dpcore.data.load("synthetic_padded", 400, 100_000, 0).train
    mechanism = NoisyGD(rule="last_iterate")
    plan = mechanism.calibrate(Spec("logistic", 400, 100_000, "auto", radius=5.0), BUDGET)
    assert mechanism.release(plan, mechanism.prepare(plan, data), np.random.default_rng(0)).shape == (8,)


def test_released_models_have_every_column_and_repeat_by_seed():
    data = PROBLEMS["more columns than rows"]
    release = dpcore.solve("noisy_gd", data.X, data.y, epsilon=1.0, delta=1e-5, seed=3, steps=5, rule="averaging")
    again = dpcore.solve("noisy_gd", data.X, data.y, epsilon=1.0, delta=1e-5, seed=3, steps=5, rule="averaging")
    assert release.theta.shape == (data.p,) and np.array_equal(release.theta, again.theta)
    plan = release.plan
    assert pickle.loads(pickle.dumps(plan)) == plan and (plan.steps, plan.mechanism.rule) == (5, "averaging")
    with pytest.raises(ValueError, match="as calibrated"):
        NoisyGD().prepare(plan, PROBLEMS["full rank"])
