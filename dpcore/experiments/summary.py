"""Measurements of releases along a curve: means over their randomness, with errors and quantiles."""

import dataclasses as dc
import math

import numpy as np

from ..core.arrays import Array

LEAST_BANDED = 10  # releases: with fewer, the outer tenths hold no release


@dc.dataclass(frozen=True)
class Summary:
    """Excess risk of releases along K points: mean, standard error, quantiles, value before the draws; each [K].

    nan where nothing is measured; the quantiles also for fewer than `LEAST_BANDED` releases.
    """

    mean: Array
    se: Array
    q10: Array
    q90: Array
    noiseless: Array


def middle(draws: Array, axis: int) -> Array:
    """Edges of the band that holds 8 of 10 draws along an axis, [2, ...]; nan for fewer than `LEAST_BANDED`.

    >>> middle(np.arange(11.0), 0), middle(np.arange(9.0), 0)
    (array([1., 9.]), array([nan, nan]))
    """
    edges: Array = np.quantile(draws, (0.1, 0.9), axis=axis)
    return edges if draws.shape[axis] >= LEAST_BANDED else np.full_like(edges, np.nan)


def measured_of(draws: Array, noiseless: Array) -> Summary:
    """Summary of draws [K, repetitions] and of the values before noise [K]."""
    q10, q90 = middle(draws, 1)
    se = draws.std(axis=1, ddof=1) / math.sqrt(draws.shape[1])
    return Summary(draws.mean(axis=1), se, q10, q90, noiseless)


def auc(members: Array, strangers: Array) -> float:
    """Share of pairs in which a value of `members` is above one of `strangers`, ties counting half.

    >>> auc(np.array([2.0, 1.0]), np.array([1.0, 0.0]))
    0.875
    """
    return float(0.5 + 0.5 * np.sign(members[:, None] - strangers[None, :]).mean())
