"""Minimisers over an L2 ball, found along a path in lam.

The minimiser of J over ||theta|| <= radius minimises J + (nu/2) ||theta||^2 over all of R^r for some nu >= 0, and its
norm falls as nu grows. The path starts far inside, where problems are easy, lowers lam + nu until it reaches the sphere
and then solves for the point on it. The certificate of the result does not depend on the path.
"""

import dataclasses as dc
import math
from collections.abc import Callable

import numpy as np

from ...core.losses import Loss
from ...core.privacy import Unconverged
from ...core.records import Data
from ...core.roots import find_root
from .nonsmooth import duality_gap, kinks_of, minimise_kinked
from .objective import Objective, Point, shortened
from .smooth import minimise_smooth

_DECADE = 10.0
_MAX_ROOT_STEPS = 60


def smooth_on_sphere(loss: Loss, data: Data, lam: float, radius: float, tol: float) -> Point:
    """Minimiser of J over the ball if it lies on the sphere; residual: a norm <= tol that certifies it.

    With ||theta|| = radius and any t >= 0, u = grad J(theta) + t theta has ||theta - theta_hat|| <= ||u|| / lam:
    lam ||theta - theta_hat||^2 <= <grad J(theta), theta - theta_hat> (strong convexity, and theta_hat is optimal)
    = <u, theta - theta_hat> - t <theta, theta - theta_hat>, and the last product is >= 0 inside the ball.
    """
    problem = Objective(loss, data, lam)

    def solve(total: float, last: Point | None) -> Point:
        return minimise_smooth(loss, data, total, 0.1 * tol, last.theta if last else None)

    def certify(point: Point) -> Point:
        theta = point.theta * (radius / max(float(np.linalg.norm(point.theta)), 1e-300))
        gradient = problem.gradient(theta)
        t = max(0.0, -float(gradient @ theta) / radius**2)
        return Point(theta, float(np.linalg.norm(gradient + t * theta)), point.steps)

    return _walk(loss, data, solve, certify, tol, lam, radius)


def smooth_in_ball(loss: Loss, data: Data, radius: float, tol: float) -> Point:
    """Minimiser of F over the ball; residual: its Frank-Wolfe gap <grad F, theta> + radius ||grad F|| <= tol.

    The gap bounds F(theta) - F(t) <= <grad F, theta - t> for every t in the ball. At the minimiser of
    F + (nu/2) ||.||^2, inside the ball, it is nu ||theta|| (radius - ||theta||): nu = tol / radius^2 needs no sphere.
    """
    problem = Objective(loss, data, 0.0)

    def solve(nu: float, last: Point | None) -> Point:
        return minimise_smooth(loss, data, nu, 0.1 * tol / radius, last.theta if last else None)

    def certify(point: Point) -> Point:
        theta = shortened(point.theta, radius)
        gradient = problem.gradient(theta)
        gap = float(gradient @ theta + radius * np.linalg.norm(gradient))
        return Point(theta, max(gap, 0.0), point.steps)

    return _walk(loss, data, solve, certify, tol, tol / radius**2, radius)


def kinked_in_ball(loss: Loss, data: Data, lam: float, radius: float, tol: float) -> Point:
    """Minimiser of J over the ball for a loss with kinks; residual: a duality gap <= tol. lam = 0 is allowed."""
    kinks = kinks_of(loss, data.y)

    def solve(total: float, last: Point | None) -> Point:
        return minimise_kinked(loss, data, total, 0.1 * tol, last.alpha if last else None)

    def certify(point: Point) -> Point:
        theta = shortened(point.theta, radius)
        return dc.replace(point, theta=theta, residual=duality_gap(kinks, data, lam, theta, point.alpha, radius))

    # Inside the ball nu adds nu ||theta|| (radius - ||theta||) to the gap: below nu = tol / radius^2 there is no need.
    return _walk(loss, data, solve, certify, tol, max(lam, tol / radius**2), radius)


def _walk(
    loss: Loss,
    data: Data,
    solve: Callable[[float, Point | None], Point],
    certify: Callable[[Point], Point],
    tol: float,
    lowest: float,
    radius: float,
) -> Point:
    """Solve for falling lam + nu, down to `lowest`, until a point is certified to tol."""
    # The minimiser is well inside there: ||theta|| <= ||grad F(0)|| / (lam + nu).
    inside = 2.0 * float(np.linalg.norm(Objective(loss, data, 0.0).gradient(np.zeros(data.stored)))) / radius
    point: Point | None = None
    certified: list[Point] = []
    steps = 0

    def excess(log_inverse: float) -> float:
        """log(||theta|| / radius) at 1 / (lam + nu) = exp(log_inverse), increasing; 0 once a point is found."""
        nonlocal point, steps
        point = solve(math.exp(-log_inverse), point)
        steps += point.steps
        if (found := certify(point)).residual <= tol:
            certified.append(dc.replace(found, steps=steps))
            return 0.0
        return math.log(max(float(np.linalg.norm(point.theta)) / radius, 1e-300))

    end = -math.log(lowest)
    high = min(-math.log(max(inside, 1e-300)), end)
    f_high = excess(high)
    low, f_low = high, f_high
    while not certified and f_high < 0.0 and high < end:
        low, f_low = high, f_high
        high = min(low + math.log(_DECADE), end)
        f_high = excess(high)
    if not certified and f_low < 0.0 < f_high:
        find_root(excess, low, f_low, high, f_high, tol=0.0, max_steps=_MAX_ROOT_STEPS)
    if not certified:
        raise Unconverged(
            f"no point of the ball of radius {radius:g} could be certified to {tol:.3g}, "
            "which the privacy proof needs; nothing was released"
        )
    return certified[0]
