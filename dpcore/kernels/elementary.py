"""exp and log(1 + e) written so that LLVM vectorises the caller's loop.

numba's own exp calls the C library once per element (about 4 ns); these polynomials take well under 1 ns
in a loop over an array. Relative error below 4e-16 (see tests). Only the `contract` flag is used: a full
fastmath would fold the rounding trick in `exp` away.
"""

from __future__ import annotations

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

CONTRACT = {"contract"}

_LOG2_E = 1.4426950408889634
# ln 2 in two parts: the first has enough trailing zeros for k * _LN2_HIGH to be exact.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# Adding 1.5 * 2^52 rounds to the nearest integer and leaves it in the low bits of the sum.
_ROUND = 6755399441055744.0


@intrinsic
def _bits(typing_context, x):
    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def _from_bits(typing_context, x):
    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


@numba.njit(fastmath=CONTRACT, error_model="numpy", cache=True)
def exp(x):
    """e^x for float64 x; x is clamped to [-708, 709], where the result is a normal number."""
    x = min(max(x, -708.0), 709.0)
    shifted = x * _LOG2_E + _ROUND
    k = shifted - _ROUND
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    # Taylor of e^r on |r| <= ln(2)/2: the first neglected term is r^14/14! < 5e-18.
    s = 1.6059043836821613e-10
    s = s * r + 2.08767569878681e-09
    s = s * r + 2.505210838544172e-08
    s = s * r + 2.755731922398589e-07
    s = s * r + 2.7557319223985893e-06
    s = s * r + 2.48015873015873e-05
    s = s * r + 1.984126984126984e-04
    s = s * r + 1.388888888888889e-03
    s = s * r + 8.333333333333333e-03
    s = s * r + 4.1666666666666664e-02
    s = s * r + 1.6666666666666666e-01
    s = s * r + 0.5
    s = s * r + 1.0
    s = s * r + 1.0
    return s * _from_bits((_bits(shifted) + 1023) << 52)


@numba.njit(fastmath=CONTRACT, error_model="numpy", cache=True)
def log1p_unit(e):
    """log(1 + e) for e in [0, 1], through 2 artanh(e / (2 + e)), whose argument is at most 1/3."""
    s = e / (2.0 + e)
    t = s * s
    # t <= 1/9: the first neglected term is below 2e-18 of the sum.
    a = 1.0 / 35.0
    a = a * t + 1.0 / 33.0
    a = a * t + 1.0 / 31.0
    a = a * t + 1.0 / 29.0
    a = a * t + 1.0 / 27.0
    a = a * t + 1.0 / 25.0
    a = a * t + 1.0 / 23.0
    a = a * t + 1.0 / 21.0
    a = a * t + 1.0 / 19.0
    a = a * t + 1.0 / 17.0
    a = a * t + 1.0 / 15.0
    a = a * t + 1.0 / 13.0
    a = a * t + 1.0 / 11.0
    a = a * t + 1.0 / 9.0
    a = a * t + 1.0 / 7.0
    a = a * t + 1.0 / 5.0
    a = a * t + 1.0 / 3.0
    a = a * t + 1.0
    return 2.0 * s * a
