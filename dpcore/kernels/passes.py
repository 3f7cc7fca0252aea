"""Passes over predictions with the compiled functions of `losses`: on vectors, and on one model or repetition per row.

A row fits into the cache, so that moving it and applying a function to it reads the memory once.
"""

import numpy as np
from numba import njit

_REORDERED = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}


@njit(nogil=True)
def apply(function, z, y, h, out):
    """out[i] = function(z[i]; y[i])."""
    function(z, y, h, out)


@njit(nogil=True)
def row_means(function, margins, noise, scale, y, h, out):
    """out[r] = mean_i function(margins[i] + scale * noise[r, i]; y[i]), a repetition per row of `noise`."""
    z, values = np.empty(margins.size), np.empty(margins.size)
    for r in range(noise.shape[0]):
        for i in range(z.size):
            z[i] = margins[i] + scale * noise[r, i]
        function(z, y, h, values)
        total = 0.0
        for i in range(values.size):
            total += values[i]
        out[r] = total / values.size


@njit(nogil=True)
def row_accuracies(margins, noise, scale, y, out):
    """out[r] = share of i with y[i] * (margins[i] + scale * noise[r, i]) > 0."""
    for r in range(noise.shape[0]):
        right = 0
        for i in range(margins.size):
            right += y[i] * (margins[i] + scale * noise[r, i]) > 0.0
        out[r] = right / margins.size


@njit(nogil=True)
def gaussian_mean(function, z, y, sd, h, out):
    """out[i] = E function(z[i] + sd[i] * g; y[i]) with g ~ N(0, 1)."""
    function(z, y, sd, h, out)


@njit(**_REORDERED)
def apply_to_rows(function, z, rows, y, h, out):
    """out[j, i] = function(z[rows[j], i]; y[i])."""
    for j in range(rows.size):
        function(z[rows[j]], y, h, out[j])


@njit(**_REORDERED)
def forces_of_rows(function, thetas, Xt, y, h, z, slopes, out):
    """out[k] = sum_i function(<x_i, thetas[k]>; y[i]) x_i, where the columns of Xt [r, n] are the records x_i.

    r is a multiple of 4 (columns of zeros fill it up). z and slopes hold a block of records.
    """
    nothing = y.dtype.type(0.0)
    r, n = Xt.shape
    for k in range(thetas.shape[0]):
        for j in range(r):
            out[k, j] = nothing
    for start in range(0, n, z.size):
        end = min(start + z.size, n)
        labels, here, there = y[start:end], z[: end - start], slopes[: end - start]
        for k in range(thetas.shape[0]):
            for i in range(here.size):
                here[i] = nothing
            for j in range(0, r, 4):
                a, b, c, d = thetas[k, j], thetas[k, j + 1], thetas[k, j + 2], thetas[k, j + 3]
                A, B, C, D = Xt[j, start:end], Xt[j + 1, start:end], Xt[j + 2, start:end], Xt[j + 3, start:end]
                for i in range(here.size):
                    here[i] += a * A[i] + b * B[i] + c * C[i] + d * D[i]
            function(here, labels, h, there)
            for j in range(0, r, 4):
                A, B, C, D = Xt[j, start:end], Xt[j + 1, start:end], Xt[j + 2, start:end], Xt[j + 3, start:end]
                a, b, c, d = nothing, nothing, nothing, nothing
                for i in range(there.size):
                    slope = there[i]
                    a += slope * A[i]
                    b += slope * B[i]
                    c += slope * C[i]
                    d += slope * D[i]
                out[k, j] += a
                out[k, j + 1] += b
                out[k, j + 2] += c
                out[k, j + 3] += d


@njit(**_REORDERED)
def move_rows(function, z, rows, shares, moved, moves, y, h, out):
    """z[rows[j]] += shares[j] * moved[moves[j]] in place, then out[j, i] = function(z[rows[j], i]; y[i])."""
    for j in range(rows.size):
        row, move, share = z[rows[j]], moved[moves[j]], shares[j]
        for i in range(row.size):
            row[i] += share * move[i]
        function(row, y, h, out[j])


@njit(**_REORDERED)
def mean_of_rows(function, z, y, h, out):
    """out[i] = mean over the rows r of function(z[r, i]; y[i])."""
    values = np.empty_like(out)
    for i in range(out.size):
        out[i] = out.dtype.type(0.0)
    for r in range(z.shape[0]):
        function(z[r], y, h, values)
        for i in range(out.size):
            out[i] += values[i]
    for i in range(out.size):
        out[i] /= z.shape[0]


@njit(**_REORDERED)
def means_of_rows(function, z, y, h, out):
    """out[r] = mean over i of function(z[r, i]; y[i]); the sums are in double precision for every z."""
    values = np.empty_like(y)
    for r in range(z.shape[0]):
        function(z[r], y, h, values)
        total = 0.0
        for i in range(values.size):
            total += values[i]
        out[r] = total / values.size
