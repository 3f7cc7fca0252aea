"""Vertices one after the other against draws from a mixture, on the same records: excess risk against n."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import cast

import numpy as np

from ....core.arrays import Array
from ....core.cache import shared
from ....core.losses import get_loss
from ....core.privacy import Budget
from ....core.rng import generator
from ....experiments.summary import Summary, measured_of
from ....mechanisms.frank_wolfe.polytope import FrankWolfePolytope
from ....mechanisms.frank_wolfe.vertex_runs import polytope_models
from ....mechanisms.simplex.sampling import PreparedWeights, SimplexSampling, sampled_models
from ....solvers.frank_wolfe import vertices as fw
from .data import minimum_of, risks_of, spec_of, split_of, stored_columns

NS = (500, 1_000, 2_000, 5_000)
# Fewer values than for one n alone, because there are several.
_MAX_SWEPT = 640_000


@dc.dataclass(frozen=True)
class BesideSampling:
    """Excess risk on the training records over the simplex against n; all arrays are [K].

    frank_wolfe: on the vertices, with its own T. sampling: m draws, with its own m and lam. stored: filled columns.
    """

    n: Array
    frank_wolfe: Summary
    sampling: Summary
    stored: int
    repetitions: int


@shared(32)
def beside_sampling(
    *, p: int, epsilon: float, delta: float, loss: str, seed: int, repetitions: int, ns: Sequence[int] = NS
) -> BesideSampling:
    """Remark 2 of Talwar, Thakurta and Zhang 2015, measured: n^(-2/3) is promised where sampling has n^(-1/3).

    ns: increasing, >= 2. repetitions: >= 2. From a cache; arrays must not be changed.
    """
    budget, stored = Budget(epsilon, delta), stored_columns(ns[-1], p, _MAX_SWEPT)
    draws = np.empty((2, len(ns), repetitions))
    quiet = np.full(len(ns), np.nan)
    for k, n in enumerate(ns):
        split = split_of(n, p, stored, seed)
        best = minimum_of(loss, n, p, stored, seed).risk
        plan = FrankWolfePolytope().calibrate(spec_of(loss, split, 0.0), budget)
        rngs = [generator(seed, plan.mechanism.key, r) for r in range(repetitions)]
        models = polytope_models(fw.risk_of(get_loss(loss), split.train, single=True), [plan], rngs)[0]
        draws[0, k] = risks_of(get_loss(loss), split.train, models) - best
        plan = SimplexSampling().calibrate(spec_of(loss, split, "auto"), budget)
        weights = cast(PreparedWeights, SimplexSampling().prepare(plan, split.train))
        rngs = [generator(seed, plan.mechanism.key, r) for r in range(repetitions)]
        models = sampled_models(weights, [plan.steps], rngs, 1.0)[:, 0]
        draws[1, k] = risks_of(get_loss(loss), split.train, models) - best
    return BesideSampling(
        n=np.array(ns, float),
        frank_wolfe=measured_of(draws[0], quiet),
        sampling=measured_of(draws[1], quiet),
        stored=stored,
        repetitions=repetitions,
    )
