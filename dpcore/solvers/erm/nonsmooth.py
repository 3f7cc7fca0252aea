"""Losses with kinks: coordinate ascent and the method of multipliers on the dual, certified by a duality gap.

Such a loss is the maximum of two lines in the prediction z_i = <x_i, theta>, the largest alpha t_i with alpha in
[low, 1] and t_i = o_i - c_i z_i, c_i = -1 or 1: hinge loss has low = 0 and t = 1 - y z, absolute loss low = -1 and
t = y - z. With v = (1/n) sum_i alpha_i c_i x_i every alpha in [low, 1]^n bounds J from below over the ball
||theta|| <= radius:
    J(theta) >= mean(alpha o) + min over the ball of q,  q(t) = (lam/2) ||t||^2 - <v, t>.
q is least at v / s with s = max(lam, ||v|| / radius), so that for theta in the ball
    J(theta) - bound = mean_i [max(t_i, low t_i) - alpha_i t_i]
                       + ||s theta - v||^2 / (2 s) + (s - lam) (radius^2 - ||theta||^2) / 2,
three terms >= 0 without cancellation. J is lam-strongly convex, so a gap between J(theta) and the bound also bounds
the distance to the minimiser theta_hat over the ball: ||theta - theta_hat|| <= sqrt(2 gap / lam).
"""

import dataclasses as dc
import math
from typing import Any

import numpy as np

from ... import kernels
from ...core.arrays import Array
from ...core.losses import Loss
from ...core.privacy import Unconverged
from ...core.records import Data
from .objective import MAX_FACTOR, Objective, Point
from .smooth import newton

_MAX_ROUNDS = 40
_FIRST_WIDTH, _WARM_WIDTH, _SHRINK = 1.0, 0.04, 0.2
_MAX_SWEEPS, _INNER_SWEEPS = 100, 10


@dc.dataclass(frozen=True)
class Kinks:
    """Largest alpha (offset - turn z) with alpha in [low, 1], for each record; offset, turn: [n]."""

    offset: Array
    turn: Array
    low: float

    def short(self, z: Array) -> Array:
        """t of the module, 0 at a record's kink; [n]."""
        return self.offset - self.turn * z

    @property
    def middle(self) -> float:
        return 0.5 * (self.low + 1.0)


def kinks_of(loss: Loss, y: Array) -> Kinks:
    """Kinks of hinge or absolute loss on labels y [n]; ValueError for another loss."""
    if loss.key == "hinge":
        return Kinks(np.ones_like(y), y, 0.0)
    if loss.key == "absolute":
        return Kinks(y, np.ones_like(y), -1.0)
    raise ValueError(f"loss must be one of two lines, got {loss.label}")


@dc.dataclass(frozen=True)
class _Smoothed:
    """Loss smoothed around multipliers alpha [n]: max over a in [low, 1] of a t - (width/2) (a - alpha)^2."""

    kinks: Kinks
    alpha: Array
    width: float

    def multipliers(self, z: Array) -> Array:
        """The a that attains the maximum, [n]."""
        return np.clip(self._unclipped(z), self.kinks.low, 1.0)

    def derivative(self, z: Array, y: Array) -> Array:
        return -self.kinks.turn * self.multipliers(z)

    def curvature(self, z: Array, y: Array) -> Array:
        a = self._unclipped(z)
        return np.where((a > self.kinks.low) & (a < 1.0), 1.0 / self.width, 0.0)

    def _unclipped(self, z: Array) -> Array:
        return self.alpha + self.kinks.short(z) / self.width


def duality_gap(kinks: Kinks, data: Data, lam: float, theta: Array, alpha: Array, radius: float = math.inf) -> float:
    """J(theta) less the bound that alpha gives (see the module); ||theta|| <= radius, and lam > 0 or radius finite."""
    short = kinks.short(data.X @ theta)
    gap = float(np.mean(np.maximum(short, kinks.low * short) - alpha * short))
    v = (alpha * kinks.turn) @ data.X / data.n
    s = max(lam, float(np.linalg.norm(v)) / radius)
    if s > 0.0:
        gap += float(np.sum((s * theta - v) ** 2)) / (2.0 * s)
    if s > lam:
        gap += 0.5 * (s - lam) * max(radius**2 - float(theta @ theta), 0.0)
    return gap


