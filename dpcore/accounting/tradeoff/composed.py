"""Trade-off curves of mechanisms with many steps: draws, adaptive choices, random batches, and zCDP."""

import dataclasses as dc
import math

import numpy as np

from ...core.arrays import Array
from ..adaptive_bounded_range import MOST_CHOICES, choices_delta
from ..attack_limits import zcdp_attack_limit
from ..composition import repeated_choice_delta
from ..pld import batch_losses
from ..subsampled_rdp import Sampling, subsampled_delta
from ..zcdp import bounded_range_rho, zcdp_delta
from .curves import BoundedCurve, TradeoffCurve


@dc.dataclass(frozen=True)
class RepeatedChoiceCurve(TradeoffCurve):
    """`composition.repeated_choice_delta` at every epsilon: `times` independent draws from one choice of range mu.

    >>> curve = RepeatedChoiceCurve(0.1, times=100)
    >>> round(curve.attack_limit(), 4), round(float(curve.needed(np.array([0.6]), np.array([0.4]))[0]), 4)
    (0.5989, 0.1011)
    """

    times: int

    @property
    def words(self) -> str:
        return f"{self.times} draws of range {self.mu:.6g}"

    @property
    def rho(self) -> float:
        return bounded_range_rho(self.mu, self.times)

    def delta(self, epsilon: Array) -> Array:
        return repeated_choice_delta(self.mu, self.times, epsilon)


@dc.dataclass(frozen=True)
class ChoicesCurve(TradeoffCurve):
    """Adaptive choices in which each record enters by one of `readings`, exact up to chords (`adaptive_bounded_range`).

    readings: ranges of the choices over mu, in order, for each reading. pure: they are epsilons instead of ranges, and
    the choices are known only to be epsilon-DP.

    >>> curve = ChoicesCurve(0.3, ((1.0,) * 11,))
    >>> round(curve.attack_limit(), 3), curve.words
    (0.601, '11 adaptive choices of range 0.3')
    """

    readings: tuple[tuple[float, ...], ...]
    pure: bool = False

    @property
    def words(self) -> str:
        longest = max(self.readings, key=len)
        size = f"{'epsilon' if self.pure else 'range'} {self.mu * max(longest):.6g}"
        return f"{len(longest)} adaptive choices of {size}{'' if min(longest) == max(longest) else ' or less'}"

    @property
    def rho(self) -> float:
        root = self.mu * max(math.hypot(*ranges) for ranges in self.readings)
        return 0.5 * root**2 if self.pure else bounded_range_rho(root)

    def delta(self, epsilon: Array) -> Array:
        found = (
            choices_delta(tuple(self.mu * each for each in ranges), epsilon, pure=self.pure) for ranges in self.readings
        )
        return np.max(list(found), axis=0)


@dc.dataclass(frozen=True)
class BatchCurve(TradeoffCurve):
    """`times` Gaussian steps on random batches; mu: one record's largest part over the noise.

    By `pld`, whose rounding is charged to every delta, or by Renyi divergences where they give less.

    >>> curve = BatchCurve(0.1, rate=0.2, times=40, sampling="poisson")
    >>> round(curve.attack_limit(), 4)
    0.5503
    """

    rate: float
    times: int
    sampling: Sampling

    @property
    def words(self) -> str:
        return f"{self.times} steps on random batches at noise {1.0 / self.mu:.6g}"

    def delta(self, epsilon: Array) -> Array:
        steps = (1.0 / self.mu, self.rate, self.times)
        exact = batch_losses(*steps, self.sampling).delta(epsilon)
        return np.minimum(exact, subsampled_delta(*steps, epsilon, self.sampling))


@dc.dataclass(frozen=True)
class ZcdpCurve(BoundedCurve):
    """(mu^2 / 2)-zCDP, for releases whose total epsilon is at most stretch * mu.

    >>> round(ZcdpCurve(0.2).attack_limit(), 4), round(ZcdpCurve(0.2).epsilon(0.2, 1e-6), 4)
    (0.55, 0.8999)
    """

    stretch: float = math.inf

    @property
    def words(self) -> str:
        total = f" within epsilon = {self.stretch * self.mu:.6g}" if math.isfinite(self.stretch) else ""
        return f"{0.5 * self.mu**2:.6g}-zCDP{total}"

    @property
    def rho(self) -> float:
        return 0.5 * self.mu**2

    def bound(self, epsilon: Array) -> Array:
        rho, total = 0.5 * self.mu**2, self.stretch * self.mu
        found = np.minimum(zcdp_delta(rho, epsilon), 2.0 * zcdp_attack_limit(rho) - 1.0)
        # Randomised response at the total epsilon.
        return np.minimum(found, np.maximum(-np.expm1(epsilon - total), 0.0) / (1.0 + math.exp(-total)))


def summed_curve(total: float, root: float, *, pure: bool = False) -> ZcdpCurve:
    """Curve by zCDP and basic composition of adaptive choices whose ranges have the sum `total` and the L2 norm `root`.

    pure: they are epsilons instead of ranges.

    >>> summed_curve(10.0, 0.4).words
    '0.02-zCDP within epsilon = 10'
    """
    mu = root if pure else 0.5 * root
    return ZcdpCurve(mu, total / mu)


def equal_choices_curve(eta: float, times: int, *, pure: bool = False) -> TradeoffCurve:
    """Curve of `times` adaptive choices of range (pure: of epsilon) eta; `summed_curve` if they are too many.

    >>> equal_choices_curve(0.1, 3).words, equal_choices_curve(0.01, 1000).words
    ('3 adaptive choices of range 0.1', '0.0125-zCDP within epsilon = 10')
    """
    if times <= MOST_CHOICES:
        return ChoicesCurve(eta, ((1.0,) * times,), pure)
    return summed_curve(times * eta, math.sqrt(times) * eta, pure=pure)


def choices_curve(mu: float, readings: tuple[tuple[float, ...], ...]) -> TradeoffCurve:
    """`ChoicesCurve`, or `summed_curve` if choices are too many.

    >>> choices_curve(0.01, ((1.0,) * 100, (2.0,) * 400)).words
    '0.02-zCDP within epsilon = 8'
    """
    if max(map(len, readings)) <= MOST_CHOICES:
        return ChoicesCurve(mu, readings)
    return summed_curve(mu * max(map(math.fsum, readings)), mu * max(math.hypot(*ranges) for ranges in readings))
