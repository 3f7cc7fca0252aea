"""Losses with a derivative: limited-memory BFGS where it is cheapest, Newton's method where it is needed.

lam-strong convexity of J bounds the distance of any theta from the minimiser by ||grad J(theta)|| / lam, so both
stop on the gradient norm, and both evaluate it at the very theta that they return.
"""

import math

import numpy as np

from ...core.arrays import Array
from ...core.losses import Loss
from ...core.privacy import Unconverged
from ...core.records import Data
from ...core.roots import find_root
from .lbfgs import MEMORY, Inverse, Way, quasi_newton
from .objective import MAX_FACTOR, Iterate, Objective, Point, cholesky_inverse
from .subsampled_hessian import SampledHessian, rows_for

_MAX_NEWTON = 200
# Steps before Newton's method.
_MAX_STEPS = 60
# How flat a step's end is: more trials along a line pay where directions are poor.
_FLAT, _FLATTEST = 0.5, 0.2
# Curvatures below this part of the loss's bound say little of what is nearby.
_LEAST_CURVATURE = 0.05
# Passes over the table that the Hessian of a sample, or X'X, may cost before plain steps are tried first: the latter
# is all that squared loss needs.
_CHEAP, _CHEAP_WHOLE = 8, 25
# Up to this ratio of curvatures every direction is as good as another.
_EVEN = 4.0


def minimise_smooth(
    loss: Loss, data: Data, lam: float, tol: float, start: Array | None = None, linear: Array | float = 0.0
) -> Point:
    """theta with ||grad J(theta) + linear|| <= tol; raises Unconverged."""
    problem = Objective(loss, data, lam, linear)
    here, steps = problem.at(np.zeros(data.active) if start is None else start), 0
    for way in _ways(problem, loss) if here.norm > tol else ():
        if here.norm > tol:
            here, taken = quasi_newton(problem, here, tol, way)
            steps += taken
    if here.norm <= tol:
        return Point(here.theta, here.norm, steps)
    theta, gradient, taken = newton(problem, here.theta, here.gradient, tol)
    return Point(theta, float(np.linalg.norm(gradient)), steps + taken)


def _ways(problem: Objective, loss: Loss) -> list[Way]:
    """What to try before Newton's method.

    The Hessian of a sample serves tables that have more rows than columns; that of all rows, X'X, where it has been
    computed before and for squared loss, whose curvature it is everywhere. Where it costs many passes plain steps, with
    the Hessian's diagonal, are tried for about as long as it would take, and for more where nothing can be factored:
    conjugate gradients cost as much a step and forget what they have learnt at each of Newton's. Nothing is tried on
    sparse tables of so many columns that the vectors kept would be larger than the records.
    """
    data, lam, n, r = problem.data, problem.lam, problem.data.n, problem.data.active
    least = _LEAST_CURVATURE * loss.curvature_bound

    def typical(here: Iterate) -> float:
        return max(float(loss.curvature(here.z, data.y).mean()), least)

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
    # A good preconditioner from the start leaves few steps for single precision to make up for what it costs.
    single = problem.wide and not constant and (problem.vast or not known)
    return [*plain, Way(close, _MAX_STEPS, _FLAT, single)]


def newton(problem: Objective, theta: Array, gradient: Array, tol: float) -> tuple[Array, Array, int]:
    """Newton's method with a line search from theta with this gradient: theta with ||gradient|| <= tol, that
    gradient, steps taken.

    Where curvature jumps between zero and a constant, full steps can cycle; stepping to (nearly) the lowest point
    of each line makes J fall at every step. Directions are found in single precision for as long as each step halves
    the gradient. Raises Unconverged.
    """
    X, y = problem.data.X, problem.data.y
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
                pulled = problem.loss.derivative(z + t * moved, y) @ moved / len(y)  # noqa: B023 (used at once)
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
