"""What no private mechanism can avoid, on the data that are hardest for it."""

from __future__ import annotations

import functools
import math

import numpy as np

from .losses import Loss
from .types import Array, Bound, Budget, Spec

_SWAPS = 400
_HALVINGS = 60
# Differences of risks of order 1 are rounding below this.
_SMALLEST = 1e-13


def hardest_data(loss: Loss, spec: Spec, budget: Budget) -> tuple[Bound, ...]:
    """A lower bound on the worst mean excess of every (epsilon, delta)-private mechanism; () where it says nothing.

    All records lie at x = R u. In D, (n + k) / 2 of them carry the label y_max and the others -y_max; in D' the shares
    are swapped, which takes k replacements. With z = <R u, theta> and g = F_D(0) - min F_D, a release with z <= 0 loses
    at least g on D and one with z >= 0 at least g on D', since both risks are convex with mirrored minima. By group
    privacy no release tells D from D' better than `attack_cap` of (k epsilon, delta_k), where delta_k = delta times
    1 + e^epsilon + ... + e^((k-1) epsilon). So the larger of the two mean excesses is at least g (1 - cap). The best k
    is taken, among those whose minimum lies within ||theta|| <= theta_norm; only then is no excess negative.

    For location losses the records lie at R u and -R u instead, and z = <u, theta>: a model beside their line is
    farther from all of them than its projection.

    Source: two-point method (Le Cam); constants derived here (explicit).

    >>> from dpcore.losses import get_loss
    >>> (bound,) = hardest_data(get_loss("hinge"), Spec("hinge", n=1000, p=3), Budget(0.1))
    >>> round(bound.value * 1000 * 0.1, 3)
    0.278
    """
    ball = min(spec.theta_norm, spec.radius or math.inf)
    if loss.linear:
        y = 1.0 if loss.classification else spec.domain.y_max
        k, gains = _gains(loss, spec.n, y, spec.domain.R * ball)
    else:
        k, gains = _gains(loss, spec.n, spec.domain.R, ball)
    group = np.minimum(k * budget.epsilon, 700.0)
    # delta_k e^(-k epsilon): delta_k itself may be too large for a float.
    grown = budget.delta * -np.expm1(-group) / math.expm1(min(budget.epsilon, 700.0))
    cap = np.minimum(1.0, (1.0 + grown) / (1.0 + np.exp(-group)))
    best = float(np.max(gains * (1.0 - cap), initial=0.0)) - _SMALLEST
    if best <= _SMALLEST:
        return ()
    says = "hardest data: the worse of two data sets with all records on one line; any private mechanism"
    return (Bound("excess_empirical_risk", "lower", best, "expectation", "two-point method", says),)


@functools.lru_cache(maxsize=64)
def _gains(loss: Loss, n: int, end: float, reach: float) -> tuple[Array, Array]:
    """k, with the parity of n, ever sparser; and F_D(0) - min F_D for each, 0 where the minimum is beyond `reach`.

    end: the label of the larger group or, for location, its place; the smaller group has -end.
    """
    k = np.unique(np.geomspace(1.0, n - 1.0, _SWAPS).astype(np.int64))
    k = np.unique(k + (n - k) % 2)
    k = k[k < n]
    up, down = (n + k) / (2.0 * n), (n - k) / (2.0 * n)
    ups, downs = np.full(len(k), end), np.full(len(k), -end)

    def slope(z: Array) -> Array:
        return up * _slope(loss, z, ups) + down * _slope(loss, z, downs)

    def risk(z: Array) -> Array:
        return up * _value(loss, z, ups) + down * _value(loss, z, downs)

    # The risks are convex: bisection on their slopes, for all k at once.
    low, high = np.zeros(len(k)), np.full(len(k), reach)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        falling = slope(middle) < 0.0
        low, high = np.where(falling, middle, low), np.where(falling, high, middle)
    inside = slope(np.full(len(k), reach)) >= 0.0
    return k.astype(float), np.where(inside, risk(np.zeros(len(k))) - risk(high), 0.0)


def _value(loss: Loss, z: Array, ends: Array) -> Array:
    return loss.value(z, ends) if loss.linear else loss.value(np.abs(z - ends), ends)


def _slope(loss: Loss, z: Array, ends: Array) -> Array:
    """In z; 0 for the distance to a point that z meets, which is one of its slopes there."""
    if loss.linear:
        return loss.derivative(z, ends)
    return np.sign(z - ends) * loss.derivative(np.abs(z - ends), ends)
