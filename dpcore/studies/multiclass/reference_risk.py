"""Least risk of large-margin ellipsoids in a ball: the reference risk of excess risk."""

import dataclasses as dc
import math

import numpy as np

from ...core.arrays import Array
from ...core.validation import positive
from ...solvers.multiclass.objective import ClassRecords, MulticlassObjective
from ...solvers.multiclass.solver import minimise_ellipsoids

# Ridges are tried until risk and its lower bound are this close, as a share of C - 1, or so many times.
_CLOSE, _MOST = 1e-5, 40
_WIDEST = 12.0  # powers of e above the number of records where the ridge begins


@dc.dataclass(frozen=True)
class Least:
    """risk: the mean loss of a model in the ball. gap: it is this close to the least one."""

    risk: float
    gap: float


def mean_losses(records: ClassRecords, weights: Array) -> Array:
    """L / n of models [R, C, q]; [R]."""
    return records.loss(records.scores(weights))[0] / records.n


def least_in_ball(records: ClassRecords, radius: float) -> Least:
    """The least mean loss over models with ||Phi||_F <= radius, certified.

    For every mu > 0 the least of L + (mu/2) ||Phi||^2 less mu radius^2 / 2 is at most the least L in the ball, and its
    minimiser, shortened to the radius, is in the ball. ||Phi|| falls with mu, so that bisection on ln mu finds where it
    is the radius and the two meet; without such a mu the ball is no constraint, and small mu close the gap.

    >>> found = least_in_ball(ClassRecords([[-1.0], [1.0]], [0, 1], classes=2), radius=1.0)
    >>> round(found.risk, 3), found.gap < 1e-4
    (0.125, True)
    """
    radius = positive("radius", radius)
    close = _CLOSE * (records.classes - 1)
    # A ridge as small as `low` costs less than half of the required accuracy.
    low, high = math.log(close * records.n / radius**2), _WIDEST + math.log(records.n)
    low, lower, upper = min(low, high), 0.0, math.inf
    for _ in range(_MOST):
        mu = math.exp(0.5 * (low + high))
        found = minimise_ellipsoids(MulticlassObjective(records, mu))
        length = float(np.linalg.norm(found.weights[0]))
        inside = found.weights * min(1.0, radius / length) if length else found.weights
        lower = max(lower, (float(found.values[0] - found.gaps[0]) - 0.5 * mu * radius**2) / records.n)
        upper = min(upper, float(mean_losses(records, inside)[0]))
        if upper - lower <= close:
            break
        low, high = (0.5 * (low + high), high) if length > radius else (low, 0.5 * (low + high))
    return Least(upper, upper - lower)
