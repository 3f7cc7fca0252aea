"""Mistakes that people make, built into a mechanism on purpose, for showing what an audit can see."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from .checks import shown
from .mechanisms import Mechanism
from .mechanisms.base import Prepared
from .noises import Gamma
from .types import Array, NotApplicable, Plan

ReleaseMany = Callable[[Prepared, Sequence[np.random.Generator]], Array]


@dc.dataclass(frozen=True)
class Sabotage:
    """key: its name. sentence: what goes wrong. spoil: the plan's release with this fault and no other change.

    `spoil` raises NotApplicable with the reason where the mistake cannot be made.
    """

    key: str
    sentence: str
    spoil: Callable[[Plan], ReleaseMany]


def release_of(plan: Plan) -> ReleaseMany:
    """The mechanism's own releases under this plan, one per generator."""
    mechanism = cast(Mechanism, plan.mechanism)
    return lambda prepared, rngs: mechanism.transcripts(plan, prepared, rngs)


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


def _square_the_scale(plan: Plan) -> ReleaseMany:
    if plan.noise != "gaussian":
        raise NotApplicable(f"variance_as_deviation needs noise with a standard deviation, got {plan.noise} noise")
    if plan.scale >= 1.0:
        raise NotApplicable(f"variance_as_deviation takes noise away only from a scale below 1, got {plan.scale:g}")
    return release_of(plan.weakened(plan.scale))


def _shorten_the_noise(plan: Plan) -> ReleaseMany:
    if plan.noise != "gamma" or plan.spec.p == 1:
        raise NotApplicable(f"wrong_gamma_shape needs gamma noise and p >= 2, got {plan.noise} and p = {plan.spec.p}")
    mechanism = cast(Mechanism, plan.mechanism)
    short = type("ShortNoise", (type(mechanism),), {"law": _ShortGamma()})
    knobs = {field.name: getattr(mechanism, field.name) for field in dc.fields(mechanism) if field.init}
    return release_of(dc.replace(plan, mechanism=short(**knobs)))


def _reuse_the_seed(plan: Plan) -> ReleaseMany:
    release = release_of(plan)
    return lambda prepared, rngs: release(prepared, [np.random.default_rng(0) for _ in rngs])


SABOTAGES = {
    sabotage.key: sabotage
    for sabotage in (
        Sabotage(
            "halved_noise",
            "Half the noise: half the sensitivity is that of adding or removing a record, replacing one moves what the "
            "noise hides twice as far.",
            lambda plan: release_of(plan.weakened(0.5)),
        ),
        Sabotage(
            "noise_at_80_percent",
            "A fifth of the noise is missing, about what a wrong constant costs.",
            lambda plan: release_of(plan.weakened(0.8)),
        ),
        Sabotage(
            "lam_of_the_sum",
            "The noise is n times too small: lam of the averaged objective was taken for lam of the sum.",
            lambda plan: release_of(plan.weakened(1.0 / plan.spec.n)),
        ),
        Sabotage(
            "variance_as_deviation",
            "The variance of the noise was passed where its standard deviation belongs.",
            _square_the_scale,
        ),
        Sabotage(
            "wrong_gamma_shape",
            "The length of the noise follows Gamma(1) instead of Gamma(p): right in one dimension only.",
            _shorten_the_noise,
        ),
        Sabotage(
            "fixed_seed",
            "The generator is seeded anew in every run, so that all runs share one noise vector.",
            _reuse_the_seed,
        ),
    )
}
