"""Scalar loss functions as compiled functions over arrays, looked up by the loss's key.

Every entry has the signature `void(z, y, h, out)`: predictions z = <x, theta>, labels y, a shape parameter h
(unused by losses without one) and the output, all of one length. Derivatives are with respect to z. Entries of
`SINGLE_VALUE` and so on take float32 instead of float64 and half the time or less. They are for charts; no release uses
them. They exist for the losses of bounded slope with a derivative, whose functions compute in the precision of z.
`GAUSSIAN_MEAN` entries take `(z, y, sd, h, out)` and return E loss(z + sd * g; y) with g ~ N(0, 1).

For the location losses z is a distance ||theta - x|| and y is not used. They have no entry in `CURVATURE` and
`GAUSSIAN_MEAN`, because Newton steps and noise in linear predictions have another form for distances. Losses with kinks
have no entry in `CURVATURE` either.
"""

import math

import numpy as np
from numba import float32, float64, njit, types

from .lazy_registry import Entries
from .vector_math import CONTRACT, any_exp, any_log1p_unit, exp, log1p_unit

_VECTOR, _SINGLE_VECTOR = float64[::1], float32[::1]
SIGNATURE = types.void(_VECTOR, _VECTOR, float64, _VECTOR)
SINGLE_SIGNATURE = types.void(_SINGLE_VECTOR, _SINGLE_VECTOR, float32, _SINGLE_VECTOR)
MEAN_SIGNATURE = types.void(_VECTOR, _VECTOR, _VECTOR, float64, _VECTOR)
_OPTIONS = {"fastmath": CONTRACT, "error_model": "numpy"}


# One double makes the whole expression double, so functions for both precisions convert constants to the type of z.


def logistic_value(z, y, h, out):
    zero = z.dtype.type(0.0)
    for i in range(z.size):
        m = y[i] * z[i]
        out[i] = max(-m, zero) + any_log1p_unit(any_exp(-abs(m)))


def logistic_derivative(z, y, h, out):
    one = z.dtype.type(1.0)
    for i in range(z.size):
        m = y[i] * z[i]
        e = any_exp(-abs(m))
        out[i] = -y[i] * (e if m > 0.0 else one) / (one + e)


def logistic_curvature(z, y, h, out):
    one = z.dtype.type(1.0)
    for i in range(z.size):
        e = any_exp(-abs(z[i]))
        out[i] = e / ((one + e) * (one + e))


# E loss under Gaussian noise. For sd <= _WIDE the integrand is analytic in a strip of half-width pi/sd, and the
# trapezoidal rule converges geometrically (error below 1e-9 with step 0.4). For wider noise the
# loss is hinge + bump, max(-u, 0) + log(1 + e^-|u|): the hinge has a closed form and the bump, smooth on each side of
# 0 against a Gaussian of sd > _WIDE, takes Gauss-Legendre panels over |u| < 40.
_WIDE, _NARROW = 2.0, 1.0
_STEP = 0.4
_NODES = _STEP * np.arange(-16, 17)
_WEIGHTS = np.exp(-0.5 * _NODES**2)
_WEIGHTS /= _WEIGHTS.sum()  # so that the linear part of the loss is exact at any margin
# Every second node is as good for sd <= _NARROW, where the strip is twice as wide.
_FEW_NODES = np.ascontiguousarray(_NODES[::2])
_FEW_WEIGHTS = _WEIGHTS[::2] / _WEIGHTS[::2].sum()


_nodes, _weights = np.polynomial.legendre.leggauss(8)
_edges = np.array([0.0, 2.5, 7.0, 16.0, 40.0])
_half = np.diff(_edges)[:, None] / 2.0
_BUMP_NODES = (_edges[:-1, None] + _half * (1.0 + _nodes)).ravel()
_BUMP_WEIGHTS = (_half * _weights).ravel() * np.log1p(np.exp(-_BUMP_NODES)) / math.sqrt(2.0 * math.pi)
_BLOCK = 512


@njit(**_OPTIONS)
def _narrow(z, y, sd, nodes, weights, out):
    for i in range(z.size):
        out[i] = 0.0
    for k in range(nodes.size):
        g, w = nodes[k], weights[k]
        for i in range(z.size):
            u = y[i] * z[i] + g * min(sd[i], _WIDE)
            out[i] += w * (max(-u, 0.0) + log1p_unit(exp(-abs(u))))


