"""One phase of projected stochastic gradient descent: each record once, in order, for many runs together.

A run is projected onto an l_q ball, q >= 2, after every step.
"""

import math

import numpy as np
from numba import njit

_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}
_MOST_STEPS = 200  # of a root search
_TINY = 1e-300


@njit(**_OPTIONS)
def _length(a, order):
    """||a||_order for a >= 0 of any size."""
    largest = 0.0
    for j in range(a.size):
        largest = max(largest, a[j])
    if largest == 0.0:
        return 0.0
    total = 0.0
    for j in range(a.size):
        total += (a[j] / largest) ** order
    return largest * total ** (1.0 / order)


@njit(**_OPTIONS)
def _newton_pass(a, mu, order, x, low):
    """Take a Newton step for each x_j + mu x_j^(order - 1) = a_j; low: x_j^(order - 2). Returns how many x_j changed.

    The loops have no branch, so that the one for order 4, without a power, is vectorised.
    """
    if order == 4.0:
        for j in range(a.size):
            low[j] = x[j] * x[j]
    else:
        for j in range(a.size):
            low[j] = x[j] ** (order - 2.0)
    moved = 0.0
    for j in range(a.size):
        u = x[j]
        step = (u + mu * low[j] * u - a[j]) / (1.0 + mu * (order - 1.0) * low[j])
        x[j] = min(max(u - step, 0.0), a[j])
        low[j] *= 1.0 - (order - 2.0) * step / (u + _TINY)  # to second order in the step, which is small by now
        moved += 1.0 if abs(step) > 1e-9 * x[j] else 0.0
    return moved


@njit(**_OPTIONS)
def _split(a, mu, order, x, low):
    """x_j >= 0 with x_j + mu x_j^(order - 1) = a_j, from a guess; returns sum x^order and -d ln(that sum) / d mu.

    The left side is convex in x_j, so that Newton's method comes down to the root from any point above it and gets
    above it in one step from any point below; it converges quadratically.
    """
    for _ in range(_MOST_STEPS):
        if _newton_pass(a, mu, order, x, low) == 0.0:
            break
    total = fall = 0.0
    for j in range(a.size):
        high = low[j] * x[j]
        total += high * x[j]
        fall += high * high / (1.0 + mu * (order - 1.0) * low[j])
    return total, order * fall / total


@njit(**_OPTIONS)
def _to_boundary(a, order, x, low):
    """x: the nearest point with ||x||_order = 1 of a >= 0 outside, x_j + mu x_j^(order - 1) = a_j.

    Newton's method on ln ||x(mu)||_order, inside a bracket: x_j <= 1 gives mu >= max a_j - 1, and
    x_j^(order - 1) <= a_j / mu gives mu <= ||a||_order*.
    """
    least = 0.0
    for j in range(a.size):
        least = max(least, a[j] - 1.0)
    most = max(_length(a, order / (order - 1.0)), least)
    mu = least
    for j in range(a.size):
        x[j] = a[j] if mu == 0.0 else min(a[j], (a[j] / mu) ** (1.0 / (order - 1.0)))
    for _ in range(_MOST_STEPS):
        total, fall = _split(a, mu, order, x, low)
        excess = math.log(total)
        if excess > 0.0:
            least = mu
        else:
            most = mu
        guess = mu + excess / fall
        # Steps in mu converge fast near the boundary, steps in ln mu far from it.
        if not least < guess < most:
            guess = mu * math.exp(min(excess / fall / mu, 700.0)) if mu > 0.0 else least
        if not least < guess < most:
            guess = 0.5 * (least + most)
        if abs(excess) <= 1e-13 or abs(guess - mu) <= 1e-15 * (1.0 + mu):
            break
        mu = guess
    beyond = max(_length(x, order), 1.0)
    for j in range(a.size):
        x[j] /= beyond


@njit(**_OPTIONS)
def project_row(v, order, radius, scratch):
    """Replace v [d] by the nearest point with ||.||_order <= radius; order from 2 to inf. scratch: [3, d]."""
    if order == math.inf:
        for j in range(v.size):
            v[j] = min(max(v[j], -radius), radius)
    elif order == 2.0:
        square = 0.0
        for j in range(v.size):
            square += v[j] * v[j]
        if square > radius * radius:
            scale = radius / math.sqrt(square)
            for j in range(v.size):
                v[j] *= scale
    else:
        a = scratch[0]
        total = 0.0
        for j in range(v.size):
            a[j] = abs(v[j]) / radius
            total += a[j] ** 4 if order == 4.0 else a[j] ** order
        if total > 1.0:
            _to_boundary(a, order, scratch[1], scratch[2])
            for j in range(v.size):
                v[j] = math.copysign(radius * scratch[1, j], v[j])


@njit(**_OPTIONS)
def project_rows(rows, order, radius):
    """`project_row` of each row of rows [R, d], in place."""
    scratch = np.empty((3, rows.shape[1]))
    for k in range(rows.shape[0]):
        project_row(rows[k], order, radius, scratch)


@njit(**_OPTIONS)
def average_of_phase(derivative, records, y, h, first, count, step, order, radius, theta, average):
    """average <- the mean of the count + 1 iterates theta_0, ..., theta_count of each run.

    theta_{s+1} = Proj(theta_s - step l'(z; y_i) x_i), z = <x_i, theta_s>, i = first + s, for s < count; Proj is onto
    ||theta||_order <= radius, order from 2 to inf. derivative: of the loss in z, called for all runs of a record at
    once, so that each record is read once. records: as in `sgd.records_of`, with r
    columns, beyond which they are 0. theta [R, p], p >= r: the starts theta_0, inside the ball; left at theta_count.
    average [R, p]: output.
    """
    X, pointers, columns, values = records
    runs, p = theta.shape
    dense = np.zeros(p)
    scratch = np.empty((3, p))
    z, slopes, labels = np.empty(runs), np.empty(runs), np.empty(runs)
    for k in range(runs):
        for j in range(p):
            average[k, j] = theta[k, j]
    for i in range(first, first + count):
        row = dense
        if X.size > 0:
            row = X[i]
        else:
            for k in range(pointers[i], pointers[i + 1]):
                dense[columns[k]] = values[k]
        r = row.size
        for k in range(runs):
            product = 0.0
            for j in range(r):
                product += row[j] * theta[k, j]
            z[k] = product
            labels[k] = y[i]
        derivative(z, labels, h, slopes)
        for k in range(runs):
            at, mean, move = theta[k], average[k], step * slopes[k]
            if move != 0.0:
                for j in range(r):
                    at[j] -= move * row[j]
                project_row(at, order, radius, scratch)
            for j in range(p):
                mean[j] += at[j]
        if X.size == 0:
            for k in range(pointers[i], pointers[i + 1]):
                dense[columns[k]] = 0.0
    for k in range(runs):
        for j in range(p):
            average[k, j] /= count + 1.0
