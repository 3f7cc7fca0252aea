"""Losses with a derivative: limited-memory BFGS where it is cheapest, Newton's method where it is needed.

lam-strong convexity of J bounds the distance of any theta from the minimiser by ||grad J(theta)|| / lam, so both
stop on the gradient norm, and both evaluate it at the very theta that they return.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Callable

import numpy as np

from ..losses import Loss
from ..types import Array, Data, Unconverged
from .problem import MAX_FACTOR, Point, Problem, cholesky_inverse, find_root

_MAX_NEWTON = 200
_MEMORY = 10
_CHEAP_GRAM = 200
_GRAM_STEPS = 60
# Plain steps to try before X'X, per column: about what X'X costs beside a gradient.
_PLAIN_SHARE = 1 / 20
# Plain steps where nothing can be factored: up to this ratio of curvatures, and so many.
_FLAT, _PLAIN_STEPS = 4.0, 50


def minimise_smooth(
    loss: Loss, data: Data, lam: float, tol: float, start: Array | None = None, linear: Array | float = 0.0
) -> Point:
    """theta with ||grad J(theta) + linear|| <= tol; raises Unconverged."""
    problem = Problem(loss, data, lam, linear)
    theta = np.zeros(data.active) if start is None else start
    z = problem.predictions(theta)
    gradient, steps = problem.gradient(theta, z), 0
    for precondition, budget in _stages(problem, loss, z, gradient):
        if np.linalg.norm(gradient) > tol:
            theta, gradient, taken = _bfgs(problem, theta, gradient, tol, precondition(), budget)
            steps += taken
    if np.linalg.norm(gradient) > tol:
        theta, gradient, taken = newton(problem, theta, gradient, tol)
        steps += taken
    return Point(theta, float(np.linalg.norm(gradient)), steps)


def _stages(
    problem: Problem, loss: Loss, z: Array, gradient: Array
) -> list[tuple[Callable[[], Callable[[Array], Array]], int]]:
    """What to try before Newton: preconditioners, built when their turn comes, and how many steps each may take.

    X'X serves every lam and every theta once it is there (c X'X / n + lam I, c a typical curvature, is close to all
    Hessians), but costs many gradients. Well-conditioned problems are solved before it would be ready: so wide tables
    try without it for about as long as it would take. Where nothing can be factored, Newton's directions cost many
    products, too: plain steps win where J curves hardly more along its gradient than lam says it must, and the vectors
    they keep are smaller than the records. Newton wins from the start elsewhere, and on sparse tables with more columns
    than rows.
    """
    data, lam = problem.data, problem.lam
    typical = max(float(loss.curvature(z, data.y).mean()), 0.1 * loss.curvature_bound)
    gram_fits = data.active <= min(data.n, MAX_FACTOR)

    def plain() -> Callable[[Array], Array]:
        diagonal = typical * problem.mean_squares + lam
        return lambda g: g / diagonal

    def gram() -> Callable[[Array], Array]:
        return cholesky_inverse(typical * data.gram, lam)

    stages: list[tuple[Callable[[], Callable[[Array], Array]], int]] = []
    smaller_side = min(data.active, data.n)
    if smaller_side > MAX_FACTOR:
        if _MEMORY * data.active > (data.X.size if isinstance(data.X, np.ndarray) else data.X.nnz):
            return stages
        curvature = lam + typical * problem.mean_square_along(gradient)
        return [(lambda: lambda g: g / curvature, _PLAIN_STEPS)] if curvature <= _FLAT * lam else stages
    if not data.sparse and (not gram_fits or (data.active > _CHEAP_GRAM and "gram" not in data.__dict__)):
        stages.append((plain, max(20, int(smaller_side * _PLAIN_SHARE))))
    if gram_fits:
        stages.append((gram, _GRAM_STEPS))
    return stages


def _bfgs(
    problem: Problem,
    theta: Array,
    gradient: Array,
    tol: float,
    precondition: Callable[[Array], Array],
    max_steps: int,
) -> tuple[Array, Array, int]:
    """Limited-memory BFGS until ||gradient|| <= tol or the steps are used up: theta, gradient, steps taken."""
    pairs: collections.deque[tuple[Array, Array, float]] = collections.deque(maxlen=_MEMORY)
    for step in range(max_steps):
        if np.linalg.norm(gradient) <= tol:
            return theta, gradient, step
        direction = -_inverse_hessian(pairs, precondition, gradient)
        slope = float(gradient @ direction)
        share = 1.0
        while True:
            trial = theta + share * direction
            new = problem.gradient(trial)
            rise = float(new @ direction)
            if rise <= -0.5 * slope or share < 1e-9:
                break
            share *= max(slope / (slope - rise), 0.05)
        moved, change = trial - theta, new - gradient
        if (product := float(moved @ change)) > 0.0:
            pairs.append((moved, change, 1.0 / product))
        theta, gradient = trial, new
    return theta, gradient, max_steps


def _inverse_hessian(
    pairs: collections.deque[tuple[Array, Array, float]], precondition: Callable[[Array], Array], gradient: Array
) -> Array:
    """The two-loop recursion: an approximation of H^{-1} gradient.

    Source: Nocedal and Wright 2006, Algorithm 7.4.
    """
    q = gradient.copy()
    shares = []
    for moved, change, inverse in reversed(pairs):
        shares.append(inverse * (moved @ q))
        q -= shares[-1] * change
    q = precondition(q)
    for (moved, change, inverse), share in zip(pairs, reversed(shares), strict=True):
        q += (share - inverse * (change @ q)) * moved
    return q


def newton(problem: Problem, theta: Array, gradient: Array, tol: float) -> tuple[Array, Array, int]:
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
