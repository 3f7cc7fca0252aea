"""Projected stochastic gradient descent in single precision, for runs that share their records and normals.

It is for charts; releases come from `sgd.stochastic_descent`.
"""

import math

import numpy as np
from numba import njit

from .sgd import gap
from .vector_math import CONTRACT, ONE, ZERO, single

_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}
# Sums here must not be reordered.
_ORDERED = _OPTIONS | {"fastmath": CONTRACT}


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
    derivative, X, y, h, lam, step, decaying, rate, sigma, radius, idle_columns, rng, start, stop, first,
    theta, rest, shrink, idle, sums,
):  # fmt: skip
    """Take steps start + 1, ..., stop of M runs of `sgd.stochastic_descent`, r = s columns.

    float32: X [n, s], y [n], h, and the state: theta [M, s], rest [M, s] (rounding errors of theta), shrink [M] and
    idle [M], all 0 at the start. An iterate is (1 - shrink) theta: the projection is applied in the next step, which
    reads theta anyway. idle: the norm in the `idle_columns`, before the projection.
    float64: step [M] and sigma [M], of each run. sums [M, s]: the iterates after the steps from `first` on are added.

    All runs see the same records and normals, those that `sgd.stochastic_descent` draws from rng.
    """
    n, s, models = y.size, theta.shape[1], theta.shape[0]
    z, labels, slopes = np.empty(models, np.float32), np.empty(models, np.float32), np.empty(models, np.float32)
    push, pull, normals = np.empty(models, np.float32), np.empty(models, np.float32), np.zeros(s, np.float32)
    single_radius, single_lam = single(radius), single(lam)
    log_absent = math.log1p(-rate) if rate < 1.0 else -math.inf
    share = 1.0 / (rate * n) if rate > 0.0 else 1.0
    noisy, along, across = False, ZERO, ZERO
    for m in range(models):
        noisy = noisy or sigma[m] != 0.0
    for t in range(start + 1, stop + 1):
        falling = 1.0 / math.sqrt(t) if decaying else 1.0
        x, waits = X[0], False
        i = gap(log_absent, n, rng) if rate > 0.0 else int(n * rng.random())
        while i < n:
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
            i += 1 + gap(log_absent, n, rng) if rate > 0.0 else n
        if not waits:
            for m in range(models):
                slopes[m] = ZERO
        for m in range(models):
            eta = step[m] * falling
            push[m] = -eta * sigma[m]
            pull[m] = shrink[m] + single(eta) * single_lam * (ONE - shrink[m])
        if noisy:
            for j in range(s):
                normals[j] = rng.standard_normal()
        # The last record of a batch is added with the noise.
        _move(theta, rest, slopes, x, push, normals, pull)
        _squares(theta, z)
        if idle_columns > 0 and noisy:
            along = single(rng.standard_normal())
            across = single(2.0 * rng.standard_gamma(0.5 * (idle_columns - 1))) if idle_columns > 1 else ZERO
            for m in range(models):
                side = (ONE - pull[m]) * idle[m] - push[m] * along
                idle[m] = np.sqrt(side * side + push[m] * push[m] * across)
                z[m] += idle[m] * idle[m]
        for m in range(models):
            far = z[m] > single_radius * single_radius
            shrink[m] = ONE - single_radius / np.sqrt(z[m]) if far else ZERO
        if t >= first:
            for m in range(models):
                for j in range(s):
                    sums[m, j] += theta[m, j] * (ONE - shrink[m])
