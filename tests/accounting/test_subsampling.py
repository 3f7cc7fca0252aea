"""Steps on random batches against the densities themselves, exact compositions, the formula sheet and dp-accounting."""

import functools
import itertools
import math

import numpy as np
import pytest
from scipy.signal import fftconvolve
from scipy.special import logsumexp

from dpcore import Budget
from dpcore.accounting import gaussian, subsampled_rdp, zcdp
from dpcore.accounting.subsampled_rdp import SAMPLINGS, renyi, subsampled_epsilon, subsampled_multiplier
from tests.nights import each

ORDERS = np.array([1.01, 1.5, 2.0, 5.0, 20.0, 100.0])


# One step


def log_mixture(x, q, rest, own):
    """The log-density of (1 - q) N(rest) + q N(own) on the line."""
    absent = math.log1p(-q) if q < 1 else -math.inf
    normal = -0.5 * math.log(2 * math.pi)
    return np.logaddexp(absent - 0.5 * (x - rest) ** 2, math.log(q) - 0.5 * (x - own) ** 2) + normal


def brute_renyi(orders, z, q, rest, true, false):
    """The Renyi divergences of two such mixtures, means in units of one record's part, on a plain grid.

    Through the small differences where the divergence is small, in logarithms where it is large.
    """
    reach = 14 + 4 * np.max(orders) / z
    x = np.arange(-reach, reach, 0.05 * min(1.0, z))
    log_p, log_q = log_mixture(x, q, rest / z, true / z), log_mixture(x, q, rest / z, false / z)
    r, cell = log_p - log_q, x[1] - x[0]
    values = []
    for a in orders:
        large = (logsumexp(a * log_p + (1 - a) * log_q) + math.log(cell)) / (a - 1)
        if large * (a - 1) < 1:
            excess = np.where(
                np.abs(a * r) < 1e-3,
                sum((a**k - a) * r**k / math.factorial(k) for k in (2, 3, 4)),
                np.expm1(np.minimum(a * r, 700)) - a * np.expm1(np.minimum(r, 700)),
            )
            large = math.log1p(np.sum(np.exp(log_q) * excess) * cell) / (a - 1)
        values.append(large)
    return np.array(values)


@pytest.mark.parametrize("z", [0.2, 1.0, 5.0, 100.0])
@pytest.mark.parametrize("rate", [1e-5, 1e-3, 0.1, 0.9, 1.0])
def test_poisson_steps_have_the_divergence_of_their_densities(z, rate):
    orders = ORDERS[2 * ORDERS / z < 300]
    exact = brute_renyi(orders, z, rate, 0.0, 1.0, -1.0)
    assert renyi(orders, z, rate, "poisson") == pytest.approx(exact, rel=1e-8)


def test_no_other_neighbours_of_poisson_steps_diverge_more():
    """Parts of any two lengths up to 1 on a line, either way round; orders 1.5 to 20."""
    for z, rate in [(0.5, 0.01), (1.0, 0.1), (3.0, 0.5)]:
        bound = renyi(ORDERS[1:5], z, rate, "poisson") * (1 + 1e-9)
        for true in (-1.0, -0.5, 0.0, 1.0):
            for false in (-1.0, -0.3, 0.0, 0.6, 1.0):
                if true != false:
                    assert np.all(brute_renyi(ORDERS[1:5], z, rate, 0.0, true, false) <= bound)


THREE_POINTS = [(g, a, b) for g in (-1.0, 0.0, 0.5, 1.0) for a in (-1.0, 0.0, 1.0) for b in (-1.0, 0.3, 1.0) if a != b]


@pytest.mark.parametrize("rate, z", each(2, itertools.product([1e-4, 0.01, 0.3], [0.5, 2.0, 20.0])))
def test_uniform_steps_cover_every_three_points(z, rate):
    """The other records' part, the record's and its replacement's; the worst is to take one part away.

    Their divergence is not far below either: half of the bound would not cover them all.
    """
    orders = ORDERS[:5][ORDERS[:5] / z < 100]
    bound = renyi(orders, z, rate, "uniform")
    worst = np.max([brute_renyi(orders, z, rate, *points) for points in THREE_POINTS], axis=0)
    assert np.all(worst <= bound * (1 + 1e-9))
    assert np.all(worst > 0.25 * bound) and np.any(worst > 0.5 * bound)


def test_uniform_steps_are_the_integral_over_their_hockey_sticks():
    """a (a - 1) int_1^inf (t^(a-2) + t^(-a-1)) q H(x) dt, t = 1 + q (e^x - 1), H by `accounting`."""
    for z, q, a in [(1.0, 0.01, 3.0), (4.0, 0.5, 10.0), (20.0, 1e-3, 2.0), (0.7, 0.2, 1.5)]:
        x = np.linspace(0.0, (2 / z) * (14 + 2 * a / z), 20_001)
        stick = np.array([gaussian.hockey_stick(v, 2 / z) for v in x])
        t = 1 + q * np.expm1(x)
        total = np.trapezoid((t ** (a - 2) + t ** (-a - 1)) * q * stick * q * np.exp(x), x)
        expected = math.log1p(a * (a - 1) * total) / (a - 1)
        assert float(renyi(a, z, q, "uniform")) == pytest.approx(expected, rel=1e-6)


