"""Least risk of large-margin ellipsoids: of all, which excess risk is measured from, and of those in a ball, with which
bounds compare."""

import math

import numpy as np

from ...core.validation import positive
from ...solvers import Minimum
from ...solvers.multiclass.objective import ClassRecords, MulticlassObjective
from ...solvers.multiclass.solver import minimise_ellipsoids, step_nearby

# Ridges are tried until risk and its lower bound are this close, as a share of C - 1, or so many times.
_CLOSE, _MOST = 1e-5, 40
_WIDEST = 12.0  # powers of e above the number of records where the ridge begins
_MOST_STEPS = 200


def least_in_ball(records: ClassRecords, radius: float) -> Minimum:
    """The model of least mean loss among those with ||Phi||_F <= radius, [C, q], certified.

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
    best = np.zeros((records.classes, records.Z.shape[1]))
    for _ in range(_MOST):
        mu = math.exp(0.5 * (low + high))
        found = minimise_ellipsoids(MulticlassObjective(records, mu))
        length = float(np.linalg.norm(found.weights[0]))
        inside = found.weights * min(1.0, radius / length) if length else found.weights
        lower = max(lower, (float(found.values[0] - found.gaps[0]) - 0.5 * mu * radius**2) / records.n)
        risk = float(records.risks(inside)[0])
        if risk < upper:
            best, upper = inside[0], risk
        if upper - lower <= close:
            break
        low, high = (0.5 * (low + high), high) if length > radius else (low, 0.5 * (low + high))
    return Minimum(best, upper, upper - lower, radius)


def least_of_all(records: ClassRecords, reach: float) -> Minimum:
    """The model of least mean loss of all, [C, q], certified: no Phi with ||Phi||_F <= reach is more than gap better.

    It is 0 where a model has positive margins only, since longer ones have no loss. Elsewhere Newton steps approach it,
    with a pull to the last model that falls with the gradient, and at each L(Phi) - L(T) <= <grad L(Phi), Phi - T> for
    every T.

    >>> found = least_of_all(ClassRecords([[-1.0], [1.0]], [0, 1], classes=2), reach=1e3)
    >>> found.risk, found.gap, found.attained
    (0.0, 0.0, False)
    """
    reach, n = positive("reach", reach), records.n
    weights = np.zeros((records.classes, records.Z.shape[1]))
    wrong = records.labels != np.arange(records.classes)[:, None]
    for _ in range(_MOST_STEPS):
        scores = records.scores(weights[None])
        if records.margins(scores)[0][wrong].min() > 0.0:
            return Minimum(weights, 0.0, 0.0, math.inf, attained=False)
        losses, gradient = records.loss(scores)
        steepness = float(np.linalg.norm(gradient))
        gap = steepness * (float(np.linalg.norm(weights)) + reach) / n
        found = Minimum(weights, float(losses[0]) / n, gap, math.inf)
        if gap <= _CLOSE * (records.classes - 1):
            break
        weights = step_nearby(records, weights, steepness / reach)
    return found
