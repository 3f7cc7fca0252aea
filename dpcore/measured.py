"""What was measured of releases along a curve: means over their randomness, with errors and quantiles."""

from __future__ import annotations

import dataclasses as dc
import math

import numpy as np

from .types import Array


@dc.dataclass(frozen=True)
class Measured:
    """The excess risk of releases along K points: mean, its standard error, quantiles; and before the draws; each [K].

    nan where there is nothing to measure.
    """

    mean: Array
    se: Array
    q10: Array
    q90: Array
    noiseless: Array


def measured_of(draws: Array, noiseless: Array) -> Measured:
    """draws: [K, repetitions]."""
    q10, q90 = np.quantile(draws, (0.1, 0.9), axis=1)
    se = draws.std(axis=1, ddof=1) / math.sqrt(draws.shape[1])
    return Measured(draws.mean(axis=1), se, q10, q90, noiseless)


def auc(members: Array, strangers: Array) -> float:
    """How often one of `members` is above one of `strangers`, ties counting half.

    >>> auc(np.array([2.0, 1.0]), np.array([1.0, 0.0]))
    0.875
    """
    return float(0.5 + 0.5 * np.sign(members[:, None] - strangers[None, :]).mean())
