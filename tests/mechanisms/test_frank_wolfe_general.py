"""Frank-Wolfe with noisy gradients: its scale, what one record can do, its bound on six sets, and audits."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

import dpcore
from dpcore import Budget, Data, Domain, Spec
from dpcore.accounting.gaussian import gaussian_epsilon, gaussian_mu, hockey_stick
from dpcore.core.losses import get_loss
from dpcore.core.sets import Ball, Box, GroupL1Ball, L1Ball, LqBall, Polytope, Simplex
from dpcore.mechanisms.frank_wolfe.convex_set import FrankWolfeGeneral, largest_gradient, noisy_models
from dpcore.solvers.frank_wolfe import vertices as fw
from dpcore.solvers.frank_wolfe.noisy_gradient import descend_noisy
from tests.audits import refuted

KEY = "frank_wolfe_general"
BUDGET = Budget(1.0, 1e-5)
L1 = L1Ball()
SETS = (L1, Simplex(), Ball(), LqBall(1.5), GroupL1Ball(2), Box())
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


def test_the_published_scale_spends_what_exact_accounting_says():
    n, delta = 10_000, 1e-8
    for epsilon in (0.1, 1.0, 10.0):
        plan = plan_for(n=n, p=200, budget=Budget(epsilon, delta), accounting="published", T=30)
        G = 4 * math.sqrt(200)
        assert plan.scale == pytest.approx(math.sqrt(32 * 30) * G * math.log(n / delta) / (n * epsilon), rel=1e-12)
        mu = 2 * G / n * math.sqrt(29) / plan.scale
        assert plan.spent == Budget(gaussian_epsilon(mu, delta), delta)
        assert hockey_stick(plan.spent.epsilon, mu) <= delta and plan.spent.epsilon < epsilon / 10
        rule = plan_for(n=n, p=200, budget=Budget(epsilon, delta), accounting="published", T="published")
        assert rule.mechanism.calibrate(rule.spec, rule.spent).steps == rule.steps != 29


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


def test_squared_loss_nearly_attains_its_sensitivity_at_a_vertex_of_the_l1_ball():
    p = 400
    theta, x = np.eye(p)[:1], np.ones(p)
    other = np.where(np.arange(p) == 0, -1.0, 1.0)
    pair = [Data(np.stack([row, row]), [label] * 2) for row, label in ((x, -1.0), (other, 1.0))]
    gradients = [get_loss("squared").gradients(data, theta)[0] / 50 for data in pair]
    share = np.linalg.norm(gradients[0] - gradients[1]) / plan_for(p=p).ledger[0].sensitivity
    assert share == pytest.approx(math.sqrt((p - 1) / p), rel=1e-12)


# The bound


def upper(plan) -> float:
    return next(bound.value for bound in plan.mechanism.bounds(plan) if bound.form == "upper")


@every_set
def test_the_noisy_choice_is_worse_by_the_width_where_the_gradient_is_zero_and_never_by_more(shape):
    """Of 20,000 choices each. Means within 5 standard errors: false alarm below 1e-6 a set."""
    p, rng = 6, np.random.default_rng(11)
    width = shape.width(p)
    for gradient in (np.zeros(p), rng.standard_normal(p), 3.0 * np.eye(p)[0]):
        noise = rng.standard_normal((20_000, p))
        worse = shape.extreme(gradient + noise) @ gradient - shape.extreme(gradient) @ gradient
        assert worse.mean() - 5 * worse.std() / math.sqrt(20_000) <= width.value + width.error
        # Where all choices are equally good, the width is what the argument loses.
        lost = -(shape.extreme(gradient + noise) * noise).sum(axis=1)
        if not gradient.any():
            assert abs(lost.mean() - width.value) <= width.error + 5 * lost.std() / math.sqrt(20_000)


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


def test_the_tuned_bound_pays_p_to_the_third_just_beyond_the_polytope():
    """Entries of records bounded by 1. On the L1 ball the polytope's bound grows like (ln 2p)^(2/3), and noisy
    gradients cost p^(1/3) more; on Lq balls the set's own geometry comes on top, p^(2 (1 - 1/q)), 0 as q falls to 1."""
    P = np.array([100, 1_000, 10_000])

    def tuned(key, shape):
        mechanism, domain = dpcore.make_mechanism(key, T="bound"), Domain(q=np.inf)
        specs = [Spec("squared", 5_000_000, int(p), 0.0, domain, radius=1.0, set=shape) for p in P]
        return np.array([upper(mechanism.calibrate(spec, Budget(1.0, 1e-12))) for spec in specs])

    def power(x, values):
        return float(np.polyfit(np.log(x), np.log(values), 1)[0])

    assert power(np.log(2 * P), tuned("frank_wolfe_polytope", "l1_ball")) == pytest.approx(2 / 3, abs=0.005)
    for shape, extra in ((L1Ball(), 0.0), (LqBall(1.05), 2 * (1 - 1 / 1.05)), (LqBall(1.5), 2 / 3)):
        widths = np.array([shape.width(int(p)).value for p in P])
        reach = np.array([shape.norm(1, int(p)) for p in P])
        # Gamma^(1/3) (slope width)^(2/3), what the bound would be if the gradient cost no sqrt(p).
        rest = (reach * (reach + 1) * widths) ** (2 / 3)
        bound = tuned(KEY, shape)
        assert power(P, bound / rest) == pytest.approx(1 / 3, abs=0.005)
        assert power(P, bound) == pytest.approx(1 / 3 + extra, abs=0.06)


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


