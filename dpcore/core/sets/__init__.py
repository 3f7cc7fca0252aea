"""Convex sets of models: minimisers of linear functions, Gaussian widths and, for some sets, nearest points.

Every set here has size 1; a problem scales it by its radius (`dpcore.core.specification.Spec`). They are frozen and
hashable.
"""

import math
from typing import Literal, get_args

from ..validation import one_of
from .base import ConvexSet, NormBall, Width
from .norms import dual_order, length, widening
from .regularity import Regularity, kappa_lq, kappa_of_order, quoted_kappa
from .shapes import Ball, Box, L1Ball, LqBall, Polytope, Simplex

SetName = Literal["ball", "simplex", "l1_ball", "box"]
SETS = get_args(SetName)

_NAMED: dict[SetName, ConvexSet] = {"ball": Ball(), "simplex": Simplex(), "l1_ball": L1Ball(), "box": Box()}
_BALLS: dict[float, NormBall] = {1.0: L1Ball(), 2.0: Ball(), math.inf: Box()}


def get_set(name: SetName | ConvexSet) -> ConvexSet:
    """Set with this name, or the given set itself; ValueError names the known ones.

    >>> get_set("l1_ball").n_vertices(10)
    20
    """
    return name if isinstance(name, ConvexSet) else _NAMED[one_of("set", name, SETS)]


def norm_ball(p_norm: float) -> NormBall:
    """Ball ||theta||_p_norm <= 1 for p_norm from 1 to inf.

    >>> norm_ball(1.0).label, norm_ball(2.0).label, norm_ball(3.0).order
    ('L1 ball', 'L2 ball', 3.0)
    """
    return _BALLS[p_norm] if p_norm in _BALLS else LqBall(p_norm)
