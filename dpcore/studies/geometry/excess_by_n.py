"""Excess risk on fresh records against n, of the mechanism that fits the norm: measured, its bound, and its work.

p_norm = 1 chooses vertices (`polyhedral_frank_wolfe`), 1 < p_norm < 2 walks trees of noisy gradients
(`tree_frank_wolfe`), p_norm >= 2 descends in phases (`phased_sgd`). Each reads a record once.
"""

import dataclasses as dc
import math

import numpy as np

from ...core.arrays import Array
from ...core.cache import shared
from ...core.cancel import Cancelled, go_on, never
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
from ...mechanisms.plan import Plan
from .synthetic_data import LOSS, optimum, population_excess, synthetic_records

SAMPLE_SIZES = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
_FRESH = 10_000
_LEAST_SLOPE_N = 1_000


@dc.dataclass(frozen=True)
class ExcessByN:
    """Arrays [K], over n.

    mechanism: its key. private: excess on fresh records, over records and noise; nan where the mechanism has no
    guarantee, for which `reasons` says why. q95: its 95% quantile. plain: the mean of the same runs without noise.
    bound: proved, on the mean. rate: the paper's order of growth, shape only. gradients: how many gradients of single
    records a run evaluates. spent: the epsilon that is proved of a run. nothing: the excess of x = 0.
    """

    mechanism: str
    n: Array
    private: Summary
    q95: Array
    plain: Array
    bound: Array
    rate: Array
    gradients: Array
    spent: Array
    reasons: tuple[str, ...]
    nothing: float
    repetitions: int

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


@shared(64)
def excess_against_n(
    p_norm: float,
    *,
    d: int,
    epsilon: float,
    delta: float,
    seed: int,
    ns: tuple[int, ...] = SAMPLE_SIZES,
    repetitions: int = 12,
    datasets: int = 3,
    cancelled: Cancelled = never,
    **knobs: str,
) -> ExcessByN:
    """Logistic loss over the l_p ball of size 1, on the records of `synthetic_records`; from a cache.

    repetitions: private runs on each of `datasets` tables, an even number. cancelled: asked between runs; when it says
    yes, CancelledError is raised. knobs: of the mechanism.
    """
    if integer("repetitions", repetitions, at_least=2) % 2:
        raise ValueError(f"repetitions must be even, got {repetitions}")
    mechanism = make_mechanism(learner_key(p_norm), **knobs)
    plans = [_plan(mechanism, p_norm, d, n, Budget(epsilon, delta)) for n in ns]
    draws = np.full((len(ns), datasets * repetitions), np.nan)
    plain = np.full((len(ns), datasets), np.nan)
    for table in range(datasets):
        data = synthetic_records(p_norm, max(ns), d, seed + table)
        models, where = [], []
        for k, plan in enumerate(plans):
            if isinstance(plan, str):
                continue
            go_on(cancelled)
            few = Data(data.X[: plan.spec.n], data.y[: plan.spec.n])
            # Fresh ones for each n, so that the others do not matter.
            rngs = [generator(seed + table, mechanism.key, k) for k in range(repetitions // 2)]
            prepared = mechanism.prepare(plan, few)
            drawn = mechanism.draws([plan], [prepared], rngs, cancelled)
            models += [drawn.thetas[0], drawn.centres]
            where.append(k)
        if where:
            found = population_excess(np.concatenate(models), p_norm, count=_FRESH, seed=seed)
            found = found.reshape(len(where), repetitions + 1)
            draws[where, table * repetitions : (table + 1) * repetitions] = found[:, :-1]
            plain[where, table] = found[:, -1]
    return ExcessByN(
        mechanism=mechanism.key,
        n=np.array(ns, float),
        private=measured_of(draws, plain[:, 0]),
        q95=np.quantile(draws, 0.95, axis=1),
        plain=plain.mean(axis=1),
        bound=np.array([_bound(plan, "upper") for plan in plans]),
        rate=np.array([_bound(plan, "rate") for plan in plans]),
        gradients=np.array([math.nan if isinstance(p, str) else float(p.mechanism.gradients(p)) for p in plans]),
        spent=np.array([math.nan if isinstance(p, str) else p.spent.epsilon for p in plans]),
        reasons=tuple(plan if isinstance(plan, str) else "" for plan in plans),
        nothing=optimum(p_norm, d).nothing,
        repetitions=repetitions * datasets,
    )


def _plan(mechanism: Mechanism, p_norm: float, d: int, n: int, budget: Budget) -> Plan | str:
    """Plan, or the reason why there is none."""
    spec = Spec(LOSS, n, d, 0.0, Domain(q=dual_order(p_norm)), radius=1.0, set=norm_ball(p_norm))
    try:
        plan = mechanism.calibrate(spec, budget)
    except NotApplicable as error:
        return str(error)
    spent = plan.spent
    return plan if spent <= budget else f"{mechanism.key} as published spends epsilon = {spent.epsilon:.4g} there"


def _bound(plan: Plan | str, form: str) -> float:
    """First bound of this form."""
    found = [] if isinstance(plan, str) else [b.value for b in plan.mechanism.bounds(plan) if b.form == form]
    return found[0] if found else math.nan
