"""Interface of convex sets: the minimiser of a linear function, norms and the width."""

import abc
import dataclasses as dc
import functools
import math
from typing import ClassVar

from ..arrays import Array
from ..validation import integer
from .norms import dual_order, widening


@dc.dataclass(frozen=True)
class Width:
    """Gaussian width and its error.

    value: of E max_theta <g, theta>. error: a bound for formulas and quadrature; three standard errors for widths that
    are estimated from random draws.
    """

    value: float
    error: float

    @property
    def upper(self) -> float:
        return self.value + self.error


@dc.dataclass(frozen=True)
class ConvexSet(abc.ABC):
    """Closed, bounded, convex set in R^p of size 1.

    label: for charts and messages.
    """

    label: ClassVar[str]

    @property
    def q(self) -> float:
        """Default order of the norm that bounds the records."""
        return math.inf

    @abc.abstractmethod
    def norm(self, order: float, p: int) -> float:
        """Largest ||theta||_order in the set, for an order from 1 to inf."""

    def diameter(self, order: float, p: int) -> float:
        """Largest ||theta - theta'||_order in the set; twice `norm` for a symmetric set."""
        return 2.0 * self.norm(order, p)

    def n_vertices(self, p: int) -> int | None:
        """Number of vertices of a polytope; None if they are not listed: no polytope, or a box."""
        return None

    @abc.abstractmethod
    def extreme(self, v: Array) -> Array:
        """Point of the set at which <v, .> is smallest; v [..., p], answer of the same shape."""

    def width(self, p: int) -> Width:
        """Gaussian width E max over theta in the set of <g, theta>, g ~ N(0, I_p); computed once.

        >>> from dpcore.core.sets import Ball, L1Ball
        >>> round(Ball().width(1).value, 6), round(L1Ball().width(200).value, 3)
        (0.797885, 2.969)
        """
        return _width(self, integer("p", p, at_least=1))

    @abc.abstractmethod
    def _width(self, p: int) -> Width:
        """`width`, computed anew."""


class NormBall(ConvexSet):
    """Ball ||theta||_order <= 1, for an order from 1 to inf."""

    order: float

    @property
    def q(self) -> float:
        """The dual order."""
        return dual_order(self.order)

    def norm(self, order: float, p: int) -> float:
        return widening(order, self.order, p)


@functools.lru_cache(maxsize=512)
def _width(shape: ConvexSet, p: int) -> Width:
    return shape._width(p)
