"""What Frank-Wolfe's number of steps is chosen from: public constants of the problem, and nothing of the data."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable

import numpy as np

from ...core.arrays import Array
from ...core.losses import get_loss
from ...core.privacy import NotApplicable
from ...core.specification import Spec
from ...theory import frank_wolfe as theory
from ..base import whole

LARGEST_T = 10_000
# The bound is 5/3 of its smallest value at a quarter of its own T; measured excess is less than half of that at T.
_AUTO_SHARE = 0.25


@dc.dataclass(frozen=True)
class ProblemConstants:
    """Public constants of a problem over radius C.

    start: a bound on F(theta_1) - min F. curvature: Gamma, bounds d' (Hessian) d over the differences d of two points
    of the set. steepness: a bound on |dl/dz|. extent: on |<v, grad of a record's loss>| over the vertices v.
    """

    start: float
    curvature: float
    steepness: float
    extent: float


def terrain(spec: Spec, *, from_zero: bool) -> ProblemConstants:
    """The constants of a resolved problem. from_zero: whether theta_1 = 0, else it is any public point of the set."""
    loss, reach = get_loss(spec.loss), spec.domain.R * (spec.reach or 0.0)
    across = spec.domain.R * (spec.size or 0.0) * spec.shape.diameter(spec.domain.dual, spec.p)
    steepness = float(loss.steepness(reach, spec.domain.y_max))
    start = min(loss.at_zero(spec), steepness * reach) if from_zero else steepness * across
    return ProblemConstants(start, loss.curvature_bound * across**2, steepness, steepness * reach)


def check_problem(key: str, spec: Spec) -> None:
    """Raise NotApplicable with the reason unless Frank-Wolfe applies: a bounded set, a smooth loss, no regulariser."""
    loss = get_loss(spec.loss)
    if spec.size is None:
        raise NotApplicable(f"{key} needs a bounded set, got the L2 ball without a radius")
    if loss.task == "cost":
        raise NotApplicable(f"{key} has no use for {loss.label}s: they are for the simplex")
    if not loss.linear:
        raise NotApplicable(f"{key} needs a loss of a linear prediction, got {loss.label}")
    if not np.isfinite(loss.curvature_bound):
        raise NotApplicable(f"{key} needs a loss without kinks, got {loss.label}: its curvature on the set is infinite")
    if spec.lam == "population":
        raise NotApplicable(f"{key} has no rule {spec.lam!r} for lam: its noise does not depend on lam")
    if not isinstance(spec.lam, str) and spec.lam > 0.0:
        raise NotApplicable(f"{key} has no regulariser, the set takes its place: lam must be 0, got {spec.lam:g}")


def best_T(land: ProblemConstants, selection: Callable[[Array], Array]) -> int:
    """The T from 2 to 10,000 at which `theory.frank_wolfe_bound` is smallest; selection: of T, [m] -> [m]."""
    T = np.arange(2.0, LARGEST_T + 1.0)
    return int(T[np.argmin(theory.frank_wolfe_bound(land.start, land.curvature, selection(T), T))])


def auto_T(best: int) -> int:
    return max(2, round(_AUTO_SHARE * best))


def published_T(key: str, theorem: str, curvature: float, extent: float, n: int, epsilon: float) -> int:
    """T of Theorem 2.5, rounded; NotApplicable where it is below 2 or beyond 10,000.

    theorem: for messages. Theorem 2.6 names no T: that of Theorem 2.5 fits, with extent = L2 G, G the Gaussian width.
    """
    real = theory.published_frank_wolfe_steps(curvature, extent, n, epsilon)
    if not 1.5 <= real <= LARGEST_T + 0.5:
        raise NotApplicable(f"{key} takes T from 2 to {LARGEST_T:,}, and {theorem} asks for {real:,.0f} here")
    return round(real)


def check_T(name: str, T: int | str) -> int | str:
    """T of a knob, "bound", "published" or an integer from 2 to 10,000; ValueError for others."""
    return T if T in ("bound", "published") else whole(2, LARGEST_T)(name, T)
