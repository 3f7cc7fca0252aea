"""Trade-off curves of several releases, for people who have several records in the data.

`records` first: between two data sets that differ in g + h records lies one that differs from the first in g and from
the second in h records, so that
    delta_(g + h)(e) = min over u of  delta_g(u) + e^u delta_h(e - u).
Any u gives a bound: a grid costs tightness, not privacy. `releases` second: the losses of the releases add up (`pld`).
Families that are closed under both need no grid (docs/formulas.md, "Repeated releases").
"""

import dataclasses as dc
import functools
import math
from collections import Counter
from collections.abc import Iterable

import numpy as np

from ...core.arrays import Array
from ...core.validation import integer
from ..adaptive_bounded_range import MOST_CHOICES
from ..pld import Losses, Steps, added_losses, pure_losses
from .composed import BatchCurve, ChoicesCurve, RepeatedChoiceCurve, ZcdpCurve, summed_curve
from .curves import GaussianCurve, PureCurve, TradeoffCurve, lowest_profile

_FARTHEST = 300.0
_SPREAD = 1e-16  # a profile this close to its smallest value counts as flat
_POINTS = 1_200  # in the grid of a chain
_WITHIN = 40  # points, at least, within the losses of one record


@dc.dataclass(frozen=True)
class PureReleasesCurve(TradeoffCurve):
    """Curve of `pld.pure_losses`: the most that any releases of epsilon = mu allow.

    >>> curve = PureReleasesCurve(0.1, releases=10, records=2)
    >>> round(curve.attack_limit(), 4), curve.words
    (0.6201, '10 releases of epsilon = 0.1 each, 2 records')
    """

    releases: int
    records: int

    @property
    def words(self) -> str:
        return f"{self.releases} releases of epsilon = {self.mu:.6g} each, {self.records} records"

    def delta(self, epsilon: Array) -> Array:
        return pure_losses(self.mu, self.records, self.releases).delta(epsilon)


@dc.dataclass(frozen=True)
class RecordsCurve(TradeoffCurve):
    """Curve `one` at mu, for data sets that differ in `records` records.

    >>> curve = RecordsCurve(0.3, one=GaussianCurve(0.3), records=3)
    >>> round(curve.attack_limit(), 3), round(GaussianCurve(0.9).attack_limit(), 3)
    (0.674, 0.674)
    """

    one: TradeoffCurve
    records: int

    @property
    def words(self) -> str:
        return f"{self.one.at(self.mu).words}, {self.records} records"

    def delta(self, epsilon: Array) -> Array:
        width, known = _chain(self.one.at(self.mu), self.records)
        return np.interp(np.exp(epsilon), np.exp(width * np.arange(len(known))), known)


@dc.dataclass(frozen=True)
class ReleasesCurve(TradeoffCurve):
    """Curve of `releases` adaptive releases that each have `one` at mu; for choices, zCDP's where that is less.

    >>> curve = ReleasesCurve(0.3, one=GaussianCurve(0.3), releases=9)
    >>> round(curve.attack_limit(), 4), round(GaussianCurve(0.9).attack_limit(), 4)
    (0.6736, 0.6736)
    """

    one: TradeoffCurve
    releases: int

    @property
    def words(self) -> str:
        return f"{self.releases} releases: {self.one.at(self.mu).words}"

    def delta(self, epsilon: Array) -> Array:
        one = self.one.at(self.mu)
        found = _added(one, self.releases).delta(epsilon)
        # The grid adds its rounding error to every delta; zCDP does not.
        for total, root in _ranges(one):
            summed = summed_curve(self.releases * total, math.sqrt(self.releases) * root)
            found = np.minimum(found, summed.delta(epsilon))
        return found


