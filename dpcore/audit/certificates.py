"""Lower bounds on privacy loss from the scores of an audit's runs, each with the claim that it can refute.

A score says how much a run looks like D1 rather than D0. All certificates of one audit hold together, with 95%
confidence (shown) and with 99.9% (flagged). The error is split evenly over the certificates that use random scores,
times the audits that are shown together (comparisons), and within a certificate over the rates that it uses; each rate
has a Clopper-Pearson bound. Thresholds are fixed beforehand, or chosen on the first half of the runs and used on the
second.
"""

import dataclasses as dc
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, logit

from ..accounting.tradeoff import TradeoffCurve
from ..core.arrays import Array

_SHOWN, _FLAGGED = 0.05, 0.001
_RANDOM_CERTIFICATES = 3
_QUANTILES = np.linspace(0.0, 0.999, 400)


@dc.dataclass(frozen=True)
class Certificate:
    """Lower bound that an audit certifies, next to the largest value that the claimed guarantee allows.

    name: short. tests: the claim that it can refute, in words. shown, flagged: the bound at 95% and at 99.9%
    confidence. limit: the largest value that the claim allows, in the same unit. epsilon, epsilon_flagged: the two
    bounds as an epsilon at the plan's delta; None where the certificate bounds no epsilon. errors: upper bounds on the
    rates of false alarms and of misses at its threshold, with 95% confidence together; None where it does not use both.
    """

    name: str
    tests: str
    shown: float
    flagged: float
    limit: float
    epsilon: float | None = None
    epsilon_flagged: float | None = None
    errors: tuple[float, float] | None = None


@dc.dataclass(frozen=True)
class Scores:
    """Scores of the runs on D0, shape [k0], and of those on D1, shape [k1]."""

    zeros: Array
    ones: Array

    @classmethod
    def by_bit(cls, scores: Array, bits: NDArray[np.bool_]) -> "Scores":
        """Scores of runs, [k], apart by the coin of each, [k]: True for a run on D1."""
        return cls(scores[~bits], scores[bits])

    @property
    def right(self) -> int:
        """Number of runs in which the rule "score >= 0 means D1" guessed right."""
        return int(np.count_nonzero(self.ones >= 0.0) + np.count_nonzero(self.zeros < 0.0))

    def mirrored(self) -> "Scores":
        """The same scores with D0 and D1 exchanged."""
        return Scores(-self.ones, -self.zeros)


def attacker(scores: Scores, limit: float, delta: float, claimed: TradeoffCurve, comparisons: int = 1) -> Certificate:
    """Certificate for attack success: the share of all runs in which the rule "score >= 0 means D1" guesses right.

    limit: the largest share for any attacker under the claimed law, in [1/2, 1]. The epsilon is that of the curve's
    family at delta.

    >>> from dpcore.accounting.tradeoff import GaussianCurve
    >>> scores = Scores(np.full(500, -1.0), np.full(500, 1.0))
    >>> attacker(scores, 0.73, 1e-5, GaussianCurve(1.0)).flagged > 0.98
    True
    """
    runs = len(scores.ones) + len(scores.zeros)
    shown, flagged = (float(lower_bound(scores.right, runs, error)) for error in _errors(comparisons))

    def epsilon(share: float) -> float:
        return claimed.epsilon(float(claimed.needed(np.array([share]), np.array([1.0 - share]))[0]), delta)

    tests = f"an attacker at 50:50 is right at most {limit:.2%} of the time"
    return Certificate("attacker", tests, shown, flagged, limit, epsilon(shown), epsilon(flagged))


def curve(first: Scores, second: Scores, claimed: TradeoffCurve, delta: float, comparisons: int = 1) -> Certificate:
    """Certificate for mu: the claimed family needs this mu to allow an event S its probabilities under D0 and D1.

    For Gaussian noise that is Phi^-1(P1(S)) - Phi^-1(P0(S)). Its epsilon holds in the claimed family. delta: in (0, 1).

    Source: Nasr et al. 2023, with the trade-off curves of Dong, Roth and Su 2022.
    """

    def bound(scores: Scores, thresholds: Array, error: float) -> Array:
        return claimed.needed(*_rates(scores, thresholds, error))

    shown, flagged, at, mirror = _certified(bound, first, second, comparisons)
    shown_epsilon, flagged_epsilon = (claimed.epsilon(mu, delta) for mu in (shown, flagged))
    errors = _error_bounds(second, at, mirror, comparisons)
    return Certificate("curve", claimed.words, shown, flagged, claimed.mu, shown_epsilon, flagged_epsilon, errors)


