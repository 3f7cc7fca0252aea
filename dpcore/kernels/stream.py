"""Multiplicative weights along a stream of cost vectors, for many players at once: each brings its own uniforms."""

from __future__ import annotations

import numpy as np
from numba import njit

from .elementary import exp

# Scores and costs are finite numbers; only sums over arms are reordered.
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz", "nnan"}}


@njit(**_OPTIONS)
def play_stream(costs, lam_sum, idle, uniforms, scores, sums, ends, arms, expected):
    """Play every row of `costs` [T, r] with w ~ exp(-scores / lam_sum), and add the row to `scores` [r] afterwards.

    idle: further arms whose costs are all 0; they share their mass evenly. uniforms [K, T], in [0, 1): a row for each
    player; K may be 0. arms [K, T]: what they play. expected [T]: <w_t, costs_t>.
    ends [c], sums [ceil(r / c) c]: room. The arms fill a table of c columns row by row; `sums` runs down each column
    and `ends` over the columns. A draw counts the ends that it passes, then the sums: two vectorised loops without a
    branch that depends on the draw, which searching by halves would have.
    A weight below e^-708 of the largest counts as that.
    """
    r, width, sharpness = scores.size, ends.size, 1.0 / lam_sum
    depth = sums.size // width
    base = 0.0 if idle else np.inf
    lowest = min(base, scores.min())
    for t in range(costs.shape[0]):
        each = exp(sharpness * lowest)
        for j in range(r):
            sums[j] = exp(sharpness * (lowest - scores[j]))
        sums[r:] = 0.0
        product, lowest = 0.0, base
        for j in range(r):
            product += sums[j] * costs[t, j]
            scores[j] += costs[t, j]
            lowest = scores[j] if scores[j] < lowest else lowest
        for row in range(1, depth):
            for j in range(row * width, (row + 1) * width):
                sums[j] += sums[j - width]
        stored = 0.0
        for column in range(width):
            stored += sums[(depth - 1) * width + column]
            ends[column] = stored
        total = stored + idle * each
        expected[t] = product / total
        for k in range(uniforms.shape[0]):
            level = uniforms[k, t] * total
            column, row = 0, 0
            for c in range(width):
                column += ends[c] <= level
            if column < width:
                rest = level - ends[column] + sums[(depth - 1) * width + column]
                for d in range(depth):
                    row += sums[d * width + column] <= rest
                arms[k, t] = min(row * width + column, r - 1)
            elif idle:
                arms[k, t] = r + min(int((level - stored) / each), idle - 1)
            else:
                arms[k, t] = r - 1
