"""One release of m draws, column by column, beside the mixture that it was drawn from."""

import dataclasses as dc
import math
from typing import Literal, NamedTuple, cast

import numpy as np

from ....core.arrays import Array
from ....core.cache import shared
from ....core.privacy import Budget
from ....core.rng import generator
from ....core.specification import LamRule
from ....mechanisms.plan import Plan
from ....mechanisms.simplex.sampling import PreparedWeights, SimplexSampling, sampled_models
from .data import spec_of, split_of, stored_columns


class Group(NamedTuple):
    """Several columns together, with their shares of 1."""

    columns: int
    weight: float
    drawn: float


@dc.dataclass(frozen=True)
class Support:
    """One release beside the model that it was drawn from and the truth behind the labels.

    columns: [k], the columns with the largest of the three, by their truth, then by their weight. truth, weights,
    drawn: [k], shares of 1. others: filled columns that are not listed; idle: those that are zero in every record.
    distinct: how many columns the draws name. plan: of the release, with m = plan.steps draws.
    """

    columns: np.ndarray
    truth: Array
    weights: Array
    drawn: Array
    others: Group
    idle: Group
    distinct: int
    plan: Plan

    @property
    def bits(self) -> float:
        """Size m log2 p of a list of the draws, in bits."""
        return self.plan.steps * math.log2(self.plan.spec.p)


@shared(64)
def support(
    *,
    n: int,
    p: int,
    epsilon: float,
    delta: float,
    loss: str,
    lam: float | LamRule,
    m: int | Literal["auto"],
    seed: int,
    columns: int = 12,
) -> Support:
    """The first release of `valley` at m draws, and the `columns` that matter most; from a cache.

    Raises NotApplicable where no release exists, ValueError and Unconverged like `dpcore.solve`.

    >>> seen = support(n=500, p=16, epsilon=1.0, delta=1e-6, loss="huber", lam="auto", m=5, seed=0)
    >>> bool(abs(seen.drawn.sum() + seen.others.drawn - 1.0) < 1e-12), seen.distinct <= 5, seen.bits
    (True, True, 20.0)
    """
    mechanism, split = SimplexSampling(m=m), split_of(n, p, stored_columns(n, p), seed)
    plan = mechanism.calibrate(spec_of(loss, split, lam), Budget(epsilon, delta))
    prepared = cast(PreparedWeights, mechanism.prepare(plan, split.train))
    rng = generator(seed, mechanism.key, 0)
    drawn = sampled_models(prepared, [plan.steps], [rng], 1.0)[0, 0]
    weights, truth = np.exp(prepared.log_weights), cast(Array, split.truth)
    order = np.lexsort((-weights, -np.maximum(weights, drawn), -truth))[:columns]
    left = np.setdiff1d(np.arange(len(weights)), order)
    idle = p - len(weights)
    unnamed = round(plan.steps * (1.0 - drawn.sum())) if idle else 0
    # Which idle column a draw names is uniform among them.
    named = len(np.unique(rng.integers(0, idle, unnamed))) if unnamed else 0
    return Support(
        columns=order,
        truth=truth[order],
        weights=weights[order],
        drawn=drawn[order],
        others=Group(len(left), float(weights[left].sum()), float(drawn[left].sum())),
        idle=Group(idle, idle * math.exp(prepared.log_idle) if idle else 0.0, unnamed / plan.steps),
        distinct=int(np.count_nonzero(drawn)) + named,
        plan=plan,
    )
