"""Releases on a grid: what is added to noise leaves no trace in its last bits."""

import math

import numpy as np

from ...core.arrays import Array

ROUNDED_UP = 1.0 + 1e-12  # a factor of computed scales: no rounding may leave noise too small
# Of the noise that a number carries, what rounding may take away.
_GRID_BITS = 20
_EXACT = 2.0**53
_BLOCK = 1 << 16


def grid_of(resolution: float) -> float:
    """The largest power of two that is at most 2^-20 resolution; 0 where there is none.

    >>> grid_of(3.0) == 2.0**-19, grid_of(0.0)
    (True, 0.0)
    """
    return math.ldexp(1.0, math.frexp(resolution)[1] - 1 - _GRID_BITS) if resolution else 0.0


def on_grid(values: Array, resolution: float) -> Array:
    """`values` rounded towards 0 to multiples of `grid_of(resolution)`.

    resolution: the size of the noise in these numbers, >= 0, a public number; 0 leaves them as they are. The low-order
    bits of a sum of a number and noise can betray the number (Mironov 2012); those below the grid are gone. Towards 0,
    so that what lies in a ball stays in it. Doubles that are farther apart than the grid are on it already.

    >>> on_grid(np.array([1.0, -0.3, 1e-9]), 1.0).tolist()
    [1.0, -0.2999992370605469, 0.0]
    """
    grid = grid_of(resolution)
    if grid == 0.0:
        return values
    rounded = np.array(values, order="C")
    numbers = rounded.reshape(-1)
    for start in range(0, len(numbers), _BLOCK):
        block = numbers[start : start + _BLOCK]
        fine = np.abs(block) < grid * _EXACT
        block[fine] = np.trunc(block[fine] / grid) * grid
    return rounded
