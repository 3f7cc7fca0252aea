"""The objective of the large-margin classifier and the law of its minimiser by plain matrices, for R = 1 and h = 1/2.

A model is Phi [C, P, P], P = p + 1, and K of them are [K, C, P, P]. V: families of symmetric matrices that add up to 0.
"""

import itertools
from typing import NamedTuple

import numpy as np
from scipy.linalg import null_space

import dpcore
from dpcore import Data

KEY = "gaussian_classifier"


class Rows(NamedTuple):
    """Records where one is enough."""

    X: np.ndarray
    y: np.ndarray


def plan_of(*, n=6, p=1, classes=3, epsilon=1.0, delta=None, noise="gaussian", lam=1.0, **kw):
    delta = (1e-5 if noise == "gaussian" else 0.0) if delta is None else delta
    return dpcore.calibrate(KEY, n=n, p=p, classes=classes, epsilon=epsilon, delta=delta, noise=noise, lam=lam, **kw)


def class_data(n, p, classes, *, seed=0):
    """Classes around points of their own, norms at most 1."""
    rng = np.random.default_rng([seed, n, p, classes])
    y = np.arange(n) % classes
    X = 0.6 * rng.standard_normal((classes, p))[y] + 0.4 * rng.standard_normal((n, p))
    return Data(X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None], y.astype(float))


def replaced(data, x, label):
    """The neighbour whose last record is another one."""
    return Data(np.vstack([data.X[:-1], x]), np.append(data.y[:-1], float(label)))


def features(X):
    """X = x~ x~' of each record, [n, P, P]."""
    x = np.column_stack([X, np.ones(len(X))]) / np.sqrt(2.0)
    return x[:, :, None] * x[:, None, :]


def margins(data, Phi):
    """<Phi_c - Phi_y, X>, [K, n, C]."""
    scores = np.einsum("kcij,nij->knc", Phi, features(data.X))
    return scores - np.take_along_axis(scores, data.y.astype(int)[None, :, None], axis=2)


def _wrong(data, classes):
    return data.y.astype(int)[:, None] != np.arange(classes)


def plain_risks(data, Phi):
    """F, [K]."""
    m = margins(data, Phi)
    psi = np.where(m < 0.5, 1.0 - m, np.where(m < 1.5, 0.5 * (1.5 - m) ** 2, 0.0))
    return (psi * _wrong(data, Phi.shape[1])).sum((1, 2)) / len(data.X)


def plain_objectives(data, Phi, lam):
    """J, [K]."""
    return plain_risks(data, Phi) + 0.5 * lam * (Phi**2).sum((1, 2, 3))


def plain_gradients(data, Phi, lam):
    """grad J, [K, C, P, P]."""
    s = np.clip(1.5 - margins(data, Phi), 0.0, 1.0) * _wrong(data, Phi.shape[1])
    g = np.where(_wrong(data, Phi.shape[1]), -s, s.sum(2, keepdims=True))
    return np.einsum("knc,nij->kcij", g, features(data.X)) / len(data.X) + lam * Phi


def basis_of_v(classes, P):
    """An orthonormal basis, [N0, C, P, P]."""
    units = []
    for i, j in itertools.combinations_with_replacement(range(P), 2):
        unit = np.zeros((P, P))
        unit[i, j] = unit[j, i] = 1.0
        units.append(unit / np.linalg.norm(unit))
    apart = null_space(np.ones((1, classes)))
    return np.array([a[:, None, None] * unit for a in apart.T for unit in units])


def plain_hessians(data, Phi, lam):
    """J's Hessian on V, [K, N0, N0]."""
    basis = basis_of_v(Phi.shape[1], Phi.shape[2])
    bent = (np.abs(margins(data, Phi) - 1.0) < 0.5) * _wrong(data, Phi.shape[1])
    along = margins(data, basis)
    return np.einsum("knc,anc,bnc->kab", bent, along, along, optimize=True) / len(data.X) + lam * np.eye(len(basis))


def plain_log_densities(plan, data, Phi):
    """Of the minimiser of J + <B, Phi> at Phi in V, up to a constant; [K]."""
    lam = float(plan.spec.lam)
    lengths = np.linalg.norm(plain_gradients(data, Phi, lam).reshape(len(Phi), -1), axis=1) / plan.scale
    law = -lengths if plan.noise == "gamma" else -0.5 * lengths**2
    return law + np.linalg.slogdet(plain_hessians(data, Phi, lam))[1]


def released(plan, data, runs, *, seed=0):
    """Releases without the shift that all classes share, [runs, C, P, P]."""
    prepared, rng = plan.mechanism.prepare(plan, data), np.random.default_rng(seed)
    found = np.concatenate(
        [plan.mechanism.release_many(plan, prepared, [rng] * min(2000, runs - k)) for k in range(0, runs, 2000)]
    )
    return found - found.mean(1, keepdims=True)
