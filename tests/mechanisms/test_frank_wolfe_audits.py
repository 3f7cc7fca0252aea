"""Private Frank-Wolfe's choices: their law, and what one record does to them by enumeration."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpcore import Budget, Data, Domain, Spec, kernels
from dpcore.core.losses import get_loss
from dpcore.core.sets import Polytope
from dpcore.mechanisms.frank_wolfe.polytope import FrankWolfePolytope
from dpcore.solvers.frank_wolfe import vertices as fw

FALSE_ALARM = 1e-6
TRIANGLE = Polytope(((0.5, 0.5), (-1.0, 0.2), (0.3, -0.8)))
SETS = ("l1_ball", "simplex", TRIANGLE)
every_set = pytest.mark.parametrize("shape", SETS, ids=("l1_ball", "simplex", "triangle"))
every_loss = pytest.mark.parametrize("loss", ["squared", "logistic", "huber_hinge", "huber"])


def plan_for(loss="squared", shape="l1_ball", *, n=30, p=2, size=0.7, T=3, budget=None, accounting="tight"):
    spec = Spec(loss, n, p, domain=Domain(math.inf), radius=size, set=shape)
    return FrankWolfePolytope(accounting, T).calibrate(spec, budget or Budget(2.0, 1e-3))


def records(loss, n, p, *, seed, R=1.0, idle=0):
    rng = np.random.default_rng([seed, n, p])
    X, y = rng.uniform(-R, R, (n, p)), rng.uniform(-1.0, 1.0, n)
    return Data(X, np.where(y > 0.0, 1.0, -1.0) if get_loss(loss).classification else y, p + idle)


def vertices_of(spec):
    """The vertices, [count, p], with the number that a transcript gives each."""
    if isinstance(spec.unit_set, Polytope):
        table = np.array(spec.unit_set.vertices)
        return table, np.arange(1.0, len(table) + 1.0)
    table, codes = np.eye(spec.p), np.arange(1.0, spec.p + 1.0)
    return (table, codes) if spec.set == "simplex" else (np.vstack([table, -table]), np.concatenate([codes, -codes]))


def law(plan, data):
    """Every transcript [m, T - 1] and its probability [m], from the definition in plain numpy."""
    spec, loss = plan.spec, get_loss(plan.spec.loss)
    table, codes = vertices_of(spec)
    X = np.pad(data.X, ((0, 0), (0, spec.p - data.stored)))
    steepest = {"squared": 2.0 * (spec.reach + 1.0), "logistic": 1.0 / (1.0 + math.exp(-spec.reach))}.get(loss.key, 1.0)
    seen, chances = [], []
    for path in product(range(len(table)), repeat=plan.steps):
        theta = np.zeros(spec.p) if spec.set == "l1_ball" else spec.size * table.mean(axis=0)
        chance = 1.0
        for t, choice in enumerate(path, start=1):
            scores = spec.size * table @ (X.T @ loss.derivative(X @ theta, data.y)) / len(X)
            norm = np.abs(theta).sum()
            here = {"squared": 2.0 * (norm + 1.0), "logistic": 1.0 / (1.0 + math.exp(-norm))}.get(loss.key, 1.0)
            noise = plan.scale * (here / steepest if spec.set == "l1_ball" else 1.0)
            weights = np.exp(-(scores - scores.min()) / noise)
            chance *= weights[choice] / weights.sum()
            theta = theta + 2.0 / (t + 2.0) * (spec.size * table[choice] - theta)
        seen.append(codes[list(path)])
        chances.append(chance)
    return np.array(seen), np.array(chances)


# The law of a choice


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("idle", [0, 3])
@pytest.mark.parametrize("scale", [1.0, 0.05])
def test_a_choice_follows_the_softmax_of_all_vertices_and_so_does_the_best_of_gumbel_noise(signed, idle, scale):
    """Chi-square on 100,000 draws each; false alarm 1e-6 a test."""
    rng, draws = np.random.default_rng(3), 100_000
    scores = np.array([0.1, -0.04, 0.0, 0.07])
    whole = np.append(scores, np.zeros(idle))
    both = np.concatenate([whole, -whole]) if signed else whole
    chances = np.exp(-(both - both.min()) / scale)
    expected = draws * chances / chances.sum()
    columns, signs = np.empty(draws, np.int64), np.empty(draws)
    sharpness, uniforms = np.full(draws, 1.0 / scale), rng.random((draws, 2))
    kernels.draw_vertices(np.tile(scores, (draws, 1)), sharpness, idle, signed, uniforms, np.empty(4), columns, signs)
    exact = columns + np.where(signs < 0.0, len(whole), 0)
    noisy = (both - scale * rng.gumbel(size=(draws, len(both)))).argmin(axis=1)
    for found in (exact, noisy):
        counts = np.bincount(found, minlength=len(both))
        assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM


@pytest.mark.parametrize("signed", [True, False])
def test_idle_columns_win_as_often_as_zeros_with_a_laplace_draw_each(signed):
    """Two-sample chi-square on 10,000 draws each; false alarm 1e-6."""
    draws, idle, noise = 10_000, 5, np.full(10_000, 0.1)
    scores, streams = np.tile([0.2, -0.1, 0.0], (draws, 1)), np.arange(draws)
    wide = np.pad(scores, ((0, 0), (0, idle)))
    counts = []
    for table, missing, seed in ((scores, idle, 0), (wide, 0, 1)):
        choice = fw.NoisyBest(np.random.default_rng(seed).spawn(draws), missing, signed=signed)
        columns, signs = choice.choose(table, noise, streams)
        counts.append(np.bincount(columns + np.where(signs < 0.0, 8, 0), minlength=16 if signed else 8))
    assert stats.chi2_contingency(counts).pvalue > FALSE_ALARM


@every_set
@pytest.mark.parametrize("loss, idle", [("squared", 0), ("logistic", 0), ("huber_hinge", 1)])
def test_transcripts_follow_the_law_that_is_enumerated(shape, loss, idle):
    """Chi-square on 10,000 runs over all transcripts of two choices; false alarm 1e-6."""
    plan, runs = plan_for(loss, shape, budget=Budget(20.0, 1e-3)), 10_000
    data = records(loss, 30, 2 - idle, seed=1, idle=idle)
    prepared = plan.mechanism.prepare(plan, data)
    seen = plan.mechanism.transcripts(plan, prepared, [np.random.default_rng(7)] * runs)
    paths, chances = law(plan, data)
    assert seen.shape == (runs, 2) and chances.sum() == pytest.approx(1.0, abs=1e-12)
    counts = (seen[:, None, :] == paths).all(axis=2).sum(axis=0)
    assert counts.sum() == runs and stats.chisquare(counts, runs * chances).pvalue > FALSE_ALARM


# What one record does


@every_set
@every_loss
@pytest.mark.parametrize("idle", [0, 1])
def test_the_log_ratio_of_every_transcript_is_that_of_the_enumerated_laws(shape, loss, idle):
    plan = plan_for(loss, shape)
    zero = records(loss, 30, 2 - idle, seed=3, idle=idle)
    X, y = zero.X.copy(), zero.y.copy()
    X[-1], y[-1] = -np.sign(X[-1]), -np.sign(y[-1])
    sides = zero, Data(X, y, zero.p)
    (paths, first), (_, second) = (law(plan, data) for data in sides)
    prepared = [plan.mechanism.prepare(plan, data) for data in sides]
    found = plan.mechanism.log_ratio(plan, *prepared, paths)
    assert np.allclose(found, np.log(second) - np.log(first), atol=1e-12) and np.ptp(found) > 0.01


def exact_deltas(plan, share):
    """delta at the plan's epsilon, both ways, for a label that flips in a table whose other labels pull to one side.

    share: of the other records that carry x = R; the rest are 0.
    """
    spec = plan.spec
    X, y = np.zeros((spec.n, spec.p)), np.ones(spec.n)
    X[: round(share * (spec.n - 1)), 0] = X[-1, 0] = 1.0
    (_, p), (_, q) = (law(plan, Data(X, np.append(y[:-1], last))) for last in (-1.0, 1.0))
    return [float(np.maximum(a - math.exp(plan.spent.epsilon) * b, 0.0).sum()) for a, b in ((p, q), (q, p))]


@pytest.mark.pairwise
@every_loss
@pytest.mark.parametrize(
    "budget", [Budget(0.1), Budget(1.0), Budget(4.0), Budget(0.3, 1e-3), Budget(1.0, 1e-2), Budget(3.0, 0.05)], ids=str
)
@pytest.mark.parametrize("p, T", [(1, 2), (1, 6), (2, 4)])
def test_the_guarantee_holds_by_enumeration_of_all_transcripts(loss, budget, p, T):
    """A flipped label beside records that pull ever harder: T - 1 choices keep (epsilon, delta), exactly."""
    plan = plan_for(loss, n=40, p=p, size=0.4, T=T, budget=budget)
    assert plan.spent <= budget
    assert max(max(exact_deltas(plan, share)) for share in (0.0, 0.1, 0.3, 1.0)) <= plan.spent.delta + 1e-15


@pytest.mark.parametrize("budget", [Budget(1.0), Budget(4.0)], ids=str)
def test_with_less_noise_the_enumeration_breaks_the_guarantee(budget):
    """Where delta = 0 the log-ratio of a rare transcript comes near epsilon: 80% of the noise is too little."""
    plan = plan_for("huber_hinge", n=200, p=1, size=0.4, T=4, budget=budget)
    share = 0.1 / budget.epsilon
    assert max(exact_deltas(plan, share)) <= 1e-15 < 1e-6 < max(exact_deltas(plan.weakened(0.8), share))


@every_set
@every_loss
def test_no_record_moves_a_score_farther_than_the_ledger_says(shape, loss):
    """Random neighbours at random models of the set; the noise shrinks with the norm as the scores do."""
    plan = plan_for(loss, shape, n=5, size=1.5)
    table, _ = vertices_of(plan.spec)
    rng, loss_of = np.random.default_rng(4), get_loss(loss)
    sensitivity, worst = plan.ledger[0].sensitivity, 0.0
    for _ in range(400):
        theta = 1.5 * rng.dirichlet(np.full(len(table), 0.3)) @ table
        x = rng.choice([-1.0, 1.0], (2, 2))
        y = rng.choice([-1.0, 1.0], 2)
        slopes = loss_of.derivative(x @ theta, y)
        moved = np.abs(1.5 * table @ (slopes[0] * x[0] - slopes[1] * x[1]) / 5).max()
        norm = np.abs(theta).sum() if shape == "l1_ball" else plan.spec.reach
        worst = max(
            worst, moved / (sensitivity * loss_of.steepness(norm, 1.0) / loss_of.steepness(plan.spec.reach, 1.0))
        )
    assert 0.6 < worst <= 1.0 + 1e-12


@every_loss
@pytest.mark.parametrize("R, y_max, size", [(1.0, 1.0, 0.3), (0.5, 3.0, 0.8)])
@pytest.mark.parametrize("q", [2.0, math.inf])
def test_the_worst_pair_attains_the_sensitivity(loss, R, y_max, size, q):
    """On the L1 ball all losses do, since the noise of the first choice is that for the slope at 0."""
    spec = Spec(loss, 10, 3, domain=Domain(q, R, y_max), radius=size, set="l1_ball")
    plan = FrankWolfePolytope(T=3).calibrate(spec, Budget(1.0, 1e-5))
    zero, one = plan.mechanism.worst_pair(plan)
    assert ((zero.X != one.X).any(axis=1) | (zero.y != one.y)).sum() == 1
    prepared = [plan.mechanism.prepare(plan, data) for data in (zero, one)]
    assert plan.mechanism.separation(plan, *prepared) == pytest.approx(plan.ledger[0].sensitivity, rel=1e-12)
