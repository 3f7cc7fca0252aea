"""The L2 ball, the simplex, the L1 ball and the box."""

import dataclasses as dc
import math

import numpy as np

from ..arrays import Array
from .base import ConvexSet, NormBall, Width
from .gaussian_width import FAR, QUADRATURE_ERROR, ROUNDING_ERROR, half_step, integral, largest_chi
from .norms import largest, length

_MOST_CORNERS = 20  # of a box: 2^20 of them


@dc.dataclass(frozen=True)
class Ball(NormBall):
    """||theta||_2 <= 1."""

    label = "L2 ball"
    order = 2.0

    def extreme(self, v: Array) -> Array:
        scaled = v / largest(v)
        return -scaled / np.maximum(np.linalg.norm(scaled, axis=-1, keepdims=True), 1.0)

    def project(self, v: Array) -> Array:
        return v / np.maximum(length(v), 1.0)

    def _width(self, p: int) -> Width:
        """sqrt(2) Gamma((p + 1) / 2) / Gamma(p / 2), the mean of a chi variable."""
        value = math.sqrt(2.0) * half_step(0.5 * p)
        return Width(value, ROUNDING_ERROR * value)


@dc.dataclass(frozen=True)
class Simplex(ConvexSet):
    """theta >= 0, sum_j theta_j = 1."""

    label = "simplex"

    def norm(self, order: float, p: int) -> float:
        return 1.0

    def diameter(self, order: float, p: int) -> float:
        return 0.0 if p == 1 else float(2.0 ** (1.0 / order))

    def corners(self, p: int) -> int:
        return p

    def extreme(self, v: Array) -> Array:
        found = np.zeros_like(v)
        np.put_along_axis(found, v.argmin(axis=-1)[..., None], 1.0, axis=-1)
        return found

    def project(self, v: Array) -> Array:
        # A constant added to v changes nothing, and beside huge numbers the 1 would be lost.
        v = v - v.max(axis=-1, keepdims=True)
        falling = -np.sort(-v, axis=-1)
        excess = np.cumsum(falling, axis=-1) - 1.0
        counts = np.arange(1, v.shape[-1] + 1)
        kept = np.count_nonzero(falling * counts > excess, axis=-1)[..., None]
        return np.maximum(v - np.take_along_axis(excess, kept - 1, axis=-1) / kept, 0.0)

    def _width(self, p: int) -> Width:
        """E max_j g_j, the integral of 1 - Phi(x)^p over x > 0 less that of Phi(x)^p over x < 0."""
        from scipy.special import log_ndtr

        if p == 1:
            return Width(0.0, 0.0)
        above = integral(lambda x: -np.expm1(p * log_ndtr(x)), 0.0, FAR)
        below = integral(lambda x: np.exp(p * log_ndtr(-x)), 0.0, FAR)
        return Width(above - below, QUADRATURE_ERROR)


@dc.dataclass(frozen=True)
class L1Ball(NormBall):
    """||theta||_1 <= 1, the convex hull of +e_j and -e_j."""

    label = "L1 ball"
    order = 1.0

    def corners(self, p: int) -> int:
        return 2 * p

    def extreme(self, v: Array) -> Array:
        found, places = np.zeros_like(v), np.abs(v).argmax(axis=-1)[..., None]
        np.put_along_axis(found, places, -np.sign(np.take_along_axis(v, places, axis=-1)), axis=-1)
        return found

    def project(self, v: Array) -> Array:
        inside = np.abs(v).sum(axis=-1, keepdims=True) <= 1.0
        return np.where(inside, v, np.sign(v) * Simplex().project(np.abs(v)))

    def _width(self, p: int) -> Width:
        """E max_j |g_j|."""
        return largest_chi(p, 1, 0)


@dc.dataclass(frozen=True)
class Box(NormBall):
    """||theta||_inf <= 1."""

    label = "box"
    order = math.inf

    def corners(self, p: int) -> int | None:
        return 2**p if p <= _MOST_CORNERS else None

    def extreme(self, v: Array) -> Array:
        return np.where(v > 0.0, -1.0, 1.0)

    def project(self, v: Array) -> Array:
        return np.clip(v, -1.0, 1.0)

    def _width(self, p: int) -> Width:
        value = p * math.sqrt(2.0 / math.pi)
        return Width(value, ROUNDING_ERROR * value)
