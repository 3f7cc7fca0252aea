"""Privacy profile of adaptive choices of bounded range, exact up to chords that lie above.

V(x) is the largest P1(S) - x P0(S) over all events S of the remaining choices, max(0, 1 - x) at the end.
Before a choice of range eta, p = (1 - e^(t - eta)) / (1 - e^-eta), it is
    sup over 0 <= t <= eta of  p V(x e^-t) + (1 - p) V(x e^(eta - t));
a choice known only to be eps-DP has t = eps, eta = 2 eps. V(1 / x) = 1 - 1 / x + V(x) / x, so a grid of
epsilon = ln x >= 0 is enough, and chords between its points lie above V (docs/formulas.md, "Trade-off curves").
"""

import functools
import math

import numpy as np

from ..core.arrays import Array

MOST_CHOICES = 128
_FEW = 32
_FARTHEST = 300.0
_TAIL = 34.0  # a share e^-34 of the loss may lie beyond the grid
_ROUNDING = 1e-14


def choices_delta(ranges: tuple[float, ...], epsilon: Array, *, pure: bool = False) -> Array:
    """Upper bound on delta at each epsilon >= 0, [e], for adaptive choices of these ranges, in this order.

    ranges: > 0, at most MOST_CHOICES. pure: the choices are known only to be eps-DP with these eps.

    Source: derived in docs/formulas.md; for ranges that are all equal also Dong, Durfee and Rogers 2020.

    >>> choices_delta((1.0,), np.array([0.0])).round(6), round(math.tanh(0.25), 6)
    (array([0.244919]), 0.244919)
    """
    if not 0 < len(ranges) <= MOST_CHOICES:
        raise ValueError(f"ranges must be 1 to {MOST_CHOICES} numbers, got {len(ranges)}")
    if max(ranges) > _FARTHEST:
        return np.ones_like(epsilon)
    logs, values = _values(ranges, pure)
    return _chords(values, logs, epsilon)


@functools.lru_cache(maxsize=256)
def _values(ranges: tuple[float, ...], pure: bool) -> tuple[Array, Array]:
    """Grid of ln x from 0, and V at its points."""
    # Points of the grid in the largest range. A chord of a k-th of it adds up to 1 / (1.5 k^2) to a choice's variance.
    within = 16 if len(ranges) <= _FEW else 8
    width = max(ranges) / within
    rho = math.fsum(each * each for each in ranges) / (2.0 if pure else 8.0)
    end = min(math.fsum(ranges), max(ranges) + rho + 2.0 * math.sqrt(rho * _TAIL), 2.0 * _FARTHEST)
    points, beyond = max(2, math.ceil(end / width - 1e-9) + 1), within + 2
    logs = np.asarray(width * np.arange(-beyond, points + beyond), float)
    values = np.maximum(0.0, -np.expm1(logs))
    for each in reversed(ranges):
        found = _alone(values, logs, beyond, each) if pure else _before(values, logs, beyond, each)
        # V keeps falling beyond the end, so its last value is an upper bound.
        found = np.append(found, np.full(beyond, found[-1]))
        values = np.append(np.exp(logs[:beyond]) * found[beyond:0:-1] - np.expm1(logs[:beyond]), found)
    inner = slice(beyond, beyond + points)
    return logs[inner], np.minimum(values[inner] + _ROUNDING * len(ranges), 1.0)


def _alone(values: Array, logs: Array, beyond: int, epsilon: float) -> Array:
    """V before a choice that is epsilon-DP, at the inner points of the grid."""
    likely = 1.0 / (1.0 + math.exp(-epsilon))
    inner = logs[beyond:-beyond]
    return likely * _chords(values, logs, inner - epsilon) + (1.0 - likely) * _chords(values, logs, inner + epsilon)


def _before(values: Array, logs: Array, beyond: int, eta: float) -> Array:
    """V before a choice of range eta, at the inner points of the grid: the largest over the stretches of t, [s, k]."""
    width, inner = logs[1] - logs[0], logs[beyond:-beyond]
    steps = width * np.arange(math.floor(eta / width + 1e-9) + 1)
    kinks = np.unique(np.clip(np.concatenate([steps, eta - steps, [0.0, eta]]), 0.0, eta))[:, None]
    first, last = kinks[:-1], kinks[1:]
    # On a stretch V is a + b x at both ends of the interval, each in one cell.
    slopes = np.diff(values) / (np.exp(logs[:-1]) * math.expm1(width))
    starts = values[:-1] - slopes * np.exp(logs[:-1])
    at = np.arange(beyond, beyond + len(inner))
    high, low = (at + np.floor((shift - 0.5 * (first + last)) / width).astype(np.int64) for shift in (0.0, eta))
    falling = (starts[low] - starts[high]) * math.exp(eta)
    rising = (slopes[high] - slopes[low]) * np.exp(inner)
    with np.errstate(divide="ignore", invalid="ignore"):
        peak = eta + 0.5 * np.log(rising / falling)
    t = np.clip(np.nan_to_num(peak, nan=0.0), first, last)
    likely = np.expm1(t - eta) / math.expm1(-eta)
    after = likely * _chords(values, logs, inner - t) + (1.0 - likely) * _chords(values, logs, inner - t + eta)
    return np.asarray(after.max(axis=0))


def _chords(values: Array, logs: Array, at: Array) -> Array:
    """V between the points of the grid, linear in x = e^epsilon."""
    width = logs[1] - logs[0]
    cell = np.clip(np.floor((at - logs[0]) / width).astype(np.int64), 0, len(values) - 2)
    share = np.clip(np.expm1(at - logs[cell]) / math.expm1(width), 0.0, 1.0)
    return np.asarray((1.0 - share) * values[cell] + share * values[cell + 1])
