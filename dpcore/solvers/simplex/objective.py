"""Entropy-regularised risk over the simplex for its solver: gradients, values and Newton directions.

Nothing here makes a large CSR table dense; the small systems that are factored are dense.
"""

import dataclasses as dc
import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ...core.arrays import Array
from ...core.losses import Loss
from ...core.records import Data
from ..erm.objective import conjugate_gradients, dense, ridge_solution

_MAX_CG = 500
# Larger systems are solved by conjugate gradients, which are faster because most steps need few digits. So are systems
# whose trace is not much larger than lam, which need few iterations.
_MAX_FACTOR, _MAX_EASY_FACTOR, _STIFF = 300, 50, 1000.0
_ENOUGH = 0.6
# Shares of lam. Columns with less than the first of the Hessian's trace are left out of the system; columns with less
# than the second take their step from their own row of it, because conjugate gradients leave it inaccurate.
_LEFT_OUT, _OWN_ROW = 1e-3, 0.1


@dc.dataclass(frozen=True)
class SimplexPoint:
    """u: [m], normalised; z: predictions [n]; value: J; tilt: [m], ln w_j + g_j / lam; steps: Newton steps so far."""

    u: Array
    z: Array
    value: float
    tilt: Array
    steps: int


@dc.dataclass(frozen=True)
class SimplexObjective:
    """J in u, the logarithms of the weights: [r] of them, and one more for all idle columns together if there are any;
    m in all."""

    loss: Loss
    data: Data
    lam: float
    radius: float

    @property
    def idle(self) -> int:
        return self.data.p - self.data.stored

    @functools.cached_property
    def log_counts(self) -> Array:
        """ln of the number of columns in each coordinate, shape [m]."""
        return np.append(np.zeros(self.data.stored), [math.log(self.idle)] if self.idle else [])

    @functools.cached_property
    def root_mean_squares(self) -> Array:
        """Root of the mean over records of x_ij^2, shape [m]."""
        X = self.data.X
        squares = np.einsum("ij,ij->j", X, X) if isinstance(X, np.ndarray) else X.power(2).sum(axis=0)
        return self._extended(np.sqrt(np.asarray(squares) / self.data.n))

    def _extended(self, stored: Array) -> Array:
        return np.append(stored, 0.0) if self.idle else stored

    def completed(self, start: Array) -> Array:
        """Normalised u, [m], from logarithms of the stored weights; idle columns get the rest."""
        if self.idle:
            start = np.append(start, math.log(-math.expm1(min(float(logsumexp(start)), -1e-15))))
        return start - logsumexp(start)

    def push(self, weights: Array) -> Array:
        """radius * sum_j weights_j x_ij, shape [n]."""
        return self.radius * (self.data.X @ weights[: self.data.stored])

    def pull(self, values: Array) -> Array:
        """(radius / n) sum_i values_i x_ij, shape [m]."""
        return self._extended(values @ self.data.X * (self.radius / self.data.n))

    def gradient(self, z: Array) -> Array:
        """radius grad F, shape [m]."""
        return self.pull(self.loss.derivative(z, self.data.y))

    def value(self, u: Array, z: Array) -> float:
        return float(self.loss.value(z, self.data.y).mean() + self.lam * (np.exp(u) @ (u - self.log_counts)))

    def point(self, u: Array, z: Array, value: float, steps: int) -> SimplexPoint:
        return SimplexPoint(u, z, value, u - self.log_counts + self.gradient(z) / self.lam, steps)

    def direction(self, point: SimplexPoint, accuracy: float) -> tuple[Array, Array]:
        """Newton step in u, shape [m], and the growth of each u before its weight matters, [m].

        With D = diag(w) and H the Hessian in w, the step s solves (lam I + H D) s = -lam tilt + nu and keeps the sum of
        the weights: sum w s = 0. Centring the records, x_ij - z_i / radius, changes H D s by a constant only; then
        H D 1 = 0, and nu = lam sum w tilt does both. Weighted by D^(1/2) the system is symmetric.
        """
        w, z = np.exp(point.u), point.z
        right = self.lam * (w @ point.tilt - point.tilt)
        curvature = self.loss.curvature(z, self.data.y)
        centre = math.sqrt(float(z @ z) / len(z))
        trace = curvature.max() * w * (self.radius * self.root_mean_squares + centre) ** 2
        order = np.argsort(trace)
        carried = np.cumsum(trace[order]) / self.lam
        solved, own = np.sort(order[carried > _LEFT_OUT]), order[carried <= _OWN_ROW]
        s = np.zeros_like(w)
        if len(solved):
            diagonal = trace[solved] * (curvature.mean() / curvature.max())
            system = _System(self, solved, w[solved], curvature, z, diagonal)
            s[solved] = system.solve(right[solved], accuracy)
        change = w * s
        bent = curvature * (self.push(change) - z * change.sum())
        s[own] = (right - self.pull(bent) + bent @ z / self.data.n)[own] / self.lam
        with np.errstate(divide="ignore"):
            return s, math.log(_OWN_ROW * self.lam) - np.log(trace)