@every_set
def test_releases_repeat_by_seed_and_the_transcript_leads_to_them(shape):
    data = records(50, 4, 2)
    plan = plan_for(shape, T=9, radius=1.5, budget=Budget(300.0, 1e-5))
    mechanism, prepared = plan.mechanism, plan.mechanism.prepare(plan, data)
    many = mechanism.release_many(plan, prepared, rngs_of(4, 3))
    one = np.array([mechanism.release(plan, prepared, rng) for rng in rngs_of(4, 3)])
    assert np.allclose(many, one, rtol=1e-12, atol=1e-14) and not np.array_equal(one[0], one[1])
    rows = mechanism.transcripts(plan, prepared, rngs_of(4, 3))
    theta = np.full((3, 4), 1.5 / 4) if isinstance(shape, Simplex) else np.zeros((3, 4))
    for t, seen in enumerate(np.split(rows, 8, axis=1), start=1):
        theta = theta * t / (t + 2) + 1.5 * shape.extreme(seen) * 2 / (t + 2)
    assert np.allclose(many, theta, rtol=1e-10, atol=1e-13)
    assert rows.shape == (3, 8 * 4)


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_steps_get_fresh_normal_noise_of_the_planned_size(loss):
    """2,000 runs of 4 steps in 3 columns: Kolmogorov-Smirnov and the correlation of steps, false alarm 1e-6. Nine
    tenths of the noise are found."""
    data = records(20, 3, 3)
    data = Data(data.X, np.sign(data.y))
    plan = plan_for(loss=loss, n=20, p=3, T=5)

    def levels(made):
        rows = plan.mechanism.transcripts(made, plan.mechanism.prepare(plan, data), rngs_of(6, 2000))
        theta, noise = np.zeros((2000, 3)), []
        for t, seen in enumerate(np.split(rows, 4, axis=1), start=1):
            noise.append((seen - get_loss(loss).gradients(data, theta)) / plan.ledger[0].scale)
            theta = theta * t / (t + 2) + L1Ball().extreme(seen) * 2 / (t + 2)
        noise = np.stack(noise, axis=1)
        lagged = (noise[:, 1:] * noise[:, :-1]).sum() / math.sqrt(noise[:, 1:].size)
        return min(stats.kstest(noise.ravel(), "norm").pvalue, 2 * stats.norm.sf(abs(lagged)))

    assert levels(plan) > 1e-6 > levels(plan.weakened(0.9))


def test_the_log_ratio_is_that_of_two_gaussian_densities():
    plan = plan_for(LqBall(1.5), "logistic", n=6, p=2, T=4)
    mechanism = plan.mechanism
    zero, one = (mechanism.prepare(plan, data) for data in mechanism.worst_pair(plan))
    rows = mechanism.transcripts(plan, one, rngs_of(7, 3))
    for row, ratio in zip(rows, mechanism.log_ratio(plan, zero, one, rows), strict=True):
        theta, expected = np.zeros(2), 0.0
        for t, seen in enumerate(row.reshape(3, 2), start=1):
            for side, sign in ((one, 1.0), (zero, -1.0)):
                X, y = side.data.X, side.data.y
                mean = (-y / (1 + np.exp(y * (X @ theta)))) @ X / 6
                expected += sign * stats.norm.logpdf(seen, mean, plan.scale).sum()
            theta = theta * t / (t + 2) + LqBall(1.5).extreme(seen[None])[0] * 2 / (t + 2)
        assert ratio == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_draws_stand_around_a_run_without_noise():
    data = records(60, 4, 8)
    plans = [plan_for(n=60, T=20, budget=Budget(e, 1e-5)) for e in (1.0, 1e9)]
    mechanism = plans[0].mechanism
    prepared = mechanism.prepare_many(plans, data, lambda: False)
    drawn = mechanism.draws(plans, prepared, rngs_of(2, 3), lambda: False)
    assert drawn.thetas.shape == (2, 6, 4) and drawn.centres.shape == (2, 4)
    assert np.allclose(drawn.thetas[1], drawn.centres[1], atol=1e-12), "at epsilon = 1e9 no choice is changed"
    assert len(np.unique(drawn.thetas[0], axis=0)) == 6
    best = fw.descend(
        fw.risk_of(get_loss("squared"), data), [fw.Run(20, 0.0)], fw.Best(signed=True), size=1.0, start=np.zeros(4)
    )
    assert np.allclose(drawn.centres[0], fw.models(best, [fw.Run(20, 0.0)], 1.0, np.zeros(4), 4)[0])


