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

Error = Array | float  # at each point of a curve, or the same at all
CONFIDENCE, _RESAMPLES = 0.95, 1_000
_MANY = 2_000  # rows, of whose mean Student's quantiles say as much as those of resamples
# Resamples that repeat one value so often that nearly no spread is left say nothing of it; rounding leaves some 1e-8.
_LEAST_SPREAD = 1e-6
MOST = 0.9  # of single releases that keep to a limit
_ROUNDING = 1e-9


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


def limits(samples: Array, *, confidence: float = CONFIDENCE, seed: int = 0, least: Error = 0.0) -> tuple[Array, Array]:
    """Confidence limits of the mean of independent rows [S, K] at each column: low [K] and high [K].

    mean - q se, with q the quantiles of (mean* - mean) / se* over rows drawn again with replacement, or Student's
    where those are larger or rows are many. confidence: of each column separately, in (0, 1). least: se is not taken
    below it. Randomness: one Generator from the seed.

    >>> low, high = limits(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]))
    >>> bool(low[0] < 2.0 < high[0]), float(low[1]), float(high[1])
    (True, 5.0, 5.0)
    """
    S = len(samples)
    if S < 2:
        raise ValueError(f"splits must be at least 2 for an interval, got {S}")
    mean = samples.mean(axis=0)
    away = samples - mean
    se = np.maximum(samples.std(axis=0, ddof=1) / math.sqrt(S), least)
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


def band(samples: Array, *, confidence: float = CONFIDENCE, seed: int = 0, least: Error = 0.0) -> tuple[Array, Array]:
    """`limits` of what the falling curve is at each point: the largest from there on, around `falling`."""
    low, high = limits(samples, confidence=confidence, seed=seed, least=least)
    middle = falling(samples.mean(axis=0))
    low, high = (np.maximum.accumulate(limit[::-1])[::-1] for limit in (low, high))
    return np.minimum(low, middle), np.maximum(high, middle)


def error_in_population(samples: Array, rows: Array, records: int = 1) -> Array:
    """Standard error [K] of the mean of samples [S, K] of one file about that of the population it was drawn from.

    rows: [N, K], of the file's records (`LostCurve.rows`). records: of one person, whose rows may all be the same: the
    mean's variance is at most that many times that of independent rows. The splits have the noise and the training
    records, the rows the test records, and the two variances are added. See "Decisions" in docs/formulas.md.
    """
    drawn = records * rows.var(axis=0, ddof=1) / len(rows)
    return np.sqrt(drawn + samples.var(axis=0, ddof=1) / len(samples))


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


def answer(
    grid: Array,
    samples: Array,
    at_most: float,
    *,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    least: Error = 0.0,
) -> Answer:
    """Place where the expected curve, of which `samples` [S, K] has independent rows, comes down to `at_most`.

    confidence, seed, least: as in `limits`. Raises ValueError as `limits`.

    >>> rng = np.random.default_rng(0)
    >>> rows = np.array([3.0, 2.0, 1.0]) + rng.normal(0.0, 0.1, (20, 3))
    >>> found = answer(np.array([0.1, 1.0, 10.0]), rows, 2.0)
    >>> found.low < found.value < found.high, found.reachable, found.at_first
    (True, True, False)
    """
    low, high = band(samples, confidence=confidence, seed=seed, least=least)
    middle = falling(samples.mean(axis=0))
    value, least, most = (crossing(grid, curve, at_most) for curve in (middle, low, high))
    return Answer(value, least, most, float(grid[0]), float(grid[-1]))


def two_digits(first: float, last: float) -> Array:
    """Numbers of two significant digits from `first` to `last` > 0, with both ends.

    >>> two_digits(0.97, 1.2).tolist()
    [0.97, 0.98, 0.99, 1.0, 1.1, 1.2]
    """
    powers = range(math.floor(math.log10(first)), math.floor(math.log10(last)) + 1)
    found = [float(f"{digits}e{power - 1}") for power in powers for digits in range(10, 100)]
    return np.unique([first, *(value for value in found if first < value < last), last])


def nine_of_ten(grid: Array, lost: Array, at_most: float, *, seed: int = 0) -> Answer:
    """The smallest point of two digits from which on nine of ten single releases lose at most `at_most`.

    lost: [S, R, K], of R releases in each of S splits, which share their noise along the grid [K]; between its points
    each release is taken linear in the logarithm. The share of releases that lose more is made non-increasing over all
    S R of them. Splits are the independent rows of its interval, as wholes; a share of 1 in 10 among S R releases has
    a standard error of at least that of S R coins.

    >>> falls = np.linspace(3.0, 0.0, 4) + np.linspace(-0.5, 0.5, 20)[:, None, None]
    >>> found = nine_of_ten(np.array([1.0, 2.0, 4.0, 8.0]), falls, 1.5)
    >>> found.value, found.low < found.value < found.high
    (3.8, True)
    """
    points = two_digits(float(grid[0]), float(grid[-1]))
    place = np.interp(np.log(points), np.log(grid), np.arange(len(grid)))
    before = np.minimum(place.astype(int), max(len(grid) - 2, 0))
    after = np.minimum(before + 1, len(grid) - 1)
    between = lost[..., before] + (place - before) * (lost[..., after] - lost[..., before])
    failing = (between > at_most + _ROUNDING).mean(axis=1)
    coins = math.sqrt(MOST * (1.0 - MOST) / (lost.shape[0] * lost.shape[1]))
    found = answer(points, failing, 1.0 - MOST + _ROUNDING, seed=seed, least=coins)
    enough = np.flatnonzero(points >= found.value * (1.0 - _ROUNDING))
    return dc.replace(found, value=float(points[enough[0]]) if len(enough) else math.inf)


def unseen(splits: int) -> float:
    """The largest share of splits that fail though, with confidence 95%, none of this many may be one of them.

    >>> round(unseen(20), 3)
    0.139
    """
    return 1.0 - (1.0 - CONFIDENCE) ** (1.0 / splits)
