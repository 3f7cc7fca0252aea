"""What privacy is asked for, what a plan spends on which noise, and what is released.

All frozen and picklable, and free of data-dependent behaviour but for `Release`. Neighbouring data sets differ by
*replacing one record* everywhere.
"""

from __future__ import annotations

import dataclasses as dc
from typing import Literal, Protocol

from .arrays import Array
from .specification import Spec
from .validation import check_real, positive

NoiseLaw = Literal["gaussian", "gamma", "gumbel", "laplace", "generalized_gaussian"]


Sampling = Literal["all", "poisson", "uniform"]


class NotApplicable(ValueError):
    """The mechanism has no guarantee for this problem and budget; the message says why."""


class BudgetExceeded(ValueError):
    """A second release was asked for where the caller has agreed to pay for one."""


class LargeDelta(UserWarning):
    """A guarantee has delta >= 1/n, which even publishing a record drawn at random would satisfy."""


class Unconverged(RuntimeError):
    """A solver could not certify the accuracy that the privacy proof needs; nothing was released."""


@dc.dataclass(frozen=True)
class Budget:
    """A privacy budget (epsilon, delta) for replace-one neighbours.

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
    """How a model descends from 0: theta_t = Proj(theta_{t-1} - eta_t (noisy gradient at theta_{t-1})).

    step: eta_t, or eta_t sqrt(t) where it is `decaying`. first: the release is the mean of theta_first to theta_steps,
    where theta_0 = 0; first = steps is the last alone.
    """

    step: float
    decaying: bool
    first: int


class Planner(Protocol):
    """What a plan knows of the mechanism that made it (see `dpcore.mechanisms.base.Mechanism`)."""

    @property
    def key(self) -> str: ...

    def bounds(self, plan: Plan) -> tuple[Bound, ...]: ...

    def attack_limit(self, plan: Plan) -> float: ...

    def gradients(self, plan: Plan) -> int: ...


@dc.dataclass(frozen=True)
class Plan:
    """A calibrated mechanism: everything that is public about a release before any data is seen.

    mechanism: the registered mechanism (a frozen dataclass: key and knobs).
    spec: the problem with `lam` resolved to a number.
    requested, spent: the budget asked for and the budget the noise really costs. spent <= requested, except where a
    published proof is wrong: such a plan is an exhibit and `dpcore.solve` refuses it.
    ledger: the privacy events. steps: noisy steps (1 for output perturbation).
    scale: the noise's own scale parameter as it is added, in J's normalisation: for output perturbation the standard
    deviation of each coordinate (gaussian), or s in the density exp(-||b|| / s) (gamma); for objective perturbation the
    same of the linear term that is added to J; for gradient perturbation the same of each step's noise.
    tol: certified distance ||theta - theta_hat|| below which an inexact minimiser may be released. descent: how the
    steps go, for gradient perturbation.
    """

    mechanism: Planner
    spec: Spec
    requested: Budget
    spent: Budget
    ledger: tuple[Event, ...]
    steps: int
    noise: NoiseLaw
    scale: float
    tol: float
    descent: Descent | None = None

    def weakened(self, factor: float) -> Plan:
        """A deliberately broken copy with `factor` times the noise: tests and audits must catch it."""
        return dc.replace(self, scale=positive("factor", factor) * self.scale)


@dc.dataclass(frozen=True)
class Bound:
    """One proved statement about a mechanism's risk.

    quantity: what is bounded, a metric name of the experiment table.
    form: "upper" and "lower" have explicit constants and must hold; "rate" is a shape only.
    holds: in "expectation" over the noise, or for the "probability" that the text names.
    source: paper, theorem; assumes: what must be true for the statement.
    """

    quantity: str
    form: Literal["upper", "lower", "rate"]
    value: float
    holds: Literal["expectation", "probability"]
    source: str
    assumes: str


@dc.dataclass(frozen=True)
class Release:
    """A released model and the promise it carries.

    theta: [p], or [C, p + 1, p + 1] for classes. plan: how it was made; spent: its price. seeded: True when the caller
    chose the seed; whoever knows the seed knows the noise, so only `seeded=False` carries the promise. clipped: how
    many rows were scaled down to norm R; the count comes from the records without noise, so it is not private: do not
    publish it.
    """

    theta: Array
    plan: Plan
    seeded: bool
    clipped: int = 0

    @property
    def spent(self) -> Budget:
        return self.plan.spent
