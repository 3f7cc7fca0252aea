"""The bounded-slope losses with a derivative in single precision, for pictures: nothing private is made of them.

Entries have the form of those in `losses`, `void(z, y, h, out)`, with float32 in the place of float64. They take half
the time or less.
"""

from __future__ import annotations

from numba import float32, types

from .lazy_registry import Entries
from .vector_math import ONE, TWO, ZERO, single, single_exp, single_log1p_unit

_VECTOR = float32[::1]
_SIGNATURE = types.void(_VECTOR, _VECTOR, float32, _VECTOR)
_HALF, _FOUR = single(0.5), single(4.0)


def logistic_value(z, y, h, out):
    for i in range(z.size):
        m = y[i] * z[i]
        out[i] = max(-m, ZERO) + single_log1p_unit(single_exp(-abs(m)))


def logistic_derivative(z, y, h, out):
    for i in range(z.size):
        m = y[i] * z[i]
        e = single_exp(-abs(m))
        out[i] = -y[i] * (e if m > ZERO else ONE) / (ONE + e)


def logistic_curvature(z, y, h, out):
    for i in range(z.size):
        e = single_exp(-abs(z[i]))
        out[i] = e / ((ONE + e) * (ONE + e))


def huber_hinge_value(z, y, h, out):
    for i in range(z.size):
        t = ONE + h - y[i] * z[i]
        inside = min(max(t, ZERO), TWO * h)
        out[i] = inside * inside / (_FOUR * h) + max(t - TWO * h, ZERO)


def huber_hinge_derivative(z, y, h, out):
    for i in range(z.size):
        t = ONE + h - y[i] * z[i]
        out[i] = -y[i] * min(max(t, ZERO), TWO * h) / (TWO * h)


def huber_hinge_curvature(z, y, h, out):
    for i in range(z.size):
        out[i] = ONE / (TWO * h) if abs(ONE - y[i] * z[i]) <= h else ZERO


def huber_value(z, y, h, out):
    for i in range(z.size):
        u = abs(z[i] - y[i])
        inside = min(u, h)
        out[i] = inside * inside / (TWO * h) + max(u - h, ZERO)


def huber_derivative(z, y, h, out):
    for i in range(z.size):
        out[i] = min(max(z[i] - y[i], -h), h) / h


def huber_curvature(z, y, h, out):
    for i in range(z.size):
        out[i] = ONE / h if abs(z[i] - y[i]) <= h else ZERO


SINGLE_VALUE = Entries(_SIGNATURE, "value", globals())
SINGLE_DERIVATIVE = Entries(_SIGNATURE, "derivative", globals())
SINGLE_CURVATURE = Entries(_SIGNATURE, "curvature", globals())
