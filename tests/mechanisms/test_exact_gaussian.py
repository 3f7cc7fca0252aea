"""Exactly rounded Gaussian noise: its law, its decisions by fractions, and what doubles reveal in its place."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import dpcore
from dpcore import Budget, Data, audit_function, calibrate
from dpcore.accounting.gaussian import gaussian_epsilon, gaussian_mu
from dpcore.accounting.tradeoff import GaussianCurve
from dpcore.mechanisms.noise import exact_gaussian, rounding
from dpcore.mechanisms.noise.exact_gaussian import Digits, exactly_rounded
from dpcore.mechanisms.noise.rounding import grid_of

WORD = 1 << 64


def bits(seed: int) -> Callable[[int], bytes]:
    return np.random.default_rng(seed).bytes


def words(*given: int) -> Callable[[int], bytes]:
    """These words first, then fair bits."""
    first, rest = b"".join(word.to_bytes(8, "little") for word in given), bits(0)

    def draw(size: int) -> bytes:
        nonlocal first
        drawn, first = first[:size], first[size:]
        return drawn + rest(size - len(drawn))

    return draw


# The law


@pytest.mark.parametrize("centre", [0.0, 0.3, -7.1, 1e6 / 3.0])
@pytest.mark.parametrize("scale", [1.0, 0.7, 3e-200])
def test_every_cell_is_as_likely_as_the_normal_law_says(centre, scale, monkeypatch):
    """Cells of a quarter to a half of the noise; chi-square beyond its quantile of 10^-6 in no case."""
    monkeypatch.setattr(rounding, "_GRID_BITS", 1)
    size, step = 20_000, grid_of(scale)
    found = exactly_rounded(np.full(size, centre * scale), scale, bits(7)) / step
    cells = np.arange(found.min(), found.max() + 1.0)
    ends = np.where(cells < 0.0, cells, cells + 1.0)  # of the numbers that are rounded to a cell or to one before it
    chance = np.diff(stats.norm.cdf([-np.inf, *(ends[:-1] * (step / scale) - centre), np.inf]))
    count = np.array([np.count_nonzero(found == cell) for cell in cells])
    assert count.sum() == size and not np.signbit(found[found == 0.0]).any(), "one zero, whatever was rounded to it"
    often = chance * size > 5.0
    assert ((count - chance * size) ** 2 / (chance * size))[often].sum() < stats.chi2.isf(1e-6, often.sum())


def test_noise_on_its_own_grid_is_normal_down_to_the_last_digit():
    """200 intervals of cells, equally likely, and the last four digits of each cell."""
    size, scale = 1_000_000, 0.7
    step, centre = grid_of(scale), 0.123456
    found = exactly_rounded(np.full(size, centre), scale, bits(1))
    assert np.array_equal(np.fmod(found, step), np.zeros(size))
    ends = np.ceil((centre + scale * stats.norm.ppf(np.arange(1, 200) / 200.0)) / step) * step
    ends[ends <= 0.0] -= step  # towards 0: what is rounded to a negative end lies beyond it
    chance = np.diff(stats.norm.cdf([-np.inf, *((ends + step * (ends < 0.0) - centre) / scale), np.inf]))
    count = np.bincount(np.searchsorted(ends, found, side="right"), minlength=200)
    assert ((count - chance * size) ** 2 / (chance * size)).sum() < stats.chi2.isf(1e-6, 199)
    digits = np.bincount((np.abs(found / step) % 16).astype(int), minlength=16)
    assert ((digits - size / 16) ** 2 / (size / 16)).sum() < stats.chi2.isf(1e-6, 15)


def test_columns_have_noise_of_their_own_in_every_block(monkeypatch):
    monkeypatch.setattr(exact_gaussian, "_BLOCK", 64)
    found = exactly_rounded(np.zeros(6_400), 1.0, bits(2))
    assert len(set(found)) > 6_390 and abs(np.corrcoef(found[:-64], found[64:])[0, 1]) < 5.0 / math.sqrt(6_400)


# Decisions


@pytest.mark.parametrize("name", ["_HEIGHT_ERROR", "_SUM_ERROR"])
@pytest.mark.parametrize("scale, centre", [(1.0, 0.3), (1e-310, 4e-308), (1e250, -3e251), (0.7, 1e7)])
def test_fractions_decide_as_doubles_do(name, scale, centre, monkeypatch):
    values = np.linspace(0.9, 1.1, 300) * centre
    by_doubles = exactly_rounded(values, scale, bits(3))
    monkeypatch.setattr(exact_gaussian, name, 2.0)
    assert np.array_equal(exactly_rounded(values, scale, bits(3)), by_doubles)


def short(word: int, digits: int) -> Digits:
    """A number whose word is known to so few digits; `extend` gives the others, then zeros."""
    number = Digits(word >> (64 - digits), lambda size: (word << digits & WORD - 1).to_bytes(8, "little"))
    number.known = digits
    return number


def test_few_digits_decide_as_many_do():
    """Digits come when the outcome needs them: for about one comparison of three that begin with two."""
    rng, extended = np.random.default_rng(4), 0
    for _ in range(1_000):
        whole, (a, b) = int(rng.integers(0, 3)), (int(word) for word in rng.integers(0, WORD, 2, dtype=np.uint64))
        fraction, level = short(a, 2), short(b, 2)
        height = 2.0 ** (whole - 1) * math.exp(-0.5 * (whole + a / WORD) ** 2)
        assert exact_gaussian._below_height(whole, fraction, level) == (b / WORD < height)
        extended += fraction.known > 2
        fraction = short(a, 2)
        cell = exact_gaussian._cell(Fraction(0.3), Fraction(-1.5), whole, fraction, -1)
        assert cell == math.trunc((0.3 - 1.5 * (whole + a / WORD)) * 2.0)
        assert fraction.known in (2, 66)
    assert 200 < extended < 600


@pytest.mark.parametrize("whole", [0, 1, 2, 7, 30, 64])
def test_heights_lie_between_their_bounds_and_are_at_most_1(whole):
    for numerator, known in itertools.product((0, 1, 2, 3), (2, 64)):
        fraction = Fraction(numerator, 4)
        low, high = exact_gaussian._height(whole, fraction, known)
        logarithm = (whole - 1) * math.log(2.0) - 0.5 * float(whole + fraction) ** 2
        assert 0 < low < high <= 1 and (high - low) * 2**known < low
        assert math.log(high.numerator) - math.log(high.denominator) == pytest.approx(logarithm, rel=1e-14)


def test_numbers_far_out_are_reached():
    """Twelve zeros in a row, and a level below a height of 10^-28."""
    third, step = WORD // 3, grid_of(1.0)
    (found,) = exactly_rounded(np.zeros(1), 1.0, words((1 << 13) + 1, third, 0, 0, 0))
    assert found == -math.floor((12.0 + 1.0 / 3.0) / step) * step
    # All bits of a coin are 0, then 64 more and five: a level of 2^-64 is too high, and the next number is taken.
    (other,) = exactly_rounded(np.zeros(1), 1.0, words(0, third, 1, 0, 1 << 5, 2, third, 0))
    assert other == math.floor(1.0 / 3.0 / step) * step


@pytest.mark.parametrize("scale", [5e-324, 1e-320, 1e-300, 1e-30])
def test_numbers_far_larger_than_their_noise_stay_doubles(scale):
    values = np.array([1.0, -1e300, 1.7e308, 3e-10])
    assert np.array_equal(exactly_rounded(values, scale, bits(5)), values)


# What doubles reveal


def test_raw_doubles_tell_neighbours_apart_and_rounded_real_numbers_do_not():
    """Mironov 2012. A sum 0.27 + b close to 0 is a multiple of 2^-55, the spacing of doubles where b is; 0 + b seldom.

    epsilon = 1 and delta = 10^-5 allow e times as many runs, and 10^-5 more.
    """
    budget, runs = Budget(1.0, 1e-5), 1_000_000
    far = gaussian_mu(budget)  # the sensitivity, at noise of size 1

    def seen(released: np.ndarray) -> int:
        near = np.abs(released) < far / 64.0
        return np.count_nonzero(np.fmod(released[near], 2.0**-55) == 0.0)

    rng = np.random.default_rng(6)
    raw = [seen(centre + rng.standard_normal(runs)) for centre in (0.0, far)]
    assert raw[1] > 20.0 * raw[0] and raw[1] > math.e * raw[0] + budget.delta * runs + 20.0 * math.sqrt(raw[1])
    exact = [seen(exactly_rounded(np.full(runs, centre), 1.0, bits(6))) for centre in (0.0, far)]
    likely = [runs * np.diff(stats.norm.cdf([-far / 64.0 - c, far / 64.0 - c]))[0] for c in (0.0, far)]
    assert np.abs(np.array(exact) - likely).max() < 5.0 * math.sqrt(max(likely))


def test_an_audit_of_releases_finds_their_guarantee_and_no_smaller_one():
    """`solve` as a whole, on the pair that attains the sensitivity; at half of epsilon the claim is contradicted."""
    facts = dict(delta=1e-5, lam=1.0, loss="huber_hinge")
    plan = calibrate("output_gaussian", n=10, p=1, epsilon=2.0, **facts)
    pairs = {"worst case": plan.mechanism.worst_pair(plan)}
    mu = gaussian_mu(plan.spent)

    def release(data: Data, rng: np.random.Generator) -> np.ndarray:
        seed = int(rng.integers(10**15))
        return dpcore.solve("output_gaussian", data.X, data.y, epsilon=2.0, seed=seed, **facts).theta

    for claimed, verdict in ((mu, "no contradiction found"), (0.5 * mu, "contradicted")):
        epsilon = gaussian_epsilon(claimed, 1e-5)
        report = audit_function(release, pairs, epsilon=epsilon, delta=1e-5, curve=GaussianCurve(claimed), runs=2_000)
        assert report.verdict == verdict
