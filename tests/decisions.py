"""Answers to questions of Decide, and how often their intervals cover what many other splits say, by brute force."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpcore.core.arrays import Array
from dpcore.studies.decide.threshold_interval import Answer, answer, crossing, falling

GROUP = 20  # splits of one interval, as on the page


def last(question: Any) -> Any:
    """What a question knows in the end."""
    *_, found = question.snapshots()
    return found


def covered(grid: Array, samples: Array, at_most: float, share: float = 1.0) -> list[bool]:
    """For each group of 20 rows of samples [S, K]: whether its interval holds the crossing of all other rows' mean.

    share: of the interval's length, in logarithms, that is kept around its value.
    """
    hits = []
    for start in range(0, len(samples) - GROUP + 1, GROUP):
        mine = np.zeros(len(samples), bool)
        mine[start : start + GROUP] = True
        truth = crossing(grid, falling(samples[~mine].mean(axis=0)), at_most)
        found = answer(grid, samples[mine], at_most, seed=start)
        low, high = kept(found, share)
        hits.append(low <= truth <= high)
    return hits


def kept(found: Answer, share: float) -> tuple[float, float]:
    """The interval with this share of its length; ends that are beyond the grid stay there."""
    if not math.isfinite(found.value):
        return found.low, found.high
    return found.value * (found.low / found.value) ** share, found.value * (found.high / found.value) ** share


def thirds(samples: Array) -> list[float]:
    """Three thresholds that the mean of samples [S, K] comes down through: near its end, and further up."""
    mean = falling(samples.mean(axis=0))
    return [float(mean[-1] + share * (mean[0] - mean[-1])) for share in (0.1, 0.3, 0.6)]
