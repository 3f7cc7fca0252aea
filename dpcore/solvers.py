"""Non-private minimisers that certify what they return.

`minimise` serves the mechanisms: a gradient norm of the strongly convex J bounds the distance to its minimiser,
||theta - theta_hat|| <= ||grad J(theta)|| / lam. `minimise_in_ball` serves the charts: on separable data no
unregularised minimiser exists and a small gradient certifies nothing, so the reference risk is taken over a
ball and certified by the Frank-Wolfe gap, which bounds F(theta) - F* from any feasible point.
"""

from __future__ import annotations

import dataclasses as dc

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, qr
from scipy.optimize import brentq

from .losses import Loss
from .types import Array, Data, Unconverged, positive

_MAX_STEPS = 100
_SMOOTH_SHARE, _HINGE_SHARE = 1e-8, 1e-3
_GRADIENT_FLOOR, _GAP_FLOOR = 1e-12, 1e-13
_HESSIAN_ROWS = 8192


@dc.dataclass(frozen=True)
class Minimiser:
    """An approximate minimiser of J with its certificate.

    theta: [r]. distance: ||theta - theta_hat||_2 is at most this. steps: iterations taken.
    """

    theta: Array
    distance: float
    steps: int


@dc.dataclass(frozen=True)
class BallMinimum:
    """The smallest unregularised risk over an L2 ball with its certificate.

    theta: [p], in the ball. risk: F(theta). gap: F(theta) - min F <= gap. radius: of the ball.
    """

    theta: Array
    risk: float
    gap: float
    radius: float


def tolerance(loss: Loss, LR: float, n: int, lam: float) -> float:
    """The distance to theta_hat that `minimise` is asked to certify; a public fact, it enters the sensitivity twice.

    Smooth losses: 1e-8 of L R / (n lam), but no gradient below 1e-12 L R, where rounding begins. Hinge: 1e-3 of it, but
    no duality gap below 1e-13.
    """
    if np.isfinite(loss.curvature_bound):
        return LR * max(_SMOOTH_SHARE / n, _GRADIENT_FLOOR) / lam
    return max(_HINGE_SHARE * LR / (n * lam), (2.0 * _GAP_FLOOR / lam) ** 0.5)


