"""Public constants that mechanisms for l_p balls share: smoothness in the norm of the set and its dual."""

from __future__ import annotations

import dataclasses as dc

from ..core.privacy import NotApplicable
from ..core.sets import dual_order, order_of_ball
from ..core.specification import Spec
from .frank_wolfe.step_count import check_problem, terrain


@dc.dataclass(frozen=True)
class LpConstants:
    """A problem over the l_p ball of radius `size` in R^d.

    p_norm, q_star: 1/p_norm + 1/q_star = 1. L0: a bound on the gradient of a record's loss in l_q_star. L1: such a
    gradient moves by at most L1 ||x - x'||_p_norm between x and x'. start: a bound on F(0) - min F.
    """

    p_norm: float
    q_star: float
    d: int
    size: float
    L0: float
    L1: float
    start: float

    @property
    def diameter(self) -> float:
        return 2.0 * self.size


def lp_constants_of(key: str, spec: Spec, low: float, high: float) -> LpConstants:
    """The constants of a problem over an l_p ball with low <= p_norm <= high; NotApplicable with the reason for others.

    Records that are promised in another norm than the dual one are taken for what that implies in the dual one.
    """
    check_problem(key, spec)
    p_norm = order_of_ball(spec.shape)
    if p_norm is None or not low <= p_norm <= high:
        raise NotApplicable(f"{key} is proved for l_p balls with p from {low:g} to {high:g}, got the {_name(spec)}")
    q_star = dual_order(p_norm)
    spec = dc.replace(spec, domain=spec.domain.implied(q_star, spec.p))
    land, R = terrain(spec, from_zero=True), spec.domain.R
    # d2l/dz2 <= curvature / (R D)^2, and a record's gradient moves by at most that times R^2 ||x - x'||.
    size = spec.size or 1.0
    return LpConstants(p_norm, q_star, spec.p, size, land.steepness * R, land.curvature / (2.0 * size) ** 2, land.start)


def _name(spec: Spec) -> str:
    order = order_of_ball(spec.shape)
    return spec.shape.label if order is None else f"l_p ball with p = {order:g}"
