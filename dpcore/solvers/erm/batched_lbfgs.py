"""Many models on the same records, one per row, moved together by limited-memory BFGS.

The records enter in products with whole matrices; each row has its own curvature pairs and step lengths, all share one
preconditioner. Vectors of length r stay in double precision. Vectors with one entry per record may be in single
precision: errors of predictions and slopes enter the gradient unamplified, not multiplied by the noise.
"""

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import kernels
from ...core.arrays import Array
from ...core.cancel import Cancelled, go_on
from ...core.losses import Loss
from ...core.records import Data
from .objective import MAX_FACTOR, Objective, cholesky_inverse, dense, scale_rows

Matrix = NDArray[Any]
Rows = NDArray[np.intp]
Solve = Callable[[Array], Array]

_MAX_STEPS = 60
_MEMORY = 6
_MAX_SHORTENINGS = 30
# Fewest steps for which a preconditioner is used, and at one point _STALE_STEPS.
_SERVES, _STALE_STEPS = 4, 12


class Records:
    """Records and loss in one precision."""

    def __init__(self, loss: Loss, data: Data, single: bool) -> None:
        self.loss, self.data, self.single = loss, data, single
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self.X = data.X.astype(self.dtype, copy=False)
        # A product with a transposed view takes half as long again in single precision.
        self.Xt = np.ascontiguousarray(self.X.T) if single and isinstance(self.X, np.ndarray) else self.X.T
        self.weights = None if data.weights is None else data.weights.astype(self.dtype, copy=False)
        self.y, self.h = data.y.astype(self.dtype, copy=False), self.dtype.type(loss.shape)
        tables = (kernels.VALUE, kernels.DERIVATIVE, kernels.CURVATURE)
        if single:
            tables = (kernels.SINGLE_VALUE, kernels.SINGLE_DERIVATIVE, kernels.SINGLE_CURVATURE)
        self.value, self.derivative, self.curvature = (table[loss.key] for table in tables)

    def predictions(self, thetas: Array) -> Matrix:
        """<x_i, theta_k> for thetas [k, r], shape [k, n]."""
        return np.ascontiguousarray(thetas.astype(self.dtype, copy=False) @ self.Xt)

    def forces(self, z: Matrix, rows: Rows) -> Array:
        """(1/n) sum_i l'(z_ki; y_i) x_i, the gradient of F, for the predictions z [:, n] in `rows`; [len(rows), r]."""
        slopes = np.empty((len(rows), self.data.n), self.dtype)
        kernels.apply_to_rows(self.derivative, z, rows, self.y, self.h, slopes)
        return self._pull(slopes)

    def moved_forces(self, z: Matrix, rows: Rows, shares: Array, moved: Matrix, moves: Rows) -> Array:
        """`forces` after z[rows] += shares * moved[moves], which happens in place."""
        slopes = np.empty((len(rows), self.data.n), self.dtype)
        shares = shares.astype(self.dtype)
        kernels.move_rows(self.derivative, z, rows, shares, moved, moves, self.y, self.h, slopes)
        return self._pull(slopes)

    def _pull(self, slopes: Matrix) -> Array:
        if self.weights is not None:
            slopes *= self.weights
        return (slopes @ self.X).astype(np.float64) / self.data.n

    def risks(self, z: Matrix) -> Array:
        """mean_i l(z_ki; y_i) for z [k, n], shape [k]."""
        out, weights = np.empty(len(z)), self.data.weights
        if weights is None:
            kernels.means_of_rows(self.value, z, self.y, self.h, out)
            return out
        values = np.empty_like(z)
        kernels.apply_to_rows(self.value, z, np.arange(len(z)), self.y, self.h, values)
        return np.asarray(values @ weights / self.data.n, np.float64)

    def mean_curvatures(self, z: Matrix) -> Matrix:
        """mean_k l''(z_ki; y_i), shape [n]."""
        out = np.empty_like(self.y)
        kernels.mean_of_rows(self.curvature, z, self.y, self.h, out)
        return out if self.weights is None else self.weights * out


class Preconditioner:
    """Inverse of X' diag(mean curvature) X / n + lam I, or of its diagonal if that is too large to be factored.

    It is rebuilt after more steps than it costs: X'X takes as long as r / 4k steps of k rows.
    """

    def __init__(self) -> None:
        self._invert: Callable[[float], Solve] | None = None
        self._solve: tuple[float, Solve] | None = None
        self._steps = 0

    def solve(self, records: Records, z: Matrix, lam: float) -> Solve:
        """Function from b [k, r] to H^{-1} b, row by row, at these predictions or at earlier ones."""
        if self._invert is None or self._steps > _SERVES + records.data.stored // (4 * len(z)):
            self._invert, self._solve, self._steps = _mean_hessian(records, z), None, 0
        if self._solve is None or self._solve[0] != lam:
            self._solve = lam, self._invert(lam)
        return self._solve[1]

    def used(self) -> None:
        """Count one more step of all rows with this preconditioner."""
        self._steps += 1


