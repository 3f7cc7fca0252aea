"""Public facts of a problem: the bounds on its records, and the objective that is minimised over them.

Frozen, hashable, picklable and free of data-dependent behaviour.
"""

from __future__ import annotations

import dataclasses as dc
from typing import Literal, get_args

from .sets import ConvexSet, SetName, dual_order, get_set, widening
from .validation import check_real, integer, norm_order, positive, shown

LamRule = Literal["auto", "published", "population"]
LAM_RULES = get_args(LamRule)


@dc.dataclass(frozen=True)
class Domain:
    """Public bounds on every record: ||x||_q <= R and |y| <= y_max.

    q: norm order, from 1 to inf. R, y_max: finite, > 0.
    """

    q: float = 2.0
    R: float = 1.0
    y_max: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", norm_order("q", self.q))
        object.__setattr__(self, "R", positive("R", self.R))
        object.__setattr__(self, "y_max", positive("y_max", self.y_max))

    @property
    def dual_order(self) -> float:
        """Order of the dual norm, q / (q - 1): 2 for q = 2, 1 for q = inf."""
        return dual_order(self.q)

    def in_norm(self, q: float, p: int) -> Domain:
        """Bound in the norm of order q that follows for records of p columns.

        ||x||_b <= ||x||_a <= p^(1/a - 1/b) ||x||_b for a <= b, and both can be attained.

        >>> import math
        >>> Domain(q=math.inf, R=0.5).in_norm(2.0, p=16).R
        2.0
        """
        return dc.replace(self, q=q, R=widening(q, self.q, p) * self.R)


@dc.dataclass(frozen=True)
class Spec:
    """Public facts of one empirical risk minimisation; it holds no data.

    set "ball": J(theta) = (1/n) sum_i loss(<x_i, theta>; y_i) + (lam/2) ||theta||_2^2, minimised over R^p, or over the
    L2 ball of `radius` where that is set. set "simplex": theta = radius w with w >= 0 and sum_j w_j = 1, and
    J(theta) = (1/n) sum_i loss(<x_i, theta>; y_i) + lam sum_j w_j ln w_j. Any other set of `dpcore.core.sets`, by name
    or as an object: theta in radius times the set. For all sets but "ball" a radius of None is 1.

    loss: key of a loss in `dpcore.core.losses`. n: records, >= 2. p: columns, >= 1. classes: C >= 2 for losses of
    classes, where theta is a symmetric matrix for each class instead of a vector; other losses do not use it.
    lam: >= 0, or a rule that each mechanism resolves without seeing data: "auto" (good accuracy at every epsilon),
    "published" (the source's) or "population" (which minimises the Lipschitz form of the bound on fresh records). Only
    mechanisms that perturb gradients take 0, no regularisation.
    theta_norm: B > 0, a public guess of the norm of a good model: bounds compare with the best model of norm at most B,
    and every rule for lam depends on it.
    """

    loss: str
    n: int
    p: int
    lam: float | LamRule = "auto"
    domain: Domain = Domain()
    radius: float | None = None
    theta_norm: float = 10.0
    set: SetName | ConvexSet = "ball"
    classes: int = 2

    def __post_init__(self) -> None:
        get_set(self.set)
        object.__setattr__(self, "classes", integer("classes", self.classes, at_least=2))
        object.__setattr__(self, "n", integer("n", self.n, at_least=2))
        object.__setattr__(self, "p", integer("p", self.p, at_least=1))
        if not isinstance(self.lam, str):
            lam = check_real("lam", self.lam, "a finite number >= 0", lambda v: v >= 0)
            object.__setattr__(self, "lam", positive("lam", lam) if lam else 0.0)
        elif self.lam not in LAM_RULES:
            rule = f"a finite number >= 0 or one of {', '.join(LAM_RULES)}"
            raise ValueError(f"lam must be {rule}, got {shown(self.lam)}")
        if self.radius is not None:
            object.__setattr__(self, "radius", positive("radius", self.radius))
        object.__setattr__(self, "theta_norm", positive("theta_norm", self.theta_norm))

    @property
    def unit_set(self) -> ConvexSet:
        """The set at size 1."""
        return get_set(self.set)

    @property
    def size(self) -> float | None:
        """The size of the set; None for models anywhere in R^p."""
        return 1.0 if self.radius is None and self.set != "ball" else self.radius

    @property
    def reach(self) -> float | None:
        """Largest ||theta|| in the norm dual to the records', L2 or L1, so that |<x, theta>| <= R reach; or None.

        >>> import math
        >>> Spec("squared", n=10, p=4, domain=Domain(q=math.inf), radius=3.0, set="l1_ball").reach
        3.0
        """
        return None if self.size is None else self.size * self.unit_set.norm(self.domain.dual_order, self.p)
