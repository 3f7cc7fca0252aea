"""Losses with a derivative: limited-memory BFGS where it is cheapest, Newton's method where it is needed.

lam-strong convexity of J bounds the distance of any theta from the minimiser by ||grad J(theta)|| / lam: both methods
stop on the gradient norm and evaluate it at the theta that they return.
"""

import math
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from ...core.arrays import Array
from ...core.losses import Loss
from ...core.privacy import Unconverged
from ...core.records import Data
from ...core.roots import find_root
from .lbfgs import MEMORY, Inverse, Way, quasi_newton
from .objective import MAX_FACTOR, SINGLE_RANGE, Iterate, Objective, Point, cholesky_inverse

_MAX_NEWTON = 200
# Steps before Newton's method.
_MAX_STEPS = 60
# Flatness at the end of a step: more trials along a line pay if directions are poor.
_FLAT, _FLATTEST = 0.5, 0.2
# Curvatures below this share of the loss's bound say little about points nearby.
_LEAST_CURVATURE = 0.05
# Passes over the table that the Hessian of a sample, or X'X, may cost before plain steps are tried first; squared loss
# needs only the latter.
_CHEAP, _CHEAP_WHOLE = 8, 25
# Up to this ratio of curvatures every direction is as good as another.
_EVEN = 4.0
# Multiples of the golden section are spread evenly for any order and period of the rows.
_GOLDEN = 0.6180339887498949
_PER_COLUMN = 15
# Number of samples before the sample size grows, and its factor: slow steps suggest that a sample missed something.
_PATIENCE, _GROWTH = 2, 4
# Curvature of every record, as a share of the mean, at least: a record without curvature here may have some nearby.
_AT_LEAST = 0.03
# Rounding errors of products in single and in double precision that are added to the diagonal, relative to it.
_ROUNDING = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-14}


def minimise_smooth(
    loss: Loss, data: Data, lam: float, tol: float, start: Array | None = None, linear: Array | float = 0.0
) -> Point:
    """theta with ||grad J(theta) + linear|| <= tol; raises Unconverged."""
    problem = Objective(loss, data, lam, linear)
    here, steps = problem.at(np.zeros(data.stored) if start is None else start), 0
    for way in _ways(problem, loss) if here.norm > tol else ():
        if here.norm > tol:
            here, taken = quasi_newton(problem, here, tol, way)
            steps += taken
    if here.norm <= tol:
        return Point(here.theta, here.norm, steps)
    theta, gradient, taken = newton(problem, here.theta, here.gradient, tol)
    return Point(theta, float(np.linalg.norm(gradient)), steps + taken)