# Many steps


@functools.cache
def lost_at_least(z, rate, true, false, rest):
    """P's probabilities of the privacy loss of one step, rounded down to cells of 1e-3, and the lowest cell."""
    x = np.linspace(-14, 14, 400_001)
    log_p, log_q = log_mixture(x, rate, rest / z, true / z), log_mixture(x, rate, rest / z, false / z)
    cell = np.floor((log_p - log_q) / 1e-3).astype(int)
    return np.bincount(cell - cell.min(), weights=np.exp(log_p) * (x[1] - x[0])), int(cell.min())


def delta_at_least(epsilon, times, *pair):
    """A lower bound on delta of `times` steps on one pair: the losses' law convolved with itself, then the formula."""
    mass, low = lost_at_least(*pair)
    total = functools.reduce(fftconvolve, [mass] * times)
    loss = (low * times + np.arange(len(total))) * 1e-3
    return float(np.sum(total * np.maximum(-np.expm1(epsilon - loss), 0)))


@pytest.mark.parametrize("times", [1, 2, 4, 8])
@pytest.mark.parametrize("z, rate, delta", [(2.0, 0.1, 1e-6), (4.0, 0.5, 1e-5), (1.5, 0.05, 1e-8)])
def test_many_steps_cost_at_least_what_an_exact_composition_finds(z, rate, delta, times):
    """The twins that claim 65% and 40% of the epsilon are refuted: single orders waste up to a third for few steps."""
    poisson = subsampled_epsilon(z, rate, times, delta, "poisson")
    assert delta_at_least(poisson, times, z, rate, 1.0, -1.0, 0.0) <= delta
    assert delta_at_least(0.65 * poisson, times, z, rate, 1.0, -1.0, 0.0) > delta
    uniform = subsampled_epsilon(z, rate, times, delta, "uniform")
    removed = [(z, rate, -1.0, 1.0, -1.0), (z, rate, 1.0, -1.0, -1.0)]
    assert max(delta_at_least(uniform, times, *pair) for pair in removed) <= delta
    assert max(delta_at_least(0.4 * uniform, times, *pair) for pair in removed) > delta


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("z, times, delta", [(10.0, 16, 1e-6), (50.0, 400, 1e-8), (1.0, 1, 1e-5), (300.0, 10**6, 1e-3)])
def test_at_rate_one_many_steps_are_a_full_batch(z, times, delta, sampling):
    """To the accuracy of Renyi orders: the conversion's, and 0.03% for the spacing of orders."""
    epsilon = subsampled_epsilon(z, 1.0, times, delta, sampling)
    best = zcdp.zcdp_epsilon(2 * times / z**2, delta)
    assert best * (1 - 1e-8) <= epsilon <= best * (1 + 3e-4)
    assert gaussian.gaussian_epsilon(2 * math.sqrt(times) / z, delta) < epsilon


def test_the_order_found_is_the_best_of_all_orders():
    for z, rate, times, delta, sampling in [
        (9.6, 1 / 2000, 2000**2, 1 / 2000**2, "poisson"),
        (0.8, 0.001, 10, 1e-9, "uniform"),
        (0.8, 0.001, 10**5, 1e-9, "poisson"),
        (500.0, 0.3, 3, 1e-4, "uniform"),
        (2.0, 0.9, 50, 1e-12, "poisson"),
    ]:
        orders = subsampled_rdp._ORDERS
        every = times * renyi(orders, z, rate, sampling) + np.log1p(-1 / orders)
        every -= (math.log(delta) + np.log(orders)) / (orders - 1)
        assert subsampled_epsilon(z, rate, times, delta, sampling) == pytest.approx(every.min(), rel=3e-9, abs=3e-9)


def test_a_multiplier_spends_the_budget_to_nine_digits_and_no_more():
    """Budgets of all sizes, those that hardly any order reaches, and those where an integral goes out of reach."""
    rng = np.random.default_rng(0)
    cases = [(10.0 ** rng.uniform(-2, 2), 10.0 ** rng.uniform(-12, -2)) for _ in range(30)]
    for delta in (1e-12, 1e-10):
        least = subsampled_rdp._conversion(subsampled_rdp._ORDERS, delta).min()
        cases += [(float(least) * (1.0 + share) + 3e-9, delta) for share in (1e-6, 1e-3, 0.1)]
    drawn = [(*case, 10.0 ** rng.uniform(-4, 0), int(10.0 ** rng.uniform(0, 6))) for case in cases]
    # Here the best order is out of reach just below.
    drawn.append((0.0027251373913561683, 2.743017237901627e-06, 0.0006098969943994604, 113))
    for epsilon, delta, rate, times in drawn:
        for sampling in SAMPLINGS:
            z = subsampled_multiplier(Budget(epsilon, delta), rate, times, sampling)
            assert subsampled_epsilon(z, rate, times, delta, sampling) <= epsilon * (1.0 + 1e-9)
            assert subsampled_epsilon(z * (1.0 - 1e-8), rate, times, delta, sampling) > epsilon * (1.0 - 1e-9)
