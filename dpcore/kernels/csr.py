"""Compiled passes over the rows of a CSR table, given as its index pointers, column indices and values.

Index arrays must be unsigned (`unsigned`): numba tests signed indices for their sign, which takes most of the time.
"""

import numpy as np
from numba import njit

_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}
_SMALLEST = 1e-300


def unsigned(indices):
    """View of an array of non-negative integers as unsigned integers."""
    return indices.view(np.dtype(f"u{indices.dtype.itemsize}"))


@njit(**_OPTIONS)
def kink_sweep(pointers, columns, values, offset, turn, low, squares, step, order, alpha, theta):
    """Maximise the dual of `solvers.erm.nonsmooth` over one multiplier after the other, for the rows in `order`.

    alpha [n] in [low, 1] and theta [r] = step * sum_i alpha_i turn_i x_i, step = 1 / (n lam), are updated in place;
    squares: ||x_i||^2. The multiplier of a row of zeros follows from its offset, the t of that module.
    """
    for i in order:
        z = 0.0
        for k in range(pointers[i], pointers[i + 1]):
            z += values[k] * theta[columns[k]]
        short = offset[i] - turn[i] * z
        best = min(max(alpha[i] + short / max(step * squares[i], _SMALLEST), low), 1.0)
        moved = step * (best - alpha[i]) * turn[i]
        if moved != 0.0:
            for k in range(pointers[i], pointers[i + 1]):
                theta[columns[k]] += moved * values[k]
        alpha[i] = best


@njit(**_OPTIONS)
def pull_rows(pointers, columns, values, weights, out):
    """out [r] = sum_i weights_i x_i: values may be in single precision, sums are not."""
    for j in range(out.size):
        out[j] = 0.0
    for i in range(weights.size):
        weight = weights[i]
        for k in range(pointers[i], pointers[i + 1]):
            out[columns[k]] += weight * values[k]
