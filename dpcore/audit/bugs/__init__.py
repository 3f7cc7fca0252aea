"""Mistakes that people make, built into a mechanism on purpose, for showing what an audit can see."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable

from ...core.privacy import Budget
from ...core.validation import shown
from ...mechanisms import Mechanism
from ...mechanisms.plan import Plan
from . import implementations


@dc.dataclass(frozen=True)
class InjectedBug:
    """key: its name. label: for pickers. sentence: what goes wrong. spoil: the target of the plan's own code with this
    fault. plan: of a mechanism at a budget, one in which the fault shows.

    `spoil` and `plan` raise NotApplicable with the reason where the mistake cannot be made.
    """

    key: str
    label: str
    sentence: str
    spoil: implementations.Spoil
    plan: Callable[[Mechanism, Budget], Plan] = lambda mechanism, budget: mechanism.calibrate(
        mechanism.worst_spec(), budget
    )


def get_bug(key: str) -> InjectedBug:
    """The bug with this key; ValueError names the known ones.

    >>> get_bug("fixed_seed").sentence
    'The generator is seeded anew in every run, so that all runs share one noise vector.'
    """
    if not isinstance(key, str) or key not in BUGS:
        raise ValueError(f"bug must be None or one of {', '.join(BUGS)}, got {shown(key)}")
    return BUGS[key]


BUGS = {
    bug.key: bug
    for bug in (
        InjectedBug(
            "halved_noise",
            "half the noise",
            "The noise is half as large as it should be.",
            implementations.weaker(lambda plan: 0.5),
        ),
        InjectedBug(
            "missing_factor_2",
            "a factor 2 is missing",
            "The sensitivity is that of adding or removing a record; replacing one moves what the noise hides twice as "
            "far.",
            implementations.weaker(lambda plan: 0.5),
        ),
        InjectedBug(
            "noise_at_80_percent",
            "80% of the noise",
            "A fifth of the noise is missing, about what a wrong constant costs.",
            implementations.weaker(lambda plan: 0.8),
        ),
        InjectedBug(
            "lam_of_the_sum",
            "lambda of the sum",
            "The noise is n times too small: lam of the averaged objective was taken for lam of the sum.",
            implementations.weaker(lambda plan: 1.0 / plan.spec.n),
        ),
        InjectedBug(
            "variance_as_deviation",
            "variance as deviation",
            "The variance of the noise was passed where its standard deviation belongs.",
            implementations.square_the_scale,
        ),
        InjectedBug(
            "wrong_gamma_shape",
            "wrong Gamma shape",
            "The length of the noise follows Gamma(1) instead of Gamma(p): right in one dimension only.",
            implementations.shorten_the_noise,
        ),
        InjectedBug(
            "fixed_seed",
            "one seed for all",
            "The generator is seeded anew in every run, so that all runs share one noise vector.",
            implementations.reuse_the_seed,
        ),
        InjectedBug(
            "clipping_off",
            "clipping off",
            "Records longer than R are neither refused nor clipped: the one that differs is three times as long.",
            implementations.clip_nothing,
        ),
        InjectedBug(
            "noise_reused",
            "noise reused",
            "All steps add the noise of the first one, so that differences of noisy gradients hold none.",
            implementations.reuse_the_noise,
            implementations.bent_plan,
        ),
        InjectedBug(
            "shared_class_noise",
            "one noise for all classes",
            "All classes get the same matrix of noise, as printed: what decides between them gets none.",
            implementations.share_the_noise,
        ),
        InjectedBug(
            "quoted_kappa",
            "quoted kappa",
            "The constant of the norm and the order of the noise are the quoted ones, too small for the largest entry.",
            implementations.print_the_noise("quoted_kappa", "generalized_gaussian"),
            implementations.many_columns_plan,
        ),
        InjectedBug(
            "published_objective_noise",
            "noise as printed",
            "The noise in the objective is as printed and does not pay for how a record bends the objective.",
            implementations.print_the_noise("published_objective_noise", "objective_gamma", "objective_gaussian"),
            implementations.unpaid_determinant_plan,
        ),
        InjectedBug(
            "unrounded",
            "raw doubles",
            "Releases are not rounded: the last bits of a sum betray what the noise was added to.",
            implementations.leave_unrounded,
            implementations.one_column_plan,
        ),
    )
}
