"""Ledger of a run: the privacy cost of its noisy steps by several accountings, and the noise that a guarantee needs.

A step adds Gaussian noise of standard deviation z C to the sum over a random batch, where C is the largest length of
one record's part; neighbours replace one record. Every accounting but Kamath's is a theorem.
"""

import dataclasses as dc
import math
from fractions import Fraction
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from ..core.arrays import Array
from ..core.cache import shared
from ..core.privacy import Budget, NotApplicable, rounded_up
from ..core.validation import integer, positive
from .composition import advanced_epsilon
from .gaussian import gaussian_epsilon, gaussian_mu
from .kamath import kamath_subsampled_epsilon
from .pld import laplace_losses
from .subsampled_rdp import subsampled_epsilon, subsampled_multiplier

Kind = Literal["basic", "advanced", "kamath", "uniform", "poisson", "exact"]

_LARGEST_LOSS = 700.0


@dc.dataclass(frozen=True)
class Run:
    """Gaussian steps on batches of `batch` out of n records, at noise multiplier z; the guarantee is for `delta`.

    n: >= 2. batch: in [1, n]; n is a full batch. z: > 0. delta: in (0, 1).

    >>> Run(2000, 50, 10.0, 1e-6).rate
    0.025
    """

    n: int
    batch: int
    z: float
    delta: float

    def __post_init__(self) -> None:
        integer("n", self.n, at_least=2)
        if integer("batch", self.batch, at_least=1) > self.n:
            raise ValueError(f"batch must be at most n = {self.n}, got {self.batch}")
        positive("z", self.z)
        if Budget(1.0, self.delta).pure:
            raise NotApplicable("Gaussian noise needs delta > 0, got delta = 0")

    @property
    def rate(self) -> float:
        return self.batch / self.n

    @property
    def full(self) -> bool:
        return self.batch == self.n


@dc.dataclass(frozen=True)
class EpsilonCurve:
    """epsilon after each number of steps by one accounting, nan where it gives none; `reason` says why.

    proved: False for Kamath's proof, which has gaps.
    """

    kind: Kind
    epsilon: Array
    proved: bool = True
    reason: str = ""


@shared(256)
def ledger_of(run: Run, steps: tuple[int, ...]) -> tuple[EpsilonCurve, ...]:
    """epsilon of `run` after each of `steps`, by every accounting that applies; cached, do not change the arrays.

    basic, advanced: a step's Gaussian loss is exact, at failure delta / (rate T) or half of it; a random batch reduces
    the loss to ln(1 + rate (e^loss - 1)) and the failure to `rate` times it; then the losses add, or compose by Dwork,
    Rothblum and Vadhan with the other half of delta as slack. kamath: twice the rate times sqrt(8 ln(n/delta)) / z,
    times sqrt(T ln(1/delta)). uniform, poisson: Renyi divergences for random subsets and for independent coins; for
    full batches both are the same, and "exact" is Gaussian composition.

    >>> [curve.kind for curve in ledger_of(Run(2000, 1, 100.0, 1e-6), (1, 2000**2))]
    ['basic', 'advanced', 'kamath', 'uniform', 'poisson']
    >>> [f"{curve.epsilon[-1]:.2g}" for curve in ledger_of(Run(2000, 1, 100.0, 1e-6), (1, 2000**2))]
    ['2.2e+02', '0.61', '0.97', '0.078', '0.078']
    """
    step_losses = [_step_loss(run, run.delta / (run.rate * times)) for times in steps]
    basic = np.array([times * loss for loss, times in zip(step_losses, steps, strict=True)])
    curves = [
        EpsilonCurve("basic", basic),
        EpsilonCurve("advanced", np.array([_advanced(run, times) for times in steps])),
        _kamath(run, steps),
    ]
    if run.full:
        exact = [gaussian_epsilon(2.0 * math.sqrt(times) / run.z, run.delta) for times in steps]
        return (*curves, _renyi(run, steps, "poisson"), EpsilonCurve("exact", np.array(exact)))
    return (*curves, _renyi(run, steps, "uniform"), _renyi(run, steps, "poisson"))


def _step_loss(run: Run, failure: float) -> float:
    """epsilon of one step with failure probability rate * failure; from 700 on without the gain of the batch."""
    loss = gaussian_epsilon(2.0 / run.z, failure)
    return math.log1p(run.rate * math.expm1(loss)) if loss < _LARGEST_LOSS else loss


