"""Regularised problem for solvers: products with the records, gradients and Newton directions.

Records are dense or CSR; nothing here makes a large CSR table dense.
"""

import dataclasses as dc
import functools
import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ... import kernels
from ...core.arrays import Array, column_sums
from ...core.losses import Loss
from ...core.privacy import Unconverged
from ...core.records import Data

# Largest system that is factored; Newton directions of larger ones come from conjugate gradients.
MAX_FACTOR = 1500
_MAX_CG = 2000
# Fewest entries for products in single precision, and fewest columns: in narrower tables the vectors cost as much.
_MANY, _NARROW = 1 << 17, 16
# Rows that are summed in single precision.
_SUMMED = 512
# Bytes that stay in a cache between two passes.
_CACHE = 1 << 24
SINGLE_ACCURACY = 1e-4
# Single precision is used only if the entries of a Hessian's diagonal lie between these.
SINGLE_RANGE = 1e-18, 1e18


@dc.dataclass(frozen=True)
class Point:
    """Result of a solver: theta [r] and its certificate.

    residual: a gradient norm, or for losses with kinks a duality gap with the multipliers alpha [n]. steps: taken.
    """

    theta: Array
    residual: float
    steps: int
    alpha: Array = dc.field(default_factory=lambda: np.empty(0))


@dc.dataclass(frozen=True)
class Minimum:
    """Smallest unregularised risk over a set with its certificate: the reference risk F* of charts of excess risk.

    theta: [r], in the set; on the simplex idle columns have the rest of its sum. risk: F(theta). gap: F(theta) - min F
    <= gap. radius: of the ball, or the factor that scales the set.
    """

    theta: Array
    risk: float
    gap: float
    radius: float


@dc.dataclass(frozen=True)
class Iterate:
    """State at the start of a step: theta [r], predictions z [n] and slopes l'(z) [n], grad J [r].

    exact: all were computed from the records at this theta in double precision.
    """

    theta: Array
    z: Array
    slopes: Array
    gradient: Array
    exact: bool = True

    @functools.cached_property
    def norm(self) -> float:
        return math.sqrt(self.gradient @ self.gradient)


class Smooth(Protocol):
    """Derivatives in the prediction z, per record."""

    def derivative(self, z: Array, y: Array) -> Array: ...

    def curvature(self, z: Array, y: Array) -> Array: ...


