"""Norms of any order from 1 to inf: of vectors with entries of any size, and the ratios between norms."""

import math

import numpy as np

from ..arrays import Array


def largest(v: Array) -> Array:
    """max_j |v_j| with the last axis kept, 1 where it is 0."""
    found = np.abs(v).max(axis=-1, keepdims=True)
    return np.where(found > 0.0, found, 1.0)


def length(v: Array, order: float = 2.0) -> Array:
    """||v||_order with the last axis kept, for entries of any size."""
    if order == math.inf:
        return np.maximum(v.max(axis=-1, keepdims=True), -v.min(axis=-1, keepdims=True))
    unit = largest(v)
    scaled = v / unit
    if order == 2.0:
        return np.asarray(unit * np.linalg.norm(scaled, axis=-1, keepdims=True))
    return np.asarray(unit * (np.abs(scaled) ** order).sum(axis=-1, keepdims=True) ** (1.0 / order))


def dual_order(order: float) -> float:
    """Order of the dual norm: 1/order + 1/dual = 1.

    >>> dual_order(1.5), dual_order(1.0), dual_order(math.inf)
    (3.0, inf, 1.0)
    """
    if order == 1.0:
        return math.inf
    return 1.0 if order == math.inf else order / (order - 1.0)


def widening(order: float, other: float, p: int) -> float:
    """Largest ||v||_order over ||v||_other = 1 in R^p: p^(1/order - 1/other), and 1 for order >= other.

    >>> widening(1.0, 2.0, p=9), widening(2.0, 1.0, p=9), widening(2.0, math.inf, p=9)
    (3.0, 1.0, 3.0)
    """
    return float(p ** max(1.0 / order - 1.0 / other, 0.0))