def _mean_hessian(records: Records, z: Matrix) -> Callable[[float], Solve]:
    """Function from lam to the function b -> (X' diag(mean curvature) X / n + lam I)^{-1} b."""
    weights = records.mean_curvatures(z) / records.data.n
    if records.data.stored > MAX_FACTOR:
        diagonal = float(weights.sum()) * Objective(records.loss, records.data, 0.0).mean_squares
        return lambda lam: lambda b: b / (diagonal + lam)
    scaled = scale_rows(records.X, weights)
    hessian = dense(scaled.T @ scaled).astype(np.float64)
    # Rounding must not make it indefinite.
    hessian.flat[:: len(hessian) + 1] += float(np.finfo(scaled.dtype).eps) * np.trace(hessian)

    def invert(lam: float) -> Solve:
        inverse = cholesky_inverse(hessian.copy(), lam)
        return lambda b: inverse(b.T).T

    return invert


def descend(
    records: Records,
    theta: Array,
    z: Matrix,
    lam: float,
    linear: Array,
    goal: Callable[[Array], Array],
    preconditioner: Preconditioner,
    cancelled: Cancelled,
) -> tuple[Array, Rows]:
    """Lower (1/n) sum_i l + (lam/2) ||theta||^2 + <linear, theta> in every row until ||gradient|| <= goal(grad F).

    theta [k, r] and z = its predictions [k, n] are moved in place; linear: [k, r].
    Returns the gradient norms [k] and the rows that have not reached the goal.
    """
    rows = np.arange(len(theta))
    residuals = np.empty(len(theta))
    pairs: collections.deque[tuple[Array, Array, Array]] = collections.deque(maxlen=_MEMORY)
    force = records.forces(z, rows)
    gradient = force + lam * theta + linear
    for step in range(_MAX_STEPS + 1):
        norms = lengths(gradient)
        residuals[rows] = norms
        left = norms > goal(force)
        if not left.all():
            rows, gradient = rows[left], gradient[left]
            pairs = collections.deque([(s[left], c[left], i[left]) for s, c, i in pairs], maxlen=_MEMORY)
        if not len(rows) or step == _MAX_STEPS:
            break
        go_on(cancelled)
        if step % _STALE_STEPS == 0:
            precondition = preconditioner.solve(records, z, lam)
        preconditioner.used()
        direction = -_inverse_hessian(pairs, precondition, gradient)
        moved, force, new = _search(records, theta, z, lam, linear, rows, gradient, direction)
        theta[rows] += moved
        change = new - gradient
        product = _inner(moved, change)
        pairs.append((moved, change, np.divide(1.0, product, out=np.zeros(len(rows)), where=product > 0.0)))
        gradient = new
    return residuals, rows


def _search(
    records: Records, theta: Array, z: Matrix, lam: float, linear: Array, rows: Rows, gradient: Array, direction: Array
) -> tuple[Array, Array, Array]:
    """Steps along `direction` short enough not to increase J, then grad F and the gradient there; z has moved."""
    moved = records.predictions(direction)
    slope = _inner(gradient, direction)
    shares, before = np.ones(len(rows)), np.zeros(len(rows))
    force, new = np.empty_like(gradient), np.empty_like(gradient)
    trying = np.arange(len(rows))
    for _ in range(_MAX_SHORTENINGS):
        at = rows[trying]
        force[trying] = records.moved_forces(z, at, shares[trying] - before[trying], moved, trying)
        there = theta[at] + shares[trying, None] * direction[trying]
        new[trying] = force[trying] + lam * there + linear[at]
        rise = _inner(new[trying], direction[trying])
        climbs = rise > -0.5 * slope[trying]
        if not climbs.any():
            break
        trying, rise = trying[climbs], rise[climbs]
        before[trying] = shares[trying]
        shares[trying] *= np.maximum(slope[trying] / (slope[trying] - rise), 0.05)
    return shares[:, None] * direction, force, new


def _inverse_hessian(
    pairs: collections.deque[tuple[Array, Array, Array]], precondition: Solve, gradient: Array
) -> Array:
    """Two-loop recursion of `smooth`, row by row."""
    q = gradient.copy()
    shares = []
    for moved, change, inverse in reversed(pairs):
        shares.append(inverse * _inner(moved, q))
        q -= shares[-1][:, None] * change
    q = precondition(q)
    for (moved, change, inverse), share in zip(pairs, reversed(shares), strict=True):
        q += (share - inverse * _inner(change, q))[:, None] * moved
    return q


def _inner(a: Array, b: Array) -> Array:
    return np.einsum("ij,ij->i", a, b)


def lengths(a: Array) -> Array:
    return np.sqrt(_inner(a, a))
