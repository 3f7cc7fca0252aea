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
    """Calibrated mechanism: everything that is public about a release before any data is seen.

    mechanism: the registered mechanism (a frozen dataclass: key and knobs).
    spec: the problem with `lam` resolved to a number.
    requested, spent: the requested budget and the privacy spent. spent <= requested, except where a published proof is
    wrong: such a plan is an exhibit and `dpcore.solve` refuses it.
    ledger: the privacy events. steps: noisy steps (1 for output perturbation).
    scale: the noise's own scale parameter as it is added, in J's normalisation: for output perturbation the standard
    deviation of each coordinate (gaussian), or s in the density exp(-||b|| / s) (gamma); for objective perturbation the
    same of the linear term that is added to J; for gradient perturbation the same of each step's noise.
    tol: certified distance ||theta - theta_hat|| below which an inexact minimiser may be released. descent: the steps
    of gradient perturbation.
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
        """Deliberately broken copy with `factor` times the noise, which tests and audits must detect."""
        return dc.replace(self, scale=positive("factor", factor) * self.scale)


Plans = Sequence[Plan]


@dc.dataclass(frozen=True)
class Release:
    """Released model and its guarantee.

    theta: [p], or [C, p + 1, p + 1] for classes. plan: by which it was made. spent: the privacy spent. seeded: True if
    the caller chose the seed; anyone who knows the seed knows the noise, so only `seeded=False` has the guarantee.
    clipped: number of rows that were scaled down to norm R; it comes from the records without noise and is not private:
    do not publish it.
    """

    theta: Array
    plan: Plan
    seeded: bool
    clipped: int = 0

    @property
    def spent(self) -> Budget:
        return self.plan.spent
