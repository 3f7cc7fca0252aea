"""Convex sets: balls of norms, the simplex, group L1 balls and convex hulls of listed points.

Their Gaussian widths are formulas, integrals over maxima, or means of public draws.
"""

import dataclasses as dc
import functools
import math
from collections.abc import Callable

import numpy as np

from ..arrays import Array, float_array
from ..validation import check_real, integer
from .base import ConvexSet, NormBall, Width
from .norms import largest, length, widening

_MOST_STEPS = 200  # of a root search
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

    def project(self, v: Array) -> Array:
        return v / np.maximum(length(v), 1.0)

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
        """Nearest point, like `NormBall.project`."""
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
        inside = np.abs(v).sum(axis=-1, keepdims=True) <= 1.0
        return np.where(inside, v, np.sign(v) * Simplex().project(np.abs(v)))

    def _width(self, p: int) -> Width:
        """E max_j |g_j|."""
        return _largest_chi(p, 1, 0)


@dc.dataclass(frozen=True)
class Box(NormBall):
    """||theta||_inf <= 1."""

    label = "box"
    order = math.inf

    def extreme(self, v: Array) -> Array:
        return np.where(v > 0.0, -1.0, 1.0)

    def project(self, v: Array) -> Array:
        return np.clip(v, -1.0, 1.0)

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

    def project(self, v: Array) -> Array:
        """x_j + mu x_j^(q - 1) = |v_j| with the mu that gives ||x||_q = 1."""
        outside = (length(v, self.order) > 1.0)[..., 0]
        found = np.array(v, float)
        if outside.any():
            beyond = found[outside]
            found[outside] = np.sign(beyond) * self._on_boundary(np.abs(beyond))
        return found

    def _on_boundary(self, a: Array) -> Array:
        """x of the rows of a [m, p] >= 0, by Newton's method on ln ||x(mu)||_q, kept inside a bracket of mu.

        x_j <= 1 means mu >= max a_j - 1, and x_j^(q - 1) <= a_j / mu means mu <= ||a||_q*.
        """
        q = self.order
        low = np.maximum(a.max(axis=-1, keepdims=True) - 1.0, 0.0)
        high = np.maximum(length(a, self.q), low)
        mu = high
        with np.errstate(all="ignore"):
            for _ in range(_MOST_STEPS):
                x = _split(a, mu, q)
                excess = np.log((x**q).sum(axis=-1, keepdims=True))
                low, high = np.where(excess > 0.0, mu, low), np.where(excess > 0.0, high, mu)
                fall = x ** (q - 1.0) / (1.0 + mu * (q - 1.0) * x ** (q - 2.0))
                fall = q * np.where(x > 0.0, x ** (q - 1.0) * fall, 0.0).sum(axis=-1, keepdims=True)
                step = excess * np.exp(excess) / fall
                # Steps in mu converge fast near the boundary, steps in ln mu far from it.
                guess = mu + step
                guess = np.where((guess > low) & (guess < high), guess, mu * np.exp(step / mu))
                guess = np.where((guess > low) & (guess < high), guess, 0.5 * (low + high))
                done = (np.abs(guess - mu) <= 1e-15 * (1.0 + mu)) | (np.abs(excess) <= 1e-14)
                if done.all():
                    break
                mu = guess
        return np.asarray(x / np.maximum(length(x, q), 1.0), float)

    def _width(self, p: int) -> Width:
        """E ||g||_q*, drawn except for q = 2."""
        if self.order == 2.0:
            return Ball()._width(p)
        return _drawn(lambda g: length(g, self.q)[:, 0], p)


