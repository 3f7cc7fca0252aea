"""Convex hulls of listed points."""

import dataclasses as dc
import functools

import numpy as np

from ..arrays import Array, float_array
from .base import ConvexSet, Width
from .gaussian_width import drawn

_STEPS_A_VERTEX = 200  # of the least squares problem


@dc.dataclass(frozen=True)
class Polytope(ConvexSet):
    """The convex hull of listed points of R^p.

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

    def corners(self, p: int) -> int:
        return len(self.vertices)

    def extreme(self, v: Array) -> Array:
        return self.table[(v @ self.table.T).argmin(axis=-1)]

    def project(self, v: Array) -> Array:
        """The weights w >= 0 that make ||sum_k w_k (V_k - v)||^2 + (sum_k w_k - 1)^2 smallest, divided by their sum.

        Whatever the sum is, the weights divided by it make the first term smallest, so that is the nearest point; and
        the problem is non-negative least squares, which an active set solves.
        """
        from scipy.optimize import nnls

        found = np.empty_like(v, dtype=float)
        for place in np.ndindex(v.shape[:-1]):
            apart = self.table - v[place]
            scale = float(np.abs(apart).max()) or 1.0
            system = np.vstack([apart.T / scale, np.ones(len(apart))])
            weights, _ = nnls(system, np.append(np.zeros(len(system) - 1), 1.0), maxiter=_STEPS_A_VERTEX * len(apart))
            found[place] = (weights / weights.sum()) @ self.table
        return found

    def _width(self, p: int) -> Width:
        """E max_k <g, V_k>, drawn."""
        if p != self.table.shape[1]:
            raise ValueError(f"p must be the length of the vertices, {self.table.shape[1]}, got {p}")
        return drawn(lambda g: (g @ self.table.T).max(axis=1), p)