def minimise(
    loss: Loss, data: Data, lam: float, *, tol: float, radius: float | None = None, start: Array | None = None
) -> Minimiser:
    """Minimise J(theta) = (1/n) sum_i l(<x_i, theta>; y_i) + (lam/2) ||theta||^2 by Newton's method.

    tol: stop when ||theta - theta_hat|| <= tol is certified. start: [r], default 0.
    For p > n the iteration runs in the row space of X,
    which contains the minimiser; the certificate is evaluated in the full space.

    Raises Unconverged when tol is not reached; nothing is returned then.
    """
    positive("lam", lam)
    positive("tol", tol)
    tol *= lam  # from here on the gradient norm that certifies it
    X, basis = _row_space(data.X)
    theta = np.zeros(X.shape[1]) if start is None else (start if basis is None else basis.T @ start)
    objective, gradient = _regularised(loss, X, data.y, lam, theta)
    factor, shrunk, stride = None, 0.0, max(1, data.n // _HESSIAN_ROWS)
    for steps in range(_MAX_STEPS + 1):
        norm = float(np.linalg.norm(gradient))
        if norm <= tol:
            full = theta if basis is None else basis @ theta
            _, full_gradient = _regularised(loss, data.X, data.y, lam, full)
            norm = float(np.linalg.norm(full_gradient))
            if norm <= tol:
                return Minimiser(full, norm / lam, steps)
        # The Hessian costs ten gradients or more: keep its factor while steps still gain fivefold, and take it
        # from a sample of the rows while that serves. Only the gradient, which is always exact, certifies.
        if factor is None or shrunk > 0.2:
            if shrunk > 0.5:
                stride = 1
            hessian = _hessian(loss, X[::stride], data.y[::stride], theta)
            hessian.flat[:: hessian.shape[0] + 1] += lam
            try:
                factor = cho_factor(hessian, overwrite_a=True, check_finite=False)
            except LinAlgError:
                raise Unconverged(f"lam = {lam:g} is too small for these records; nothing was released") from None
        direction = -cho_solve(factor, gradient, check_finite=False)
        theta, objective, gradient = _search(loss, X, data.y, lam, theta, direction, objective, gradient)
        shrunk = float(np.linalg.norm(gradient)) / norm
    raise Unconverged(
        f"the solver reached a gradient norm of {np.linalg.norm(gradient):.3g} in {_MAX_STEPS} steps, "
        f"the privacy proof needs {tol:.3g}; nothing was released"
    )


def minimise_in_ball(loss: Loss, data: Data, radius: float, *, tol: float = 1e-9) -> BallMinimum:
    """Minimise F(theta) = (1/n) sum_i l(<x_i, theta>; y_i) over ||theta||_2 <= radius.

    Each step minimises the second-order model over the ball exactly (one eigendecomposition and a secular
    equation) and searches along the segment to it, which stays in the ball. tol: certified Frank-Wolfe gap
    <grad F, theta> + radius ||grad F||, in units of risk.

    Raises Unconverged when the gap stays above tol.
    """
    positive("radius", radius)
    X, basis = _row_space(data.X)
    theta = np.zeros(X.shape[1])
    gap = np.inf
    risk, gradient = _regularised(loss, X, data.y, 0.0, theta)
    for _ in range(_MAX_STEPS):
        gap = float(gradient @ theta + radius * np.linalg.norm(gradient))
        if gap <= tol:
            full = theta if basis is None else basis @ theta
            return BallMinimum(full, risk, max(gap, 0.0), radius)
        hessian = _hessian(loss, X, data.y, theta)
        direction = _quadratic_minimum_in_ball(hessian, hessian @ theta - gradient, radius) - theta
        theta, risk, gradient = _search(loss, X, data.y, 0.0, theta, direction, risk, gradient)
    raise Unconverged(f"the reference risk over the ball is certified to {gap:.3g} only, needed {tol:.3g}")


def _search(
    loss: Loss, X: Array, y: Array, lam: float, theta: Array, direction: Array, objective: float, gradient: Array
) -> tuple[Array, float, Array]:
    """Step 1, 1/2, 1/4, ... along `direction` until an Armijo share of the predicted decrease is won.

    Returns the new theta with its objective and gradient.
    """
    decrease = -float(gradient @ direction)
    step = 1.0
    while True:
        trial = theta + step * direction
        value, slope = _regularised(loss, X, y, lam, trial)
        # Close to the optimum the objective no longer resolves a step; there Newton converges unaided.
        close = decrease < 1e-13 * (1 + abs(objective))
        if close or value <= objective - 1e-4 * step * decrease or step < 1e-12:
            return trial, value, slope
        step /= 2.0


def _row_space(X: Array) -> tuple[Array, Array | None]:
    """X in coordinates of its row space, [n, min(n, p)], and the orthonormal basis [p, n] (None when p <= n)."""
    n, p = X.shape
    if p <= n:
        return X, None
    basis, triangle = qr(X.T, mode="economic")
    return np.ascontiguousarray(triangle.T), basis


def _regularised(loss: Loss, X: Array, y: Array, lam: float, theta: Array) -> tuple[float, Array]:
    z = X @ theta
    objective = float(loss.value(z, y).mean() + 0.5 * lam * (theta @ theta))
    return objective, X.T @ loss.derivative(z, y) / len(y) + lam * theta


def _hessian(loss: Loss, X: Array, y: Array, theta: Array) -> Array:
    weights = loss.curvature(X @ theta, np.ascontiguousarray(y)) / len(y)
    return (X.T * weights) @ X


def _quadratic_minimum_in_ball(H: Array, b: Array, radius: float) -> Array:
    """argmin t'Ht/2 - b't over ||t|| <= radius, H symmetric positive semidefinite."""
    values, vectors = eigh(H)
    # A floor far below the curvature that matters keeps flat directions finite; the ball does the rest.
    values = np.maximum(values, 1e-14 * max(values[-1], 1e-30))
    coefficients = vectors.T @ b

    def excess(shift: float) -> float:
        return 1.0 / radius - 1.0 / max(float(np.linalg.norm(coefficients / (values + shift))), 1e-300)

    shift = 0.0
    if excess(0.0) > 0.0:
        # ||t(shift)|| <= ||b|| / shift, so the root lies below ||b|| / radius.
        shift = brentq(excess, 0.0, np.linalg.norm(b) / radius * (1 + 1e-9), xtol=1e-300, rtol=1e-14)
    t = vectors @ (coefficients / (values + shift))
    return t * min(1.0, radius / np.linalg.norm(t)) if shift else t