def repeated_releases_curve(one: TradeoffCurve, releases: int, records: int) -> TradeoffCurve:
    """Trade-off curve of `releases` adaptive releases with the curve `one` each, for a person with `records` records.

    Gaussian: mu grows by the factor records sqrt(releases). zCDP: rho by records^2 releases. Choices: ranges by
    records. Pure: `PureReleasesCurve`. All others use a grid, first for the records, then for the releases. Both
    counts are >= 1.

    >>> repeated_releases_curve(GaussianCurve(0.1), releases=4, records=3).words
    '0.6-GDP'
    >>> repeated_releases_curve(ZcdpCurve(0.2), releases=4, records=3).words
    '0.72-zCDP'
    """
    k, g = integer("releases", releases, at_least=1), integer("records", records, at_least=1)
    if k == g == 1:
        return one
    match one:
        case GaussianCurve():
            return one.at(g * math.sqrt(k) * one.mu)
        case PureCurve(failure=0.0):
            return PureReleasesCurve(one.mu, k, g)
        case ZcdpCurve():
            return ZcdpCurve(g * math.sqrt(k) * one.mu, one.stretch * math.sqrt(k))
        case BatchCurve() if g == 1:
            return dc.replace(one, times=k * one.times)
        case ChoicesCurve(readings=(ranges,), pure=True) if min(ranges) == max(ranges):
            return PureReleasesCurve(one.mu * ranges[0], k * len(ranges), g)
        case ChoicesCurve(readings=(ranges,)) if k * len(ranges) <= MOST_CHOICES:
            return dc.replace(one, mu=g * one.mu, readings=(k * ranges,))
        case ChoicesCurve() | RepeatedChoiceCurve():
            far: TradeoffCurve = one.at(g * one.mu)
        case _:
            far = RecordsCurve(one.mu, one, g) if g > 1 else one
    return ReleasesCurve(far.mu, far, k) if k > 1 else far


def _ranges(one: TradeoffCurve) -> tuple[tuple[float, float], ...]:
    """Upper bounds on the sum of the ranges of a release's choices, and on their l2 norm; () if there are none."""
    match one:
        case ChoicesCurve(pure=False):
            most = max(map(math.fsum, one.readings)), max(math.hypot(*ranges) for ranges in one.readings)
            return ((one.mu * most[0], one.mu * most[1]),)
        case RepeatedChoiceCurve():
            return ((one.times * one.mu, math.sqrt(one.times) * one.mu),)
    return ()


def summed_losses(curves: Iterable[TradeoffCurve]) -> Losses:
    """Losses of adaptive releases with these curves together.

    >>> found = summed_losses([GaussianCurve(0.6), GaussianCurve(0.8)]).delta(np.array([1.0]))
    >>> found.round(4), GaussianCurve(1.0).delta(np.array([1.0])).round(4)
    (array([0.1269]), array([0.1269]))
    """
    return added_losses([_steps(one, releases) for one, releases in Counter(curves).items()])


@functools.lru_cache(maxsize=64)
def _added(one: TradeoffCurve, releases: int) -> Losses:
    return added_losses([_steps(one, releases)])


def _steps(one: TradeoffCurve, releases: int) -> Steps:
    if isinstance(one, ZcdpCurve):  # and not what more is known of its noise by sums
        one = ZcdpCurve(one.mu, one.stretch)

    def profile(grid: Array) -> Array:
        return np.asarray(np.interp(np.exp(grid), *lowest_profile(grid, one.delta(grid))))

    return profile, _last(one), releases


def _last(curve: TradeoffCurve, records: int = 1) -> float:
    """Epsilon from which the profile, and that of a chain of so many records, is flat."""
    if isinstance(curve, PureCurve):
        return min(curve.mu, _FARTHEST)
    grid = np.geomspace(1e-4, _FARTHEST, 400)
    known = curve.delta(grid)
    return float(grid[np.argmax(known <= known[-1] + _SPREAD * np.exp(-(records - 1) * grid))])


@functools.lru_cache(maxsize=64)
def _chain(one: TradeoffCurve, records: int) -> tuple[float, Array]:
    """Width of a grid from 0, and the profile for `records` records on it."""
    points = records * max(math.ceil(_POINTS / records), _WITHIN)
    width = min(records * _last(one, records), _FARTHEST) / points
    grid = np.asarray(width * np.arange(points + 1), float)
    found = alone = one.delta(grid)
    for digit in f"{records:b}"[1:]:
        found = _joined(found, found, grid)
        if digit == "1":
            found = _joined(found, alone, grid)
    return width, found


def _joined(left: Array, right: Array, grid: Array) -> Array:
    """delta of two stretches of a chain, from that of either on the grid."""
    size = len(grid)
    # u rises along `here` from -end to end, and e - u falls along `there` from end to -end.
    here = np.concatenate([1.0 + np.exp(-grid[:0:-1]) * (left[:0:-1] - 1.0), left])
    there = np.concatenate([1.0 + np.exp(-grid[:0:-1]) * (right[:0:-1] - 1.0), right])[::-1]
    weights = np.exp(np.concatenate([-grid[:0:-1], grid]))
    found = np.empty(size)
    for i in range(size):
        found[i] = np.min(here[i:] + weights[i:] * there[: len(there) - i])
    return np.minimum(found, 1.0)
