"""Rounding of releases to a grid, so that their last bits reveal nothing about the number under the noise."""

import math

import numpy as np

from ...core.arrays import Array

ROUNDED_UP = 1.0 + 1e-12  # factor of computed scales, so that rounding never makes noise too small
# Largest share of a number's noise that rounding may remove.
_GRID_BITS = 20
_EXACT = 2.0**53
_BLOCK = 1 << 16


def grid_power(resolution: float) -> int:
    """k of the largest power of two 2^k that is at most 2^-20 resolution, > 0.

    >>> grid_power(3.0)
    -19
    """
    return math.frexp(resolution)[1] - 1 - _GRID_BITS


def grid_of(resolution: float) -> float:
    """Largest power of two that is at most 2^-20 resolution; 0 if there is none.

    >>> grid_of(3.0) == 2.0**-19, grid_of(0.0)
    (True, 0.0)
    """
    return math.ldexp(1.0, grid_power(resolution)) if resolution else 0.0


def on_grid(values: Array, resolution: float) -> Array:
    """`values` rounded towards 0 to multiples of `grid_of(resolution)`.

    resolution: the size of the noise in these numbers, >= 0, a public number; 0 leaves them unchanged. The low-order
    bits of a sum of a number and noise can reveal the number (Mironov 2012); rounding removes those below the grid. It
    goes towards 0, so that models in a ball stay in it. Doubles that are farther apart than the grid are already on it.

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
