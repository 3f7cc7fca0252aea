"""Convex sets: balls of norms, the simplex and convex hulls of listed points.

Their Gaussian widths are formulas, integrals over maxima, or means of public draws.
"""

import dataclasses as dc
import functools
import math
from collections.abc import Callable

import numpy as np

from ..arrays import Array, float_array
from ..quadrature import gauss_legendre
from ..validation import check_real
from .base import ConvexSet, NormBall, Width
from .norms import largest, length

# Panels of this length with 20 Gauss-Legendre nodes each, as far as 40 standard deviations; the rest is below 1e-300.
_PANEL, _NODES, _FAR = 0.25, 20, 40.0
_QUADRATURE_ERROR, _ROUNDING_ERROR = 1e-9, 1e-11
# Widths estimated from draws: numbers in all, smallest and largest number of draws, and a public seed.
_NUMBERS, _FEWEST_DRAWS, _MOST_DRAWS, _SEED = 2_000_000, 30, 100_000, 2014


@dc.dataclass(frozen=True)
class Ball(NormBall):
    """||theta||_2 <= 1."""

    label = "L2 ball"
    order = 2.0

    def extreme(self, v: Array) -> Array:
        scaled = v / largest(v)
        return -scaled / np.maximum(np.linalg.norm(scaled, axis=-1, keepdims=True), 1.0)

    def _width(self, p: int) -> Width:
        """sqrt(2) Gamma((p + 1) / 2) / Gamma(p / 2), the mean of a chi variable."""
        value = math.sqrt(2.0) * _half_step(0.5 * p)
        return Width(value, _ROUNDING_ERROR * value)


@dc.dataclass(frozen=True)
class Simplex(ConvexSet):
    """theta >= 0, sum_j theta_j = 1."""

    label = "simplex"

    def norm(self, order: float, p: int) -> float:
        return 1.0

    def diameter(self, order: float, p: int) -> float:
        return 0.0 if p == 1 else float(2.0 ** (1.0 / order))

    def n_vertices(self, p: int) -> int:
        return p

    def extreme(self, v: Array) -> Array:
        found = np.zeros_like(v)
        np.put_along_axis(found, v.argmin(axis=-1)[..., None], 1.0, axis=-1)
        return found

    def project(self, v: Array) -> Array:
        """Nearest point of the set in L2; v [..., p], answer of the same shape."""
        # A constant added to v changes nothing; without it, the 1 would be lost beside huge numbers.
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
        above = _integral(lambda x: -np.expm1(p * log_ndtr(x)), 0.0, _FAR)
        below = _integral(lambda x: np.exp(p * log_ndtr(-x)), 0.0, _FAR)
        return Width(above - below, _QUADRATURE_ERROR)


@dc.dataclass(frozen=True)
class L1Ball(NormBall):
    """||theta||_1 <= 1, the convex hull of +e_j and -e_j."""

    label = "L1 ball"
    order = 1.0

    def n_vertices(self, p: int) -> int:
        return 2 * p

    def extreme(self, v: Array) -> Array:
        found, places = np.zeros_like(v), np.abs(v).argmax(axis=-1)[..., None]
        np.put_along_axis(found, places, -np.sign(np.take_along_axis(v, places, axis=-1)), axis=-1)
        return found

    def project(self, v: Array) -> Array:
        """Nearest point of the set in L2; v [..., p], answer of the same shape."""
        inside = np.abs(v).sum(axis=-1, keepdims=True) <= 1.0
        return np.where(inside, v, np.sign(v) * Simplex().project(np.abs(v)))

    def _width(self, p: int) -> Width:
        """E max_j |g_j|, the integral of 1 - P(|g_1| <= x)^p over x > 0."""
        from scipy.special import erfc

        with np.errstate(divide="ignore"):
            value = _integral(lambda x: -np.expm1(p * np.log1p(-erfc(x / math.sqrt(2.0)))), 0.0, _FAR)
        return Width(value, _QUADRATURE_ERROR * max(1.0, value))


@dc.dataclass(frozen=True)
class Box(NormBall):
    """||theta||_inf <= 1."""

    label = "box"
    order = math.inf

    def extreme(self, v: Array) -> Array:
        return np.where(v > 0.0, -1.0, 1.0)

    def _width(self, p: int) -> Width:
        value = p * math.sqrt(2.0 / math.pi)
        return Width(value, _ROUNDING_ERROR * value)


