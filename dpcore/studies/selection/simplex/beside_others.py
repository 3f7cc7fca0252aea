"""Simplex sampling beside objective perturbation on the same records, against p."""

import dataclasses as dc
from collections.abc import Sequence
from typing import cast

import numpy as np

from .... import data as records
from ....core.arrays import Array
from ....core.cache import shared
from ....core.cancel import never
from ....core.losses import get_loss
from ....core.privacy import Budget, NotApplicable, Unconverged
from ....core.rng import generator
from ....core.sets import Simplex
from ....core.specification import Spec
from ....experiments.summary import Summary, measured_of
from ....mechanisms import make_mechanism
from ....mechanisms.simplex.sampling import PreparedWeights, SimplexSampling, sampled_models
from .data import SOURCE, minimum_of, risks_of, spec_of, split_of, stored_columns

# Fewer values than for one p alone, because there are several.
_MAX_SWEPT = 640_000
PS = (8, 32, 128, 512, 4_096, 65_536)


@dc.dataclass(frozen=True)
class ExcessByColumns:
    """Excess risk on the training records against p, of sampling and of objective perturbation; all arrays are [K].

    p: columns. sampling: with the m and lam that it chooses itself. objective: objective_gaussian as released, in R^p,
    for records with ||x||_2 <= sqrt(p); it can be below 0. projected: the same releases moved to the
    nearest point of the simplex, which costs no privacy. nothing: of theta = 0, which has learned nothing.
    sampling_reasons, objective_reasons: why a point has no values. repetitions: behind each mean.
    """

    p: Array
    sampling: Summary
    objective: Summary
    projected: Summary
    nothing: Array
    sampling_reasons: tuple[str, ...]
    objective_reasons: tuple[str, ...]
    repetitions: int


@shared(32)
def excess_against_columns(
    *, n: int, epsilon: float, delta: float, loss: str, seed: int, repetitions: int, ps: Sequence[int] = PS
) -> ExcessByColumns:
    """Excess risk along p of two mechanisms that choose lam themselves, on the same records, over the same F*.

    ps: increasing, >= 8. repetitions: even, >= 4. From a cache; arrays must not be changed.

    >>> by_p = excess_against_columns(n=500, epsilon=1.0, delta=1e-6, loss="huber", seed=0, repetitions=4, ps=(8, 64))
    >>> bool((by_p.projected.mean < by_p.objective.mean).all())
    True
    """
    if repetitions < 4 or repetitions % 2:
        raise ValueError(f"repetitions must be even and at least 4, got {repetitions}")
    budget = Budget(epsilon, delta)
    draws, quiet = np.full((3, len(ps), repetitions), np.nan), np.full((3, len(ps)), np.nan)
    reasons = [[""] * len(ps), [""] * len(ps)]
    nothing = np.empty(len(ps))
    stored = [stored_columns(n, p, _MAX_SWEPT) for p in ps]
    for k, p in enumerate(ps):
        split = split_of(n, p, stored[k], seed)
        train, best = split.train, minimum_of(loss, n, p, stored[k], seed).risk
        nothing[k] = risks_of(get_loss(loss), train, np.zeros((1, train.stored)))[0] - best
        try:
            theta, models = _sampled(loss, split, budget, seed, repetitions)
        except (NotApplicable, Unconverged) as error:
            reasons[0][k] = str(error)
        else:
            draws[0, k] = risks_of(get_loss(loss), train, models) - best
            quiet[0, k] = risks_of(get_loss(loss), train, theta[None])[0] - best
        try:
            made = _objective_models(loss, split, seed, repetitions // 2, budget)
        except (NotApplicable, Unconverged) as error:
            reasons[1][k] = str(error)
        else:
            for row, (centre, models) in enumerate(made, start=1):
                draws[row, k] = risks_of(get_loss(loss), train, models) - best
                quiet[row, k] = risks_of(get_loss(loss), train, centre[None])[0] - best
    sampling, objective, projected = (measured_of(draws[row], quiet[row]) for row in range(3))
    return ExcessByColumns(
        p=np.array(ps, float),
        sampling=sampling,
        objective=objective,
        projected=projected,
        nothing=nothing,
        sampling_reasons=tuple(reasons[0]),
        objective_reasons=tuple(reasons[1]),
        repetitions=repetitions,
    )


def _sampled(loss: str, split: records.Split, budget: Budget, seed: int, repetitions: int) -> tuple[Array, Array]:
    """(the mixture [r], releases [repetitions, r]) of sampling with the m and lam that it chooses itself."""
    plan = SimplexSampling().calibrate(spec_of(loss, split, "auto"), budget)
    weights = cast(PreparedWeights, SimplexSampling().prepare(plan, split.train))
    rngs = [generator(seed, plan.mechanism.key, r) for r in range(repetitions)]
    return weights.theta, sampled_models(weights, [plan.steps], rngs, 1.0)[:, 0]


def _objective_models(
    loss: str, split: records.Split, seed: int, pairs: int, budget: Budget
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """(without noise [r], releases [2 pairs, r]) of objective_gaussian: as released, and projected onto the simplex."""
    mechanism = make_mechanism("objective_gaussian")
    data, domain = split.train, split.domain.in_norm(2.0, split.train.p)
    norm = records.get_source(SOURCE).theta_norm
    plan = mechanism.calibrate(Spec(loss, data.n, data.p, "auto", domain, theta_norm=norm), budget)
    rngs = [generator(seed, mechanism.key, r) for r in range(pairs)]
    prepared = mechanism.prepare(plan, data)
    drawn = mechanism.draws([plan], [prepared], rngs, never)
    released, r = drawn.thetas[0], data.stored
    # What an idle column of a release holds is its noise, -b_j / lam; no prediction sees it, the projection does.
    idle = np.stack([rng.standard_normal(data.p - r) for rng in rngs]) * (plan.scale / float(plan.spec.lam))
    signed = np.stack([-idle, idle], axis=1).reshape(2 * pairs, -1)
    project, centre, empty = Simplex().project, prepared.theta, np.zeros(data.p - r)
    projected = project(np.concatenate([released, signed], axis=1))[:, :r]
    return (centre, released), (project(np.append(centre, empty))[:r], projected)
