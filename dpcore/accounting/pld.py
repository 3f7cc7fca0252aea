"""Privacy profile of many steps: the distribution of their privacy loss, by Fourier transform.

A step's profile H(e), an upper bound on P1(S) - e^e P0(S) for every event S and every pair of neighbours in either
order, belongs to one pair of laws, which dominates the step. Chords over a grid of e lie above it and belong to a pair
whose losses lie on the grid, so T adaptive steps are a T-fold convolution (docs/formulas.md, "Trade-off curves"):
    delta(e) = E max(0, 1 - exp(e - loss)).
Every error is charged to delta: losses beyond the grid of a step or of the sum, rounding of H and of the transform.

For Gaussian steps on random batches z is the noise over one record's largest part, h = 1 / z, q the rate, as in
`dpcore.accounting.subsampled_rdp`. "poisson": the best event of the dominating pair is {x > u}, where
h u = e / 2 + asinh((1 - q) / q exp(h^2 / 2) sinh(e / 2)). "uniform": H(ln(1 + q (e^x - 1))) is q times that of N(2 h)
against N(0) at x.
"""

import dataclasses as dc
import functools
import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy import fft
from scipy.special import log_ndtr, ndtr

from ..core.arrays import Array

_FARTHEST = 300.0  # larger losses of one step count as certain
_TAIL = 9.0  # in deviations of a step's noise
_LOST = 1e-14  # probability that the sum may have beyond the grid
_ROUNDING = 1e-14  # of a profile
_COARSE = 2_048
_ORDERS = np.geomspace(1e-2, 1e4, 73)

Steps = tuple[Callable[[Array], Array], float, int]  # profile, last loss and number of `added_losses`


@dc.dataclass(frozen=True)
class Losses:
    """Sum of the losses: its probability from each point of a grid on, and that times the mean of exp(-loss).

    grid, upper, other: [k]. charge: added to every delta.
    """

    grid: Array
    upper: Array
    other: Array
    charge: float

    def delta(self, epsilon: Array) -> Array:
        """Upper bound on delta at each epsilon >= 0, [e]."""
        i = np.searchsorted(self.grid, epsilon, side="right")
        return np.clip(self.upper[i] - np.exp(np.minimum(epsilon, _FARTHEST)) * self.other[i] + self.charge, 0.0, 1.0)


@functools.lru_cache(maxsize=64)
def batch_losses(z: float, rate: float, times: int, sampling: str) -> Losses:
    """Loss of `times` adaptive steps on random batches. Arguments as in `subsampled_rdp.subsampled_epsilon`.

    Source: derived in docs/formulas.md, "Trade-off curves" (constants explicit).

    >>> batch_losses(z=1.0, rate=1.0, times=1, sampling="poisson").delta(np.array([0.0])).round(6)  # N(1) against N(-1)
    array([0.682689])
    """
    return added_losses([(lambda e: _profile(e, z, rate, sampling), _last_loss(z, rate, sampling), times)])


