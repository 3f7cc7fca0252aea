"""Minimisers over an L2 ball, found by walking lam.

The minimiser of J over ||theta|| <= radius minimises J + (nu/2) ||theta||^2 over all of R^r for some nu >= 0, and the
norm of that falls as nu grows. Started far inside, where problems are easy, the walk lowers lam + nu until the sphere
is reached and then solves for the point on it. What is returned is certified for itself, however it was found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from ..losses import Loss
from ..types import Array, Data, Unconverged
from .hinge import HingePoint, duality_gap, minimise_hinge
from .problem import Problem, find_root
from .smooth import minimise_smooth

_DECADE = 10.0
_MAX_ROOT_STEPS = 60
Found = TypeVar("Found")
Result = TypeVar("Result")


def smooth_on_sphere(loss: Loss, data: Data, lam: float, radius: float, tol: float) -> tuple[Array, float]:
    """The minimiser of J over the ball where it lies on the sphere: theta, and a norm <= tol that certifies it.

    With ||theta|| = radius and any t >= 0, u = grad J(theta) + t theta has ||theta - theta_hat|| <= ||u|| / lam:
    lam ||theta - theta_hat||^2 <= <grad J(theta), theta - theta_hat> (strong convexity, and theta_hat is optimal)
    = <u, theta - theta_hat> - t <theta, theta - theta_hat>, and the last product is >= 0 inside the ball.
    """
    problem = Problem(loss, data, lam)

    def solve(total: float, start: Array | None) -> Array:
        return minimise_smooth(loss, data, total, 0.1 * tol, start)[0]

    def accept(theta: Array) -> tuple[Array, float] | None:
        theta = _scaled_to(radius, theta)
        gradient = problem.gradient(theta)
        t = max(0.0, -float(gradient @ theta) / radius**2)
        residual = float(np.linalg.norm(gradient + t * theta))
        return (theta, residual) if residual <= tol else None

    return _walk(solve, accept, lambda theta: theta, _reach(loss, data, radius), lam, radius)


def hinge_on_sphere(data: Data, lam: float, radius: float, goal: float) -> HingePoint:
    """The minimiser of J over the ball for hinge loss, to a duality gap of `goal`; lam = 0 is not allowed."""
    return _hinge_walk(data, lam, lam, radius, goal)


def smooth_in_ball(loss: Loss, data: Data, radius: float, tol: float) -> tuple[Array, float]:
    """A minimiser of F over the ball, and its Frank-Wolfe gap <grad F, theta> + radius ||grad F|| <= tol.

    The gap bounds F(theta) - F(t) <= <grad F, theta - t> for every t in the ball. At the minimiser of
    F + (nu/2) ||.||^2, inside the ball, it is nu ||theta|| (radius - ||theta||): nu = tol / radius^2 needs no sphere.
    """
    problem = Problem(loss, data, 0.0)

    def solve(nu: float, start: Array | None) -> Array:
        return minimise_smooth(loss, data, nu, 0.1 * tol / radius, start)[0]

    def accept(theta: Array) -> tuple[Array, float] | None:
        theta = _projected(radius, theta)
        gradient = problem.gradient(theta)
        gap = float(gradient @ theta + radius * np.linalg.norm(gradient))
        return (theta, max(gap, 0.0)) if gap <= tol else None

    return _walk(solve, accept, lambda theta: theta, _reach(loss, data, radius), tol / radius**2, radius)


def hinge_in_ball(data: Data, radius: float, tol: float) -> HingePoint:
    """A minimiser of the average hinge loss over the ball, to a duality gap of tol."""
    return _hinge_walk(data, 0.0, tol / radius**2, radius, tol)


def _hinge_walk(data: Data, lam: float, lowest: float, radius: float, goal: float) -> HingePoint:
    def solve(total: float, start: HingePoint | None) -> HingePoint:
        return minimise_hinge(data, total, 0.1 * goal, None if start is None else start.alpha)

    def accept(point: HingePoint) -> HingePoint | None:
        theta = _projected(radius, point.theta)
        gap = duality_gap(data, lam, theta, point.alpha, radius)
        return HingePoint(theta, point.alpha, gap, point.steps) if gap <= goal else None

    # At theta = 0 every margin is below 1, so the slope there is -y.
    highest = float(np.linalg.norm(data.y @ data.X)) / data.n / radius
    return _walk(solve, accept, lambda point: point.theta, highest, lowest, radius)


def _walk(
    solve: Callable[[float, Found | None], Found],
    accept: Callable[[Found], Result | None],
    theta_of: Callable[[Found], Array],
    highest: float,
    lowest: float,
    radius: float,
) -> Result:
    """Solve for falling lam + nu, from where the minimiser is inside the ball, until a point is accepted."""
    accepted: list[Result] = []
    point: Found | None = None

    def beyond(log_inverse: float) -> float:
        """log(||theta|| / radius), which grows with 1 / (lam + nu); 0 once a point is accepted."""
        nonlocal point
        total = math.exp(-log_inverse)
        point = solve(total, point)
        if (result := accept(point)) is not None:
            accepted.append(result)
            return 0.0
        return math.log(max(float(np.linalg.norm(theta_of(point))) / radius, 1e-300))

    # ||theta|| <= ||grad F(0)|| / (lam + nu): twice `highest` is well inside.
    end = -math.log(lowest)
    low = min(-math.log(max(2.0 * highest, 1e-300)), end)
    f_low = beyond(low)
    high, f_high = low, f_low
    while not accepted and f_high < 0.0 and high < end:
        low, f_low = high, f_high
        high = min(low + math.log(_DECADE), end)
        f_high = beyond(high)
    if not accepted and f_high > 0.0:
        find_root(beyond, low, f_low, high, f_high, tol=0.0, max_steps=_MAX_ROOT_STEPS)
    if not accepted:
        raise Unconverged(f"no point of the ball of radius {radius:g} could be certified; nothing was released")
    return accepted[0]


def _reach(loss: Loss, data: Data, radius: float) -> float:
    """||grad F(0)|| / radius: from this lam on the minimiser lies in the ball."""
    return float(np.linalg.norm(Problem(loss, data, 0.0).gradient(np.zeros(data.active)))) / radius


def _projected(radius: float, theta: Array) -> Array:
    return theta if np.linalg.norm(theta) <= radius else _scaled_to(radius, theta)


def _scaled_to(radius: float, theta: Array) -> Array:
    return theta * (radius / max(float(np.linalg.norm(theta)), 1e-300))
