"""Privacy budgets, the noise charged to them, and the bounds that are proved for it.

All frozen and picklable, and free of data-dependent behaviour. Neighbouring data sets always differ by *replacing one
record*.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Iterable
from decimal import ROUND_UP, Context
from fractions import Fraction
from typing import Literal

from .validation import check_real, positive

NoiseLaw = Literal["gaussian", "gamma", "gumbel", "laplace", "generalized_gaussian"]


Sampling = Literal["all", "poisson", "uniform"]


class NotApplicable(ValueError):
    """The mechanism has no guarantee for this problem and budget; the message says why."""


class BudgetExceeded(ValueError):
    """A release was requested that would spend more than the caller has agreed to."""


class LargeDelta(UserWarning):
    """The guarantee has delta >= 1/n, which even publishing a record drawn at random would satisfy."""


class UncountedFits(UserWarning):
    """Several fits had the same records, and nothing tells what they spend together."""


class Unconverged(RuntimeError):
    """A solver could not certify the accuracy that the privacy proof needs; nothing was released."""


@dc.dataclass(frozen=True)
class Budget:
    """Privacy budget (epsilon, delta) for replace-one neighbours.

    epsilon: finite, > 0. delta: in [0, 1); 0 means pure differential privacy.

    >>> Budget(1.0).pure, Budget(1.0, 1e-6) <= Budget(2.0, 1e-6)
    (True, True)
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        delta = check_real("delta", self.delta, "in [0, 1)", lambda v: 0 <= v < 1)
        object.__setattr__(self, "delta", delta)

    @property
    def pure(self) -> bool:
        return self.delta == 0.0

    def __le__(self, other: Budget) -> bool:
        """Componentwise: spending `self` never exceeds `other`."""
        return self.epsilon <= other.epsilon and self.delta <= other.delta


def added_up(costs: Iterable[float]) -> float:
    """Sum of privacy costs, rounded up.

    >>> added_up([0.1] * 10) >= 1.0 > sum([0.1] * 10)
    True
    """
    return rounded_up(sum(map(Fraction, costs), Fraction(0)))


def rounded_up(exact: Fraction) -> float:
    """Smallest double that is not below a number.

    >>> rounded_up(10 * Fraction(0.1))
    1.0000000000000002
    """
    near = float(exact)
    return near if near >= exact else math.nextafter(near, math.inf)


def composed(budgets: Iterable[Budget]) -> Budget:
    """Total of several releases by basic composition, rounded up; ValueError, naming it, where it is no budget."""
    each = tuple(budgets)
    epsilon, delta = added_up(one.epsilon for one in each), added_up(one.delta for one in each)
    if delta >= 1.0:
        raise ValueError(f"total delta must be below 1, got {delta:g}; make fewer releases, or with a smaller delta")
    return Budget(positive("total epsilon", epsilon), delta)


def told_up(cost: float) -> str:
    """A privacy cost in words: six digits, rounded up.

    >>> told_up(1.0), told_up(1.0000000000000002), told_up(1e-6)
    ('1', '1.00001', '1e-06')
    """
    return f"{float(Context(prec=6, rounding=ROUND_UP).create_decimal(repr(cost))):g}"


@dc.dataclass(frozen=True)
class Event:
    """One line of the privacy ledger: `times` uses of `noise` with this scale and sensitivity.

    scale and sensitivity share a unit (that of the noised vector), so `scale / sensitivity` is the
    noise multiplier that accounting works with. charge: privacy loss that comes on top of the noise's (objective
    perturbation's change of variables). sampling, rate: which records enter each use: "all"; each on its own with
    probability `rate` ("poisson"); or a single one drawn uniformly, rate = 1 / n ("uniform").
    """

    noise: NoiseLaw
    scale: float
    sensitivity: float
    times: int = 1
    charge: float = 0.0
    sampling: Sampling = "all"
    rate: float = 1.0


@dc.dataclass(frozen=True)
class Descent:
    """Descent from 0: theta_t = Proj(theta_{t-1} - eta_t (noisy gradient at theta_{t-1})).

    step: eta_t, or eta_t sqrt(t) where it is `decaying`. first: the release is the mean of theta_first to theta_steps,
    where theta_0 = 0; first = steps is the last alone.
    """

    step: float
    decaying: bool
    first: int


@dc.dataclass(frozen=True)
class Bound:
    """Proved statement about a mechanism's risk.

    quantity: the bounded quantity, a metric of the experiment table.
    form: "upper" and "lower" have explicit constants and must hold; "rate" is a shape only.
    holds: in "expectation" over the noise, or for the "probability" that the text names.
    source: paper, theorem. assumes: conditions of the statement.
    """

    quantity: str
    form: Literal["upper", "lower", "rate"]
    value: float
    holds: Literal["expectation", "probability"]
    source: str
    assumes: str
