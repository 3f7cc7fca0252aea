"""Projected stochastic gradient descent in single precision, for runs that share their records and normals.

It is for charts; releases come from `sgd.stochastic_descent`.
"""

import math

import numpy as np
from numba import njit

from .sgd import gap
from .threefry import counted_normals, counted_uniforms
from .vector_math import CONTRACT, ONE, ZERO, single

_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}
# Sums here must not be reordered.
_ORDERED = _OPTIONS | {"fastmath": CONTRACT}
# Normals that are drawn at once stay in a processor's first cache.
_NORMALS, _UNIFORMS = 2048, 256


@njit(forceinline=True, **_OPTIONS)
def _products(theta, x, out):
    """out[m] = <theta[m], x>, over the columns of x."""
    for m in range(theta.shape[0]):
        total = ZERO
        for j in range(x.size):
            total += theta[m, j] * x[j]
        out[m] = total


@njit(forceinline=True, **_OPTIONS)
def _squares(theta, out):
    for m in range(theta.shape[0]):
        total = ZERO
        for j in range(theta.shape[1]):
            total += theta[m, j] * theta[m, j]
        out[m] = total


@njit(forceinline=True, **_OPTIONS)
def _add(rest, weights, x):
    for m in range(rest.shape[0]):
        for j in range(x.size):
            rest[m, j] += weights[m] * x[j]


@njit(forceinline=True, **_ORDERED)
def _move(theta, rest, weights, x, push, normals, pull):
    """Add rest[m] + weights[m] x + push[m] normals - pull[m] theta[m] to theta[m]; rest becomes the rounding error.

    A step far below the last digit of theta is thus kept, and millions of them add up (Kahan's sum).
    """
    for m in range(theta.shape[0]):
        weight, size, back = weights[m], push[m], pull[m]
        for j in range(theta.shape[1]):
            old = theta[m, j]
            move = rest[m, j] + weight * x[j] + size * normals[j] - back * old
            new = old + move
            theta[m, j] = new
            rest[m, j] = move - (new - old)


@njit(**_OPTIONS)
def coupled_descent(
    derivative, X, y, h, lam, step, decaying, rate, sigma, radius, idle_columns, along, across, key, other_key, high,
    start, first, theta, rest, shrink, idle, sums,
):  # fmt: skip
    """Take steps start + 1, ..., start + k of M runs of `sgd.stochastic_descent`, k = along.size, r = s columns.

    float32: X [n, s], y [n], h, and the state: theta [M, s], rest [M, s] (rounding errors of theta), shrink [M] and
    idle [M], all 0 at the start. An iterate is (1 - shrink) theta: the projection is applied in the next step, which
    reads theta anyway. idle: the norm in the `idle_columns`, before the projection.
    float64: step [M] and sigma [M], of each run. sums [M, s]: the iterates after the steps from `first` on are added.

    All runs see the same records and normals. The uniforms and normals of these steps are those of the counters
    (0, high), (1, high), ... under the key (key, other_key), so no two calls of one key may have the same `high`. Each
    step takes its uniforms as `sgd.stochastic_descent` does. Normals come in blocks of b = max(1, 2048 // s) steps,
    each of ceil(b s / 2) pairs, and step i of a block has those from i s to i s + s. along [k], standard normal, and
    across [k], chi-square with idle_columns - 1 degrees of freedom, are the noise in the idle columns, float64.
    """
    n, s, models = y.size, theta.shape[1], theta.shape[0]
    block = max(1, _NORMALS // s)
    pairs = (block * s + 1) // 2
    normals, uniforms = np.empty(2 * pairs, np.float32), np.empty(_UNIFORMS)
    z, labels, slopes = np.empty(models, np.float32), np.empty(models, np.float32), np.empty(models, np.float32)
    push, pull = np.empty(models, np.float32), np.empty(models, np.float32)
    single_radius, single_lam = single(radius), single(lam)
    log_absent = math.log1p(-rate) if rate < 1.0 else -math.inf
    share = 1.0 / (rate * n) if rate > 0.0 else 1.0
    drawn = 0
    for k in range(along.size):
        t = start + k + 1
        inside = k % block
        if inside == 0:
            counted_normals(normals, k // block * pairs, high, key, other_key)
        falling = 1.0 / math.sqrt(t) if decaying else 1.0
        i, waits = -1, False
        x = X[0]
        while True:
            if rate < 1.0:
                if drawn % _UNIFORMS == 0:
                    counted_uniforms(uniforms, drawn, high, key, other_key)
                u = uniforms[drawn % _UNIFORMS]
                drawn += 1
                i = i + 1 + gap(log_absent, n, u) if rate > 0.0 else int(n * u)
            else:
                i += 1
            if i >= n:
                break
            if waits:
                _add(rest, slopes, x)
            x, waits = X[i], True
            _products(theta, x, z)
            for m in range(models):
                z[m] *= ONE - shrink[m]
                labels[m] = y[i]
            derivative(z, labels, h, slopes)
            for m in range(models):
                slopes[m] *= single(-step[m] * falling * share)
            if rate == 0.0:
                break
        if not waits:
            for m in range(models):
                slopes[m] = ZERO
        for m in range(models):
            eta = step[m] * falling
            push[m] = -eta * sigma[m]
            pull[m] = shrink[m] + single(eta) * single_lam * (ONE - shrink[m])
        # The last record of a batch is added with the noise.
        _move(theta, rest, slopes, x, push, normals[inside * s : inside * s + s], pull)
        _squares(theta, z)
        if idle_columns > 0:
            for m in range(models):
                side = (ONE - pull[m]) * idle[m] - push[m] * single(along[k])
                idle[m] = np.sqrt(side * side + push[m] * push[m] * single(across[k]))
                z[m] += idle[m] * idle[m]
        for m in range(models):
            far = z[m] > single_radius * single_radius
            shrink[m] = ONE - single_radius / np.sqrt(z[m]) if far else ZERO
        if t >= first:
            for m in range(models):
                for j in range(s):
                    sums[m, j] += theta[m, j] * (ONE - shrink[m])