class _System:
    """lam I + D^(1/2) H D^(1/2) = lam I + B'B for some of the columns, a row of B for each record."""

    def __init__(
        self,
        objective: SimplexObjective,
        columns: NDArray[np.intp],
        w: Array,
        curvature: Array,
        z: Array,
        diagonal: Array,
    ) -> None:
        # Approximately the system's: a preconditioner.
        self.diagonal = diagonal + objective.lam
        self.lam, self.roots = objective.lam, np.sqrt(w)
        # Idle columns come last and are zero: they have no column in X, only in the centre.
        kept = columns[: np.searchsorted(columns, objective.data.stored)]
        rows = np.flatnonzero(curvature)
        factored = _MAX_FACTOR if diagonal.sum() > _STIFF * objective.lam else _MAX_EASY_FACTOR
        self.small = min(len(rows), len(columns)) <= factored
        X: Any = objective.data.X
        # Taking rows or columns costs several products, so products use all unless few are needed.
        if len(rows) < (1.0 if self.small else _ENOUGH) * len(z):
            X, curvature, z = X[rows], curvature[rows], z[rows]
        self.stored = len(kept)
        if len(kept) < (1.0 if self.small else _ENOUGH) * X.shape[1]:
            X, kept = X[:, kept] if objective.data.sparse else np.take(X, kept, axis=1), np.arange(len(kept))
        self.X, self.kept = X, kept
        self.scale, self.centre = objective.radius * np.sqrt(curvature / objective.data.n), z / objective.radius

    def solve(self, right: Array, accuracy: float) -> Array:
        """s such that D^(1/2) s solves the system for D^(1/2) right; accuracy: relative, of conjugate gradients."""
        right = self.roots * right
        if self.small:
            return self._by_factor(right) / self.roots
        goal = accuracy * float(np.linalg.norm(right))
        return conjugate_gradients(self._times, right, lambda v: v / self.diagonal, goal, _MAX_CG) / self.roots

    def _by_factor(self, right: Array) -> Array:
        B = np.zeros((len(self.scale), len(self.roots)))
        B[:, : self.stored] = dense(self.X)
        B -= self.centre[:, None]
        B *= self.scale[:, None]
        B *= self.roots
        return ridge_solution(B, self.lam, right)

    def _times(self, v: Array) -> Array:
        weighted = self.roots * v
        spread = np.zeros(self.X.shape[1])
        spread[self.kept] = weighted[: self.stored]
        bent = self.scale**2 * (self.X @ spread - self.centre * weighted.sum())
        pulled = np.zeros_like(v)
        pulled[: self.stored] = (bent @ self.X)[self.kept]
        return self.roots * (pulled - bent @ self.centre) + self.lam * v
