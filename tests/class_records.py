"""Records with classes, and the large-margin objective and its dual by loops, which tests of both share."""

import itertools

import numpy as np

from dpcore.solvers.multiclass.objective import ClassRecords, MulticlassObjective, hinge_slope, smat, svec


def records(n=40, d=2, classes=3, seed=0, h=0.5, R=1.0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    X = rng.standard_normal((n, d)) * 0.4 + rng.standard_normal((classes, d))[labels] * 0.5
    return ClassRecords(R * X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None], labels, classes, R=R, half_width=h)


def problem(mu=0.3, tau=0.2, noise=0.5, draws=1, **kw):
    found = records(**kw)
    q = found.Z.shape[1]
    B = noise * np.random.default_rng(7).standard_normal((draws, found.classes, q))
    return MulticlassObjective(found, mu, tau, B)


def plain_psi(m, h):
    return 0.0 if m > 1 + h else (1 + h - m) ** 2 / (4 * h) if m >= 1 - h else 1 - m


def plain_value(objective, Phi, draw=0):
    """F of Phi [C, p, p] by loops over records and classes, with matrices and no svec."""
    r = objective.records
    x = np.column_stack([r.X / r.R, np.ones(r.n)]) / 2**0.5
    total = 0.0
    for i, c in itertools.product(range(r.n), range(r.classes)):
        if c != r.labels[i]:
            total += plain_psi(x[i] @ (Phi[c] - Phi[r.labels[i]]) @ x[i], r.half_width)
    for c in range(r.classes):
        total += objective.mu / 2 * (Phi[c] ** 2).sum() + objective.tau * np.trace(Phi[c][:-1, :-1])
        total += (smat(objective.noise[draw, c]) * Phi[c]).sum()
    return total


def plain_dual(objective, slopes, draw=0):
    """D(s) for slopes [C, n], by loops."""
    r, h = objective.records, objective.records.half_width
    x = np.column_stack([r.X / r.R, np.ones(r.n)]) / 2**0.5
    V = -smat(objective.noise[draw]) - objective.tau * np.diag([1.0] * (r.p - 1) + [0.0])
    total = 0.0
    for i, c in itertools.product(range(r.n), range(r.classes)):
        if c != r.labels[i]:
            s = slopes[c, i]
            total += s + h * s * (1 - s)
            V[c] += s * np.outer(x[i], x[i])
            V[r.labels[i]] -= s * np.outer(x[i], x[i])
    return total - (V**2).sum() / (2 * objective.mu)


def over_the_cone(objective):
    """The minimisers over matrices with eigenvalues >= 0, [R, C, q], by projected gradients.

    Each step leaves 1 - mu / smoothness of the distance: 1e-13 in the end.
    """
    r, weights = objective.records, np.zeros_like(objective.linear)
    smooth = objective.mu + r.n * r.classes / (2.0 * r.half_width)
    for _ in range(int(30 * smooth / objective.mu)):
        values, vectors = np.linalg.eigh(smat(weights - objective.gradients(weights) / smooth))
        weights = svec((vectors * np.maximum(values, 0.0)[..., None, :]) @ vectors.swapaxes(-1, -2))
    return weights


def slopes_at(objective, weights):
    """-psi' of every margin, [R, C, n], 0 for the own class."""
    r = objective.records
    slopes = hinge_slope(r.margins(r.scores(weights)), r.half_width)
    slopes[:, r.labels, np.arange(r.n)] = 0.0
    return slopes


def matrix_of(ellipsoid, R=1.0):
    """Phi [..., p, p] with x~' Phi x~ equal to the ellipsoid's value at x.

    Phi = T [[P, -P c], [-c' P, c' P c + offset]] T with the diagonal T that makes (x, 1) of x~. Its eigenvalues are
    >= 0 exactly if those of the precision P are and the offset is.
    """
    P, c = np.asarray(ellipsoid.precision, float), np.asarray(ellipsoid.centre, float)
    d = c.shape[-1]
    Phi = np.empty((*c.shape[:-1], d + 1, d + 1))
    column = -np.einsum("...ij,...j->...i", P, c)
    Phi[..., :d, :d] = P
    Phi[..., :d, d] = Phi[..., d, :d] = column
    Phi[..., d, d] = ellipsoid.offset - np.einsum("...i,...i->...", column, c)
    t = np.sqrt(2.0) * np.append(np.full(d, R), 1.0)
    return t[:, None] * Phi * t
