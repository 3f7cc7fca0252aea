"""Least risk of large-margin ellipsoids: of all, which excess risk is measured from, and of those in a ball, with which
bounds compare."""

import dataclasses as dc
import math

import numpy as np

from ...core.arrays import Array
from ...core.validation import positive
from ...solvers.multiclass.objective import ClassRecords, MulticlassObjective
from ...solvers.multiclass.solver import minimise_ellipsoids, step_nearby

# Ridges are tried until risk and its lower bound are this close, as a share of C - 1, or so many times.
_CLOSE, _MOST = 1e-5, 40
_WIDEST = 12.0  # powers of e above the number of records where the ridge begins
_MOST_STEPS = 200


@dc.dataclass(frozen=True)
class Least:
    """risk: the mean loss of a model. gap: it is this close to the least one."""

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


def least_of_all(records: ClassRecords, reach: float) -> Least:
    """The least mean loss over all models, certified: no Phi with ||Phi||_F <= reach is more than gap better.

    It is 0 where a model has positive margins only, since longer ones have no loss. Elsewhere Newton steps approach it,
    with a pull to the last model that falls with the gradient, and at each L(Phi) - L(T) <= <grad L(Phi), Phi - T> for
    every T.

    >>> least_of_all(ClassRecords([[-1.0], [1.0]], [0, 1], classes=2), reach=1e3)
    Least(risk=0.0, gap=0.0)
    """
    reach, n = positive("reach", reach), records.n
    weights = np.zeros((records.classes, records.Z.shape[1]))
    wrong = records.labels != np.arange(records.classes)[:, None]
    for _ in range(_MOST_STEPS):
        scores = records.scores(weights[None])
        if records.margins(scores)[0][wrong].min() > 0.0:
            return Least(0.0, 0.0)
        losses, gradient = records.loss(scores)
        steepness = float(np.linalg.norm(gradient))
        found = Least(float(losses[0]) / n, steepness * (float(np.linalg.norm(weights)) + reach) / n)
        if found.gap <= _CLOSE * (records.classes - 1):
            break
        weights = step_nearby(records, weights, steepness / reach)
    return found