def added_losses(steps: Sequence[Steps]) -> Losses:
    """Loss of adaptive steps: `times` with each profile, a convex function of e^e.

    profile: H at each e >= 0, [k] to [k]. last: > 0, a loss that a step hardly ever exceeds, or from which H is flat.

    >>> randomised_response = lambda e: np.maximum(-np.expm1(e - 1.0), 0.0) / (1.0 + np.exp(-1.0))
    >>> added_losses([(randomised_response, 1.0, 1)]).delta(np.array([0.0])).round(6), round(math.tanh(0.5), 6)
    (array([0.462117]), 0.462117)
    """
    growth = np.zeros(len(_ORDERS))
    for profile, last, times in steps:
        coarse = np.asarray(np.linspace(0.0, last, _COARSE), float)
        masses, beyond = _masses(profile(coarse), coarse)
        if beyond >= 0.5:
            return Losses(np.empty(0), np.zeros(1), np.zeros(1), charge=1.0)
        growth += _growth(masses, coarse, _ORDERS) * times
    total = sum(times for _, _, times in steps)
    # At 2^17 points millions of steps cost half a percent of z, and a tenth of a second.
    size = 1 << int(np.clip(math.ceil(math.log2(1_000.0 * math.sqrt(total))), 13, 17))
    # Rounding to the grid raises E exp(a loss) too much at orders beyond these.
    ends = (growth - math.log(_LOST)) / _ORDERS
    best = np.where(growth * math.sqrt(total) <= size, ends, math.inf).argmin()
    order, end = _ORDERS[[best]], max(float(ends[best]), 1.001 * max(last for _, last, _ in steps))
    width = 2.0 * end / size
    # Chords make the law a little wider than on the coarse grid; losses below -end wrap round to large ones.
    laws, wider, within = [], 0.0, 0.0
    for profile, last, times in steps:
        own = np.asarray(width * np.arange(math.ceil(last / width) + 1), float)
        masses, beyond = _masses(profile(own), own)
        laws.append((masses, times))
        wider += times * float(_growth(masses, own, order)[0])
        within += times * math.log1p(-beyond)
    lost = math.exp(min(0.0, wider - float(order[0]) * end))
    return _sum_of(laws, width, size, charge=lost - math.expm1(within) + total * _ROUNDING)


