"""One-pass Frank-Wolfe on a polytope: what its noise costs, and what its bounds guarantee."""

import functools
import itertools
import math

import numpy as np
import pytest
from scipy import special

from dpcore import Budget, Data, Domain, Spec
from dpcore.accounting import zcdp
from dpcore.core.losses import get_loss
from dpcore.core.sets import L1Ball, Polytope
from dpcore.mechanisms.frank_wolfe import one_pass_sensitivity as rules
from dpcore.mechanisms.frank_wolfe.one_pass import PolyhedralFrankWolfe, stream_of
from dpcore.solvers.frank_wolfe.one_pass import Followed, Walk, recursive_walk
from dpcore.solvers.frank_wolfe.vertices import NoisyBest
from dpcore.studies.papers.errata import published_stream

L1 = L1Ball()
BUDGET = Budget(1.0, 1e-6)
FAR = Polytope(((3.0, 1.0, 0.0), (3.0, -1.0, 0.5), (2.0, 0.0, 1.0)))


def plan_for(shape=L1, n=500, p=3, loss="logistic", radius=1.0, budget=BUDGET, R=1.0, **knobs):
    spec = Spec(loss, n, p, 0.0, Domain(math.inf, R), radius, set=shape)
    return PolyhedralFrankWolfe(**knobs).calibrate(spec, budget)


def rngs_of(seed: int, count: int) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, k]) for k in range(count)]


def upper(plan) -> float:
    return next(bound.value for bound in plan.mechanism.bounds(plan) if bound.form == "upper")


def records(n: int, p: int, seed: int) -> Data:
    """Entries +-1; the first agrees with the label, which is 1, three times out of four."""
    rng = np.random.default_rng([seed, n, p])
    X = rng.choice([-1.0, 1.0], (n, p))
    X[:, 0] = np.where(rng.random(n) < 0.75, 1.0, -1.0)
    return Data(X, np.ones(n))


@functools.cache
def whole_population(p: int) -> tuple[Data, np.ndarray]:
    """All records of `records` and their probabilities."""
    X = np.array(list(itertools.product([-1.0, 1.0], repeat=p)))
    return Data(X, np.ones(len(X))), np.where(X[:, 0] > 0, 0.75, 0.25) / 2.0 ** (p - 1)


def population_excess(thetas, loss="logistic"):
    """Over the best model of the unit L1 ball, which is e_1 by symmetry."""
    data, weights = whole_population(thetas.shape[1])

    def risk(theta):
        return get_loss(loss).value(data.X @ theta, data.y) @ weights

    best = np.zeros(thetas.shape[1])
    best[0] = 1.0
    return np.array([risk(theta) for theta in thetas]) - risk(best)


# Calibration


@pytest.mark.shows("privacy", "polyhedral_frank_wolfe")
def test_the_noise_is_what_the_worst_record_costs_by_the_better_proof():
    for epsilon in (0.1, 1.0, 10.0):
        budget = Budget(epsilon, 1e-6)
        plan = plan_for(budget=budget)
        weight = plan.mechanism._course(plan.spec, budget).weight
        # A choice of half range s is s^2 / (2 G^2)-zCDP, and (2 s / G)-DP.
        by_zcdp = zcdp.zcdp_epsilon(weight.root**2 / (2 * plan.scale**2), 1e-6)
        by_sum = 2 * weight.total / plan.scale
        assert min(by_zcdp, by_sum) == pytest.approx(epsilon, rel=1e-6) and plan.spent == budget
        assert plan.ledger[0].sensitivity == weight.root and plan.ledger[0].scale == plan.scale
    few = plan_for(T=1)
    weight = few.mechanism._course(few.spec, BUDGET).weight
    assert 2 * weight.total / few.scale == pytest.approx(1.0, rel=1e-9), "for two choices the sum is better"