@pytest.mark.parametrize("shape", [L1, Ball()], ids=lambda shape: shape.label)
def test_draws_and_their_centres_ask_whether_somebody_cancelled(shape):
    data, asked = records(60, 4, 8), []
    plan = plan_for(shape, n=60, T=100)
    prepared = plan.mechanism.prepare(plan, data)
    noisy_models(fw.risk_of(get_loss("squared"), data), [plan], rngs_of(2, 2), cancelled=lambda: bool(asked.append(1)))
    one_descent = len(asked)
    plan.mechanism.draws([plan], [prepared], rngs_of(2, 1), lambda: bool(asked.append(2)))
    assert one_descent > 0 and asked.count(2) == 2 * one_descent


# Sets and audits


def test_a_polytope_is_taken_by_its_vertices():
    plan = plan_for(VERTICES, p=3, T=12, radius=2.0)
    theta = plan.mechanism.release(plan, plan.mechanism.prepare(plan, records(50, 3, 1)), np.random.default_rng(0))
    shares = np.linalg.lstsq(np.vstack([VERTICES.table.T, np.ones(4)]), np.append(theta / 2.0, 1.0), rcond=None)[0]
    assert shares.min() > -1e-12 and np.allclose(VERTICES.table.T @ shares, theta / 2.0)
    prepared = plan.mechanism.prepare(plan, records(50, 3, 1))
    rows, walked = plan.mechanism.transcripts(plan, prepared, [np.random.default_rng(0)]), 2.0 * VERTICES.table.mean(0)
    for t, seen in enumerate(rows.reshape(11, 3), start=1):
        walked = walked * t / (t + 2) + 2.0 * VERTICES.extreme(seen) * 2 / (t + 2)
    assert np.allclose(theta, walked, rtol=1e-12, atol=1e-13), "from the mean of the vertices"


@pytest.mark.parametrize("shape", [L1Ball(), Simplex(), LqBall(1.5)], ids=lambda shape: shape.label)
def test_runs_of_correct_code_pass_an_audit_and_halved_noise_does_not(shape):
    """False "contradicted" in at most one audit of a thousand; seeds are fixed."""
    radius = 0.4 / shape.norm(1, 3)
    plan = plan_for(shape, "huber_hinge", n=10, p=3, radius=radius, T=4)
    correct = dpcore.run_audit(plan, runs=3_000)
    assert correct.verdict == "no contradiction found" and correct.sensitivity_share == pytest.approx(1.0)
    assert correct.certified_epsilon_95 > 0.6
    assert refuted(plan, 2_000, 6_000, bug="halved_noise")


def test_the_published_scale_keeps_the_little_that_it_claims():
    plan = plan_for(loss="huber_hinge", n=10, p=3, radius=0.4, accounting="published", budget=Budget(20.0, 1e-5))
    assert plan.spent.epsilon < 5.0
    assert dpcore.run_audit(plan, runs=10_000).verdict == "no contradiction found"
    assert refuted(plan, 5_000, 20_000, bug="halved_noise")


def test_solve_releases_a_model_of_the_set():
    data = records(200, 4, 0)
    release = dpcore.solve(KEY, data.X, data.y, epsilon=1.0, delta=1e-5, radius=0.7, set=Box(), R=4.0, seed=3)
    assert np.abs(release.theta).max() <= 0.7 * (1 + 1e-12) and release.spent == Budget(1.0, 1e-5)
    again = dpcore.solve(KEY, data.X, data.y, epsilon=1.0, delta=1e-5, radius=0.7, set=Box(), R=4.0, seed=3)
    assert np.array_equal(release.theta, again.theta)
