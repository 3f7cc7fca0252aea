"""Losses of many classes written out, and their minimisers by scipy."""

import itertools
import math

import numpy as np
from scipy.optimize import minimize


def plain_features(X):
    """(x_i x_j, sqrt2 for i < j) of (x, 1) / sqrt2, entry by entry."""
    rows = []
    for x in np.asarray(X):
        long = [*x, 1.0]
        pairs = itertools.combinations_with_replacement(range(len(long)), 2)
        rows.append([long[i] * long[j] * (0.5 if i == j else math.sqrt(0.5)) for i, j in pairs])
    return np.array(rows)


def psi(m):
    """The hinge rounded within 1/2 of its kink, and its slope."""
    value = np.where(m > 1.5, 0.0, np.where(m < 0.5, 1.0 - m, 0.5 * (1.5 - m) ** 2))
    return value, -np.clip(1.5 - m, 0.0, 1.0)


def many(weights, Z, y):
    """Mean loss of matrices [C, q] in svec form and its gradient."""
    scores, own, y = Z @ weights.T, np.arange(len(Z)), np.asarray(y, int)
    value, slope = psi(scores - scores[own, y][:, None])
    value[own, y] = slope[own, y] = 0.0
    slope[own, y] = -slope.sum(axis=1)
    return value.sum() / len(Z), slope.T @ Z / len(Z)


def two(theta, Z, signs):
    value, slope = psi(signs * (Z @ theta))
    return value.mean(), (slope * signs) @ Z / len(Z)


def lowest(loss, shape, lam, noise, *facts):
    """argmin of loss + lam/2 ||.||^2 + <noise, .>, by scipy."""

    def whole(flat):
        value, gradient = loss(flat.reshape(shape), *facts)
        return value + 0.5 * lam * flat @ flat + noise.ravel() @ flat, gradient.ravel() + lam * flat + noise.ravel()

    options = {"maxiter": 20_000, "maxfun": 20_000, "ftol": 1e-16, "gtol": 1e-10}
    return minimize(whole, np.zeros(math.prod(shape)), jac=True, method="L-BFGS-B", options=options).x.reshape(shape)
