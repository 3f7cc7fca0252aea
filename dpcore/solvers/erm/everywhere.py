"""Infimum of the unregularised risk over all models, for smooth losses of a linear prediction.

Proximal points: theta_{k+1} minimises F(theta) + (nu_k / 2) ||theta - theta_k||^2, and nu_k falls. This needs neither a
minimiser nor curvature: F falls to its infimum, which may be approached only at infinity.

Source: Rockafellar 1976, Monotone operators and the proximal point algorithm.
"""

import dataclasses as dc

import numpy as np

from ...core.arrays import Array
from ...core.losses import Loss
from ...core.privacy import Unconverged
from ...core.records import Data
from .objective import Objective, Point
from .smooth import newton

_MAX_ROUNDS = 60
_FALL, _LOWEST = 100.0, 1e-13  # of nu, from round to round and as a share of the first
_ROUGH = 0.1  # share of the gradient that a round may leave
_CLEAR = 1e-12  # of ||theta|| max ||x||: margins above it are no rounding


def smooth_everywhere(loss: Loss, data: Data, reach: float, tol: float) -> Point:
    """theta whose residual ||grad F|| (||theta|| + reach) is <= tol, or which separates the classes.

    F(theta) - F(t) <= <grad F(theta), theta - t> is at most the residual for every ||t|| <= reach. It can stay above
    tol where rounding leaves no better point.
    """
    here = Objective(loss, data, 0.0).at(np.zeros(data.stored))
    nu = first = here.norm / reach
    point = Point(here.theta, here.norm * reach, 0)
    for _ in range(_MAX_ROUNDS):
        if point.residual <= tol or separates(loss, data, point.theta):
            break
        problem = Objective(loss, data, nu, -nu * here.theta)
        try:
            there, taken = newton(problem, problem.at(here.theta), max(_ROUGH * here.norm, 0.1 * tol / reach))
        except Unconverged:
            break
        here = dc.replace(there, gradient=there.gradient - nu * (there.theta - here.theta))
        residual = here.norm * (float(np.linalg.norm(here.theta)) + reach)
        point = Point(here.theta, residual, point.steps + taken)
        nu = max(nu / _FALL, _LOWEST * first)
    return point


def separates(loss: Loss, data: Data, theta: Array) -> bool:
    """Whether theta predicts the class of every record right, by more than rounding."""
    least = float((data.y * (data.X @ theta)).min()) if loss.classification else 0.0
    return least > _CLEAR * float(np.linalg.norm(theta)) * float(data.row_norms.max())
