"""Packing bounds for squared and linear losses and for regret, against private mechanisms that are known exactly."""

import dataclasses as dc
import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from dpcore import Budget, Data, Domain, NotApplicable, Spec, list_mechanisms
from dpcore.core.sets import dual_order
from dpcore.mechanisms import make_mechanism
from dpcore.studies.geometry.excess_by_norm import vertex_temperature
from dpcore.studies.selection.streaming.adversaries import counterexample_regret
from dpcore.theory.lower_bounds import linear_packing, packing, packing_signal
from dpcore.theory.sampling_and_regret import least_regret


def problem(n: int, p: int, r: float = 1.0, R: float = 1.0, y_max: float = 1.0) -> Spec:
    return Spec("squared", n=n, p=p, domain=Domain(q=math.inf, R=R, y_max=y_max), radius=r, set="l1_ball")


def value(spec: Spec, epsilon: float, delta: float = 0.0) -> float:
    return sum(bound.value for bound in packing(spec, Budget(epsilon, delta)))


def packed(spec: Spec, j: int, sign: float, k: int) -> Data:
    """D_{j, sign}: k records on axis j, all others zero."""
    X, y = np.zeros((spec.n, spec.p)), np.zeros(spec.n)
    X[:k, j], y[:k] = min(spec.domain.R, spec.domain.y_max / spec.size), sign * spec.domain.y_max
    return Data(X, y)


def excess(spec: Spec, along: np.ndarray, k: int) -> np.ndarray:
    """Of models with this sign * theta_j on D_{j, sign}."""
    rho = min(spec.domain.R, spec.domain.y_max / spec.size)
    misses = (spec.domain.y_max - rho * along) ** 2 - (spec.domain.y_max - rho * spec.size) ** 2
    return k / spec.n * misses


def least_mean_excess(spec: Spec, k: int, epsilon: float, delta: float = 0.0, parts: int = 6) -> float:
    """What group privacy between D_0 and D_{1,+} alone allows, by linear programming, for laws on a grid of models.

    Laws may be taken symmetric: averaging a mechanism over the 2^p p! symmetries of the packing keeps its privacy and
    its mean excess. So the law on D_0 depends on sorted absolute values only, and one D_{j,s} stands for all.
    """
    whole = range(-parts, parts + 1)
    points = np.array([v for v in itertools.product(whole, repeat=spec.p) if np.abs(v).sum() <= parts])
    classes, orbit = np.unique(np.sort(np.abs(points), axis=1), axis=0, return_inverse=True)
    sizes, count = np.bincount(orbit.ravel()), len(points)
    costs = excess(spec, spec.size * points[:, 0] / parts, k)
    # Variables: the law on D_{1,+}, where it exceeds e^(k eps) times the law on D_0, and that law, orbit by orbit.
    above = np.zeros((count, len(classes)))
    above[np.arange(count), orbit.ravel()] = -math.exp(k * epsilon) / sizes[orbit.ravel()]
    rows = np.hstack([np.eye(count), -np.eye(count), above])
    budget = np.concatenate([np.zeros(count), np.ones(count), np.zeros(len(classes))])
    sums = np.zeros((2, rows.shape[1]))
    sums[0, :count], sums[1, 2 * count :] = 1, 1
    grown = delta * sum(math.exp(i * epsilon) for i in range(k))
    found = linprog(
        np.concatenate([costs, np.zeros(rows.shape[1] - count)]),
        A_ub=np.vstack([rows, budget]),
        b_ub=np.append(np.zeros(count), grown),
        A_eq=sums,
        b_eq=np.ones(2),
    )
    assert found.success
    return float(found.fun)


@pytest.mark.pairwise
@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("shape", [(1.0, 1.0, 1.0), (0.5, 1.0, 2.0), (3.0, 2.0, 1.0)])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 0.0), (0.1, 0.0), (0.3, 0.02)])
def test_no_law_that_group_privacy_allows_is_better_than_the_bound_and_the_best_is_within_a_factor_of_2(
    p, shape, epsilon, delta
):
    """The best law, computed, is 1.6 to 2 times the bound; were the bound twice as large, it would be false."""
    spec = problem(40, p, *shape)
    most = max(least_mean_excess(spec, k, epsilon, delta) for k in range(1, int(math.log(2 * p) / epsilon) + 1))
    bound = value(spec, epsilon, delta)
    assert 0 < bound <= most <= 2.001 * bound


