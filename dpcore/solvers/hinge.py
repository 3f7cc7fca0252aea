"""Hinge loss: the method of multipliers, certified by a duality gap.

With v = (1/n) sum_i alpha_i y_i x_i and m_i = y_i <x_i, theta>, every alpha in [0, 1]^n gives a lower bound of J over the
ball ||theta|| <= radius (max(1 - m, 0) >= alpha (1 - m)):
    J(theta) >= mean(alpha) + min over the ball of (lam/2) ||theta||^2 - <v, theta>.
The minimum on the right is at theta = v min(1/lam, radius / ||v||), and at this theta
    J(theta) - bound = mean_i [max(1 - m_i, 0) - alpha_i (1 - m_i)],
a mean of non-negative terms, in which nothing cancels. J is lam-strongly convex over the ball, so the gap also bounds
||theta - theta_hat|| by sqrt(2 gap / lam).
"""

from __future__ import annotations

import dataclasses as dc
import math

import numpy as np

from ..types import Array, Data, Unconverged
from .problem import Problem
from .smooth import newton

_MAX_ROUNDS = 40
_FIRST_WIDTH, _SHRINK = 1.0, 0.2
_INNER = 0.1


@dc.dataclass(frozen=True)
class _Smoothed:
    """max over a in [0, 1] of a (1 - m) - (width/2) (a - alpha)^2: the hinge seen from multipliers alpha [n]."""

    alpha: Array
    width: float

    def multipliers(self, z: Array, y: Array) -> Array:
        """The a that attains the maximum, [n]."""
        return np.clip(self._unclipped(z, y), 0.0, 1.0)

    def derivative(self, z: Array, y: Array) -> Array:
        return -y * self.multipliers(z, y)

    def curvature(self, z: Array, y: Array) -> Array:
        a = self._unclipped(z, y)
        return np.where((a > 0.0) & (a < 1.0), 1.0 / self.width, 0.0)

    def _unclipped(self, z: Array, y: Array) -> Array:
        return self.alpha + (1.0 - y * z) / self.width


@dc.dataclass(frozen=True)
class HingePoint:
    """theta [r] and alpha [n] with J(theta) - min J <= gap; steps: Newton steps taken."""

    theta: Array
    alpha: Array
    gap: float
    steps: int


def certify(
    data: Data, lam: float, alpha: Array, radius: float = math.inf, nu: float = 0.0, steps: int = 0
) -> HingePoint:
    """A theta that belongs to alpha in [0, 1]^n, and J(theta) - the bound of the module's comment.

    theta = v min(1 / (lam + nu), radius / ||v||); with nu > 0 it is shorter than the bound's own, t = v min(1 / lam,
    radius / ||v||), and the gap grows by what that costs, (lam/2) ||.||^2 - <v, .> at theta less the same at t.
    lam = 0 is allowed where radius is finite.
    """
    v = (alpha * data.y) @ data.X / data.n
    norm = float(np.linalg.norm(v))
    share = 1.0 / (lam + nu) if norm <= (lam + nu) * radius else radius / norm
    best = 1.0 / lam if norm <= lam * radius and lam > 0.0 else radius / max(norm, 1e-300)
    theta = share * v
    short = 1.0 - data.y * (data.X @ theta)
    slack = float(np.mean(np.maximum(short, 0.0) - alpha * short))
    cost = norm * norm * (best - share) * (1.0 - 0.5 * lam * (best + share))
    return HingePoint(theta, alpha, slack + cost, steps)


def minimise_hinge(data: Data, lam: float, goal: float, alpha: Array | None = None) -> HingePoint:
    """Minimise (1/n) sum_i max(1 - y_i <x_i, theta>, 0) + (lam/2) ||theta||^2 to a duality gap of `goal`.

    Each round minimises J with the hinge seen from the multipliers of the round before; the multipliers at that
    minimum are the next ones (the proximal point method on the dual). Shorter widths take larger dual steps.
    alpha: multipliers to start from. Raises Unconverged.

    Source: Rockafellar 1976, Augmented Lagrangians and applications of the proximal point algorithm.
    """
    alpha = np.full(data.n, 0.5) if alpha is None else alpha
    best = certify(data, lam, alpha)
    theta, width, steps = best.theta, _FIRST_WIDTH, 0
    for _ in range(_MAX_ROUNDS):
        if best.gap <= goal:
            return best
        smoothed = _Smoothed(best.alpha, width)
        theta, _, taken = newton(Problem(smoothed, data, lam), theta, max(_INNER * goal * lam, 1e-14))
        steps += taken
        best = certify(data, lam, smoothed.multipliers(data.X @ theta, data.y), steps=steps)
        width *= _SHRINK
    raise Unconverged(
        f"the solver reached a duality gap of {best.gap:.3g} in {steps} steps, "
        f"the privacy proof needs {goal:.3g}; nothing was released"
    )


def multipliers_at(data: Data, theta: Array) -> Array:
    """Multipliers to start from near theta: 1 below the kink, 0 above it, a ramp where rounding could decide."""
    return np.clip(0.5 + (1.0 - data.y * (data.X @ theta)) / _FIRST_WIDTH, 0.0, 1.0)
