"""Exactly rounded Gaussian noise: cells of the release grid that hold a number plus a real normal variable.

|Z| is whole + fraction: whole has the probabilities 2^-(whole + 1), fraction is uniform on [0, 1), and the pair is kept
with probability 2^(whole - 1) exp(-(whole + fraction)^2 / 2), else drawn anew (von Neumann's rejection). All randomness
is fair bits. Comparisons know the first 64 binary digits of a uniform number and are made in doubles where their error
cannot change the outcome, else in fractions, with as many further digits as the outcome needs (docs/formulas.md).
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from .rounding import grid_power

Draw = Callable[[int], bytes]  # so many fresh random bytes

_BLOCK = 1 << 16
_UNIT = 2.0**-64
# More than the errors of doubles (docs/formulas.md): of a probability, and of a number plus noise, relative to both.
_HEIGHT_ERROR, _SUM_ERROR = 2.0**-40, 2.0**-48


class Digits:
    """Uniform number in [0, 1), known by its first 64 binary digits, and by 64 more after each `extend`."""

    def __init__(self, word: int, draw: Draw) -> None:
        self.numerator, self.known, self._draw = word, 64, draw

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The interval of all numbers with these digits."""
        return Fraction(self.numerator, 1 << self.known), Fraction(self.numerator + 1, 1 << self.known)

    def extend(self) -> None:
        self.numerator, self.known = self.numerator << 64 | _word(self._draw), self.known + 64


def exactly_rounded(values: Array, scale: float, draw: Draw) -> Array:
    """`values` plus independent N(0, scale^2), as real numbers, rounded towards 0 to multiples of `grid_of(scale)`.

    values: [p], finite. scale: > 0. draw: such as os.urandom. A multiple that is no double is rounded to the nearest.

    >>> exactly_rounded(np.array([1.0, -0.3]), 1.0, np.random.default_rng(0).bytes).round(3).tolist()
    [3.423, -2.235]
    """
    released = np.empty(len(values))
    for start in range(0, len(values), _BLOCK):
        block = slice(start, start + _BLOCK)
        released[block] = _block(values[block], scale, draw)
    return released


def _block(values: Array, scale: float, draw: Draw) -> Array:
    sign, whole, words, longer = _normals(len(values), draw)
    power = grid_power(scale)
    with np.errstate(over="ignore", invalid="ignore"):  # such numbers are no cell's in doubles
        centre, spread = np.ldexp(values, -power), math.ldexp(scale, -power)
        at = centre + sign * spread * (whole + words * _UNIT)
        error = _SUM_ERROR * (np.abs(centre) + spread * (whole + 1.0))
        cells, same = np.trunc(at - error), np.trunc(at + error)
    released = np.ldexp(cells + 0.0, power)  # no -0, which would tell the sign
    for i in np.flatnonzero(~(cells == same)):
        fraction = longer.get(int(i)) or Digits(int(words[i]), draw)
        cell = _cell(Fraction(values[i]), int(sign[i]) * Fraction(scale), int(whole[i]), fraction, power)
        released[i] = float(cell * Fraction(2) ** power)
    return released


def _normals(size: int, draw: Draw) -> tuple[Array, Array, NDArray[np.uint64], dict[int, Digits]]:
    """Signs, whole parts and first 64 digits of the fractions, [size] each, of normal variables.

    Also the fractions of which more digits are known, by place.
    """
    sign, whole, words = np.empty(size), np.empty(size), np.empty(size, np.uint64)
    longer: dict[int, Digits] = {}
    pending = np.arange(size)
    while len(pending):
        coins, fractions, levels = np.frombuffer(draw(24 * len(pending)), "<u8").reshape(3, -1)
        rest = coins >> np.uint64(1) | np.uint64(1 << 63)
        wholes = np.frexp((rest & (~rest + np.uint64(1))).astype(float))[1] - 1  # zeros at the end: 63 are all
        level, height = levels * _UNIT, np.ldexp(0.5, wholes) * np.exp(-0.5 * (wholes + fractions * _UNIT) ** 2)
        kept = level < height
        for j in np.flatnonzero(np.abs(level - height) <= _HEIGHT_ERROR):
            if wholes[j] == 63:
                wholes[j] += _zeros(draw)
            fraction = Digits(int(fractions[j]), draw)
            kept[j] = _below_height(int(wholes[j]), fraction, Digits(int(levels[j]), draw))
            if kept[j]:
                longer[int(pending[j])] = fraction
        places = pending[kept]
        sign[places], whole[places], words[places] = 1.0 - 2.0 * (coins & 1)[kept], wholes[kept], fractions[kept]
        pending = pending[~kept]
    return sign, whole, words, longer


def _below_height(whole: int, fraction: Digits, level: Digits) -> bool:
    """Whether level < 2^(whole - 1) exp(-(whole + fraction)^2 / 2)."""
    while True:
        (near, far), (low, high) = fraction.ends, level.ends
        if high <= _height(whole, far, fraction.known)[0]:
            return True
        if low >= _height(whole, near, fraction.known)[1]:
            return False
        fraction.extend()
        level.extend()


def _height(whole: int, fraction: Fraction, known: int) -> tuple[Fraction, Fraction]:
    """Bounds on 2^(whole - 1) exp(-(whole + fraction)^2 / 2) that are tighter than 2^-known of it.

    The exponent is exact, as the half square of `known` binary digits has 2 known + 1 decimals, and decimal's exp is
    correctly rounded.
    """
    digits = 3 * known + 20
    context, square = decimal.Context(prec=digits), (whole + fraction) ** 2 / 2
    exponent = context.divide(decimal.Decimal(-square.numerator), decimal.Decimal(square.denominator))
    height = Fraction(context.exp(exponent)) * Fraction(2) ** (whole - 1)
    error = height / 10 ** (digits - 1)
    return height - error, height + error


def _cell(value: Fraction, step: Fraction, whole: int, fraction: Digits, power: int) -> int:
    """value + step (whole + fraction), in units of 2^power, rounded towards 0."""
    while True:
        low, high = (math.trunc((value + step * (whole + end)) / Fraction(2) ** power) for end in fraction.ends)
        if low == high:
            return low
        fraction.extend()


def _zeros(draw: Draw) -> int:
    """Zeros before the first one in a row of fair bits."""
    word = _word(draw)
    return (word & -word).bit_length() - 1 if word else 64 + _zeros(draw)


def _word(draw: Draw) -> int:
    return int.from_bytes(draw(8), "little")
