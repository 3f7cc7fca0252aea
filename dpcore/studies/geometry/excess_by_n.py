"""Excess risk on fresh records against n, of the mechanism that fits the norm: measured, its bound, and its work.

p_norm = 1 chooses vertices (`polyhedral_frank_wolfe`), 1 < p_norm < 2 walks trees of noisy gradients
(`tree_frank_wolfe`), p_norm >= 2 descends in phases (`phased_sgd`). Each reads a record once; beside phases stands
`noisy_sgd`, which reads it many times.
"""

import dataclasses as dc
import math
from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from ...core.arrays import Array
from ...core.cancel import Cancelled, go_on, never
from ...core.losses import get_loss
from ...core.power_law import power_law
from ...core.privacy import Budget, NotApplicable
from ...core.records import Data
from ...core.rng import generator
from ...core.sets import dual_order, norm_ball
from ...core.specification import Domain, Spec
from ...core.validation import integer
from ...experiments.summary import Summary, measured_of
from ...mechanisms import make_mechanism
from ...mechanisms.base import Mechanism
from ...mechanisms.frank_wolfe.proof import OnePassLens
from ...mechanisms.plan import Plan
from ...theory.high_probability import BETA
from .synthetic_data import LOSS, optimum, population_excess, synthetic_records

SAMPLE_SIZES = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
FRESH = 10_000
_FIRST_RUNS = (4, 12)
_PROVED_RUNS = 4
_LEAST_SLOPE_N = 1_000
# Many passes take so much longer that fewer runs must do, and even these a part of the time.
_MANY_PASSES, PASSES_RUNS, _PASSES_SHARE = "noisy_sgd", 4, 0.3


@dc.dataclass(frozen=True)
class ExcessByN:
    """Arrays [K], over n.

    mechanism: its key. private: excess on fresh records, over records and noise; nan where the mechanism has no
    guarantee, for which `reasons` says why. plain: the mean of the same runs without noise. bound: proved, on the mean.
    proved: for such records, a mean over others with standard error proved_se, on the mean; nan before it is known, and
    where the mechanism has no `proved_run`.
    tail: proved, for all but a share of `high_probability.BETA` of the runs. above: how many of the `runs` exceed it.
    most: what that share of the runs exceeds, measured; nan for fewer than 20.
    rate: the paper's order of growth, shape only. gradients: how many gradients of single records a run evaluates.
    passes: mean excess of many passes on the records of the first runs; None before it is known, and for p < 2.
    reads: how many gradients they evaluate, on average. nothing: the excess of x = 0.
    """

    mechanism: str
    n: Array
    private: Summary
    plain: Array
    bound: Array
    tail: Array
    above: Array
    most: Array
    rate: Array
    gradients: Array
    reasons: tuple[str, ...]
    nothing: float
    runs: int
    proved: Array
    proved_se: Array
    passes: Array | None = None
    reads: Array | None = None

    @property
    def exponents(self) -> tuple[float | None, float | None, float | None]:
        """Powers of n from n = 1,000 on: of the excess, of its bound, of the work; None where there is none."""
        far = self.n >= _LEAST_SLOPE_N
        curves = (self.private.mean, self.bound, self.gradients)
        measured, bound, work = (power_law(self.n[far], curve[far]).slope for curve in curves)
        return measured, bound, work


def learner_key(p_norm: float) -> str:
    """The mechanism that fits a norm order.

    >>> [learner_key(p) for p in (1.0, 1.5, 2.0, math.inf)]
    ['polyhedral_frank_wolfe', 'tree_frank_wolfe', 'phased_sgd', 'phased_sgd']
    """
    if p_norm == 1.0:
        return "polyhedral_frank_wolfe"
    return "tree_frank_wolfe" if p_norm < 2.0 else "phased_sgd"


