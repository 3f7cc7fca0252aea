"""Point where a falling mean curve meets a threshold, with a confidence interval: an inverted studentised bootstrap.

A test of "the expected curve is at the threshold here" at each point of a grid needs a mean and its error alone. The
points that are not refuted are the interval. Nothing about the crossing itself is assumed normal, and a threshold that
is met nowhere, or everywhere, gives an open interval. See "Decisions" in docs/formulas.md.
"""

import dataclasses as dc
import functools
import math

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import stdtrit

from ...core.arrays import Array
from ...core.rng import generator

CONFIDENCE, _RESAMPLES = 0.95, 1_000
_MANY = 2_000  # rows, of whose mean Student's quantiles say as much as those of resamples
# Resamples that repeat one value so often that nearly no spread is left say nothing of it; rounding leaves some 1e-8.
_LEAST_SPREAD = 1e-6


@dc.dataclass(frozen=True)
class Answer:
    """Crossing of a curve, and an interval for it.

    low <= value <= high. inf: beyond `last`, the grid's last point. At `first`, the grid's first: there or below.
    """

    value: float
    low: float
    high: float
    first: float
    last: float

    @property
    def reachable(self) -> bool:
        """True if the curve crosses the threshold on the grid."""
        return self.value <= self.last

    @property
    def at_first(self) -> bool:
        """True if the curve is below the threshold on the whole grid."""
        return self.value <= self.first


def falling(values: Array) -> Array:
    """The curve [K] made non-increasing: its peak until there, then isotonic regression.

    What lies before the peak is raised to it, because an answer must hold from its point on.

    >>> falling(np.array([1.0, 4.0, 2.0, 3.0, 0.0]))
    array([4. , 4. , 2.5, 2.5, 0. ])
    """
    if not len(values):
        return values
    peak = int(values.argmax())
    pooled = isotonic_regression(values[peak:], increasing=False).x
    return np.concatenate([np.full(peak, pooled[0]), pooled])


def limits(samples: Array, *, confidence: float = CONFIDENCE, seed: int = 0) -> tuple[Array, Array]:
    """Confidence limits of the mean of independent rows [S, K] at each column: low [K] and high [K].

    mean - q se, with q the quantiles of (mean* - mean) / se* over rows drawn again with replacement, or Student's
    where those are larger or rows are many. confidence: of each column separately, in (0, 1). Randomness: one Generator
    from the seed.

    >>> low, high = limits(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]))
    >>> bool(low[0] < 2.0 < high[0]), float(low[1]), float(high[1])
    (True, 5.0, 5.0)
    """
    S = len(samples)
    if S < 2:
        raise ValueError(f"splits must be at least 2 for an interval, got {S}")
    mean = samples.mean(axis=0)
    away = samples - mean
    se = samples.std(axis=0, ddof=1) / math.sqrt(S)
    student = stdtrit(S - 1, 0.5 + 0.5 * confidence)
    if S > _MANY:
        return mean - student * se, mean + student * se
    counts = _resampled(S, seed)
    shift = counts @ away
    spread = np.sqrt(np.maximum(counts @ away**2 - shift**2, 0.0) / (S - 1))
    t = np.divide(shift, spread, out=np.zeros_like(shift), where=spread > _LEAST_SPREAD * se)
    below, above = np.quantile(t, (0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence), axis=0)
    return mean - np.maximum(above, student) * se, mean + np.maximum(-below, student) * se


@functools.lru_cache(maxsize=16)  # an answer asks for the same at each epsilon
def _resampled(S: int, seed: int) -> Array:
    """Share of S draws that takes each of S rows, [1,000, S]."""
    counts: Array = generator(seed, "bootstrap", 0).multinomial(S, np.full(S, 1.0 / S), size=_RESAMPLES) / S
    counts.flags.writeable = False
    return counts


def band(samples: Array, *, confidence: float = CONFIDENCE, seed: int = 0) -> tuple[Array, Array]:
    """`limits` of what the falling curve is at each point: the largest from there on, around `falling`."""
    low, high = limits(samples, confidence=confidence, seed=seed)
    middle = falling(samples.mean(axis=0))
    low, high = (np.maximum.accumulate(limit[::-1])[::-1] for limit in (low, high))
    return np.minimum(low, middle), np.maximum(high, middle)


def crossing(grid: Array, curve: Array, at_most: float) -> float:
    """The smallest point from which on a non-increasing curve [K] is at most `at_most`; inf if it never is.

    grid: [K], increasing, > 0; between its points the curve is taken linear in the logarithm. The first point where
    the curve is below everywhere.

    >>> round(crossing(np.array([1.0, 10.0, 100.0]), np.array([4.0, 2.0, 0.0]), 3.0), 3)
    3.162
    >>> crossing(np.array([1.0, 10.0]), np.array([4.0, 2.0]), 1.0)
    inf
    """
    k = int(np.searchsorted(-curve, -at_most))  # the first point at or below
    if k == len(curve):
        return math.inf
    if k == 0:
        return float(grid[0])
    share = (curve[k - 1] - at_most) / (curve[k - 1] - curve[k])
    return float(grid[k] * (grid[k - 1] / grid[k]) ** (1.0 - share))


def answer(grid: Array, samples: Array, at_most: float, *, confidence: float = CONFIDENCE, seed: int = 0) -> Answer:
    """Place where the expected curve, of which `samples` [S, K] has independent rows, comes down to `at_most`.

    Raises ValueError as `limits`.

    >>> rng = np.random.default_rng(0)
    >>> rows = np.array([3.0, 2.0, 1.0]) + rng.normal(0.0, 0.1, (20, 3))
    >>> found = answer(np.array([0.1, 1.0, 10.0]), rows, 2.0)
    >>> found.low < found.value < found.high, found.reachable, found.at_first
    (True, True, False)
    """
    low, high = band(samples, confidence=confidence, seed=seed)
    middle = falling(samples.mean(axis=0))
    value, least, most = (crossing(grid, curve, at_most) for curve in (middle, low, high))
    return Answer(value, least, most, float(grid[0]), float(grid[-1]))