@dc.dataclass(frozen=True)
class GroupL1Ball(ConvexSet):
    """sum_g ||theta_g||_2 <= 1 over groups of consecutive columns; the last group may be shorter.

    group: columns in a group, >= 1.
    """

    group: int

    label = "group L1 ball"

    def __post_init__(self) -> None:
        object.__setattr__(self, "group", integer("group", self.group, at_least=1))

    def norm(self, order: float, p: int) -> float:
        return widening(order, 2.0, min(self.group, p))

    def extreme(self, v: Array) -> Array:
        blocks = self._blocks(v / largest(v))
        lengths = np.linalg.norm(blocks, axis=-1)
        weights = L1Ball().extreme(lengths) / np.maximum(lengths, np.finfo(float).tiny)
        return self._joined(weights[..., None] * blocks, v)

    def project(self, v: Array) -> Array:
        """Nearest point, like `NormBall.project`."""
        blocks = self._blocks(v)
        lengths = length(blocks)[..., 0]
        shorter = L1Ball().project(lengths) / np.where(lengths > 0.0, lengths, 1.0)
        inside = lengths.sum(axis=-1)[..., None] <= 1.0
        return np.where(inside, v, self._joined(shorter[..., None] * blocks, v))

    def _blocks(self, v: Array) -> Array:
        """[..., groups, group], filled with zeros."""
        fill = -v.shape[-1] % self.group
        padded = np.concatenate([v, np.zeros((*v.shape[:-1], fill))], axis=-1)
        return padded.reshape(*v.shape[:-1], -1, self.group)

    def _joined(self, blocks: Array, v: Array) -> Array:
        return blocks.reshape(*v.shape[:-1], -1)[..., : v.shape[-1]]

    def _width(self, p: int) -> Width:
        """E max_g ||g_g||_2."""
        return _largest_chi(p // self.group, self.group, p % self.group)


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


def _split(a: Array, mu: Array, q: float) -> Array:
    """x >= 0 with x + mu x^(q - 1) = a, for mu > 0.

    Newton's method in u, the power of x in which the left side is convex, comes down to the root from a point where
    either term alone is a.
    """
    power = max(q - 1.0, 1.0 / (q - 1.0))
    first, second = (1.0, mu) if q >= 2.0 else (mu, 1.0)  # first u + second u^power = a
    u = np.minimum(a / first, (a / second) ** (1.0 / power))
    for _ in range(_MOST_STEPS):
        high = second * u**power
        step = np.where(u > 0.0, (first * u + high - a) / (first + power * high / u), 0.0)
        u = np.maximum(u - step, 0.0)
        if not (np.abs(step) > 1e-9 * u).any():  # it converges quadratically
            break
    return np.asarray(u if q >= 2.0 else u**power)


def _half_step(x: float) -> float:
    """Gamma(x + 1/2) / Gamma(x), from a series where logarithms would lose digits."""
    if x < 500.0:
        return math.exp(math.lgamma(x + 0.5) - math.lgamma(x))
    return math.sqrt(x) * (1.0 - 1.0 / (8.0 * x) + 1.0 / (128.0 * x**2) + 5.0 / (1024.0 * x**3))


def _integral(f: Callable[[Array], Array], start: float, end: float) -> float:
    """Integral of f from start to end, by Gauss-Legendre nodes on panels."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    panels = math.ceil((end - start) / _PANEL)
    half = 0.5 * (end - start) / panels
    centres = start + half * (2.0 * np.arange(panels) + 1.0)
    return float(half * (f(centres[:, None] + half * nodes) @ weights).sum())


def _largest_chi(groups: int, k: int, rest: int) -> Width:
    """E max of the lengths of `groups` Gaussian vectors of k entries and, where rest > 0, one of `rest` entries.

    It is the integral of P(max > x). Full groups are the largest: none is 40 below sqrt(k).
    """
    from scipy.special import chdtrc

    def log_cdf(df: int, x: Array) -> Array:
        return np.log1p(-np.minimum(chdtrc(df, x**2), 1.0))

    def above(x: Array) -> Array:
        with np.errstate(divide="ignore"):
            total = groups * log_cdf(k, x) if groups else np.zeros_like(x)
            return -np.expm1(total + (log_cdf(rest, x) if rest else 0.0))

    middle = math.sqrt(k if groups else rest)
    start = max(middle - _FAR, 0.0)
    value = start + _integral(above, start, middle + _FAR)
    return Width(value, _QUADRATURE_ERROR * max(1.0, value))


def _drawn(support: Callable[[Array], Array], p: int) -> Width:
    """Mean of support(g) over Gaussian draws g [draws, p], which are public and the same every time."""
    rng = np.random.default_rng(_SEED)
    draws = min(max(_NUMBERS // p, _FEWEST_DRAWS), _MOST_DRAWS)
    block = max(1, _NUMBERS // (2 * p))
    counts = [min(block, draws - done) for done in range(0, draws, block)]
    values = np.concatenate([support(rng.standard_normal((count, p))) for count in counts])
    return Width(float(values.mean()), 3.0 * float(values.std(ddof=1)) / math.sqrt(draws))
