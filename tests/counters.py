"""Threefry-2x32-13 and what pictures draw from it, in plain numpy: a twin of `dpcore.kernels.threefry`."""

from __future__ import annotations

import numpy as np

_TURNS = ((13, 15, 26, 6), (17, 29, 16, 24))
_WORD = np.uint32


def random_words(low: np.ndarray, high: np.ndarray, key: np.ndarray, other_key: np.ndarray):
    """Two words for each counter (low, high), uint32 arrays."""
    keys = (key, other_key, key ^ other_key ^ _WORD(0x1BD11BDA))
    a, b = low + key, high + other_key
    for number in range(13):
        turn = _WORD(_TURNS[number // 4 % 2][number % 4])
        a = a + b
        b = (b << turn | b >> _WORD(32 - turn)) ^ a
        if number % 4 == 3:
            inject = number // 4 + 1
            a, b = a + keys[inject % 3], b + keys[(inject + 1) % 3] + _WORD(inject)
    return a, b


def _words_at(places: np.ndarray, high: int, key: np.uint32, other_key: np.uint32):
    low = places.astype(np.uint32)
    return random_words(low, np.full_like(low, high), np.full_like(low, key), np.full_like(low, other_key))


def uniforms_at(places: np.ndarray, high: int, key: np.uint32, other_key: np.uint32) -> np.ndarray:
    """The uniforms of these places, [m]: 31 bits of the first word, then 22 of the second."""
    a, b = _words_at(places + (1 << 31), high, key, other_key)
    return ((a >> _WORD(1)).astype(float) * 2.0**22 + (b >> _WORD(10)).astype(float)) * 2.0**-53


def normal_pairs(places: np.ndarray, high: int, key: np.uint32, other_key: np.uint32) -> np.ndarray:
    """The pairs of these places, [2, m], in float64."""
    a, b = _words_at(places, high, key, other_key)
    radius = np.sqrt(-2.0 * np.log(((a >> _WORD(1)).astype(float) + 0.5) * 2.0**-31))
    radius = np.where(b >> _WORD(31), -radius, radius)
    inside = (b & _WORD((1 << 30) - 1)).astype(float)
    angle = np.where(inside < 2.0**29, inside, inside - 2.0**30) * np.pi / 4.0 * 2.0**-29
    turned = (b & _WORD(1 << 30)) != 0
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    return np.stack([np.where(turned, y, x), np.where(turned, x, y)])