@dc.dataclass(frozen=True)
class Objective:
    """(1/n) sum_i l(<x_i, theta>; y_i) + (lam/2) ||theta||^2 + <linear, theta> for a loss l with a derivative.

    linear: [r], or 0 for J itself. Merged records count by their weights, also in all derivatives.
    """

    loss: Smooth
    data: Data
    lam: float
    linear: Array | float = 0.0

    def at(self, theta: Array) -> Iterate:
        """Predictions, slopes and gradient at theta, in double precision."""
        if self.vast and self.data.weights is None and isinstance(self.loss, Loss) and theta.any():
            z, slopes, pulled = self.loss.sweep(self.data.X, theta, self.data.y)
            return Iterate(theta, z, slopes, pulled / self.data.n + self.lam * theta + self.linear)
        z = self.predictions(theta)
        slopes = self.slopes(z)
        return Iterate(theta, z, slopes, self.pull(slopes) + self.lam * theta + self.linear)

    def predictions(self, theta: Array) -> Array:
        """X theta, shape [n]; most solves start at 0, where it needs no product."""
        return self.data.X @ theta if theta.any() else np.zeros(self.data.n)

    def slopes(self, z: Array) -> Array:
        """l'(z_i), shape [n]."""
        slopes, weights = self.loss.derivative(z, self.data.y), self.data.weights
        return slopes if weights is None else weights * slopes

    def curvatures(self, z: Array, rows: Any = slice(None)) -> Array:
        """l''(z_i) of these rows."""
        curvatures, weights = self.loss.curvature(z[rows], self.data.y[rows]), self.data.weights
        return curvatures if weights is None else weights[rows] * curvatures

    def along(self, end: Array, change: Array, share: float, before: Array) -> tuple[Array, Array, float]:
        """z = end + share change and l'(z), shape [n], and (1/n) sum_i change_i (l'(z_i) - before_i)."""
        assert isinstance(self.loss, Loss)
        if self.data.weights is None:
            z, slopes, turn = self.loss.along(end, change, share, self.data.y, before)
        else:
            z = end + share * change
            slopes = self.slopes(z)
            turn = float(change @ (slopes - before))
        return z, slopes, turn / self.data.n

    def pull(self, values: Array) -> Array:
        """(1/n) sum_i values_i x_i, shape [r]."""
        X = self.data.X
        return _pull_rows(X, values) if self.wide and self.data.sparse else values @ X / self.data.n

    def gradient(self, theta: Array, z: Array | None = None) -> Array:
        """grad J(theta), shape [r]; z: the predictions X theta where they are known."""
        z = self.predictions(theta) if z is None else z
        return self.pull(self.slopes(z)) + self.lam * theta + self.linear

    def newton_direction(self, z: Array, gradient: Array, accuracy: float, single: bool = False) -> Array:
        """-H^{-1} gradient with H = X' diag(l''(z)) X / n + lam I, in the cheapest of three ways.

        accuracy: relative residual at which conjugate gradients may stop. single: they may use single precision.
        Raises Unconverged where H has no Cholesky factor in double precision.
        """
        weights = self.curvatures(z) / self.data.n
        curved = np.flatnonzero(weights)
        if min(len(curved), len(gradient)) > MAX_FACTOR:
            return self._by_conjugate_gradients(weights, gradient, accuracy, single)
        # Records without curvature do not enter the Hessian.
        if not len(curved):
            return -gradient / self.lam
        return ridge_solution(scale_rows(self.data.X[curved], weights[curved]), self.lam, -gradient)

    def _by_conjugate_gradients(self, weights: Array, gradient: Array, accuracy: float, single: bool) -> Array:
        # Curvatures are replaced by their mean: as good a preconditioner, without a pass over the records.
        diagonal = weights.sum() * self.mean_squares + self.lam
        single = single and SINGLE_RANGE[0] < diagonal.min() and diagonal.max() < SINGLE_RANGE[1]
        X = self.single if single else self.data.X
        length = float(np.linalg.norm(gradient))
        weights, scale = weights.astype(X.dtype), (1.0 / diagonal).astype(X.dtype)
        accuracy = max(accuracy, SINGLE_ACCURACY) if single else accuracy

        def image(v: Array) -> Array:
            return (weights * (X @ v)) @ X + self.lam * v

        right = (gradient / -length).astype(X.dtype)
        return length * conjugate_gradients(image, right, lambda v: scale * v, accuracy, _MAX_CG).astype(np.float64)

    @property
    def wide(self) -> bool:
        """True if products with X take long enough for single precision to pay."""
        X = self.data.X
        return X.size >= _MANY and X.shape[1] >= _NARROW if isinstance(X, np.ndarray) else X.nnz >= _MANY

    @property
    def vast(self) -> bool:
        """True if X is a table too large to stay in a cache between two passes."""
        return isinstance(self.data.X, np.ndarray) and self.data.X.nbytes > _CACHE

    @functools.cached_property
    def single(self) -> Any:
        """X in single precision; a table is stored by rows, which makes products with one vector fastest."""
        return self.data.single if self.data.sparse else self.data.X.astype(np.float32)

    @functools.cached_property
    def mean_squares(self) -> Array:
        """Diagonal of X'X / n, shape [r]."""
        X, weights = self.data.X, self.data.weights
        if weights is not None:
            return np.einsum("i,ij,ij->j", weights, X, X) / self.data.n
        light = "single" in self.__dict__ or (self.wide and not self.vast)
        if light and SINGLE_RANGE[0] < (squares := _mean_squares(self.single)).max() < SINGLE_RANGE[1]:
            return squares
        return (np.einsum("ij,ij->j", X, X) if isinstance(X, np.ndarray) else column_sums(X, np.square)) / self.data.n


def _mean_squares(X: Any) -> Array:
    """Mean squares of the columns of a table in single precision, [r]."""
    with np.errstate(over="ignore"):
        if isinstance(X, np.ndarray):
            return np.einsum("ij,ij->j", X, X).astype(np.float64) / len(X)
        return pull_single(type(X)((np.square(X.data), X.indices, X.indptr), shape=X.shape), np.ones(X.shape[0]))