@dc.dataclass(frozen=True)
class LqBall(NormBall):
    """||theta||_q <= 1.

    order: q, from 1.001 to 1000; 1 and inf are `L1Ball` and `Box`.
    """

    order: float

    label = "Lq ball"

    def __post_init__(self) -> None:
        order = check_real("order", self.order, "a number from 1.001 to 1000", lambda q: 1.001 <= q <= 1000.0)
        object.__setattr__(self, "order", order)

    def extreme(self, v: Array) -> Array:
        """-sign(v_j) |v_j|^(q* - 1) / ||v||_q*^(q* - 1) with q* = q / (q - 1): equality in Hoelder's inequality."""
        scaled = np.abs(v) / largest(v)
        powers = scaled ** (self.q - 1.0)
        total = np.einsum("...j,...j->...", powers, scaled)[..., None]
        return -np.copysign(powers, v) / np.maximum(total, 1.0) ** (1.0 / self.order)

    def _width(self, p: int) -> Width:
        """E ||g||_q*, drawn except for q = 2."""
        if self.order == 2.0:
            return Ball()._width(p)
        return _drawn(lambda g: length(g, self.q)[:, 0], p)


@dc.dataclass(frozen=True)
class Polytope(ConvexSet):
    """Convex hull of listed points of R^p.

    vertices: at least one, all of the same length p, finite numbers.
    """

    vertices: tuple[tuple[float, ...], ...]

    label = "polytope"

    def __post_init__(self) -> None:
        table = float_array("vertices", self.vertices)
        if table.ndim != 2 or 0 in table.shape:
            raise ValueError(f"vertices must have shape (count >= 1, p >= 1), got {table.shape}")
        object.__setattr__(self, "vertices", tuple(tuple(row) for row in table.tolist()))

    @functools.cached_property
    def table(self) -> Array:
        """The vertices as rows, [count, p]."""
        return np.array(self.vertices)

    def norm(self, order: float, p: int) -> float:
        return float(np.linalg.norm(self.table, order, axis=1).max())

    def diameter(self, order: float, p: int) -> float:
        return max(float(np.linalg.norm(self.table - vertex, order, axis=1).max()) for vertex in self.table)

    def n_vertices(self, p: int) -> int:
        return len(self.vertices)

    def extreme(self, v: Array) -> Array:
        return self.table[(v @ self.table.T).argmin(axis=-1)]

    def _width(self, p: int) -> Width:
        """E max_k <g, V_k>, drawn."""
        if p != self.table.shape[1]:
            raise ValueError(f"p must be the length of the vertices, {self.table.shape[1]}, got {p}")
        return _drawn(lambda g: (g @ self.table.T).max(axis=1), p)


def _half_step(x: float) -> float:
    """Gamma(x + 1/2) / Gamma(x), from a series where logarithms would lose digits."""
    if x < 500.0:
        return math.exp(math.lgamma(x + 0.5) - math.lgamma(x))
    return math.sqrt(x) * (1.0 - 1.0 / (8.0 * x) + 1.0 / (128.0 * x**2) + 5.0 / (1024.0 * x**3))


def _integral(f: Callable[[Array], Array], start: float, end: float) -> float:
    """Integral of f from start to end, by Gauss-Legendre nodes on panels."""
    nodes, weights = gauss_legendre(_NODES)
    panels = math.ceil((end - start) / _PANEL)
    half = 0.5 * (end - start) / panels
    centres = start + half * (2.0 * np.arange(panels) + 1.0)
    return float(half * (f(centres[:, None] + half * nodes) @ weights).sum())


def _drawn(support: Callable[[Array], Array], p: int) -> Width:
    """Mean of support(g) over Gaussian draws g [draws, p], which are public and the same every time."""
    rng = np.random.default_rng(_SEED)
    draws = min(max(_NUMBERS // p, _FEWEST_DRAWS), _MOST_DRAWS)
    block = max(1, _NUMBERS // (2 * p))
    counts = [min(block, draws - done) for done in range(0, draws, block)]
    values = np.concatenate([support(rng.standard_normal((count, p))) for count in counts])
    return Width(float(values.mean()), 3.0 * float(values.std(ddof=1)) / math.sqrt(draws))
