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
# Entries of a dense table that stay in a processor's cache between two products.
_CACHED = 1 << 17

Inverse = Callable[[Array], Array]


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

    theta: [r], of ellipsoids [C, q], in the set; on the simplex idle columns have the rest of its sum. risk: F(theta).
    gap: F(theta) is at most this far above the infimum. radius: of the ball, inf for all models, or the factor that
    scales the set.
    attained: False where theta separates the classes and the infimum is 0, the risk and gap here, which ever longer
    models approach and none has.
    """

    theta: Array
    risk: float
    gap: float
    radius: float
    attained: bool = True


@dc.dataclass(frozen=True)
class Iterate:
    """State at the start of a step: theta [r], its predictions z [n], grad J [r]."""

    theta: Array
    z: Array
    gradient: Array

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
        """Predictions and gradient at theta, from the records."""
        X, n = self.data.X, self.data.n
        # A smoothed kink has a state for each record, and knows no blocks.
        if not isinstance(X, np.ndarray) or X.size <= _CACHED or not isinstance(self.loss, Loss):
            z = self.predictions(theta)
            pulled = self.pull(self.slopes(z))
        else:  # both products read a block of rows while it is in the cache
            z, pulled, rows = np.empty(n), np.zeros(len(theta)), max(_CACHED // X.shape[1], 16)
            for block in (slice(start, start + rows) for start in range(0, n, rows)):
                z[block] = X[block] @ theta
                pulled += self.slopes(z[block], block) @ X[block]
            pulled /= n
        return Iterate(theta, z, pulled + self.lam * theta + self.linear)

    def predictions(self, theta: Array) -> Array:
        """X theta, shape [n]; most solves start at 0, where it needs no product."""
        return self.data.X @ theta if theta.any() else np.zeros(self.data.n)

    def slopes(self, z: Array, rows: slice = slice(None)) -> Array:
        """l'(z_i) of these rows, for predictions z of them."""
        slopes, weights = self.loss.derivative(z, self.data.y[rows]), self.data.weights
        return slopes if weights is None else weights[rows] * slopes

    def curvatures(self, z: Array) -> Array:
        """l''(z_i), shape [n]."""
        curvatures, weights = self.loss.curvature(z, self.data.y), self.data.weights
        return curvatures if weights is None else weights * curvatures

    def pull(self, values: Array) -> Array:
        """(1/n) sum_i values_i x_i, shape [r]."""
        X = self.data.X
        if isinstance(X, np.ndarray):
            return values @ X / len(values)
        out = np.empty(X.shape[1])
        kernels.pull_rows(kernels.unsigned(X.indptr), kernels.unsigned(X.indices), X.data, values, out)
        return out / len(values)

    def gradient(self, theta: Array) -> Array:
        """grad J(theta), shape [r]."""
        return self.at(theta).gradient

    def newton_direction(self, z: Array, gradient: Array, accuracy: float) -> Array:
        """-H^{-1} gradient with H = X' diag(l''(z)) X / n + lam I, in the cheapest of three ways.

        accuracy: relative residual at which conjugate gradients may stop.
        Raises Unconverged where H has no Cholesky factor.
        """
        curvatures = self.curvatures(z)
        curved = np.flatnonzero(curvatures)
        # Records without curvature do not enter the Hessian.
        if not len(curved):
            return -gradient / self.lam
        if min(len(curved), len(gradient)) > MAX_FACTOR:
            return self._by_conjugate_gradients(curvatures, gradient, accuracy)
        return ridge_solution(scale_rows(self.data.X[curved], curvatures[curved] / self.data.n), self.lam, -gradient)

    def _by_conjugate_gradients(self, curvatures: Array, gradient: Array, accuracy: float) -> Array:
        # Curvatures are replaced by their mean: as good a preconditioner, without a pass over the records.
        diagonal = curvatures.mean() * self.mean_squares + self.lam

        def image(v: Array) -> Array:
            return self.pull(curvatures * (self.data.X @ v)) + self.lam * v

        goal = accuracy * float(np.linalg.norm(gradient))
        return conjugate_gradients(image, -gradient, lambda v: v / diagonal, goal, _MAX_CG)

    @functools.cached_property
    def mean_squares(self) -> Array:
        """Diagonal of X'X / n, shape [r]."""
        X, weights = self.data.X, self.data.weights
        if not isinstance(X, np.ndarray):
            return column_sums(X, np.square) / self.data.n
        squares = np.einsum("ij,ij->j", X, X) if weights is None else np.einsum("i,ij,ij->j", weights, X, X)
        return squares / self.data.n


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


def cholesky_inverse(matrix: Array, lam: float) -> Inverse:
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