def _advanced(run: Run, times: int) -> float:
    loss = _step_loss(run, run.delta / (2.0 * run.rate * times))
    return advanced_epsilon(loss, times, run.delta / 2.0) if loss < _LARGEST_LOSS else math.nan


def _kamath(run: Run, steps: tuple[int, ...]) -> EpsilonCurve:
    """Curve of Kamath's lecture as published; it ends when its failures of delta / n for each loss add up to delta."""
    surprise = -math.log(run.delta)
    loss = math.sqrt(8.0 * (math.log(run.n) + surprise)) / run.z
    try:
        subsampled = kamath_subsampled_epsilon(loss, run.rate)
    except NotApplicable:
        reason = f"Lemma 3 needs steps that cost less than epsilon = 1 on their batch; these cost {loss:.3g}"
        return EpsilonCurve("kamath", np.full(len(steps), math.nan), proved=False, reason=reason)
    last = kamath_last_step(run)
    claimed = [subsampled * math.sqrt(times * surprise) if times <= last else math.nan for times in steps]
    reason = f"each step sets aside a failure of delta / n on its batch, and {last:,} steps add up to delta"
    return EpsilonCurve("kamath", np.array(claimed), proved=False, reason=reason)


Noise = Literal["gaussian", "laplace"]


@shared(64)
def releases_of(noise: Noise, one: Budget, releases: tuple[int, ...]) -> tuple[EpsilonCurve, ...]:
    """epsilon at one.delta after each number of adaptive releases that cost `one` each; cached, do not change.

    basic: the losses add up, and so do their deltas. advanced: as in `ledger_of`; Laplace noise needs no delta of its
    own. exact: of the noise's own trade-off curve. Releases with "laplace" noise cost
    one.epsilon without delta; one.delta is in (0, 1) in any case.

    >>> [f"{curve.kind} {curve.epsilon[0]:.3f}" for curve in releases_of("gaussian", Budget(1.0, 1e-6), (10,))]
    ['basic 11.148', 'advanced 44.216', 'exact 3.525']
    >>> [f"{curve.kind} {curve.epsilon[0]:.3f}" for curve in releases_of("laplace", Budget(0.1, 1e-6), (100,))]
    ['basic 10.000', 'advanced 6.308', 'exact 4.693']
    """
    found = np.array([_together(noise, one, times) for times in releases], float)
    kinds: tuple[Kind, ...] = ("basic", "advanced", "exact")
    return tuple(EpsilonCurve(kind, found[:, column]) for column, kind in enumerate(kinds))


def _together(noise: Noise, one: Budget, times: int) -> tuple[float, float, float]:
    """basic, advanced and exact epsilon of so many releases."""
    epsilon, delta = one.epsilon, one.delta
    if noise == "laplace":
        losses, most = laplace_losses(epsilon, times), rounded_up(times * Fraction(epsilon))
        error = 1e-9 * most

        def above(e: float) -> float:  # no loss is larger than `most`, where rounding may leave some delta
            return (float(losses.delta(np.array([e]))[0]) if e < most else 0.0) - delta

        exact = brentq(above, 0.0, most, xtol=error) + 2.0 * error
        return most, advanced_epsilon(epsilon, times, delta), min(exact, most)
    mu = gaussian_mu(one)
    half = advanced_epsilon(gaussian_epsilon(mu, 0.5 * delta / times), times, 0.5 * delta)
    return times * gaussian_epsilon(mu, delta / times), half, gaussian_epsilon(math.sqrt(times) * mu, delta)


def kamath_last_step(run: Run) -> int:
    """Number of steps after which failures of delta / n each, at the rate of the batch, add up to delta.

    >>> kamath_last_step(Run(2000, 50, 100.0, 1e-6))
    80000
    """
    return run.n**2 // run.batch


def _renyi(run: Run, steps: tuple[int, ...], sampling: Literal["uniform", "poisson"]) -> EpsilonCurve:
    spent = [subsampled_epsilon(run.z, run.rate, times, run.delta, sampling) for times in steps]
    return EpsilonCurve(sampling, np.array(spent))


def tight_multiplier(budget: Budget, n: int, batch: int, steps: int) -> float:
    """Smallest noise multiplier by the tightest accounting here: exact for full batches, else Poisson.

    >>> round(tight_multiplier(Budget(1.0, 1 / 2000**2), n=2000, batch=1, steps=2000**2), 2)
    9.61
    """
    if batch == n:
        return 2.0 * math.sqrt(steps) / gaussian_mu(budget)
    return subsampled_multiplier(budget, batch / n, steps, "poisson")
