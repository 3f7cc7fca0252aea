"""Mistakes that people make, built into a mechanism on purpose, for showing what an audit can see."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable
from typing import cast

import numpy as np

from .checks import shown
from .mechanisms import Mechanism
from .noises import Gamma
from .targets import Target, release_of
from .types import Array, Budget, NotApplicable, Plan


@dc.dataclass(frozen=True)
class Sabotage:
    """key: its name. label: for pickers. sentence: what goes wrong. spoil: the target of the plan's own code with this
    fault and no other change. plan: of a mechanism at a budget, one in which the fault shows.

    `spoil` and `plan` raise NotApplicable with the reason where the mistake cannot be made.
    """

    key: str
    label: str
    sentence: str
    spoil: Callable[[Plan, Target], Target]
    plan: Callable[[Mechanism, Budget], Plan] = lambda mechanism, budget: mechanism.calibrate(
        mechanism.worst_spec(), budget
    )


def get_sabotage(key: str) -> Sabotage:
    """The sabotage with this key; ValueError names the known ones.

    >>> get_sabotage("fixed_seed").sentence
    'The generator is seeded anew in every run, so that all runs share one noise vector.'
    """
    if not isinstance(key, str) or key not in SABOTAGES:
        raise ValueError(f"sabotage must be None or one of {', '.join(SABOTAGES)}, got {shown(key)}")
    return SABOTAGES[key]


@dc.dataclass(frozen=True)
class _ShortGamma(Gamma):
    """A uniform direction with a length from Gamma(1), whatever p is."""

    def direction(self, p: int, active: int, rng: np.random.Generator) -> Array:
        whole = rng.standard_normal(p)
        return rng.gamma(1.0) * whole[:active] / np.linalg.norm(whole)


def _weaken(factor: Callable[[Plan], float]) -> Callable[[Plan, Target], Target]:
    """The same code with that factor times the noise."""
    return lambda plan, target: dc.replace(target, release=release_of(plan.weakened(factor(plan))))


def _square_the_scale(plan: Plan, target: Target) -> Target:
    if plan.noise != "gaussian":
        raise NotApplicable(f"variance_as_deviation needs noise with a standard deviation, got {plan.noise} noise")
    if plan.scale >= 1.0:
        raise NotApplicable(f"variance_as_deviation takes noise away only from a scale below 1, got {plan.scale:g}")
    return dc.replace(target, release=release_of(plan.weakened(plan.scale)))


def _shorten_the_noise(plan: Plan, target: Target) -> Target:
    if plan.noise != "gamma" or plan.spec.p == 1:
        raise NotApplicable(f"wrong_gamma_shape needs gamma noise and p >= 2, got {plan.noise} and p = {plan.spec.p}")
    mechanism = cast(Mechanism, plan.mechanism)
    short = type("ShortNoise", (type(mechanism),), {"law": _ShortGamma()})
    knobs = {field.name: getattr(mechanism, field.name) for field in dc.fields(mechanism) if field.init}
    return dc.replace(target, release=release_of(dc.replace(plan, mechanism=short(**knobs))))


def _reuse_the_seed(plan: Plan, target: Target) -> Target:
    release = target.release
    return dc.replace(
        target, release=lambda prepared, rngs: release(prepared, [np.random.default_rng(0) for _ in rngs])
    )


SABOTAGES = {
    sabotage.key: sabotage
    for sabotage in (
        Sabotage(
            "halved_noise",
            "half the noise",
            "The noise is half as large as it should be.",
            _weaken(lambda plan: 0.5),
        ),
        Sabotage(
            "missing_factor_2",
            "a factor 2 is missing",
            "The sensitivity is that of adding or removing a record; replacing one moves what the noise hides twice as "
            "far.",
            _weaken(lambda plan: 0.5),
        ),
        Sabotage(
            "noise_at_80_percent",
            "80% of the noise",
            "A fifth of the noise is missing, about what a wrong constant costs.",
            _weaken(lambda plan: 0.8),
        ),
        Sabotage(
            "lam_of_the_sum",
            "lambda of the sum",
            "The noise is n times too small: lam of the averaged objective was taken for lam of the sum.",
            _weaken(lambda plan: 1.0 / plan.spec.n),
        ),
        Sabotage(
            "variance_as_deviation",
            "variance as deviation",
            "The variance of the noise was passed where its standard deviation belongs.",
            _square_the_scale,
        ),
        Sabotage(
            "wrong_gamma_shape",
            "wrong Gamma shape",
            "The length of the noise follows Gamma(1) instead of Gamma(p): right in one dimension only.",
            _shorten_the_noise,
        ),
        Sabotage(
            "fixed_seed",
            "one seed for all",
            "The generator is seeded anew in every run, so that all runs share one noise vector.",
            _reuse_the_seed,
        ),
    )
}