def layered(spec: Spec, epsilon: float, delta: float) -> float:
    """The bound in plain sums: at most so many of the 2p numbers exceed a level, and delta grows along a group of k."""

    def gain(c: float) -> float:
        u = min(spec.domain.R * spec.size, spec.domain.y_max)
        return (spec.domain.y_max - c * u) ** 2 - (spec.domain.y_max - u) ** 2

    best = 0.0
    for k in range(1, spec.n + 1):
        grown, found, before = delta * sum(math.exp(i * epsilon) for i in range(k)), 0.0, 0.0
        for most in range(1, spec.p + 1):
            here = gain(1.0 / (most + 1) if most < spec.p else 0.0)
            found += (here - before) * max(1.0 - grown - most * math.exp(k * epsilon) / (2 * spec.p), 0.0)
            before = here
        best = max(best, k / spec.n * found)
    return best


@pytest.mark.parametrize("p", [1, 8, 100])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 0.0), (0.3, 0.02), (0.1, 0.01), (1.0, 0.05)])
def test_the_bound_is_its_plain_sum_also_where_delta_counts(p, epsilon, delta):
    spec = problem(60, p, 0.5, 1.0, 2.0)
    assert value(spec, epsilon, delta) == pytest.approx(layered(spec, epsilon, delta), rel=1e-9)


@pytest.mark.shows("lower", "frank_wolfe_polytope")
@pytest.mark.parametrize("T", ["auto", 5])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 0.0), (1.0, 1e-4)])
def test_runs_on_the_packing_lie_above_the_bound(T, epsilon, delta):
    """200 runs on each of 4 of the 2p data sets, which symmetry makes alike, for the k that is worst.

    The mean is at least 5 times the bound, so that chance does not decide.
    """
    spec = problem(60, 12)
    mechanism = make_mechanism("frank_wolfe_polytope", T=T)
    plan, worst = mechanism.calibrate(spec, Budget(epsilon, delta)), 0.0
    for k in (2, 5, 15, 60):
        means = []
        for j, sign in ((0, 1.0), (0, -1.0), (7, 1.0), (11, -1.0)):
            data = packed(spec, j, sign, k)
            rngs = [np.random.default_rng([3, k, j, int(sign > 0), run]) for run in range(200)]
            thetas = mechanism.release_many(plan, mechanism.prepare(plan, data), rngs)
            gone = ((data.margins(thetas) - data.y) ** 2).mean(axis=1) - excess(spec, spec.size, k)
            np.testing.assert_allclose(gone, excess(spec, sign * thetas[:, j], k), atol=1e-12)
            means.append(gone.mean())
        worst = max(worst, float(np.mean(means)))
    assert 0 < 5 * value(spec, epsilon, delta) <= worst


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_no_registered_mechanism_is_below_the_bound_averaged_over_random_members(epsilon):
    """By 4 standard errors; each run has its own axis and sign, and k is that of the bound."""
    spec, budget, compared = problem(80, 12), Budget(epsilon, 1e-6), set()
    for mechanism in map(make_mechanism, list_mechanisms()):
        try:
            plan = mechanism.calibrate(spec, budget)
        except NotApplicable:
            continue
        k, rng, found = packing_signal(spec, plan.spent), np.random.default_rng(1), []
        for run in range(150):
            j, sign = int(rng.integers(spec.p)), float(rng.choice([-1.0, 1.0]))
            prepared = mechanism.prepare(plan, packed(spec, j, sign, k))
            theta = mechanism.release(plan, prepared, np.random.default_rng([2, run]))
            found.append(excess(spec, sign * theta[j], k))
        (bound,) = packing(spec, plan.spent)
        assert np.mean(found) + 4.0 * np.std(found) / math.sqrt(len(found)) >= bound.value > 0.0, mechanism.key
        compared.add(mechanism.key)
    assert compared >= {"frank_wolfe_polytope", "frank_wolfe_general", "polyhedral_frank_wolfe"}


def test_the_bound_has_the_units_of_the_loss():
    """Labels in other units, and columns in other units with the ball in the inverse of them, are the same problem."""
    base = value(problem(500, 20, r=0.7), 0.1)
    assert value(problem(500, 20, r=0.7, R=3.0, y_max=3.0), 0.1) == pytest.approx(9 * base, rel=1e-12)
    assert value(problem(500, 20, r=0.14, R=5.0), 0.1) == pytest.approx(base, rel=1e-12)
    # Beyond r R = y_max the records shrink, and a larger ball is not easier.
    assert value(problem(500, 20, r=50.0), 0.1) == value(problem(500, 20), 0.1)
    # A bound on ||x||_2 is kept by records on an axis too.
    spec = problem(500, 20, r=0.7)
    assert value(dc.replace(spec, domain=Domain(q=2.0)), 0.1) == base


