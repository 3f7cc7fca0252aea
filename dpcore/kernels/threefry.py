"""Uniform and standard normal numbers from a key and a counter, for charts only; no release uses them.

Threefry-2x32 with 13 rounds turns a counter of 64 bits into two random words of 32, a bijection for each key of 64: no
state, so that LLVM vectorises a loop over counters, and a normal takes half a nanosecond instead of several. Normals
are float32 numbers from the Box-Muller transform; none is beyond 6.66 in size, where three in 10^11 should be.

Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011), whose generator passes
every test of BigCrush from 13 rounds on.
"""

import math

import numpy as np
from numba import njit

from .vector_math import CONTRACT, ONE, single, single_log

_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": CONTRACT}

# numba widens integers of 32 bits to 64 in every operation: each result is cast back, or the loop is half as fast.
word = np.uint32
_PARITY = word(0x1BD11BDA)
_WIDTH, _1, _2, _3 = word(32), word(1), word(2), word(3)
_A0, _A1, _A2, _A3 = word(13), word(15), word(26), word(6)
_B0, _B1, _B2, _B3 = word(17), word(29), word(16), word(24)
# Counters of uniforms have the highest bit of their first word set, those of normals do not.
_HIGHEST, _SECOND = word(1 << 31), word(1 << 30)
_SHIFT = np.int32(2)

_HALF, _MINUS_TWO = single(0.5), single(-2.0)
_UNIT, _EIGHTH_TURN = single(2.0**-31), single(math.pi / 4.0 * 2.0**-29)
# Moshier's sinf and cosf on [-pi/4, pi/4].
_S1, _S2, _S3 = single(-1.6666654611e-1), single(8.3321608736e-3), single(-1.9515295891e-4)
_C1, _C2, _C3 = single(4.166664568298827e-2), single(-1.388731625493765e-3), single(2.443315711809948e-5)


@njit(forceinline=True, **_OPTIONS)
def _round(a, b, turn):
    a = word(a + b)
    return a, word(word(word(b << turn) | word(b >> word(_WIDTH - turn))) ^ a)


@njit(forceinline=True, **_OPTIONS)
def threefry(low, high, key, other_key):
    """Two random words for the counter (low, high) and the key (key, other_key)."""
    last = word(word(key ^ other_key) ^ _PARITY)
    a, b = word(low + key), word(high + other_key)
    a, b = _round(a, b, _A0)
    a, b = _round(a, b, _A1)
    a, b = _round(a, b, _A2)
    a, b = _round(a, b, _A3)
    a, b = word(a + other_key), word(word(b + last) + _1)
    a, b = _round(a, b, _B0)
    a, b = _round(a, b, _B1)
    a, b = _round(a, b, _B2)
    a, b = _round(a, b, _B3)
    a, b = word(a + last), word(word(b + key) + _2)
    a, b = _round(a, b, _A0)
    a, b = _round(a, b, _A1)
    a, b = _round(a, b, _A2)
    a, b = _round(a, b, _A3)
    a, b = word(a + key), word(word(b + other_key) + _3)
    return _round(a, b, _B0)


@njit(forceinline=True, **_OPTIONS)
def _normal_pair(a, b):
    """Pair of normals by Box-Muller: the radius from `a`; from `b` a quarter turn and an angle of up to an eighth."""
    radius = np.sqrt(_MINUS_TWO * single_log((single(np.int32(a >> _1)) + _HALF) * _UNIT))
    angle = single(np.int32(np.int32(b << _2) >> _SHIFT)) * _EIGHTH_TURN
    square = angle * angle
    sine = angle + angle * square * (_S1 + square * (_S2 + square * _S3))
    cosine = ONE - _HALF * square + square * square * (_C1 + square * (_C2 + square * _C3))
    radius = -radius if (b & _HIGHEST) != 0 else radius
    swapped = (b & _SECOND) != 0
    return radius * (sine if swapped else cosine), radius * (cosine if swapped else sine)


@njit(**_OPTIONS)
def counted_normals(out, first, high, key, other_key):
    """Standard normals out [2m], float32: out[i] and out[m + i] are the pair of the counter (first + i, high).

    first + m <= 2^31.
    """
    half = out.size // 2
    for i in range(half):
        a, b = threefry(word(first + i), high, key, other_key)
        x, y = _normal_pair(a, b)
        out[i] = x
        out[half + i] = y


@njit(**_OPTIONS)
def counted_uniforms(out, first, high, key, other_key):
    """Uniforms out [m] in [0, 1), multiples of 2^-53, of the counters (2^31 + first + i, high). first + m <= 2^31."""
    for i in range(out.size):
        a, b = threefry(word(word(first + i) | _HIGHEST), high, key, other_key)
        out[i] = (float(np.int32(a >> _1)) + float(np.int32(b >> word(10))) * 2.0**-22) * 2.0**-31
