"""The counter-based generator of pictures: published answers, a plain twin, and the laws of what it draws.

Each statistical test raises a false alarm with probability at most 1e-6; the keys are fixed.
"""

import math

import numba
import numpy as np
import pytest
from scipy import stats

from dpcore import kernels
from dpcore.kernels.threefry import threefry
from tests.counters import normal_pairs, random_words, uniforms_at

FALSE_ALARM = 1e-6
WORD = np.uint32
KEY = (WORD(0x243F6A88), WORD(0x85A308D3))

_compiled = numba.njit(lambda low, high, key, other: threefry(low, high, key, other))


def normals(count: int, high: int = 0, key=KEY, first: int = 0) -> np.ndarray:
    out = np.empty(count, np.float32)
    kernels.counted_normals(out, first, WORD(high), *key)
    return out


def uniforms(count: int, high: int = 0, key=KEY, first: int = 0) -> np.ndarray:
    out = np.empty(count)
    kernels.counted_uniforms(out, first, WORD(high), *key)
    return out


@pytest.mark.parametrize(
    "counter_and_key, answer",
    [
        ((0, 0, 0, 0), (0x9D1C5EC6, 0x8BD50731)),
        ((0xFFFFFFFF,) * 4, (0xFD36D048, 0x2D17272C)),
        ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xBA3E4725, 0xF27D669E)),
    ],
)
def test_words_are_the_published_known_answers(counter_and_key, answer):
    """Of Random123's tests/kat_vectors, lines threefry2x32 13; of the compiled generator and of its twin."""
    given = [WORD(v) for v in counter_and_key]
    assert tuple(map(int, _compiled(*given))) == answer
    assert tuple(int(v[0]) for v in random_words(*(np.array([v]) for v in given))) == answer


def test_uniforms_are_the_twins_bit_for_bit_and_below_one():
    assert np.array_equal(uniforms(1000, high=3, first=77), uniforms_at(77 + np.arange(1000), 3, *KEY))
    drawn = uniforms(1 << 20)
    assert drawn.min() >= 0.0 and drawn.max() < 1.0
    assert stats.kstest(drawn, "uniform").pvalue > FALSE_ALARM


def test_normals_are_the_twins():
    """Both parts of Box-Muller in float64, on the same words; the uniform of a small radius is near 1 and rounded."""
    count = 1 << 18
    expected = normal_pairs(5 + np.arange(count // 2), 9, *KEY)
    allowed = 1e-6 * (1.0 + np.abs(expected)) + 1e-7 / np.linalg.norm(expected, axis=0)
    assert (np.abs(normals(count, high=9, first=5).reshape(2, -1) - expected) < allowed).all()
    assert np.abs(normals(6, high=9, first=5).reshape(2, -1) - expected[:, :3]).max() < 1e-5


def test_moments_tails_and_shape_are_those_of_the_normal_law():
    """Power: numbers 1% too large, or with a kurtosis of 3.07, are not let through."""

    def alarms(x: np.ndarray) -> list[str]:
        n, limit = x.size, stats.norm.isf(FALSE_ALARM / 16)
        scores = {
            "mean": x.mean() * math.sqrt(n),
            "variance": (np.mean(x**2) - 1.0) * math.sqrt(n / 2.0),
            "skewness": np.mean(x**3) * math.sqrt(n / 15.0),
            "kurtosis": (np.mean(x**4) - 3.0) * math.sqrt(n / 96.0),
        }
        found = [name for name, score in scores.items() if abs(score) > limit]
        for size in (1.0, 3.0, 4.0, 5.0):
            beyond = int(np.count_nonzero(np.abs(x) > size))
            if stats.binomtest(beyond, n, 2.0 * stats.norm.sf(size)).pvalue < FALSE_ALARM / 16:
                found.append(f"beyond {size:g}")
        if stats.kstest(x[: n // 4], "norm").pvalue < FALSE_ALARM / 16:
            found.append("shape")
        return found

    x = normals(1 << 20).astype(float)
    assert not alarms(x)
    assert np.abs(x).max() < 6.67
    assert {"variance", "kurtosis"} <= set(alarms(1.01 * x))
    heavier = np.random.default_rng(0).standard_t(84, x.size) * math.sqrt(82 / 84)
    assert "kurtosis" in alarms(heavier)


@pytest.mark.parametrize("what", ["neighbours", "pairs", "blocks", "keys", "squares of pairs", "squares of keys"])
def test_numbers_that_stand_near_each_other_are_uncorrelated(what):
    """Of 2^19 pairs each; power: a fiftieth part in common shows."""
    count = 1 << 19
    half = normals(2 * count).astype(float).reshape(2, -1)
    near = (WORD(KEY[0] ^ WORD(1)), KEY[1])
    x, y = {
        "neighbours": (half[0][:-1], half[0][1:]),
        "pairs": (half[0], half[1]),
        "blocks": (half[0], normals(2 * count, high=1).astype(float)[:count]),
        "keys": (half[0], normals(2 * count, key=near).astype(float)[:count]),
        "squares of pairs": (half[0] ** 2, half[1] ** 2),
        "squares of keys": (half[0] ** 2, normals(2 * count, key=near).astype(float)[:count] ** 2),
    }[what]
    limit = stats.norm.isf(FALSE_ALARM / 2) / math.sqrt(x.size)
    assert abs(np.corrcoef(x, y)[0, 1]) < limit
    assert abs(np.corrcoef(x, y + 0.02 * x)[0, 1]) > limit