def pull_single(X: Any, weights: Array) -> Array:
    """(1/n) sum_i weights_i x_i, [r], for X in single precision.

    Sums over more than a few hundred rows are in double precision, so errors hardly exceed those of the entries.
    """
    if not isinstance(X, np.ndarray):
        return _pull_rows(X, weights)
    n, light = len(weights), weights.astype(np.float32)
    blocks = n // _SUMMED
    summed = blocks * _SUMMED
    parts = light[:summed].reshape(blocks, 1, _SUMMED) @ X[:summed].reshape(blocks, _SUMMED, X.shape[1])
    return (parts.sum(axis=(0, 1), dtype=np.float64) + light[summed:] @ X[summed:]) / n


def _pull_rows(X: Any, weights: Array) -> Array:
    """(1/n) sum_i weights_i x_i, [r], for a CSR table in either precision; sums are in double."""
    out = np.empty(X.shape[1])
    kernels.pull_rows(kernels.unsigned(X.indptr), kernels.unsigned(X.indices), X.data, weights, out)
    out /= len(weights)
    return out


def conjugate_gradients(
    image: Callable[[Array], Array], right: Array, scaled: Callable[[Array], Array], goal: float, max_steps: int
) -> Array:
    """v with ||right - image(v)|| <= goal, or the result of max_steps; scaled: about the inverse of `image`."""
    solution, residual = np.zeros_like(right), right
    search = scaled(residual)
    inner = residual @ search
    for _ in range(max_steps):
        if np.linalg.norm(residual) <= goal:
            break
        bent = image(search)
        step = inner / (search @ bent)
        solution = solution + step * search
        residual = residual - step * bent
        ahead = scaled(residual)
        inner, before = residual @ ahead, inner
        search = ahead + (inner / before) * search
    return solution


def cholesky_inverse(matrix: Array, lam: float) -> Callable[[Array], Array]:
    """Function b -> (matrix + lam I)^{-1} b for a symmetric positive semidefinite matrix, which is overwritten."""
    matrix.flat[:: matrix.shape[0] + 1] += lam
    try:
        factor = cho_factor(matrix, overwrite_a=True, check_finite=False)
    except LinAlgError:
        raise Unconverged(f"lam = {lam:g} is too small for these records; nothing was released") from None
    return lambda b: cho_solve(factor, b, check_finite=False)


def ridge_solution(A: Any, lam: float, b: Array) -> Array:
    """(A'A + lam I)^{-1} b for A [k, r], dense or CSR, by a factor of the smaller of A'A and A A'."""
    if A.shape[1] <= A.shape[0]:
        return cholesky_inverse(dense(A.T @ A), lam)(b)
    # Woodbury: (A'A + lam I)^{-1} = (I - A' (A A' + lam I)^{-1} A) / lam.
    small_inverse = cholesky_inverse(dense(A @ A.T), lam)

    def inverse(b: Array) -> Array:
        return (b - small_inverse(A @ b) @ A) / lam

    # The difference loses digits for small lam; one step of refinement restores them.
    solution = inverse(b)
    return solution + inverse(b - (A @ solution) @ A - lam * solution)


def beside_filled(data: Data, lam: float, linear: Array, tol: float) -> tuple[Array, float]:
    """Minimiser's coordinates -linear / lam in columns without an entry, 0 in the others; and their rounding error.

    linear: [..., r], as in `Objective`. The second is a bound on the length of the errors of each row: no error is
    above 2^-53 of its coordinate, and twice that leaves room for the rounding of the bound itself. Raises Unconverged
    if the bound is as large as tol, the required distance.
    """
    columns, _ = data.nonempty
    theta = linear / -lam
    theta[..., columns] = 0.0
    rounding = 2.0**-52 * max(math.sqrt(row @ row) for row in np.atleast_2d(theta))
    if rounding >= tol:
        raise Unconverged(
            f"columns without an entry are certified to {rounding:.3g}, the privacy proof needs {tol:.3g}; "
            "nothing was released"
        )
    return theta, rounding


def scale_rows(rows: Any, weights: Array) -> Any:
    scale = np.sqrt(weights)[:, None]
    return rows * scale if isinstance(rows, np.ndarray) else rows.multiply(scale).tocsr()


def dense(matrix: Any) -> Array:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def shortened(v: Array, length: float) -> Array:
    """v, or the vector of that length in its direction if v is longer."""
    norm = float(np.linalg.norm(v))
    return v if norm <= length else v * (length / norm)
