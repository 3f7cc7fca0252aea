"""What an audit attacks: code that releases on one of two neighbouring data sets, and how the attacker reads it."""

import dataclasses as dc
from collections.abc import Callable

from ..core.arrays import Array
from ..core.records import Data
from ..core.rng import Generators
from ..mechanisms.base import Prepared
from ..mechanisms.noise.rounding import on_grid
from ..mechanisms.plan import Plan

Release = Callable[[Prepared, Generators], Array]


@dc.dataclass(frozen=True)
class Target:
    """Neighbours D0 and D1 and what runs on them.

    pair: the two data sets. sides: what the code has prepared of each. release: what an observer sees of runs on one
    of them, one for each generator. score: how much each thing seen looks like D1 rather than D0, [k]; 0 is undecided.
    """

    pair: tuple[Data, Data]
    sides: tuple[Prepared, Prepared]
    release: Release
    score: Callable[[Array], Array]


def honest_target(plan: Plan, claimed: Plan) -> Target:
    """The plan's own code on its worst pair, read by the log-likelihood ratio of the law that is claimed.

    claimed: the plan that `plan.spent` asks for. NotApplicable where the mechanism knows no worst pair.
    """
    mechanism = plan.mechanism
    pair = mechanism.worst_pair(plan)
    zero, one = (mechanism.prepare(plan, data) for data in pair)
    return Target(pair, (zero, one), release_of(plan), score_of(claimed, zero, one))


def release_of(plan: Plan) -> Release:
    """The mechanism's own runs under this plan, as they are published: rounded to their grid."""
    mechanism = plan.mechanism
    return lambda prepared, rngs: on_grid(mechanism.transcripts(plan, prepared, rngs), mechanism.seen_resolution(plan))


def score_of(claimed: Plan, zero: Prepared, one: Prepared) -> Callable[[Array], Array]:
    """ln p(seen | D1) / p(seen | D0) under the claimed plan."""
    mechanism = claimed.mechanism
    return lambda seen: mechanism.log_ratio(claimed, zero, one, seen)