def test_automatic_steps_are_many_and_short_where_choices_are_noise():
    """And longer together where they are not."""
    budget = Budget(1e-4, 1e-6)
    hopeless = stream_of(plan_for(n=20_000, budget=budget))
    assert (hopeless.first, hopeless.batch, hopeless.count, hopeless.step) == (10_000, 10_000 // 32, 32, 0.5 / 32)
    assert stream_of(plan_for(n=20_000, budget=budget, T=64)).step == 0.5 / 64
    assert stream_of(plan_for(n=2, budget=budget)).step == 0.125
    easy = stream_of(plan_for(n=10**8))
    assert easy.step * easy.count == pytest.approx(8.0) and easy.count > 5_000


def test_bounds_of_automatic_steps_are_not_far_from_the_smallest():
    """Over T, for n up to 50 million and two dimensions: at most half as large again where they say anything."""
    for n, p, epsilon in itertools.product((500, 5_000, 50_000, 5 * 10**7), (20, 1_000), (1.0, 10.0)):
        asked = {"n": n, "p": p, "budget": Budget(epsilon, 1e-6)}
        counts = [1 << k for k in range(15) if n >= 2 << k]
        found, least = upper(plan_for(**asked)), min(upper(plan_for(T=T, **asked)) for T in counts)
        assert found <= max(1.5 * least, math.log(2.0)), (asked, found, least)


# Bounds


@pytest.mark.parametrize("shape", [L1Ball(), FAR], ids=lambda shape: shape.label)
def test_estimates_err_by_less_than_the_bound_says(shape):
    """150 samples of 96 records along one path; the mean range of the error, 5 standard errors: false alarm < 1e-5.

    Hoeffding's intervals are wide; a twentieth of what is allowed is exceeded."""
    plan = plan_for(shape, n=96, T=3)
    spec, route = plan.spec, stream_of(plan)
    facts, signed = rules.slopes_of(spec), shape == L1Ball()
    columns = np.arange(plan.steps)[None] * 2 % 3
    signs = np.where(np.arange(plan.steps) % 2, -1.0, 1.0)[None] if signed else np.ones((1, plan.steps))

    def scores(data):
        data = data if signed else Data(data.X @ shape.table.T, data.y)
        choice = Followed(columns, signs, 0, signed=signed, keep=True)
        walk = Walk(get_loss("logistic"), data, np.zeros(3) if signed else np.full(3, 1 / 3), 1.0, 1, choice)
        recursive_walk(walk, route.first, route.batch, route.step, np.ones(plan.steps))
        return np.concatenate(choice.scores)

    table, weights = whole_population(3)
    exact = np.zeros((plan.steps, 6 if signed else 3))
    theta = np.zeros(3) if signed else np.full(3, 1 / 3)
    for step in range(plan.steps):
        model = theta if signed else theta @ shape.table
        slopes = -special.expit(-(table.X @ model)) * weights
        gradient = slopes @ table.X
        exact[step] = np.concatenate([gradient, -gradient]) if signed else shape.table @ gradient
        theta = (1 - route.step) * theta
        theta[columns[0, step]] += route.step * signs[0, step]
    ranges = np.array([np.ptp(scores(records(96, 3, seed)) - exact, axis=1) for seed in range(150)])
    allowed = rules.stream_error(facts, route.first, route.batch, route.count, route.step)
    shares = (1.0 - route.step) ** np.arange(route.count, -1.0, -1.0)
    ranges = ranges @ (shares / shares.sum())[:, None]
    error = 5 * ranges.std(axis=0) / math.sqrt(150)
    assert np.all(ranges.mean(axis=0) + error <= allowed)
    assert np.all(ranges.mean(axis=0) > 0.05 * allowed)


@pytest.mark.shows("upper", "polyhedral_frank_wolfe")
def test_the_mean_excess_on_fresh_records_is_below_the_bound():
    """Ten columns and all 1,024 records of the population; 8 samples with 4 runs each, 5 standard errors.

    The trivial risk is above the bound, which a hundred times the noise breaks."""
    n = 100_000
    plan = plan_for(n=n, p=10)
    mechanism, found, loud = plan.mechanism, [], []
    for seed in range(8):
        prepared = mechanism.prepare(plan, records(n, 10, seed))
        found.append(population_excess(mechanism.release_many(plan, prepared, rngs_of(seed, 4))).mean())
        wild = plan.weakened(100.0)
        loud.append(population_excess(mechanism.release_many(wild, prepared, rngs_of(seed, 4))).mean())
    assert 0.0 < np.mean(found) + 5 * np.std(found) / math.sqrt(8) <= upper(plan)
    assert np.mean(found) < 0.01 and np.mean(loud) > upper(plan)


@pytest.mark.shows("rate", "polyhedral_frank_wolfe")
def test_the_bound_falls_with_n_and_grows_like_the_logarithm_of_d():
    """ln of the bound against ln n."""
    n = np.array([10**7, 10**8, 10**9])
    bounds = [upper(plan_for(n=int(k), p=100)) for k in n]
    assert np.polyfit(np.log(n), np.log(bounds), 1)[0] == pytest.approx(-0.5, abs=0.08)
    d = np.array([10**2, 10**4, 10**6])
    bounds = np.array([upper(plan_for(n=10**7, p=int(p))) for p in d])
    assert np.all(bounds[1:] / bounds[:-1] < np.log(2 * d[1:]) / np.log(2 * d[:-1])), "at most ln d"
    names = [(b.form, b.holds) for b in plan_for().mechanism.bounds(plan_for())]
    uppers, rates = names[:2], names[2:]
    assert uppers == [("upper", "expectation"), ("upper", "probability")]
    assert rates == [("rate", "probability")]


# Runs


@pytest.mark.parametrize("shape", [L1Ball(), FAR], ids=lambda shape: shape.label)
def test_the_likelihood_is_that_of_the_vertices_drawn(shape):
    """10,000 runs of two choices: frequencies of all pairs of vertices against e^likelihood, chi-square, 1e-6.

    Nine tenths of the noise are found."""
    plan = plan_for(shape, n=40, p=3, T=1, loss="huber", budget=Budget(3.0, 1e-5))
    mechanism, prepared = plan.mechanism, plan.mechanism.prepare(plan, records(40, 3, 5))

    def level(made):
        rows = mechanism.transcripts(made, prepared, [np.random.default_rng(8)] * 10_000)
        names = np.array([1, 2, 3, -1, -2, -3] if shape == L1Ball() else [1, 2, 3], float)
        pairs = np.array(list(itertools.product(names, names)))
        columns, signs = np.abs(pairs).astype(int) - 1, np.sign(pairs)
        follower = Followed(columns, signs, 0, signed=shape == L1Ball(), keep=False)
        mechanism._walk(plan, prepared, follower, len(pairs))
        chances = np.exp(follower.log_likelihood)
        assert chances.sum() == pytest.approx(1.0, rel=1e-9)
        counts = np.array([np.count_nonzero((rows == pair).all(axis=1)) for pair in pairs])
        expected = 10_000 * chances
        return special.gammaincc((len(pairs) - 1) / 2, ((counts - expected) ** 2 / expected).sum() / 2)

    assert level(plan) > 1e-6
    assert level(plan.weakened(0.8)) < 1e-6


def test_the_published_walk_is_noise_where_minibatches_learn():
    """n = 10^4, d = 100, epsilon = 1. The trivial risk is that of theta = 0. Means of 3 runs; each is far away."""
    train, rest = records(10_000, 100, 0), records(40_000, 100, 1)
    best, plan = np.eye(100)[0], plan_for(n=10_000, p=100)
    eta, noise = published_stream(10_000, rules.slopes_of(plan.spec), BUDGET)
    choice = NoisyBest(rngs_of(3, 3), 0, signed=True)
    published = recursive_walk(
        Walk(get_loss("logistic"), train, np.zeros(100), 1.0, 3, choice), 5_000, 1, eta, noise
    ).thetas

    def share(thetas):
        risk = [np.logaddexp(0.0, -(rest.X @ theta)).mean() for theta in (*thetas, best, np.zeros(100))]
        return (np.mean(risk[:3]) - risk[3]) / (risk[4] - risk[3])

    prepared = plan.mechanism.prepare(plan, train)
    assert share(published) > 0.9
    assert share(plan.mechanism.release_many(plan, prepared, rngs_of(3, 3))) < 0.2
