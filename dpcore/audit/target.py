"""Target of an audit: code that releases on one of two neighbouring data sets, and the attacker's score."""

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
    """Neighbours D0 and D1, and the code that runs on them.

    pair: the two data sets. sides: each of them as the code has prepared it. release: what an observer sees of runs on
    one side, one run for each generator. score: how much each run looks like D1 rather than D0, [k]; 0 is undecided.
    """

    pair: tuple[Data, Data]
    sides: tuple[Prepared, Prepared]
    release: Release
    score: Callable[[Array], Array]


def correct_target(plan: Plan, claimed: Plan, pair: tuple[Data, Data]) -> Target:
    """Target with the plan's own code on two neighbours, scored by the log-likelihood ratio of the claimed law.

    claimed: the plan with the noise that `plan.spent` requires.
    """
    mechanism = plan.mechanism
    zero, one = (mechanism.prepare(plan, data) for data in pair)
    return Target(pair, (zero, one), release_of(plan), score_of(claimed, zero, one))


def release_of(plan: Plan) -> Release:
    """Release function of the mechanism's own code under this plan, rounded to its grid as published."""
    mechanism = plan.mechanism
    return lambda prepared, rngs: on_grid(mechanism.transcripts(plan, prepared, rngs), mechanism.seen_resolution(plan))


def score_of(claimed: Plan, zero: Prepared, one: Prepared) -> Callable[[Array], Array]:
    """Score function ln p(seen | D1) / p(seen | D0) under the claimed plan."""
    mechanism = claimed.mechanism
    return lambda seen: mechanism.log_ratio(claimed, zero, one, seen)
