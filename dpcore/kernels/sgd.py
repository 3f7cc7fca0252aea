"""Projected stochastic gradient descent, one record or a random batch a step, with Gaussian noise on each estimate.

Runs that share records and normals advance together. Records come as a tuple (X, pointers, columns, values): a dense
table X [n, r] and three empty arrays, or an empty X and the CSR triple with unsigned indices.
numba's draws from a Generator are numpy's own, so the loop can be followed step by step from Python.
"""

import math

import numpy as np
from numba import njit

from .csr import unsigned
from .sgd_one_pass import project_row

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
def _distances(x, theta, idle, z):
    """z[m] = ||theta[m] - x||, idle[m] being the length of theta[m] in columns in which all records are 0."""
    for m in range(theta.shape[0]):
        square = idle[m] * idle[m]
        for j in range(x.size):
            square += (theta[m, j] - x[j]) ** 2
        for j in range(x.size, theta.shape[1]):
            square += theta[m, j] * theta[m, j]
        z[m] = math.sqrt(square)


@njit(forceinline=True, **_OPTIONS)
def _products(records, i, theta, z):
    """z[m] = <x_i, theta[m]>."""
    X, pointers, columns, values = records
    for m in range(theta.shape[0]):
        product = 0.0
        if X.size > 0:
            for j in range(X.shape[1]):
                product += X[i, j] * theta[m, j]
        else:
            for k in range(pointers[i], pointers[i + 1]):
                product += values[k] * theta[m, columns[k]]
        z[m] = product


@njit(forceinline=True, **_OPTIONS)
def _add(records, i, weights, estimates):
    """estimates[m] += weights[m] x_i."""
    X, pointers, columns, values = records
    for m in range(estimates.shape[0]):
        if X.size > 0:
            for j in range(X.shape[1]):
                estimates[m, j] += weights[m] * X[i, j]
        else:
            for k in range(pointers[i], pointers[i + 1]):
                estimates[m, columns[k]] += weights[m] * values[k]


@njit(forceinline=True, **_OPTIONS)
def gap(log_absent, n, rng):
    """Number of records skipped before the next one of a batch, drawn from rng; n if none is left."""
    if log_absent == -math.inf:
        return 0
    passed = math.log1p(-rng.random()) / log_absent
    return int(passed) if passed < n else n


@njit(**_OPTIONS)
def stochastic_descent(
    derivative, records, y, h, radial, lam, step, decaying, rate, sigma, radius, order, idle_columns, rng, start, stop,
    theta, idle, first, sums, keep, kept, seen,
):  # fmt: skip
    """Take steps start + 1, ..., stop of M runs theta <- Proj(theta - eta_t (estimate + lam theta + sigma g)).

    Proj: to the nearest point of ||theta||_order <= radius, order from 2 to inf; 2 if there are idle columns.

    derivative: of the loss in z = <x_i, theta>, or in z = ||theta - x_i|| where `radial`. step, sigma: [M]; eta_t =
    step / sqrt(t) with t = 1, 2, ... where `decaying`, else step. g ~ N(0, I), the same for all runs: sigma < 0 is the
    run with the opposite noise.
    estimate: at rate 0 the gradient of one record drawn uniformly; else the sum of the gradients over a batch that
    holds every record with probability `rate`, independently, divided by rate n. All runs have the same records.

    idle_columns: k further coordinates are zero in every record and start at 0. Given their norm u they are uniform on
    its sphere, so that u^2 <- (a u + eta sigma g_1)^2 + (eta sigma)^2 chi^2_{k - 1} is their exact law, a being the
    factor by which a step without noise shrinks them; the projection then scales u like the rest.

    theta [M, s], idle [M]: state, the latter u; 0 at the start. s >= r, the records are zero beyond r. sums [M, s]: the
    iterates after the steps from `first` on are added. kept [m, s]: the first run's iterates after the steps `keep`
    [m], ascending. seen [steps, s], or [0, s] if not wanted: its estimate + lam theta + sigma g of each step.

    Draws of one step, in this order: rate 0: floor(n U). 0 < rate < 1: the gap to the next record of the batch,
    floor(ln(1 - U) / ln(1 - rate)), until it leads beyond the last record. sigma != 0 in any run: s normals, then one
    more and a chi-square if there are idle columns. Rounding of U moves each probability by at most 2^-53.
    """
    n, s, runs = y.size, theta.shape[1], theta.shape[0]
    estimates, normals, scratch = np.empty((runs, s)), np.zeros(s), np.empty((3, s))
    z, labels, slopes, pull = np.empty(runs), np.empty(runs), np.empty(runs), np.empty(runs)
    log_absent = math.log1p(-rate) if rate < 1.0 else -math.inf
    share = 1.0 / (rate * n) if rate > 0.0 else 1.0
    noisy, along, across, taken = False, 0.0, 0.0, 0
    for m in range(runs):
        noisy = noisy or sigma[m] != 0.0
    while taken < keep.size and keep[taken] <= start:
        taken += 1
    for t in range(start + 1, stop + 1):
        for m in range(runs):
            pull[m] = lam
            for j in range(s):
                estimates[m, j] = 0.0
        i = gap(log_absent, n, rng) if rate > 0.0 else int(n * rng.random())
        while i < n:
            for m in range(runs):
                labels[m] = y[i]
            if radial:
                x = _dense_row(records, i, s)
                _distances(x, theta, idle, z)
                derivative(z, labels, h, slopes)
                for m in range(runs):
                    weight = share * slopes[m] / z[m] if z[m] > 0.0 else 0.0  # at its own record the gradient is 0
                    pull[m] += weight
                    for j in range(x.size):
                        estimates[m, j] += weight * (theta[m, j] - x[j])
                    for j in range(x.size, s):
                        estimates[m, j] += weight * theta[m, j]
            else:
                _products(records, i, theta, z)
                derivative(z, labels, h, slopes)
                for m in range(runs):
                    slopes[m] *= share
                _add(records, i, slopes, estimates)
            i += 1 + gap(log_absent, n, rng) if rate > 0.0 else n
        if noisy:
            for j in range(s):
                normals[j] = rng.standard_normal()
        if noisy and idle_columns > 0:
            along = rng.standard_normal()
            across = 2.0 * rng.standard_gamma(0.5 * (idle_columns - 1)) if idle_columns > 1 else 0.0
        for m in range(runs):
            eta = step[m] / math.sqrt(t) if decaying else step[m]
            size, square = eta * sigma[m], 0.0
            for j in range(s):
                estimates[m, j] += sigma[m] * normals[j]
                estimates[m, j] += lam * theta[m, j]
                theta[m, j] -= eta * estimates[m, j]
                square += theta[m, j] * theta[m, j]
            if idle_columns > 0 and sigma[m] != 0.0:
                side = (1.0 - eta * pull[m]) * idle[m] + size * along
                idle[m] = math.sqrt(side * side + size * size * across)
                square += idle[m] * idle[m]
            if order != 2.0:
                project_row(theta[m], order, radius, scratch)
            elif square > radius * radius:
                scale = radius / math.sqrt(square)
                idle[m] *= scale
                for j in range(s):
                    theta[m, j] *= scale
            if t >= first:
                for j in range(s):
                    sums[m, j] += theta[m, j]
        if seen.shape[0] > 0:
            for j in range(s):
                seen[t - 1, j] = estimates[0, j]
        if taken < keep.size and keep[taken] == t:
            for j in range(s):
                kept[taken, j] = theta[0, j]
            taken += 1
