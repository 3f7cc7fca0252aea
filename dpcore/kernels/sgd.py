"""Projected stochastic gradient descent, one record or a random batch a step, with Gaussian noise on each estimate.

Records come as a tuple (X, pointers, columns, values): a dense table X [n, r] and three empty arrays, or an empty X and
the CSR triple with unsigned indices.
numba's draws from a Generator are numpy's own, so the loop can be followed step by step from Python.
"""

import math

import numpy as np
from numba import njit

from .csr import unsigned

_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}


def records_of(X):
    """Tuple in which kernels take a dense or CSR table: one type for both, so that they are compiled once."""
    if isinstance(X, np.ndarray):
        return X, np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0)
    return np.empty((0, 0)), unsigned(X.indptr), unsigned(X.indices), X.data


@njit(forceinline=True, **_OPTIONS)
def _dense_row(records, i, r):
    X, pointers, columns, values = records
    if X.size > 0:
        return X[i]
    x = np.zeros(r)
    for k in range(pointers[i], pointers[i + 1]):
        x[columns[k]] = values[k]
    return x


@njit(forceinline=True, **_OPTIONS)
def _add_distance_gradient(x, share, theta, idle, derivative, h, z, label, slope, estimate):
    """Add w (theta - x) to estimate for losses of z = ||theta - x||; returns w = share l'(z) / z, 0 at theta = x."""
    square = idle * idle
    for j in range(x.size):
        square += (theta[j] - x[j]) ** 2
    for j in range(x.size, theta.size):
        square += theta[j] * theta[j]
    z[0] = math.sqrt(square)
    if z[0] == 0.0:
        return 0.0
    derivative(z, label, h, slope)
    weight = share * slope[0] / z[0]
    for j in range(x.size):
        estimate[j] += weight * (theta[j] - x[j])
    for j in range(x.size, theta.size):
        estimate[j] += weight * theta[j]
    return weight


@njit(forceinline=True, **_OPTIONS)
def _add_linear_gradient(records, i, share, theta, derivative, h, z, label, slope, estimate):
    """Add share l'(z) x_i to estimate, for losses of z = <x_i, theta>."""
    X, pointers, columns, values = records
    product = 0.0
    if X.size > 0:
        x = X[i]
        for j in range(x.size):
            product += x[j] * theta[j]
        z[0] = product
        derivative(z, label, h, slope)
        weight = share * slope[0]
        for j in range(x.size):
            estimate[j] += weight * x[j]
    else:
        for k in range(pointers[i], pointers[i + 1]):
            product += values[k] * theta[columns[k]]
        z[0] = product
        derivative(z, label, h, slope)
        weight = share * slope[0]
        for k in range(pointers[i], pointers[i + 1]):
            estimate[columns[k]] += weight * values[k]


@njit(forceinline=True, **_OPTIONS)
def gap(log_absent, n, rng):
    """Number of records skipped before the next one of a batch, drawn from rng; n if none is left."""
    if log_absent == -math.inf:
        return 0
    passed = math.log1p(-rng.random()) / log_absent
    return int(passed) if passed < n else n


@njit(**_OPTIONS)
def stochastic_descent(
    derivative, records, y, h, radial, lam, step, decaying, rate, sigma, radius, idle_columns, rng, steps,
    theta, first, average, keep, kept, seen,
):  # fmt: skip
    """Take steps theta <- Proj(theta - eta_t (estimate + lam theta + sigma g)), Proj onto ||theta||_2 <= radius.

    derivative: of the loss in z = <x_i, theta>, or in z = ||theta - x_i|| where `radial`. eta_t = step / sqrt(t) with
    t = 1, 2, ... where `decaying`, else step. g ~ N(0, I): sigma < 0 is the run with the opposite noise.
    estimate: at rate 0 the gradient of one record drawn uniformly; else the sum of the gradients over a batch that
    holds every record with probability `rate`, independently, divided by rate n.

    idle_columns: k further coordinates are zero in every record and start at 0. Given their norm u they are uniform on
    its sphere, so that u^2 <- (a u + eta sigma g_1)^2 + (eta sigma)^2 chi^2_{k - 1} is their exact law, a being the
    factor by which a step without noise shrinks them; the projection then scales u like the rest.

    theta [s]: start, then last iterate; s >= r, the records are zero beyond r. average [s]: mean of the iterates after
    the steps first, ..., steps. kept [m, s]: the iterates after the steps `keep` [m], ascending. seen [steps, s], or
    [0, s] if not wanted: estimate + lam theta + sigma g of each step. Returns u after the last step.

    Draws of one step, in this order: rate 0: floor(n U). 0 < rate < 1: the gap to the next record of the batch,
    floor(ln(1 - U) / ln(1 - rate)), until it leads beyond the last record. sigma != 0: s normals, then one more and a
    chi-square if there are idle columns. Rounding of U moves each probability by at most 2^-53.
    """
    n, s = y.size, theta.size
    estimate = np.empty(s)
    z, label, slope = np.empty(1), np.empty(1), np.empty(1)
    idle, taken = 0.0, 0
    log_absent = math.log1p(-rate) if rate < 1.0 else -math.inf
    for j in range(s):
        average[j] = 0.0
    for t in range(1, steps + 1):
        eta = step / math.sqrt(t) if decaying else step
        share = 1.0 / (rate * n) if rate > 0.0 else 1.0
        pull = lam
        for j in range(s):
            estimate[j] = 0.0
        i = gap(log_absent, n, rng) if rate > 0.0 else int(n * rng.random())
        while i < n:
            label[0] = y[i]
            if radial:
                x = _dense_row(records, i, s)
                pull += _add_distance_gradient(x, share, theta, idle, derivative, h, z, label, slope, estimate)
            else:
                _add_linear_gradient(records, i, share, theta, derivative, h, z, label, slope, estimate)
            i += 1 + gap(log_absent, n, rng) if rate > 0.0 else n
        if sigma != 0.0:
            for j in range(s):
                estimate[j] += sigma * rng.standard_normal()
        square = 0.0
        for j in range(s):
            estimate[j] += lam * theta[j]
            theta[j] -= eta * estimate[j]
            square += theta[j] * theta[j]
        if seen.shape[0] > 0:
            for j in range(s):
                seen[t - 1, j] = estimate[j]
        if idle_columns > 0 and sigma != 0.0:
            along = (1.0 - eta * pull) * idle + eta * sigma * rng.standard_normal()
            across = 2.0 * rng.standard_gamma(0.5 * (idle_columns - 1)) if idle_columns > 1 else 0.0
            idle = math.sqrt(along * along + (eta * sigma) ** 2 * across)
            square += idle * idle
        if square > radius * radius:
            scale = radius / math.sqrt(square)
            idle *= scale
            for j in range(s):
                theta[j] *= scale
        if t >= first:
            for j in range(s):
                average[j] += theta[j]
        if taken < keep.size and keep[taken] == t:
            for j in range(s):
                kept[taken, j] = theta[j]
            taken += 1
    for j in range(s):
        average[j] /= steps - first + 1
    return idle
