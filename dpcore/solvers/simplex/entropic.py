"""Empirical risk over the simplex, with entropy or without it: Newton's method in the logarithms of the weights.

J(w) = F(radius w) + lam sum_j w_j ln w_j over w >= 0, sum_j w_j = 1, for losses with a curvature bound. Weights are
stored as logarithms, so that none underflows for any lam. Columns that `Data` does not store are zero in every record
and get equal weights: they are one more coordinate, of gradient 0, whose entropy includes the ln of their number.
"""

import dataclasses as dc
import math

import numpy as np
from scipy.special import logsumexp

from ...core.arrays import Array
from ...core.losses import Loss
from ...core.privacy import Unconverged
from ...core.records import Data
from ...core.validation import positive
from ..erm.objective import Minimum
from .objective import SimplexObjective, SimplexPoint

_MAX_STEPS = 400
# Relative accuracy of a direction that quadratic convergence needs at most.
_DIGITS = 0.1
_ARMIJO, _SMALLEST_SHARE = 1e-4, 1e-12
# An increase of J by this share counts as rounding, and so does the residual after so many steps without a smaller one.
_ROUNDING, _PATIENCE = 64 * np.finfo(float).eps, 4
# Without a start lam falls by this factor at a time, until a step would change J by less than so many lam.
_FACTOR, _NEAR = 20.0, 1.0


@dc.dataclass(frozen=True)
class Weights:
    """Approximate minimiser of J over the simplex with its certificates.

    log_weights: [r], ln w_j of the stored columns. log_idle: ln of the weight of each idle column, -inf where there are
    none. residual: the range over all columns, idle ones too, of ln w_j + g_j / lam with g = radius grad F(radius w),
    evaluated at these weights; it is 0 at the minimiser. gap: J(w) - min J <= gap. steps: Newton steps.

    The gap is lam KL(w || softmax(-g / lam)), by Fenchel and Young (docs/formulas.md, "Mixtures: the simplex").
    """

    log_weights: Array
    log_idle: float
    residual: float
    gap: float
    steps: int


def minimise_entropic(
    loss: Loss, data: Data, lam: float, *, tol: float, radius: float = 1.0, start: Array | None = None
) -> Weights:
    """Minimise J(w) = F(radius w) + lam sum_j w_j ln w_j over the simplex of all p columns, idle ones included.

    tol: largest residual, in units of ln w; J - lam <e, w> has w as its exact minimiser for an e with |e_j| <= tol / 2.
    Rounding leaves a residual of about 1e-16 max |g_j| / lam. start: [r], ln w_j of a nearby problem; it changes the
    work, not the result.

    Raises Unconverged when the residual stays above tol; ValueError for a loss without a curvature bound.

    >>> from dpcore.core.losses import get_loss
    >>> data = Data([[1.0, 0.0], [1.0, 0.0]], [1.0, 1.0])
    >>> found = minimise_entropic(get_loss("linear"), data, lam=0.5, tol=1e-12)
    >>> [round(float(v), 12) for v in np.diff(found.log_weights)], found.residual <= 1e-12
    ([2.0], True)
    """
    objective = SimplexObjective(_smooth(loss), data, positive("lam", lam), positive("radius", radius))
    positive("tol", tol)
    if start is not None and (start.shape != (data.stored,) or not np.isfinite(start).all()):
        raise ValueError(f"start must be a finite vector of {data.stored} entries, got shape {start.shape}")
    point = None if start is None else _newton(objective, objective.completed(start), tol)
    # Far from the minimum at a tiny lam, the progress of Newton's method is lost in the rounding of J.
    if point is None or not np.ptp(point.tilt) <= tol:
        point = _descend(objective, tol)
    residual = float(np.ptp(point.tilt))
    if not residual <= tol:
        raise Unconverged(
            f"ln w could be certified to {residual:.2g} only, not to {tol:g}, at lam = {lam:g}; nothing was released"
        )
    log_idle = float(point.u[-1] - objective.log_counts[-1]) if objective.idle else -math.inf
    return Weights(point.u[: data.stored], log_idle, residual, lam * _divergence(point), point.steps)