@dc.dataclass(frozen=True)
class ExcessQuestion:
    """Excess of logistic loss over the l_p ball of size 1 against n; each run has its own `synthetic_records`.

    runs: how many, at least 2. knobs: of the mechanism, by name. Equal questions have the same answer.
    """

    p_norm: float
    d: int
    epsilon: float
    delta: float
    seed: int
    ns: tuple[int, ...] = SAMPLE_SIZES
    runs: int = 40
    knobs: tuple[tuple[str, Any], ...] = ()

    @property
    def source(self) -> None:
        """No one's records."""

    def snapshots(self, cancelled: Cancelled = never) -> Iterator[ExcessByN]:
        """Curves after 4 runs, after 12 and after all, and then with many passes; CancelledError as soon as
        `cancelled` returns True."""
        runs = integer("runs", self.runs, at_least=2)
        mechanism = make_mechanism(learner_key(self.p_norm), **dict(self.knobs))
        plans = [_plan(mechanism, self.p_norm, self.d, n, Budget(self.epsilon, self.delta)) for n in self.ns]
        excess = np.full((2, len(plans), runs), np.nan)  # with noise and without
        done = 0
        for end in sorted({min(end, runs) for end in (*_FIRST_RUNS, runs)}):
            excess[:, :, done:end] = self._excess(mechanism, plans, range(done, end), cancelled)
            done, found = end, self._curves(mechanism, plans, excess[:, :, :end])
            if end == runs and isinstance(mechanism, OnePassLens):
                proved = self._proved(mechanism, plans, cancelled)
                error = proved.std(axis=1, ddof=1) / math.sqrt(_PROVED_RUNS)
                found = dc.replace(found, proved=proved.mean(axis=1), proved_se=error)
            yield found
        if self.p_norm >= 2.0:
            many = make_mechanism(_MANY_PASSES)
            plans = [_plan(many, self.p_norm, self.d, n, Budget(self.epsilon, self.delta)) for n in self.ns]
            passes = self._excess(many, plans, range(min(PASSES_RUNS, runs)), cancelled)[0].mean(axis=1)
            reads = [math.nan if isinstance(p, str) else p.steps * p.ledger[0].rate * p.spec.n for p in plans]
            yield dc.replace(found, passes=passes, reads=np.array(reads))

    def share_done(self, found: ExcessByN) -> float:
        """Share of the runs, and of the time with many passes."""
        alone = self.p_norm < 2.0 or found.passes is not None
        return found.runs / self.runs * (1.0 if alone else 1.0 - _PASSES_SHARE)

    def _excess(self, mechanism: Mechanism, plans: list[Plan | str], runs: range, cancelled: Cancelled) -> Array:
        """Of these runs, [2, plans, runs]."""
        models, released = [], [k for k, plan in enumerate(plans) if not isinstance(plan, str)]
        for run in runs:
            data = synthetic_records(self.p_norm, max(self.ns), self.d, self.seed + run)
            for k in released:
                go_on(cancelled)
                plan = cast(Plan, plans[k])
                prepared = mechanism.prepare(plan, Data(data.X[: plan.spec.n], data.y[: plan.spec.n]))
                # Other noise for each n, so that the others do not matter.
                drawn = mechanism.draws([plan], [prepared], [generator(self.seed + run, mechanism.key, k)], cancelled)
                models += [drawn.thetas[0, 0], drawn.centres[0]]
        found = np.full((2, len(plans), len(runs)), np.nan)
        if models:
            measured = population_excess(np.array(models), self.p_norm, count=FRESH, seed=self.seed)
            found[:, released] = measured.reshape(len(runs), len(released), 2).T
        return found

    def _proved(self, mechanism: OnePassLens, plans: list[Plan | str], cancelled: Cancelled) -> Array:
        """Bounds from runs on other records, with many fresh ones for the distribution, [plans, runs]."""
        found = np.full((len(plans), _PROVED_RUNS), np.nan)
        for r in range(_PROVED_RUNS):
            seed = self.seed + self.runs + 2 * r
            data = synthetic_records(self.p_norm, max(self.ns), self.d, seed)
            fresh = synthetic_records(self.p_norm, FRESH, self.d, seed + 1)
            margins = fresh.X @ optimum(self.p_norm, self.d).theta
            least = float(get_loss(LOSS).value(margins, fresh.y).mean())
            for k, plan in enumerate(plans):
                if isinstance(plan, Plan):
                    go_on(cancelled)
                    prepared = mechanism.prepare(plan, Data(data.X[: plan.spec.n], data.y[: plan.spec.n]))
                    rng = generator(seed, f"{mechanism.key} lens", k)
                    found[k, r] = mechanism.proved_run(plan, prepared, fresh, least, rng, cancelled)
        return found

    def _curves(self, mechanism: Mechanism, plans: list[Plan | str], excess: Array) -> ExcessByN:
        tail = np.array([_bound(plan, "upper", "probability") for plan in plans])
        return ExcessByN(
            mechanism=mechanism.key,
            n=np.array(self.ns, float),
            private=measured_of(excess[0], excess[1, :, 0]),
            plain=excess[1].mean(axis=1),
            bound=np.array([_bound(plan, "upper", "expectation") for plan in plans]),
            tail=tail,
            above=(excess[0] > tail[:, None]).sum(axis=1),
            most=np.quantile(excess[0], 1.0 - BETA, axis=1) if excess.shape[2] >= 1.0 / BETA else np.nan * tail,
            rate=np.array([_bound(plan, "rate") for plan in plans]),
            gradients=np.array([math.nan if isinstance(p, str) else float(p.mechanism.gradients(p)) for p in plans]),
            reasons=tuple(plan if isinstance(plan, str) else "" for plan in plans),
            nothing=optimum(self.p_norm, self.d).nothing,
            runs=excess.shape[2],
            proved=np.full(len(plans), np.nan),
            proved_se=np.full(len(plans), np.nan),
        )


def excess_against_n(
    p_norm: float,
    *,
    d: int,
    epsilon: float,
    delta: float,
    seed: int,
    ns: tuple[int, ...] = SAMPLE_SIZES,
    runs: int = 40,
    **knobs: Any,
) -> ExcessByN:
    """Whole answer to an `ExcessQuestion`, whose fields the arguments are; knobs: of the mechanism.

    >>> found = excess_against_n(1.5, d=4, epsilon=1.0, delta=1e-6, seed=0, ns=(500, 2_000), runs=2)
    >>> bool((found.private.mean < found.bound).all())
    True
    """
    asked = ExcessQuestion(p_norm, d, epsilon, delta, seed, ns, runs, tuple(knobs.items()))
    *_, found = asked.snapshots()
    return found


def spec_of(p_norm: float, d: int, n: int) -> Spec:
    """The problem of one run on n records."""
    return Spec(LOSS, n, d, 0.0, Domain(q=dual_order(p_norm)), radius=1.0, set=norm_ball(p_norm))


def _plan(mechanism: Mechanism, p_norm: float, d: int, n: int, budget: Budget) -> Plan | str:
    """Plan, or the reason why there is none."""
    try:
        return mechanism.calibrate(spec_of(p_norm, d, n), budget)
    except NotApplicable as error:
        return str(error)


def _bound(plan: Plan | str, form: str, holds: str = "") -> float:
    found = [] if isinstance(plan, str) else plan.mechanism.bounds(plan)
    return next((b.value for b in found if b.form == form and holds in ("", b.holds)), math.nan)


def mean_bound(mechanism: Mechanism, p_norm: float, d: int, n: int, budget: Budget) -> float:
    """Bound of a mechanism on the mean excess at n; nan where it has no guarantee."""
    return _bound(_plan(mechanism, p_norm, d, n, budget), "upper", "expectation")
