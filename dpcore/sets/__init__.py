"""Convex sets that models are sought in: where a linear function is smallest, the nearest point, and how wide they are.

Every set here has size 1; a problem scales it by its radius (`dpcore.types.Spec`). They are frozen and hashable.
"""

from __future__ import annotations

from typing import Literal, get_args

from ..checks import one_of
from .base import ConvexSet, Width
from .common import Ball, Box, L1Ball, Simplex
from .curved import GroupL1Ball, LqBall
from .polytope import Polytope

__all__ = [
    "SETS",
    "Ball",
    "Box",
    "ConvexSet",
    "GroupL1Ball",
    "L1Ball",
    "LqBall",
    "Polytope",
    "SetName",
    "Simplex",
    "Width",
    "get_set",
]

SetName = Literal["ball", "simplex", "l1_ball", "box"]
SETS = get_args(SetName)

_NAMED: dict[SetName, ConvexSet] = {"ball": Ball(), "simplex": Simplex(), "l1_ball": L1Ball(), "box": Box()}


def get_set(name: SetName | ConvexSet) -> ConvexSet:
    """The set with this name, or a set itself; ValueError names the known ones.

    >>> get_set("l1_ball").corners(10)
    20
    """
    return name if isinstance(name, ConvexSet) else _NAMED[one_of("set", name, SETS)]
