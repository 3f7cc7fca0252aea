"""Passes over the predictions of many models at once: z [:, n], one model per row, in double or single precision.

A row fits into the cache, so that moving it and applying a function to it reads the memory once.
"""

from __future__ import annotations

from numba import njit

_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}


@njit(**_OPTIONS)
def apply_to_rows(function, z, rows, y, h, out):
    """out[j, i] = function(z[rows[j], i]; y[i])."""
    for j in range(rows.size):
        function(z[rows[j]], y, h, out[j])


@njit(**_OPTIONS)
def move_rows(function, z, rows, shares, moved, moves, y, h, out):
    """z[rows[j]] += shares[j] * moved[moves[j]] in place, then out[j, i] = function(z[rows[j], i]; y[i])."""
    for j in range(rows.size):
        row, move, share = z[rows[j]], moved[moves[j]], shares[j]
        for i in range(row.size):
            row[i] += share * move[i]
        function(row, y, h, out[j])


@njit(**_OPTIONS)
def mean_of_rows(function, z, y, h, out):
    """out[i] = mean over the rows r of function(z[r, i]; y[i])."""
    values = out.copy()
    out[:] = 0
    for r in range(z.shape[0]):
        function(z[r], y, h, values)
        for i in range(out.size):
            out[i] += values[i]
    for i in range(out.size):
        out[i] /= z.shape[0]


@njit(**_OPTIONS)
def means_of_rows(function, z, y, h, out):
    """out[r] = mean over i of function(z[r, i]; y[i]); the sums are in double precision whatever z is."""
    values = y.copy()
    for r in range(z.shape[0]):
        function(z[r], y, h, values)
        total = 0.0
        for i in range(values.size):
            total += values[i]
        out[r] = total / values.size