def minimise_kinked(
    loss: Loss, data: Data, lam: float, goal: float, alpha: Array | None = None, theta: Array | None = None
) -> Point:
    """Minimise (1/n) sum_i l(<x_i, theta>; y_i) + (lam/2) ||theta||^2 to a duality gap of `goal`.

    Coordinate ascent on the dual is tried first if the table is sparse and too large to be factored; then the method of
    multipliers. alpha: multipliers to start from; theta: a point nearby, which allows a short first width.
    Raises Unconverged.
    """
    kinks = kinks_of(loss, data.y)
    alpha = np.full(data.n, kinks.middle) if alpha is None else alpha
    width = _FIRST_WIDTH if theta is None else _WARM_WIDTH
    at_alpha = (alpha * kinks.turn) @ data.X / (data.n * lam)
    theta = at_alpha if theta is None else theta
    point = Point(theta, duality_gap(kinks, data, lam, theta, alpha), 0, alpha)
    if point.residual > goal and data.sparse and min(data.n, data.stored) > MAX_FACTOR:
        # Sweeps keep theta = (1 / (n lam)) sum_i alpha_i c_i x_i, so they start there.
        point = _coordinate_ascent(kinks, data, lam, goal, Point(at_alpha, np.inf, 0, alpha))
    point = _multiplier_rounds(kinks, data, lam, goal, point, width)
    if point.residual <= goal:
        return point
    raise Unconverged(
        f"the solver reached a duality gap of {point.residual:.3g} in {point.steps} steps, "
        f"the privacy proof needs {goal:.3g}; nothing was released"
    )


def _coordinate_ascent(kinks: Kinks, data: Data, lam: float, goal: float, point: Point) -> Point:
    """Run sweeps over all multipliers, each followed by some over those strictly inside [low, 1].

    Source: Hsieh et al. 2008, A dual coordinate descent method for large-scale linear SVM, Algorithm 1.
    """
    X: Any = data.X
    rows = kernels.unsigned(X.indptr), kernels.unsigned(X.indices), X.data
    theta, alpha, gap, steps = point.theta.copy(), point.alpha.copy(), point.residual, point.steps
    squares, step, rng = data.row_norms**2, 1.0 / (data.n * lam), np.random.default_rng(0)
    while gap > goal and steps < _MAX_SWEEPS:
        order = np.arange(data.n)
        for _ in range(1 + _INNER_SWEEPS):
            order = rng.permutation(order)
            kernels.kink_sweep(*rows, kinks.offset, kinks.turn, kinks.low, squares, step, order, alpha, theta)
            order = np.flatnonzero((alpha > kinks.low) & (alpha < 1.0))
        gap, steps = duality_gap(kinks, data, lam, theta, alpha), steps + 1
    return Point(theta, gap, steps, alpha)


def _multiplier_rounds(kinks: Kinks, data: Data, lam: float, goal: float, point: Point, width: float) -> Point:
    """Run rounds that minimise J with the loss smoothed around the last multipliers; the multipliers at that minimum
    are the next ones (the proximal point method on the dual). Shorter widths take larger dual steps.

    Source: Rockafellar 1976, Augmented Lagrangians and applications of the proximal point algorithm.
    """
    for _ in range(_MAX_ROUNDS):
        if point.residual <= goal:
            break
        smoothed = _Smoothed(kinks, point.alpha, width)
        problem = Objective(smoothed, data, lam)
        # A gradient of this norm adds a tenth of the goal to the gap.
        here, taken = newton(problem, problem.at(point.theta), math.sqrt(0.2 * goal * lam))
        alpha = smoothed.multipliers(here.z)
        gap = duality_gap(kinks, data, lam, here.theta, alpha)
        point = Point(here.theta, gap, point.steps + taken, alpha)
        width *= _SHRINK
    return point


def minimise_kinked_near(loss: Loss, data: Data, lam: float, goal: float, theta: Array) -> Point:
    """`minimise_kinked` from a theta: multipliers 1 below the kink, `low` above it, and a ramp between."""
    kinks = kinks_of(loss, data.y)
    alpha = np.clip(kinks.middle + kinks.short(data.X @ theta) / _WARM_WIDTH, kinks.low, 1.0)
    try:
        return minimise_kinked(loss, data, lam, goal, alpha, theta)
    except Unconverged:
        return minimise_kinked(loss, data, lam, goal)  # a poor start must not prevent the result