def _ways(problem: Objective, loss: Loss) -> list[Way]:
    """Methods to try before Newton's.

    The Hessian of a sample is used for tables with more rows than columns; X'X, that of all rows, if it has been
    computed before, and for squared loss, which has this curvature everywhere. If it costs many passes, plain steps
    with the Hessian's diagonal are tried for about as long as it would take, and for longer if nothing can be factored:
    conjugate gradients cost as much per step and learn nothing from one Newton step to the next. Nothing is tried on
    sparse tables with so many columns that the stored vectors would be larger than the records.
    """
    data, lam, n, r = problem.data, problem.lam, problem.data.n, problem.data.stored
    least = _LEAST_CURVATURE * loss.curvature_bound

    def typical(here: Iterate) -> float:
        return max(float(problem.curvatures(here.z).mean()), least)

    def even(here: Iterate) -> Inverse:
        return lambda g: g / lam

    def diagonal(here: Iterate) -> Inverse:
        inverse = 1.0 / (typical(here) * problem.mean_squares + lam)
        return lambda g: inverse * g

    def whole(here: Iterate) -> Inverse:
        return cholesky_inverse(typical(here) * data.gram, lam)

    if not isinstance(data.X, np.ndarray):
        if 2 * MEMORY * r * 4 > data.X.nnz * 12:
            return []
        if loss.curvature_bound * float(data.X.data @ data.X.data) <= _EVEN * lam * n:
            return [Way(even, _MAX_STEPS, _FLATTEST, single=False)]
        return [Way(diagonal, _MAX_STEPS, _FLATTEST, problem.wide)]
    if r > min(n, MAX_FACTOR):
        steps = max(20, n // 20) if n <= MAX_FACTOR else _MAX_STEPS
        return [Way(diagonal, steps, _FLATTEST, problem.wide)]
    constant, known = not math.isfinite(loss.slope), "gram" in data.__dict__
    cost = 0 if known else (n if constant else rows_for(n, r)) * r // (8 * n)
    sample = SampledHessian(problem, loss, least)

    def close(here: Iterate) -> Inverse:
        return whole(here) if constant or (known and not here.z.any()) else sample.inverse_at(here)

    plain = [Way(diagonal, cost, _FLATTEST, problem.wide)] if cost > (_CHEAP_WHOLE if constant else _CHEAP) else []
    # With a good preconditioner from the start there are too few steps for single precision to pay.
    single = problem.wide and not constant and (problem.vast or not known)
    return [*plain, Way(close, _MAX_STEPS, _FLAT, single)]


def newton(problem: Objective, theta: Array, gradient: Array, tol: float) -> tuple[Array, Array, int]:
    """Take Newton steps with a line search from theta with this gradient; theta with ||gradient|| <= tol, that
    gradient, number of steps.

    Full steps can cycle if curvature jumps between zero and a constant; stepping to (nearly) the lowest point of each
    line makes J fall at every step. Directions are found in single precision for as long as each step halves the
    gradient. Raises Unconverged.
    """
    X = problem.data.X
    z = problem.predictions(theta)
    before = math.inf
    for steps in range(_MAX_NEWTON):
        norm = float(np.linalg.norm(gradient))
        if norm <= tol:
            return theta, gradient, steps
        accuracy = max(min(0.25, norm**0.5), 0.3 * tol / norm)
        direction = problem.newton_direction(z, gradient, accuracy, single=norm <= 0.5 * before)
        before = norm
        slope = float(gradient @ direction)
        trial = theta + direction
        z_trial = X @ trial
        new = problem.gradient(trial, z_trial)
        rise = float(new @ direction)
        if rise > -0.1 * slope:
            moved = X @ direction
            linear = float((problem.lam * theta + problem.linear) @ direction)
            square = problem.lam * float(direction @ direction)

            def along(t: float) -> float:
                pulled = problem.slopes(z + t * moved) @ moved / problem.data.n  # noqa: B023 (used at once)
                return float(pulled + linear + t * square)  # noqa: B023

            share = find_root(along, 0.0, slope, 1.0, rise, tol=-0.1 * slope, max_steps=60)
            trial = theta + share * direction
            z_trial = X @ trial
            new = problem.gradient(trial, z_trial)
        theta, z, gradient = trial, z_trial, new
    raise Unconverged(
        f"the solver reached a gradient norm of {np.linalg.norm(gradient):.3g} in {_MAX_NEWTON} steps, "
        f"the privacy proof needs {tol:.3g}; nothing was released"
    )


def rows_for(n: int, r: int) -> int:
    """Number of rows in a sample: as many as cost a pass or two over the table, at least 15 per column."""
    return min(n, max(_PER_COLUMN * r, int(min(n / 8, 16 * n / r, 256 * r))))


class SampledHessian:
    """X' diag(l'') X / m + lam I over m of the records, which replaces that of all n in quasi-Newton steps.

    m rows estimate it to a relative error of about sqrt(r / m), so each step leaves about that share of the gradient.
    The curvatures are those at the point where it is made. X'X of the whole table would cost as much as many steps.

    Source: Roosta-Khorasani and Mahoney 2019, Sub-sampled Newton methods, Mathematical Programming 174.
    """

    def __init__(self, problem: Objective, loss: Loss, least: float) -> None:
        """Sample the records. least: smallest value of the mean curvature; smaller ones are replaced by it."""
        self.problem, self.loss, self.least = problem, loss, least
        self.rows, self.made = rows_for(problem.data.n, problem.data.stored), 0

    def inverse_at(self, here: Iterate) -> Inverse:
        n = self.problem.data.n
        if self.made >= _PATIENCE:
            self.rows = min(_GROWTH * self.rows, n)
        self.made += 1
        chosen: Any = slice(None)
        if self.rows <= n // 2:
            chosen = (np.arange(self.rows) * _GOLDEN % 1.0 * n).astype(np.intp)
        curvatures = self.problem.curvatures(here.z, chosen)
        mean, straight = float(curvatures.mean()), float((curvatures < self.least).mean())
        curvatures += max(max(_AT_LEAST, straight) * mean, self.least - mean)
        if self.problem.wide and (inverse := self._inverse(self.problem.single[chosen], curvatures)):
            return inverse
        return self._inverse(self.problem.data.X[chosen], curvatures) or (lambda g: g / self.problem.lam)

    def _inverse(self, table: Array, curvatures: Array) -> Inverse | None:
        """Inverse of the sampled Hessian; None if rounding leaves no Cholesky factor, or single precision no digits."""
        scaled = table * np.sqrt(curvatures / len(curvatures)).astype(table.dtype)[:, None]
        hessian = (scaled.T @ scaled).astype(np.float64, copy=False)
        if table.dtype == np.float32 and not SINGLE_RANGE[0] < hessian.diagonal().max() < SINGLE_RANGE[1]:
            return None
        hessian.flat[:: len(hessian) + 1] *= 1.0 + _ROUNDING[table.dtype]
        hessian.flat[:: len(hessian) + 1] += self.problem.lam
        factor, failed = dpotrf(hessian.T, lower=1, clean=0, overwrite_a=1)
        return None if failed else lambda g: dpotrs(factor, g, lower=1, overwrite_b=1)[0]