def pure(first: Scores, second: Scores, epsilon: float, comparisons: int = 1) -> Certificate:
    """Certificate for pure privacy: right guesses over wrong ones when unclear runs are left out, against e^epsilon.

    Every run tosses its own fair coin. Given the runs that are left out, each guess is right with probability at most
    e^epsilon / (1 + e^epsilon): one binomial, and one rate to bound.
    """

    def bound(scores: Scores, thresholds: Array, error: float) -> Array:
        t = np.abs(thresholds)
        right = _at_least(scores.ones, t) + _at_least(-scores.zeros, t)
        wrong = _at_least(-scores.ones, t) + _at_least(scores.zeros, t)
        return logit(lower_bound(right, right + wrong, error))

    shown, flagged, *_ = _certified(bound, first, second, comparisons)
    return Certificate("pure", f"epsilon <= {epsilon:.6g}, delta = 0", shown, flagged, epsilon, shown, flagged)


def point(first: Scores, second: Scores, epsilon: float, delta: float, comparisons: int = 1) -> Certificate:
    """Certificate for (epsilon, delta) under any noise: ln((P1(S) - delta) / P0(S)), with D0 and D1 in either order.

    Source: Jagielski, Ullman and Oprea 2020.
    """

    def bound(scores: Scores, thresholds: Array, error: float) -> Array:
        true, false = _rates(scores, thresholds, error)
        return np.log(np.maximum(true - delta, 1e-300) / false)

    shown, flagged, at, mirror = _certified(bound, first, second, comparisons)
    tests = f"epsilon <= {epsilon:.6g} at delta = {delta:g}"
    errors = _error_bounds(second, at, mirror, comparisons)
    return Certificate("point", tests, shown, flagged, epsilon, shown, flagged, errors)


def lower_bound(successes: Array | int, trials: Array | int, error: float) -> Array:
    """Clopper and Pearson's lower bound on a probability; above the truth with probability at most `error`.

    >>> round(float(lower_bound(10, 10, 0.05)), 4)  # 0.05 ** (1 / 10)
    0.7411
    """
    k, n = np.asarray(successes, float), np.asarray(trials, float)
    return np.where(k > 0.0, betaincinv(np.maximum(k, 1.0), n - k + 1.0, error), 0.0)


def fewest_runs(limit: float, comparisons: int = 1) -> float:
    """Number of runs, all guessed right, from which on `attacker` exceeds the limit, in [1/2, 1], at 99.9% confidence.

    No certificate exceeds what the same claim allows with fewer. inf for a limit of 1.

    >>> fewest_runs(0.75), fewest_runs(1.0)
    (28, inf)
    """
    # The lower bound after n of n is error^(1/n).
    return math.inf if limit >= 1.0 else math.floor(math.log(_errors(comparisons)[1]) / math.log(limit)) + 1


def _rates(scores: Scores, thresholds: Array, error: float) -> tuple[Array, Array]:
    """Bounds on P(score >= t): lower on D1, upper on D0, each failing with half the error."""
    true, n = _at_least(scores.ones, thresholds), len(scores.zeros)
    rejected = n - _at_least(scores.zeros, thresholds)
    return lower_bound(true, len(scores.ones), error / 2), 1.0 - lower_bound(rejected, n, error / 2)


def _error_bounds(scores: Scores, at: Array, mirror: bool, comparisons: int) -> tuple[float, float]:
    """Upper bounds on the rates of false alarms and of misses of "score >= at means D1"."""
    true, false = _rates(scores.mirrored() if mirror else scores, at, _errors(comparisons)[0])
    errors = float(false[0]), 1.0 - float(true[0])
    # With the names exchanged, the event says D0: missing it is a false alarm.
    return errors[::-1] if mirror else errors


def _at_least(scores: Array, thresholds: Array) -> Array:
    """Number of scores >= t, for every t."""
    return np.asarray(len(scores) - np.searchsorted(np.sort(scores), thresholds, side="left"), float)


def _errors(comparisons: int) -> tuple[float, float]:
    """Probability of error left to each certificate, shown and flagged."""
    return _SHOWN / (_RANDOM_CERTIFICATES * comparisons), _FLAGGED / (_RANDOM_CERTIFICATES * comparisons)


def _certified(
    bound: Callable[[Scores, Array, float], Array], first: Scores, second: Scores, comparisons: int
) -> tuple[float, float, Array, bool]:
    """Bounds at 95% and at 99.9% on the second half, at the threshold and orientation that are best on the first; then
    this threshold and orientation."""
    choices = []
    for mirror in (False, True):
        seen = first.mirrored() if mirror else first
        thresholds = np.quantile(np.concatenate([seen.zeros, seen.ones]), _QUANTILES, method="higher")
        values = bound(seen, thresholds, _errors(comparisons)[1])
        choices.append((values.max(), thresholds[values.argmax()], mirror))
    _, threshold, mirror = max(choices)
    fresh, at = second.mirrored() if mirror else second, np.array([threshold])
    shown, flagged = (float(bound(fresh, at, error)[0]) for error in _errors(comparisons))
    return max(0.0, shown), max(0.0, flagged), at, mirror
