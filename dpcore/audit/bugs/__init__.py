"""Injected bugs: common mistakes, put into a mechanism on purpose to show what an audit detects."""

import dataclasses as dc
from collections.abc import Callable

from ...core.facts import facts_beside
from ...core.privacy import Budget
from ...core.validation import shown
from ...mechanisms import Mechanism
from ...mechanisms.plan import Plan
from . import implementations as made


@dc.dataclass(frozen=True)
class InjectedBug:
    """Bug that can be injected into a mechanism's code.

    key: its name. label: for pickers. sentence: the bug, in words. term: of the attack that reaches the bug, None for
    the first of a mechanism. inject: makes the target with the bug of the target with the correct code. plan: makes the
    plan in which the bug shows, of a mechanism and a budget; None for the attack's. Both raise NotApplicable with the
    reason where the bug does not apply.
    """

    key: str
    label: str
    sentence: str
    term: str | None
    inject: made.Inject
    plan: Callable[[Mechanism, Budget], Plan] | None


def get_bug(key: str) -> InjectedBug:
    """The bug with this key; ValueError names the known ones.

    >>> get_bug("fixed_seed").sentence
    'The generator is seeded anew in every run, so all runs share one noise vector.'
    """
    if not isinstance(key, str) or key not in BUGS:
        raise ValueError(f"bug must be None or one of {', '.join(BUGS)}, got {shown(key)}")
    return BUGS[key]


_INJECT: dict[str, made.Inject] = {
    "halved_noise": made.weaker(lambda plan: 0.5),
    "missing_factor_2": made.weaker(lambda plan: 0.5),
    "noise_at_80_percent": made.weaker(lambda plan: 0.8),
    "lam_of_the_sum": made.weaker(lambda plan: 1.0 / plan.spec.n),
    "variance_as_deviation": made.square_the_scale,
    "wrong_gamma_shape": made.shorten_the_noise,
    "fixed_seed": made.reuse_the_seed,
    "clipping_off": made.clip_nothing,
    "noise_reused": made.reuse_the_noise,
    "shared_class_noise": made.share_the_noise,
    "quoted_kappa": made.publish_the_noise("quoted_kappa", "generalized_gaussian"),
    "published_objective_noise": made.publish_the_noise(
        "published_objective_noise", "objective_gamma", "objective_gaussian"
    ),
    "unrounded": made.leave_unrounded,
    "charge_forgotten": made.forget_the_charge,
    "later_batches_forgotten": made.forget_later_batches,
    "batch_reused": made.reuse_the_batch,
    "curvature_forgotten": made.straighten_the_costs,
    "noise_falls_by_8": made.quieten_late_phases,
    "half_at_right_children": made.rewrite_the_tree(made.HalfAtRightChildren),
    "difference_forgotten": made.rewrite_the_tree(made.WithoutDifferences),
}
_PLANS = {
    "noise_reused": made.bent_plan,
    "quoted_kappa": made.many_columns_plan,
    "published_objective_noise": made.unpaid_determinant_plan,
    "unrounded": made.one_column_plan,
}
BUGS = {
    row["key"]: InjectedBug(
        **row | {"term": row["term"] or None}, inject=_INJECT[row["key"]], plan=_PLANS.get(row["key"])
    )
    for row in facts_beside(__file__, "bugs.csv")
}