@njit(**_OPTIONS)
def _wide(z, y, sd, out):
    for i in range(z.size):
        s = max(sd[i], _WIDE)
        m = y[i] * z[i]
        density = exp(-0.5 * (m / s) ** 2) / math.sqrt(2.0 * math.pi)
        out[i] = s * density - m * 0.5 * math.erfc(m / (s * math.sqrt(2.0)))
    for k in range(_BUMP_NODES.size):
        u, w = _BUMP_NODES[k], _BUMP_WEIGHTS[k]
        for i in range(z.size):
            s = max(sd[i], _WIDE)
            m = y[i] * z[i]
            a, b = (u - m) / s, (u + m) / s
            out[i] += w / s * (exp(-0.5 * a * a) + exp(-0.5 * b * b))


def logistic_gaussian_mean(z, y, sd, h, out):
    other = np.empty(_BLOCK)
    for start in range(0, z.size, _BLOCK):
        stop = min(start + _BLOCK, z.size)
        zb, yb, sb, ob = z[start:stop], y[start:stop], sd[start:stop], out[start:stop]
        narrowest = widest = sb[0]
        for i in range(sb.size):
            narrowest, widest = min(narrowest, sb[i]), max(widest, sb[i])
        if widest <= _NARROW:
            _narrow(zb, yb, sb, _FEW_NODES, _FEW_WEIGHTS, ob)
        elif widest <= _WIDE:
            _narrow(zb, yb, sb, _NODES, _WEIGHTS, ob)
        elif narrowest > _WIDE:
            _wide(zb, yb, sb, ob)
        else:
            wide = other[: stop - start]
            _narrow(zb, yb, sb, _NODES, _WEIGHTS, ob)
            _wide(zb, yb, sb, wide)
            for i in range(stop - start):
                if sb[i] > _WIDE:
                    ob[i] = wide[i]


# Huberised hinge of half-width h in the margin m = y z: 1 - m below 1 - h, (1 + h - m)^2 / (4h) up to 1 + h, then 0.


def huber_hinge_value(z, y, h, out):
    of = z.dtype.type
    for i in range(z.size):
        t = of(1.0) + h - y[i] * z[i]
        inside = min(max(t, of(0.0)), of(2.0) * h)
        out[i] = inside * inside / (of(4.0) * h) + max(t - of(2.0) * h, of(0.0))


def huber_hinge_derivative(z, y, h, out):
    of = z.dtype.type
    for i in range(z.size):
        t = of(1.0) + h - y[i] * z[i]
        out[i] = -y[i] * min(max(t, of(0.0)), of(2.0) * h) / (of(2.0) * h)


def huber_hinge_curvature(z, y, h, out):
    of = z.dtype.type
    for i in range(z.size):
        out[i] = of(1.0) / (of(2.0) * h) if abs(of(1.0) - y[i] * z[i]) <= h else of(0.0)


@njit(**_OPTIONS)
def _positive_square_mean(t, s):
    """E max(t + s g, 0)^2."""
    if s == 0.0:
        return max(t, 0.0) ** 2
    r = t / s
    density = math.exp(-0.5 * r * r) / math.sqrt(2.0 * math.pi)
    return (t * t + s * s) * 0.5 * math.erfc(-r / math.sqrt(2.0)) + t * s * density


@njit(**_OPTIONS)
def _positive_mean(t, s):
    """E max(t + s g, 0), s > 0."""
    r = t / s
    return t * 0.5 * math.erfc(-r / math.sqrt(2.0)) + s * math.exp(-0.5 * r * r) / math.sqrt(2.0 * math.pi)


def huber_hinge_gaussian_mean(z, y, sd, h, out):
    for i in range(z.size):
        t, s = 1.0 - y[i] * z[i], sd[i]
        if s > 1e3 * (1.0 + h):
            # The two squares cancel. The loss is hinge + a bump of area h^2/6, which is a point to wide noise; the next
            # term is below h^4 / s^3.
            r = t / s
            out[i] = _positive_mean(t, s) + h * h / 6.0 * math.exp(-0.5 * r * r) / (s * math.sqrt(2.0 * math.pi))
        else:
            out[i] = (_positive_square_mean(t + h, s) - _positive_square_mean(t - h, s)) / (4.0 * h)


# Hinge: max(1 - y z, 0). Its derivative at the kink is taken as -y, a subgradient.


def hinge_value(z, y, h, out):
    for i in range(z.size):
        out[i] = max(1.0 - y[i] * z[i], 0.0)


def hinge_derivative(z, y, h, out):
    for i in range(z.size):
        out[i] = -y[i] if y[i] * z[i] <= 1.0 else 0.0


def hinge_gaussian_mean(z, y, sd, h, out):
    for i in range(z.size):
        t = 1.0 - y[i] * z[i]
        out[i] = _positive_mean(t, sd[i]) if sd[i] > 0.0 else max(t, 0.0)


