"""Excess risk against the number of draws m: few draws are coarse, many need a mixture with more entropy."""

import dataclasses as dc
import math
from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np

from ....core.arrays import Array
from ....core.cache import shared
from ....core.cancel import Cancelled, go_on, never
from ....core.losses import Loss, get_loss
from ....core.privacy import Budget, Unconverged
from ....core.records import Data
from ....core.rng import generator
from ....core.specification import LamRule, Spec
from ....core.validation import integer
from ....experiments.proof_chain import ProofChain, chained
from ....experiments.summary import Summary, measured_of
from ....mechanisms.plan import Plan
from ....mechanisms.simplex.sampling import PreparedWeights, SimplexSampling, draws_excess, sampled_models
from ....solvers import minimise_entropic
from .data import minimum_of, risks_of, spec_of, split_of, stored_columns

MS = (1, 2, 3, 5, 8, 13, 20, 32, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
On = Literal["training", "fresh"]

# Of the solver, in units of ln w: weights are right to about a thousandth, which no picture shows.
_DISPLAY_RESIDUAL = 1e-3


@dc.dataclass(frozen=True)
class Valley:
    """Excess risk against the number of draws m, with what is proved of it; all arrays are [K].

    m: the numbers of draws. lam: of each; eta: the privacy cost of one draw; spent_epsilon: of all m, at the requested
    delta. bounds: the mechanism's on the mean excess. affordable: whether m draws cost at most the requested
    budget. training, fresh: what was measured; proved: at most this is the mean on the training records, and at least
    what it is before the draws; nothing: of the uniform mixture, which has learned nothing. reasons: why
    a point has no values, "" where it has some. lam_is_free: each m has a lam of its own. stored: the columns that are
    filled, of p; the others are zero in every record. epsilon: as requested. repetitions: behind each mean.
    """

    m: Array
    lam: Array
    eta: Array
    spent_epsilon: Array
    bounds: dict[On, Array]
    affordable: np.ndarray
    training: Summary
    fresh: Summary
    proved: Array
    nothing: dict[On, float]
    reasons: tuple[str, ...]
    lam_is_free: bool
    stored: int
    p: int
    epsilon: float
    repetitions: int

    def measured(self, on: On) -> Summary:
        return self.training if on == "training" else self.fresh


def valley(
    *,
    n: int,
    p: int,
    epsilon: float,
    delta: float,
    loss: str,
    lam: float | LamRule,
    seed: int,
    repetitions: int,
    ms: Sequence[int] = MS,
    cancelled: Cancelled = never,
) -> Valley:
    """Excess risk along numbers of draws `ms`, increasing, on n records of p columns.

    lam: "auto" gives each m the smallest lam whose m draws cost at most (epsilon, delta); a number is kept, and what
    the draws cost grows with m. repetitions: >= 2 releases for each m, which share their randomness along m.
    Measurements are kept in a cache; arrays must not be changed. Where a mechanism or its solver refuses, values are
    nan and `reasons` says why. cancelled: asked between lams; when it says yes, CancelledError is raised.
    Raises ValueError for arguments outside their ranges.

    >>> made = valley(n=500, p=8, epsilon=1.0, delta=1e-6, loss="huber", lam="auto", seed=0, repetitions=4)
    >>> bool((made.training.mean < made.bounds["training"]).all())
    True
    """
    if isinstance(lam, str) and lam != "auto":
        raise ValueError(f"lam must be a number or 'auto', got {lam!r}")
    integer("repetitions", repetitions, at_least=2)
    budget, stored = Budget(epsilon, delta), stored_columns(n, p)
    spec = spec_of(loss, split_of(n, p, stored, seed), lam)
    plans = [_plan(SimplexSampling(m=m), spec, budget) for m in ms]
    lams, eta, spent, over_training, over_fresh = np.array(
        [[math.nan] * 5 if isinstance(plan, str) else _costs(plan) for plan in plans]
    ).T
    draws = tuple(
        (m, None if isinstance(plan, str) else float(plan.spec.lam)) for m, plan in zip(ms, plans, strict=True)
    )
    training, fresh, proved, nothing, failures = _measure(n, p, stored, loss, seed, repetitions, draws, cancelled)
    return Valley(
        m=np.array(ms, float),
        lam=lams,
        eta=eta,
        spent_epsilon=spent,
        bounds={"training": over_training, "fresh": over_fresh},
        affordable=np.array([isinstance(plan, Plan) and plan.spent <= budget for plan in plans]),
        training=training,
        fresh=fresh,
        proved=proved,
        nothing=nothing,
        reasons=tuple(plan if isinstance(plan, str) else why for plan, why in zip(plans, failures, strict=True)),
        lam_is_free=isinstance(lam, str),
        stored=stored,
        p=p,
        epsilon=budget.epsilon,
        repetitions=repetitions,
    )


@shared(64)
def proof(*, m: int, n: int, p: int, delta: float, epsilon: float, loss: str, seed: int, **asked: Any) -> ProofChain:
    """Proof of the bound on the mean excess on the training records at m draws, as a chain; other arguments and errors
    as in `valley`, whose measurement it begins with."""
    made = valley(n=n, p=p, epsilon=epsilon, delta=delta, loss=loss, seed=seed, **asked)
    k, data = int(np.flatnonzero(made.m == m)[0]), split_of(n, p, made.stored, seed).train
    spec = spec_of(loss, split_of(n, p, made.stored, seed), float(made.lam[k]))
    plan = SimplexSampling(m=m).calibrate(spec, Budget(epsilon, delta))
    best = minimum_of(loss, n, p, made.stored, seed)
    links = plan.mechanism.chain(plan, plan.mechanism.prepare(plan, data), data, best, (), never)
    steps = chained(made.training.mean[[k]], links, se=float(made.training.se[k]))
    return ProofChain(steps, made.nothing["training"], made.repetitions)


def _plan(mechanism: SimplexSampling, spec: Spec, budget: Budget) -> Plan | str:
    """Plan, or the reason why there is none."""
    try:
        return mechanism.calibrate(spec, budget)
    except ValueError as error:  # NotApplicable, or a rule for lam that finds none
        return str(error)


def _costs(plan: Plan) -> list[float]:
    """lam, eta, spent epsilon, and the bounds on training and on fresh records."""
    upper = {each.quantity: each.value for each in plan.mechanism.bounds(plan) if each.form == "upper"}
    return [
        float(plan.spec.lam),
        2.0 * plan.ledger[0].sensitivity / plan.ledger[0].scale,
        plan.spent.epsilon,
        upper["excess_empirical_risk"],
        upper["excess_population_risk"],
    ]


@shared(64)
def _measure(
    n: int,
    p: int,
    stored: int,
    loss_key: str,
    seed: int,
    repetitions: int,
    wanted: tuple[tuple[int, float | None], ...],
    cancelled: Cancelled,
) -> tuple[Summary, Summary, Array, dict[On, float], tuple[str, ...]]:
    """Excess on the training and on the test records for pairs of m and lam, the bound for the former, the excess of
    the uniform mixture on both, and why there is none."""
    loss, split = get_loss(loss_key), split_of(n, p, stored, seed)
    failures = [""] * len(wanted)
    models = np.full((len(wanted), repetitions + 1, split.train.stored), np.nan)  # the last is before the draws
    path: list[tuple[float, Array]] = []
    for lam in sorted({lam for _, lam in wanted if lam is not None}, reverse=True):
        go_on(cancelled)
        at = [k for k, (_, wants) in enumerate(wanted) if wants == lam]
        try:
            weights = _weights(loss, split.train, lam, path)
        except Unconverged as error:
            for k in at:
                failures[k] = str(error)
        else:
            rngs = [generator(seed, SimplexSampling.key, r) for r in range(repetitions)]
            models[at, :-1] = sampled_models(weights, [wanted[k][0] for k in at], rngs, 1.0).swapaxes(0, 1)
            models[at, -1] = weights.theta
    found = np.flatnonzero(np.isfinite(models[:, 0, 0]))
    if not len(found):
        empty = measured_of(models[:, :-1, 0], models[:, -1, 0])
        return empty, empty, empty.mean, {"training": math.nan, "fresh": math.nan}, tuple(failures)
    truth = np.atleast_2d(cast(Array, split.truth))
    levels = minimum_of(loss_key, n, p, stored, seed).risk, float(risks_of(loss, split.test, truth)[0])
    # All models at once: a product of the records with a few of them takes almost as long.
    flat = models[found].reshape(-1, models.shape[2])
    uniform = np.full((1, models.shape[2]), 1.0 / p)
    curves, nothing = [], []
    for data, level in zip((split.train, split.test), levels, strict=True):
        excess = np.full(models.shape[:2], np.nan)
        excess[found] = (risks_of(loss, data, flat) - level).reshape(len(found), -1)
        curves.append(measured_of(excess[:, :-1], excess[:, -1]))
        nothing.append(float(risks_of(loss, data, uniform)[0]) - level)
    proved, m = curves[0].noiseless.copy(), np.array([m for m, _ in wanted])
    proved[found] += draws_excess(split.train, spec_of(loss_key, split, 1.0), models[found, -1], m[found])
    return curves[0], curves[1], proved, {"training": nothing[0], "fresh": nothing[1]}, tuple(failures)


def _weights(loss: Loss, data: Data, lam: float, path: list[tuple[float, Array]]) -> PreparedWeights:
    """Minimiser at display accuracy, never to be used for releases; path: minimisers at larger lams, extended here.

    Logarithms of weights are close to linear in ln lam, so that the line through the last two is a good start.
    """
    at, start = math.log(lam), path[-1][1] if path else None
    if len(path) > 1:
        (x0, u0), (x1, u1) = path[-2:]
        start = u1 + (u1 - u0) * ((at - x1) / (x1 - x0))
    found = minimise_entropic(loss, data, lam, tol=_DISPLAY_RESIDUAL, start=start)
    path.append((at, found.log_weights))
    return PreparedWeights(np.exp(found.log_weights), found.residual, found.log_weights, found.log_idle)