def test_it_says_what_it_assumes_and_stays_silent_elsewhere():
    spec = problem(1_000, 64)
    (bound,) = packing(spec, Budget(0.1, 1e-6))
    assert (bound.quantity, bound.form, bound.holds) == ("excess_empirical_risk", "lower", "expectation")
    assert bound.source == "packing" and "hardest data" in bound.assumes and "128" in bound.assumes
    budget = Budget(0.1)
    assert packing(dc.replace(spec, loss="huber"), budget) == ()
    assert packing(dc.replace(spec, set="simplex"), budget) == packing(dc.replace(spec, set="ball"), budget) == ()
    assert packing(spec, Budget(1e100)) == packing(spec, Budget(10.0, 1e-6)) == ()
    assert packing(spec, Budget(1e-100))[0].value < 1.0


def test_the_signal_is_the_k_of_the_bound():
    """With k records of one kind among 60, no fewer and no more lead to a larger sum of `layered`."""
    spec, budget = problem(60, 1), Budget(0.3)
    gains = {k: k / 60 * (1.0 - math.exp(0.3 * k) / 2) for k in range(1, 61)}  # M = 1 alone, E_1 = 1
    assert packing_signal(spec, budget) == max(gains, key=gains.get)
    assert packing_signal(spec, Budget(10.0)) == 1


@pytest.mark.pairwise
@pytest.mark.parametrize("p_norm", [1.0, 1.5, 2.0, math.inf])
@pytest.mark.parametrize("d", [4, 1_024])
@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_the_linear_packing_lies_below_the_exponential_mechanism_on_its_worst_data(p_norm, d, epsilon):
    n, q = 500, dual_order(p_norm)
    k = np.arange(1.0, n + 1.0)
    up = np.exp(-np.minimum(k / n / vertex_temperature(n, epsilon), 300.0))  # weight of no gain, then of a loss
    axis = k / n * (1.0 - (1.0 - up**2) / (1.0 + up**2 + 2.0 * (d - 1) * up))
    entry = d ** (-1.0 / q)
    signs = k / n * (1.0 - entry * np.tanh(entry * k / n / vertex_temperature(n, epsilon)))
    least = linear_packing(p_norm, d, n, Budget(epsilon, 1e-6))
    assert 0.0 < least <= max(axis.max(), signs.max())
    assert (
        linear_packing(p_norm, d, n, Budget(epsilon, 0.1))
        <= least
        >= linear_packing(p_norm, d, 2 * n, Budget(epsilon, 1e-6))
    )


def test_the_linear_packing_is_its_plain_sum():
    d, n, epsilon, delta, best = 64, 40, 0.5, 1e-3, 0.0
    for k in range(1, n + 1):
        kept = 1.0 - delta * sum(math.exp(i * epsilon) for i in range(k))
        places = [i / 256 for i in range(256)]
        left = sum(max(kept - math.exp(k * epsilon) * min(0.5, math.exp(-c * c * d / 2)), 0.0) for c in places) / 256
        best = max(best, k / n * left)
    assert linear_packing(2.0, d, n, Budget(epsilon, delta)) == pytest.approx(best, rel=1e-9)


def test_the_least_regret_is_that_of_fair_coins_or_of_one_good_arm():
    coins = np.array(list(itertools.product((-1, 1), repeat=10))).reshape(-1, 2, 5).sum(axis=2).max(axis=1).mean()
    assert least_regret(2, 1.0, 5, Budget(50.0)) == pytest.approx(coins)
    arms, epsilon, delta, T = 1_000, 0.5, 1e-6, 30
    grown = [delta * sum(math.exp(i * epsilon) for i in range(t)) for t in range(T)]
    private = 2 * sum(max(1 - math.exp(t * epsilon) / arms - g, 0) for t, g in enumerate(grown))
    assert least_regret(arms, 3.0, T, Budget(epsilon, delta)) == pytest.approx(3 * private) and private > 20
    # FTRL with 4 R / Lambda a step is private with epsilon T 4 / Lambda in all: no less on its worst costs.
    for lam_sum in (100.0, 1_000.0):
        assert counterexample_regret(T, arms, lam_sum) >= least_regret(arms, 1.0, T, Budget(4.0 * T / lam_sum))