# Squared: (z - y)^2.


def squared_value(z, y, h, out):
    for i in range(z.size):
        out[i] = (z[i] - y[i]) * (z[i] - y[i])


def squared_derivative(z, y, h, out):
    for i in range(z.size):
        out[i] = 2.0 * (z[i] - y[i])


def squared_curvature(z, y, h, out):
    for i in range(z.size):
        out[i] = 2.0


def squared_gaussian_mean(z, y, sd, h, out):
    for i in range(z.size):
        out[i] = (z[i] - y[i]) * (z[i] - y[i]) + sd[i] * sd[i]


# Huber loss of half-width h in the residual u = z - y: u^2 / (2h) for |u| <= h, |u| - h/2 beyond.


def huber_value(z, y, h, out):
    of = z.dtype.type
    for i in range(z.size):
        u = abs(z[i] - y[i])
        inside = min(u, h)
        out[i] = inside * inside / (of(2.0) * h) + max(u - h, of(0.0))


def huber_derivative(z, y, h, out):
    for i in range(z.size):
        out[i] = min(max(z[i] - y[i], -h), h) / h


def huber_curvature(z, y, h, out):
    of = z.dtype.type
    for i in range(z.size):
        out[i] = of(1.0) / h if abs(z[i] - y[i]) <= h else of(0.0)


def huber_gaussian_mean(z, y, sd, h, out):
    for i in range(z.size):
        u, s = z[i] - y[i], sd[i]
        if s > 1e3 * h:
            # The squares cancel. The loss is |u| - h/2 + a bump of area h^2/3, which is a point to wide noise.
            r = u / s
            bump = h * h / 3.0 * math.exp(-0.5 * r * r) / (s * math.sqrt(2.0 * math.pi))
            out[i] = _positive_mean(u, s) + _positive_mean(-u, s) - 0.5 * h + bump
        else:
            beyond = _positive_square_mean(u - h, s) + _positive_square_mean(-u - h, s)
            out[i] = (u * u + s * s - beyond) / (2.0 * h)


# Absolute loss: |z - y|. Its derivative at the kink is taken as 0, a subgradient.


def absolute_value(z, y, h, out):
    for i in range(z.size):
        out[i] = abs(z[i] - y[i])


def absolute_derivative(z, y, h, out):
    for i in range(z.size):
        u = z[i] - y[i]
        out[i] = 1.0 if u > 0.0 else (-1.0 if u < 0.0 else 0.0)


def absolute_gaussian_mean(z, y, sd, h, out):
    for i in range(z.size):
        u = z[i] - y[i]
        out[i] = _positive_mean(u, sd[i]) + _positive_mean(-u, sd[i]) if sd[i] > 0.0 else abs(u)


# Linear costs.


def linear_value(z, y, h, out):
    for i in range(z.size):
        out[i] = z[i]


def linear_derivative(z, y, h, out):
    for i in range(z.size):
        out[i] = 1.0


def linear_curvature(z, y, h, out):
    for i in range(z.size):
        out[i] = 0.0


# Location: distance z, its smoothed form sqrt(z^2 + h^2) - h, written so that it does not cancel for small z, and z^2.


def geometric_median_value(z, y, h, out):
    for i in range(z.size):
        out[i] = z[i]


def geometric_median_derivative(z, y, h, out):
    for i in range(z.size):
        out[i] = 1.0


def smooth_median_value(z, y, h, out):
    for i in range(z.size):
        out[i] = z[i] * (z[i] / (math.sqrt(z[i] * z[i] + h * h) + h))


def smooth_median_derivative(z, y, h, out):
    for i in range(z.size):
        out[i] = z[i] / math.sqrt(z[i] * z[i] + h * h)


def mean_value(z, y, h, out):
    for i in range(z.size):
        out[i] = z[i] * z[i]


def mean_derivative(z, y, h, out):
    for i in range(z.size):
        out[i] = 2.0 * z[i]


VALUE = Entries(SIGNATURE, "value", globals())
DERIVATIVE = Entries(SIGNATURE, "derivative", globals())
CURVATURE = Entries(SIGNATURE, "curvature", globals())
GAUSSIAN_MEAN = Entries(MEAN_SIGNATURE, "gaussian_mean", globals())

_SINGLE = {name: each for name, each in globals().items() if name.startswith(("logistic_", "huber_"))}
SINGLE_VALUE = Entries(SINGLE_SIGNATURE, "value", _SINGLE)
SINGLE_DERIVATIVE = Entries(SINGLE_SIGNATURE, "derivative", _SINGLE)
SINGLE_CURVATURE = Entries(SINGLE_SIGNATURE, "curvature", _SINGLE)
