"""What every mechanism is: calibrate without data, prepare once per data set, release privately."""

from __future__ import annotations

import abc
import dataclasses as dc
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ..checks import one_of
from ..noises import NOISES, Noise
from ..tradeoffs import Curve
from ..types import Array, Bound, Budget, Data, NoiseLaw, NotApplicable, Plan, Spec, Unconverged


def knob(default: Any, *, choices: tuple[Any, ...] | None = None, help: str) -> Any:
    """A tuning parameter of a mechanism: a dataclass field whose metadata a slider or a picker can be built from."""
    return dc.field(default=default, metadata={"choices": choices, "help": help})


@dc.dataclass(frozen=True)
class Prepared:
    """The non-private half of a release, computed once per data set and never shown.

    theta: [r], what the noise is added to or started from, one entry for each stored column. distance: certified bound
    on how far it lies from the exact minimiser.
    """

    theta: Array
    distance: float


@dc.dataclass(frozen=True)
class Mechanism(abc.ABC):
    """Base of all mechanisms. A subclass is frozen; its fields are its knobs and it keeps no other state.

    key: registry key (a field, so that two mechanisms never hash alike). label, source: for charts and docs.
    noise: the law of what it adds. quantity: the metric its bounds speak of.
    """

    key: str = dc.field(default="", init=False, repr=False)
    noise: NoiseLaw = dc.field(default="gaussian", init=False, repr=False)

    label: ClassVar[str]
    source: ClassVar[str]
    quantity: ClassVar[str]

    def __post_init__(self) -> None:
        for field in dc.fields(self):
            if choices := field.metadata.get("choices"):
                one_of(field.name, getattr(self, field.name), choices)

    @property
    def law(self) -> Noise:
        return NOISES[self.noise]

    @abc.abstractmethod
    def calibrate(self, spec: Spec, budget: Budget) -> Plan:
        """The public plan of a release; raises NotApplicable with the reason where no guarantee exists."""

    @abc.abstractmethod
    def bounds(self, plan: Plan) -> tuple[Bound, ...]:
        """Every bound known for this plan."""

    @abc.abstractmethod
    def attack_limit(self, plan: Plan) -> float:
        """How often the best attacker at 50:50 tells two neighbours apart: the mechanism's own limit, in [1/2, 1]."""

    @abc.abstractmethod
    def prepare(self, plan: Plan, data: Data, start: Array | None = None) -> Prepared:
        """Non-private work; `start` is a warm start. Refuses records that break the plan's promise, and Unconverged."""

    @abc.abstractmethod
    def release(self, plan: Plan, prepared: Prepared, rng: np.random.Generator) -> Array:
        """One private draw of theta, shape [r]: the coordinates of the stored columns (all p of them in `solve`)."""

    def release_many(self, plan: Plan, prepared: Prepared, rngs: Sequence[np.random.Generator]) -> Array:
        """Independent releases, one per generator, shape [len(rngs), r]."""
        return np.stack([self.release(plan, prepared, rng) for rng in rngs])

    def worst_pair(self, plan: Plan) -> tuple[Data, Data]:
        """Two neighbours that are as easy to tell apart as the plan allows, for audits; NotApplicable without one."""
        raise NotApplicable(f"{self.key} has no worst pair and cannot be audited")

    def separation(self, plan: Plan, zero: Prepared, one: Prepared) -> float:
        """How far apart two data sets are in what the noise is added to; at most `plan.ledger[0].sensitivity`."""
        raise NotApplicable(f"{self.key} has no separation and cannot be audited")

    def log_ratio(self, plan: Plan, zero: Prepared, one: Prepared, outputs: Array) -> Array:
        """ln p(output | one) / p(output | zero) under the plan's noise, for outputs [k, p]; shape [k]."""
        raise NotApplicable(f"{self.key} has no log-likelihood ratio and cannot be audited")

    def claimed_curve(self, plan: Plan) -> Curve | None:
        """The trade-off curve that `plan.spent` stands for, or None where it is (epsilon, delta) and no more."""
        return None


def check_certificate(distance: float, plan: Plan) -> None:
    """Raise Unconverged unless a minimiser is certified to lie within plan.tol of the exact one."""
    if not distance <= plan.tol:
        raise Unconverged(
            f"the minimiser is certified to {distance:.3g}, the privacy proof needs {plan.tol:.3g}; "
            "nothing was released"
        )


@dc.dataclass(frozen=True)
class AdditiveMechanism(Mechanism):
    """A mechanism that releases prepared.theta + plan.scale * (a direction that knows neither data nor budget).

    Whole curves over epsilon then share one product of the data with the directions (see `dpcore.evaluate`).
    """

    def release(self, plan: Plan, prepared: Prepared, rng: np.random.Generator) -> Array:
        check_certificate(prepared.distance, plan)
        return prepared.theta + plan.scale * self.law.direction(plan.spec.p, len(prepared.theta), rng)

    def separation(self, plan: Plan, zero: Prepared, one: Prepared) -> float:
        return float(np.linalg.norm(one.theta - zero.theta))

    def log_ratio(self, plan: Plan, zero: Prepared, one: Prepared, outputs: Array) -> Array:
        away = [self.law.log_density((outputs - side.theta) / plan.scale) for side in (one, zero)]
        return away[0] - away[1]


@dc.dataclass(frozen=True)
class SampledMechanism(Mechanism):
    """A mechanism whose means over the noise are no integrals: its curves are means of draws."""

    @abc.abstractmethod
    def draws(
        self,
        plans: Sequence[Plan],
        prepared: Sequence[Prepared],
        rngs: Sequence[np.random.Generator],
        cancelled: Callable[[], bool],
    ) -> tuple[Array, Array]:
        """Releases for a picture, [K, 2 len(rngs), r], and their risks F on the training records, [K, 2 len(rngs)].

        They have display accuracy and are never to be published. Draws 2i and 2i + 1 use the noise of rngs[i] with
        opposite signs, which are equally likely. plans: K, on the same records.
        """
