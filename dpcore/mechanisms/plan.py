"""Plans, made before a mechanism sees a record, and releases.

Both frozen and picklable; only a `Release` depends on data.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..core.arrays import Array
from ..core.privacy import Budget, Descent, Event, NoiseLaw
from ..core.specification import Spec
from ..core.validation import positive

if TYPE_CHECKING:
    from .base import Mechanism


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

    mechanism: Mechanism
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


Plans = Sequence[Plan]


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
