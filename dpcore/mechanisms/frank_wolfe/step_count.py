"""Public constants of a problem over a bounded set, and the number of steps that follows from them, without data."""

import dataclasses as dc
from collections.abc import Callable

import numpy as np

from ...core.arrays import Array
from ...core.losses import get_loss
from ...core.privacy import NotApplicable
from ...core.sets import NormBall, Polytope, Simplex
from ...core.specification import Spec
from ...theory import frank_wolfe as theory
from ..base import whole

LARGEST_T = 10_000
# Of gradients over epsilon: noise must be a float, and T, n and delta make it at most 1e6 times as large.
_LARGEST = 1e302
# "auto" (docs/formulas.md, "Frank-Wolfe on polytopes"): a share of the bound's own T; few steps to begin with; and many
# where a choice costs so much more than learning nothing, which only an average over many vertices comes back to.
_AUTO_SHARE, _FEWEST, _HOPELESS, _MANY = 1.0 / 6.0, 4, 3.0, 256


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


def constants_of(spec: Spec) -> ProblemConstants:
    """Constants of a resolved problem; theta_1 is 0, or a public point of the simplex or of a list of vertices."""
    loss, reach = get_loss(spec.loss), spec.domain.R * (spec.reach or 0.0)
    across = spec.domain.R * (spec.size or 0.0) * spec.unit_set.diameter(spec.domain.dual_order, spec.p)
    steepness = float(loss.steepness(reach, spec.domain.y_max))
    from_zero = not isinstance(spec.unit_set, Simplex | Polytope)
    start = min(loss.at_zero(spec), steepness * reach) if from_zero else steepness * across
    return ProblemConstants(start, loss.curvature_bound * across**2, steepness, steepness * reach)


def check_problem(key: str, spec: Spec) -> None:
    """Raise NotApplicable with the reason unless Frank-Wolfe applies: a bounded set, a smooth loss, no regulariser.

    ValueError for a list of vertices of another length than p.
    """
    loss, shape = get_loss(spec.loss), spec.unit_set
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
    check_size(key, spec, 1e120)
    if isinstance(shape, Polytope) and shape.table.shape[1] != spec.p:
        raise ValueError(f"vertices of set must have length p = {spec.p}, got {shape.table.shape[1]}")


def check_size(key: str, spec: Spec, most: float) -> None:
    """Raise NotApplicable unless R radius, whose powers must be floats, is from 1 / most to most."""
    least, size = 1.0 / most, spec.domain.R * (spec.size or 0.0)
    if not least <= size <= most:
        raise NotApplicable(
            f"{key} needs R times radius between {least:g} and {most:g}, got {size:g}; scale the records or choose "
            "another radius"
        )


@dc.dataclass(frozen=True)
class LpConstants:
    """Constants of a problem over the l_p ball of radius `size` in R^d.

    p_norm, q_star: 1/p_norm + 1/q_star = 1. L0: a bound on the gradient of a record's loss in l_q_star. L1: such a
    gradient moves by at most L1 ||x - x'||_p_norm between x and x'. turn: and by at most that between any two models.
    """

    p_norm: float
    q_star: float
    d: int
    size: float
    L0: float
    L1: float
    turn: float

    @property
    def diameter(self) -> float:
        return 2.0 * self.size

    @property
    def L1_between(self) -> float:
        """2^(-2 / q_star) L1, for p_norm <= 2: two records' gradients move at most 2 L1_between ||x - x'|| apart.

        For the record z a gradient moves by g = k <z, x - x'> z, 0 <= k <= c, and L1 = c R^2. Let v be x - x' over its
        length, and w as long as v, 1. Then 4 <w, g - g'> / ||x - x'||
            = k (<z, v + w>^2 - <z, v - w>^2) - k' (<z', v + w>^2 - <z', v - w>^2) <= L1 (||v + w||^2 + ||v - w||^2)
        <= L1 2^(1 + 2 / p_norm) (docs/formulas.md), and 1 / p_norm = 1 - 1 / q_star.
        """
        return 2.0 ** (-2.0 / self.q_star) * self.L1


