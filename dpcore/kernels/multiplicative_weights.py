"""Multiplicative weights along a stream of cost vectors, for many players at once, each with its own uniforms."""

from numba import njit

from .vector_math import exp

# Scores and costs are finite numbers; only sums over arms are reordered.
_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz", "nnan"}}
_SMALL, _LARGE = 1e-100, 1e100


@njit(forceinline=True, **_OPTIONS)
def _arm_at(level, sums, ends):
    """Arm at which the sums pass `level`; two vectorised counts, without a branch that depends on it."""
    width = ends.size
    depth = sums.size // width
    column, row = 0, 0
    for c in range(width):
        column += ends[c] <= level
    column = min(column, width - 1)
    rest = level - ends[column] + sums[(depth - 1) * width + column]
    for d in range(depth):
        row += sums[d * width + column] <= rest
    return min(row, depth - 1) * width + column


@njit(**_OPTIONS)
def play_stream(costs, first, lam_sum, idle, uniforms, scores, sums, ends, arms, expected):
    """Play every row of `costs` [T, r] with w ~ exp(-scores / lam_sum), and add the row to `scores` [r] afterwards.

    idle: further arms whose costs are all 0; they share their mass evenly. uniforms [K, T], in [0, 1): a row for each
    player; K may be 0. arms [K, T]: what they play. expected [T]: <w_t, costs_t>. first: where in T these rows begin.
    ends [c], sums [ceil(r / c) c]: work space. The arms fill a table of c columns row by row; `sums` runs down each
    column and `ends` over the columns, so that a draw reads c + r / c numbers.
    Weights are relative to an `origin`, the lowest score of some step, kept while their sum is an ordinary number:
    finding the lowest score in every step would take a third of the time. A weight below e^-400 of the largest may
    count as e^-400.
    """
    r, width, sharpness = scores.size, ends.size, 1.0 / lam_sum
    depth = sums.size // width
    origin = 0.0 if idle else scores[0]
    for t in range(costs.shape[0]):
        mass = 0.0
        for j in range(r):
            sums[j] = exp(sharpness * (origin - scores[j]))
            mass += sums[j]
        each = exp(sharpness * origin)
        if not _SMALL < mass + idle * each < _LARGE:
            origin = 0.0 if idle else scores[0]
            for j in range(r):
                origin = min(origin, scores[j])
            each = exp(sharpness * origin)
            for j in range(r):
                sums[j] = exp(sharpness * (origin - scores[j]))
        for j in range(r, sums.size):
            sums[j] = 0.0
        product = 0.0
        for j in range(r):
            product += sums[j] * costs[t, j]
            scores[j] += costs[t, j]
        for row in range(1, depth):
            for j in range(row * width, (row + 1) * width):
                sums[j] += sums[j - width]
        stored = 0.0
        for column in range(width):
            stored += sums[(depth - 1) * width + column]
            ends[column] = stored
        total = stored + idle * each
        expected[first + t] = product / total
        for k in range(uniforms.shape[0]):
            level = uniforms[k, first + t] * total
            if idle and level >= stored:
                arms[k, first + t] = r + min(int((level - stored) / each), idle - 1)
            else:
                arms[k, first + t] = min(_arm_at(level, sums, ends), r - 1)
