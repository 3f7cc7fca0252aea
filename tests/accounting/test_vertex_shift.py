"""delta of generalised Gaussian noise shifted by a vertex: known laws, weighted draws, and that no shift is worse."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from dpcore import Budget
from dpcore.accounting import vertex_shift
from dpcore.accounting.gaussian import gaussian_mu, hockey_stick
from dpcore.accounting.vertex_shift import VertexShift, information, same_gaussian, vertex_length
from dpcore.core.sets import kappa_lq
from dpcore.mechanisms.noise.generalized_gaussian import _GROWTH, LpNoise, lp_noise, shift_shares
from tests.nights import each

BUDGETS = [Budget(0.1, 1e-5), Budget(1.0, 1e-2), Budget(1.0, 1e-8), Budget(8.0, 1e-6)]


def order_of(d: int) -> float:
    return kappa_lq(math.inf, d).order


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("d", [8, 30, 1000])
def test_for_order_2_the_sums_are_the_closed_form_of_gaussian_noise(d, budget):
    t = gaussian_mu(budget) / math.sqrt(d)
    shift = VertexShift(d, 2.0, budget.epsilon, t)
    for near in (0.95 * t, t, 1.05 * t):
        assert shift.delta(near) == pytest.approx(hockey_stick(budget.epsilon, near * math.sqrt(d)), rel=2e-3)


def weighted_delta(d: int, t: float, epsilon: float, draws: int, seed: int) -> tuple[float, float]:
    """Mean and standard error of delta by draws moved towards the losses that count, and weighted."""
    noise = LpNoise("generalized_gaussian", d, order_of(d), 1.0)
    reach = t * d ** (1.0 / noise.order)
    moved = 0.6 * (epsilon / reach - 0.5 * reach) / d ** (1.0 / noise.order)
    z = noise.draw([np.random.default_rng([seed, d])] * draws) + moved
    weights = np.exp(noise.log_density(z) - noise.log_density(z - moved))
    loss = noise.log_density(z) - noise.log_density(z + t)
    parts = weights * np.maximum(-np.expm1(np.minimum(epsilon - loss, 0.0)), 0.0)
    return float(parts.mean()), float(parts.std(ddof=1) / math.sqrt(draws))


@pytest.mark.parametrize(
    "d, budget", each(4, itertools.product((8, 30), (Budget(1.0, 1e-5), Budget(0.1, 1e-3)))), ids=str
)
def test_weighted_draws_find_the_delta_of_the_budget_and_more_with_a_tenth_less_noise(d, budget):
    """Five standard errors either way, false alarm 1e-6."""
    t = vertex_length(d, order_of(d), budget)
    value, error = weighted_delta(d, t, budget.epsilon, 40_000, seed=1)
    assert abs(value - budget.delta) < 5.0 * error < 0.35 * budget.delta
    value, error = weighted_delta(d, t / 0.9, budget.epsilon, 40_000, seed=1)
    assert value - 5.0 * error > budget.delta


@pytest.mark.parametrize("d", [20, *(pytest.param(d, marks=pytest.mark.nightly) for d in (8, 100))])
def test_the_curve_of_a_small_shift_holds_for_larger_ones_and_is_nearly_attained(d):
    """By the sums, which are exact where delta is small, and by draws at epsilon = 0 within five standard errors."""
    margin, ratio, root = 1.0 + vertex_shift._PROFILE_MARGIN, same_gaussian(d, order_of(d)), 0.5
    assert same_gaussian(d, 2.0)(np.linspace(0.0, 4.0, 30)) == pytest.approx(margin, rel=1e-4)
    t = root / math.sqrt(information(d, order_of(d)))
    for place in (1.7, 2.5, 3.2):
        exact, mu = VertexShift(d, order_of(d), place * root, t).delta(t), root * float(ratio(place))
        assert hockey_stick(place * root, 0.99 * mu) < exact < hockey_stick(place * root, mu)
    noise = LpNoise("generalized_gaussian", d, order_of(d), 1.0)
    seen = shift_shares(noise, np.full(d, t), 1.0, 0.0, draws=30_000, rng=np.random.default_rng(d))
    error = float(seen.std(ddof=1)) / math.sqrt(len(seen))
    claimed = hockey_stick(0.0, root * float(ratio(0.0)))
    assert seen.mean() - 5.0 * error < claimed < 1.005 * (seen.mean() + 5.0 * error)


# phi(u) - u Phi(-u), the mean of (S - u)_+ for a normal S
def beyond(u: np.ndarray) -> np.ndarray:
    return stats.norm.pdf(u) - u * stats.norm.sf(u)


def largest_powers(d: int, m: float) -> tuple[np.ndarray, np.ndarray]:
    """Levels, and bounds on the powers of all tests of a shift m: what solves p' = J(p).

    J(alpha) is the smallest D(e) + e alpha, D(e) = ratio G(e / ratio), G = `beyond`; x = Phi^-1(p) moves at J / phi.
    """
    e = np.linspace(0.0, 12.0, 2_401)
    ratio = same_gaussian(d, order_of(d))(np.minimum(e, 4.0))
    x = np.linspace(-8.0, 8.0, 3_201)
    level = stats.norm.cdf(-np.abs(x))
    speed = np.min(ratio * beyond(e / ratio) + np.outer(level, e), axis=1) / stats.norm.pdf(x)
    times = np.concatenate([[0.0], np.cumsum(np.diff(x) * 0.5 * (1.0 / speed[1:] + 1.0 / speed[:-1]))])
    starts = times + m <= times[-1]
    return stats.norm.cdf(x[starts]), stats.norm.cdf(np.interp(times[starts] + m, times, x))


@pytest.mark.parametrize(
    "d", [20, *(pytest.param(d, marks=pytest.mark.nightly) for d in (8, 50, 100, 130, 200, 1000, 100_000))]
)
def test_larger_shifts_follow_from_a_small_one_up_to_the_factor_that_the_curve_has(d):
    """Less than half of it would do at d = 20; nine tenths of it are needed at d = 130."""
    growths = []
    for m in (0.1, 0.3, 1.0, 2.0):
        level, power = largest_powers(d, m)
        for e in (*np.arange(0.0, 4.1, 0.25), 4.5, 5.0, 6.0):
            delta = float((power - math.exp(e * m) * level).max())
            ratio = float(same_gaussian(d, order_of(d))(min(e, 4.0)))
            if delta > 1e-15:
                found = brentq(lambda mu, e=e, m=m, delta=delta: hockey_stick(e * m, mu) - delta, 0.2 * m, 2.0 * m)
                growths.append((found / (ratio * m) - 1.0) / m)
    assert max(growths) < _GROWTH
    assert d != 130 or max(growths) > 0.9 * _GROWTH


def test_no_shift_within_the_cube_is_found_worse_than_its_vertex():
    """Common draws; five standard errors. A shift along one axis is far better."""
    d, budget = 16, Budget(1.0, 1e-2)
    noise, t = LpNoise("generalized_gaussian", d, order_of(d), 1.0), vertex_length(16, order_of(16), Budget(1.0, 1e-2))
    rng = np.random.default_rng(3)
    shifts = [np.eye(d)[0], np.sign(rng.standard_normal(d)), rng.uniform(-1.0, 1.0, d), np.repeat([1.0, 0.0], d // 2)]
    for k, shift in enumerate(shifts):
        seen = shift_shares(noise, t * shift, 1.0, budget.epsilon, draws=30_000, rng=np.random.default_rng([4, k]))
        error = float(seen.std(ddof=1)) / math.sqrt(len(seen))
        assert seen.mean() - 5.0 * error <= budget.delta
        assert bool(seen.mean() < 0.5 * budget.delta) is (k != 1)


def test_the_information_is_that_of_a_small_shift():
    """Mean square of the slope of the loss, within five standard errors of 40,000 draws."""
    for d in (8, 100):
        noise = LpNoise("generalized_gaussian", d, order_of(d), 1.0)
        z = noise.draw([np.random.default_rng(d)] * 40_000)
        slopes = (noise.log_density(z - 1e-4) - noise.log_density(z + 1e-4)) / 2e-4
        squares = slopes**2
        assert abs(squares.mean() - information(d, noise.order)) < 5.0 * squares.std() / 200.0


def test_where_the_sums_are_not_used_zcdp_is():
    inside = Budget(1.0, 1e-5)
    law = lp_noise("generalized_gaussian", math.inf, 30)
    assert law.multiplier(inside) < 0.6 * law.zcdp_multiplier(inside)
    for budget in (Budget(1e-3, 1e-5), Budget(1.0, 1e-12)):
        assert vertex_length(30, law.order, budget) == 0.0
        assert law.multiplier(budget) == law.zcdp_multiplier(budget)
    assert vertex_length(30, law.order, Budget(20.0, 1e-5)) == vertex_length(30, law.order, Budget(10.0, 1e-5)) > 0.0
    assert vertex_length(30, law.order, Budget(1.0, 0.1)) == vertex_length(30, law.order, Budget(1.0, 0.01)) > 0.0
    unsettled, half = (vertex_length(20, order_of(20), Budget(epsilon, 0.01)) for epsilon in (4.0, 2.0))
    assert unsettled == half > 0.0
    assert vertex_length(7, 2.1, inside) == 0.0 == vertex_length(100_001, 22.0, inside)


def test_the_multiplier_is_continuous_in_the_norm_and_never_above_that_of_zcdp():
    """The scale of noise for a sensitivity of 1 rises to that of the cube."""
    budget, d = Budget(1.0, 1e-5), 30
    laws = [lp_noise("generalized_gaussian", q, d) for q in (5.0, 8.0, 20.0, 100.0, 1e4, math.inf)]
    scales = [law.multiplier(budget) * law.widening for law in laws]
    assert all(a <= b * (1 + 1e-12) for a, b in itertools.pairwise(scales))
    assert scales[-2] == pytest.approx(scales[-1], rel=1e-3)
    assert all(law.multiplier(budget) <= law.zcdp_multiplier(budget) for law in laws)
    assert laws[0].multiplier(budget) == laws[0].zcdp_multiplier(budget)


@pytest.mark.nightly
@pytest.mark.parametrize("d, epsilon, delta", [(8, 1.0, 1e-9), (16, 1.0, 1e-9), (100, 8.0, 1e-6), (1000, 1.0, 1e-5)])
def test_finer_sums_change_the_length_by_less_than_its_margin(d, epsilon, delta, monkeypatch):
    found = vertex_length(d, order_of(d), Budget(epsilon, delta))
    for name, finer in (("_LONGEST", 24.0), ("_RADIUS_STEP", 0.15), ("_DEGREE", 6), ("_SMALL", 15.0)):
        monkeypatch.setattr(vertex_shift, name, finer)
    other = vertex_length.__wrapped__(d, order_of(d), Budget(epsilon, delta))
    assert other == pytest.approx(found, rel=vertex_shift._MARGIN)