def lp_constants_of(key: str, spec: Spec, low: float, high: float) -> LpConstants:
    """Constants of a problem over an l_p ball with low <= p_norm <= high; NotApplicable with the reason for others.

    A bound on records in another norm is replaced by the bound that it implies in the dual norm.
    """
    check_problem(key, spec)
    p_norm = spec.unit_set.order if isinstance(spec.unit_set, NormBall) else None
    if p_norm is None or not low <= p_norm <= high:
        name = spec.unit_set.label if p_norm is None else f"l_p ball with p = {p_norm:g}"
        raise NotApplicable(f"{key} is proved for l_p balls with p from {low:g} to {high:g}, got the {name}")
    q_star = spec.unit_set.q
    spec = dc.replace(spec, domain=spec.domain.in_norm(q_star, spec.p))
    facts, R = constants_of(spec), spec.domain.R
    # d2l/dz2 <= curvature / (R D)^2, and a record's gradient moves by at most that times R^2 ||x - x'||.
    size = spec.size or 1.0
    turn = R * get_loss(spec.loss).slope_range(R * size, spec.domain.y_max)
    return LpConstants(p_norm, q_star, spec.p, size, facts.steepness * R, facts.curvature / (2.0 * size) ** 2, turn)


def chosen_T(
    key: str, asked: int | str, spec: Spec, epsilon: float, theorem: str, extent: float, worse: Callable[[Array], Array]
) -> int:
    """Number T: the given integer, or one from 2 to 10,000 by a rule.

    "bound": minimises `theory.frank_wolfe_bound`. "auto": `_auto_T`. "published": T of Theorem 2.5, rounded;
    NotApplicable if it is outside. worse: excess score of a choice over the best as a function of T, [m] -> [m].
    theorem: for messages. Theorem 2.6 names no T: that of Theorem 2.5 fits, with extent = L2 G, G the Gaussian width.
    NotApplicable if extent over epsilon is so large that noise would exceed the range of a float.
    """
    if not extent / epsilon <= _LARGEST:
        size = spec.domain.R * (spec.size or 0.0)
        raise NotApplicable(
            f"{key} needs noise within the range of a float, got R times radius = {size:g} and epsilon = {epsilon:g}; "
            "scale the records, or choose a smaller radius or a larger epsilon"
        )
    if isinstance(asked, int):
        return asked
    facts = constants_of(spec)
    if asked == "published":
        real = theory.published_frank_wolfe_steps(facts.curvature, extent, spec.n, epsilon)
        if not 1.5 <= real <= LARGEST_T + 0.5:
            raise NotApplicable(f"{key} takes T from 2 to {LARGEST_T:,}, and {theorem} asks for {real:,.0f} here")
        return round(real)
    T = np.arange(2.0, LARGEST_T + 1.0)
    best = int(T[np.argmin(theory.frank_wolfe_bound(facts.start, facts.curvature, worse(T), T))])
    return best if asked == "bound" else _auto_T(facts, best, worse)


def _auto_T(facts: ProblemConstants, best: int, worse: Callable[[Array], Array]) -> int:
    """T under "auto": a sixth of the bound's T = `best`, at least Gamma / h and 4; at least 256 if choices cost 3 h.

    At most 10,000. h = `facts.start`. Noise of choices is bounded for the worst scores, convergence for the worst
    curvature; on records fewer steps are better. With T < Gamma / h the term 2 Gamma / T of the bound exceeds 2 h. A
    vertex drawn without regard to the records is theta_1 on average, and a private choice is no worse on average: as in
    the bound, E F(theta_T) <= F(theta_1) + 2 Gamma / T, whatever the noise is. So where nothing can be learned many
    steps limit the loss, and few do not.
    """
    T, h = _FEWEST, facts.start
    if h:
        # Gamma / h alone may exceed the range of a float.
        T = max(T, round(min(facts.curvature, LARGEST_T * h) / h), round(_AUTO_SHARE * best))
    return max(T, _MANY) if float(worse(np.array(float(T)))) > _HOPELESS * h else T


def check_T(name: str, T: int | str) -> int | str:
    """Value of a knob T: "bound", "published" or an integer from 2 to 10,000; ValueError for others."""
    return T if T in ("bound", "published") else whole(2, LARGEST_T)(name, T)