def minimise_on_simplex(loss: Loss, data: Data, radius: float = 1.0, *, tol: float = 1e-9) -> Minimum:
    """Minimise F(theta) = (1/n) sum_i l(<x_i, theta>; y_i) over theta >= 0 with sum_j theta_j = radius.

    The sum is over all p columns. tol: certified gap, in units of risk: <grad F, theta> - radius min_j grad_j F, which
    is at most lam (residual + ln p) at the weights that minimise J for a small lam.

    Raises Unconverged when the gap stays above tol; ValueError for a loss without a curvature bound.

    >>> from dpcore.core.losses import get_loss
    >>> found = minimise_on_simplex(get_loss("squared"), Data([[1.0, 0.0], [0.0, 1.0]], [0.75, 0.25]))
    >>> found.gap <= 1e-9, [round(float(v), 4) for v in found.theta]
    (True, [0.75, 0.25])
    """
    lam = positive("tol", tol) / (2.0 * (1.0 + math.log(data.p)))
    objective = SimplexObjective(_smooth(loss), data, lam, positive("radius", radius))
    point = _descend(objective, tol=1.0)
    w, gradient = np.exp(point.u), objective.gradient(point.z)
    gap = float(w @ gradient - gradient.min())
    if not gap <= tol:
        raise Unconverged(f"the risk over the simplex could be certified to {gap:.2g} only, not to {tol:g}")
    risk = float(loss.value(point.z, data.y).mean())
    return Minimum(radius * w[: data.stored], risk, max(gap, 0.0), radius)


def _divergence(point: SimplexPoint) -> float:
    """KL(w || softmax(-g / lam)) = ln sum_j w_j exp(-t_j) with t the tilt less its mean."""
    w = np.exp(point.u)
    t = point.tilt - w @ point.tilt
    if np.ptp(t) > 1.0:
        return float(logsumexp(point.u - t))
    # sum w t = 0: adding t keeps digits that 1 + a tiny number would lose.
    return max(math.log1p(float(w @ (np.expm1(-t) + t))), 0.0)


def _smooth(loss: Loss) -> Loss:
    if not (loss.linear and math.isfinite(loss.curvature_bound)):
        raise ValueError(f"loss must be one of a prediction, with a curvature bound, got {loss.label}")
    return loss


def _grown(step: Array, room: Array) -> Array:
    """Steps in ln w, except that larger weights grow by a step in w, in which the system is nearly linear."""
    return np.minimum(step, np.maximum(np.log1p(np.maximum(step, 0.0)), room))


def _descend(objective: SimplexObjective, tol: float) -> SimplexPoint:
    """Minimiser from equal weights, by way of larger lam, because a small lam does not recover from too long a step."""
    u = objective.log_counts - math.log(objective.data.p)
    lam, steps = max(objective.lam, 0.5 * float(np.ptp(objective.gradient(objective.push(np.exp(u)))))), 0
    while lam > objective.lam:
        point = _newton(dc.replace(objective, lam=lam), u, tol, near=_NEAR, steps=steps)
        u, steps, lam = point.u, point.steps, max(lam / _FACTOR, objective.lam)
    return _newton(objective, u, tol, steps=steps)


def _newton(objective: SimplexObjective, u: Array, tol: float, near: float = 0.0, steps: int = 0) -> SimplexPoint:
    """Point of smallest residual, at most tol unless rounding prevents it; or one at which a step would change J by
    less than near * lam."""
    z = objective.push(np.exp(u))
    best = now = objective.point(u, z, objective.value(u, z), steps)
    waited = 0
    while (residual := float(np.ptp(best.tilt))) > tol and waited < _PATIENCE and now.steps < steps + _MAX_STEPS:
        # As many digits as quadratic convergence can use or the tolerance needs.
        reach = float(np.ptp(now.tilt))
        s, room = objective.direction(now, accuracy=_DIGITS * max(min(1.0, reach), 0.5 * tol / reach))
        w = np.exp(now.u)
        slope = objective.lam * float((w * s) @ (now.tilt - w @ now.tilt))
        if -slope < near * objective.lam:
            return now
        rounding = _ROUNDING * (abs(now.value) + objective.lam * float(w @ np.abs(now.tilt - now.u)) + objective.lam)
        share, value = 1.0, math.inf
        while not value <= now.value + _ARMIJO * share * min(slope, 0.0) + rounding:
            if share < _SMALLEST_SHARE:
                return dc.replace(best, steps=now.steps)
            u = now.u + _grown(share * s, room)
            u -= logsumexp(u)
            z = objective.push(np.exp(u))
            value = objective.value(u, z)
            share *= 0.5
        now = objective.point(u, z, value, now.steps + 1)
        if np.ptp(now.tilt) < residual:
            best, waited = now, 0
        elif -slope <= rounding:
            waited += 1
    return dc.replace(best, steps=now.steps)