@functools.lru_cache(maxsize=64)
def pure_losses(epsilon: float, records: int, times: int) -> Losses:
    """Loss of `times` adaptive epsilon-DP releases, for data sets that differ in `records` records; exact.

    For one record randomised response dominates, with losses +-epsilon (Kairouz, Oh and Viswanath 2015). Each further
    record adds such a step between data sets, and a count with noise of weights e^(-epsilon |k|) attains the resulting
    law: at a distance of g records its loss is (2 j - g) epsilon, with probability e^(-epsilon (g - j)) tanh(eps/2) for
    0 < j < g, e^(-epsilon g) / (1 + e^-epsilon) for j = 0 and 1 / (1 + e^-epsilon) for j = g.

    >>> pure_losses(1.0, records=2, times=1).delta(np.array([0.0])).round(6), round(-math.expm1(-1.0), 6)
    (array([0.632121]), 0.632121)
    """
    behind = records - np.arange(records // 2 + records % 2, records + 1)
    ahead = np.exp(-epsilon * behind) * math.tanh(0.5 * epsilon)
    ahead[-1] = 1.0 / (1.0 + math.exp(-epsilon))
    masses = np.zeros(records + 1)
    masses[records - 2 * behind] = ahead
    size = 1 << math.ceil(math.log2(2 * records * times + 2))
    return _sum_of([(masses, times)], epsilon, size, charge=0.0)


@functools.lru_cache(maxsize=64)
def laplace_losses(epsilon: float, times: int) -> Losses:
    """Loss of `times` adaptive releases of a number with Laplace noise of scale sensitivity / epsilon.

    Its profile is H(e) = 1 - exp((e - epsilon) / 2) to e = epsilon, where the grid of the chords ends; no sum of losses
    leaves its grid.

    Source: derived in docs/formulas.md, "Trade-off curves" (constants explicit).

    >>> laplace_losses(1.0, times=1).delta(np.array([0.0])).round(6), round(-math.expm1(-0.5), 6)
    (array([0.393469]), 0.393469)
    """
    points = max(4_096 // times, 64)
    width = epsilon / points
    grid = np.asarray(width * np.arange(points + 1), float)
    masses, _ = _masses(np.maximum(-np.expm1(0.5 * (grid - epsilon)), 0.0), grid)
    size = 1 << math.ceil(math.log2(2 * points * times + 2))
    return _sum_of([(masses, times)], width, size, charge=times * _ROUNDING)


def _sum_of(laws: Sequence[tuple[Array, int]], width: float, size: int, charge: float) -> Losses:
    """Sum of `times` losses of each law: masses at 0, width, 2 width ... and, by symmetry, below 0."""
    product = np.ones(size // 2 + 1, complex)
    for masses, times in laws:
        law = np.zeros(size)
        law[: len(masses)] = masses
        law[size - len(masses) + 1 :] = (masses[1:] * np.exp(-width * np.arange(1, len(masses))))[::-1]
        product *= fft.rfft(law) ** times
    total = fft.irfft(product, size)
    transform = (
        sum(times for _, times in laws) * 2.0**-50 * math.log2(size) * math.sqrt(size) * float(np.linalg.norm(total))
    )
    grid = np.asarray(width * np.arange(1, size // 2), float)
    above = total[1 : size // 2]
    upper, other = (np.append(np.cumsum(part[::-1])[::-1], 0.0) for part in (above, above * np.exp(-grid)))
    return Losses(grid, upper, other, charge + transform)


def _last_loss(z: float, rate: float, sampling: str) -> float:
    """Loss that a step exceeds only in the far tail of its noise."""
    h = 1.0 / z
    if sampling == "poisson":
        absent = math.log1p(-rate) if rate < 1.0 else -math.inf
        there, back = (math.log(rate) - 0.5 * h * h + sign * h * (h + _TAIL) for sign in (1.0, -1.0))
        return min(float(np.logaddexp(absent, there) - np.logaddexp(absent, back)), _FARTHEST)
    x = 2.0 * h * (h + _TAIL)
    return min(float(np.logaddexp(math.log1p(-rate) if rate < 1.0 else -math.inf, math.log(rate) + x)), _FARTHEST)


def _profile(epsilon: Array, z: float, rate: float, sampling: str) -> Array:
    """H of one step at each epsilon >= 0."""
    h = 1.0 / z
    if sampling == "poisson":
        if rate < 1.0:
            # asinh of a number given by its logarithm, as it may be too large for a float.
            with np.errstate(divide="ignore"):
                log = math.log1p(-rate) - math.log(rate) + 0.5 * h * h + np.log(np.sinh(0.5 * epsilon))
            turn = np.where(log > 40.0, math.log(2.0) + log, np.arcsinh(np.exp(np.minimum(log, 40.0))))
        else:
            turn = np.zeros_like(epsilon)
        u = (0.5 * epsilon + turn) / h
        without = (1.0 - rate) * np.expm1(epsilon) * ndtr(-u)
        return np.maximum(rate * (ndtr(h - u) - np.exp(epsilon + log_ndtr(-h - u))) - without, 0.0)
    x = np.log1p(np.expm1(epsilon) / rate)
    return rate * np.maximum(ndtr(h - 0.5 * x / h) - np.exp(x + log_ndtr(-h - 0.5 * x / h)), 0.0)


def _masses(profile: Array, grid: Array) -> tuple[Array, float]:
    """Law of the loss whose profile consists of the chords, at each loss >= 0 of the grid, and the mass beyond.

    A slope that rises by s at e^e is an outcome of probability s under the second law and e^e s under the first. A
    loss of -e has e^-e times the probability of e. Rounding may leave a tiny negative mass; the profile is as exact.
    """
    slopes = np.append(np.diff(profile) / (np.exp(grid[:-1]) * np.expm1(np.diff(grid))), 0.0)
    masses = np.exp(grid) * np.diff(slopes, prepend=0.0)
    masses[0] = 1.0 + 2.0 * slopes[0] - profile[0]
    return masses, float(profile[-1])


def _growth(masses: Array, grid: Array, orders: Array) -> Array:
    """ln E exp(a loss) at each order a > 0."""
    kept = np.maximum(masses, 0.0)
    with np.errstate(divide="ignore"):
        logs = np.log(kept) + np.log1p(np.where(grid > 0.0, np.exp(-(2.0 * orders[:, None] + 1.0) * grid), 0.0))
    logs = logs + orders[:, None] * grid
    top = logs.max(axis=1)
    return np.asarray(top + np.log(np.exp(logs - top[:, None]).sum(axis=1)))
