"""Lengths of vectors whose entries may have any size."""

from __future__ import annotations

import numpy as np

from ..arrays import Array


def largest(v: Array) -> Array:
    """max_j |v_j| with the last axis kept, 1 where it is 0."""
    found = np.abs(v).max(axis=-1, keepdims=True)
    return np.where(found > 0.0, found, 1.0)


def length(v: Array, order: float = 2.0) -> Array:
    """||v||_order with the last axis kept, for entries of any size."""
    unit = largest(v)
    scaled = v / unit
    if order == 2.0:
        return np.asarray(unit * np.linalg.norm(scaled, axis=-1, keepdims=True))
    return np.asarray(unit * (np.abs(scaled) ** order).sum(axis=-1, keepdims=True) ** (1.0 / order))
