"""One cell of an experiment: a whole curve of one mechanism over epsilon, computed once and kept.

Randomness comes only from (seed, mechanism key, repetition): curves share their noise along a sweep, 20 repetitions are
a prefix of 50, and a cell does not depend on the experiment around it.
"""

import dataclasses as dc
import time
from typing import Any

import numpy as np

from .. import data as records
from ..core.arrays import Array
from ..core.cache import SharedCache
from ..core.cancel import Cancelled, go_on, never
from ..core.losses import get_loss
from ..core.privacy import Bound, Budget, NotApplicable
from ..core.records import Data
from ..core.rng import generator
from ..mechanisms import Mechanism
from ..mechanisms.base import AdditiveMechanism, Lens, Prepared
from ..mechanisms.plan import Plan
from ..mechanisms.problem import Problem
from ..solvers import Minimum
from . import metrics
from .summary import LEAST_BANDED

Rows = list[dict[str, Any]]  # one for each point and metric


@dc.dataclass(frozen=True)
class Cell:
    """Curve of one mechanism over epsilon; hashable and picklable, it is its own cache key.

    fresh: also measure the mean loss on the test records, and keep each release's metrics ("draws"); of a set that is
    split, also how much less often releases predict the class of each test record than the non-private learner does
    ("lost"). ranked: also measure the AUC on them. proved: also compute the bounds on the mean excess that are proved
    for these records.
    """

    mechanism: Mechanism
    epsilons: tuple[float, ...]
    problem: Problem
    repetitions: int
    fresh: bool = False
    ranked: bool = False
    proved: bool = False


def _kilobytes(rows: Rows) -> int:
    return sum(1 + row["lost"].nbytes // 1_000 if "lost" in row else 1 for row in rows)


_MOST_NUMBERS = 1_000_000  # of noise that is kept
_DIRECTIONS: SharedCache[Array] = SharedCache(_MOST_NUMBERS, np.size)
_CELLS: SharedCache[Rows] = SharedCache(60_000, _kilobytes)


def run_cell(cell: Cell, cancelled: Cancelled = never) -> Rows:
    """Rows of one cell, from the cache or computed; the caller may change them.

    cancelled: asked before each solve; if it returns True, CancelledError is raised and nothing is kept.
    """
    kept = records.kept_with(cell.problem.source, _CELLS)
    return [dict(row) for row in kept.get_unless(cancelled, cell, lambda: _compute(cell, cancelled))]


def is_cached(cell: Cell) -> bool:
    """True if `run_cell` has the rows in its cache."""
    return cell in records.kept_with(cell.problem.source, _CELLS)


def blank_rows(cell: Cell, status: str, reason: str) -> Rows:
    """Rows of the table for a cell that has no numbers: one for each point."""
    return [_public(cell, epsilon) | {"status": status, "reason": reason} for epsilon in cell.epsilons]


def _compute(cell: Cell, cancelled: Cancelled) -> Rows:
    started = time.perf_counter()
    problem = cell.problem
    split, spec, reference = problem.load(), problem.spec(cell.mechanism), problem.reference()

    plans: list[Plan] = []
    rows: Rows = []
    for epsilon in cell.epsilons:
        try:
            plans.append(cell.mechanism.calibrate(spec, Budget(epsilon, problem.delta)))
        except NotApplicable as error:
            rows.append(_public(cell, epsilon) | {"status": "not applicable", "reason": str(error)})
    if not plans:
        return rows

    prepared = problem.prepared(cell.mechanism, plans, cancelled)
    go_on(cancelled)
    releases = releases_of(cell, plans, prepared, split.train.stored, cancelled)
    loss = get_loss(problem.loss)
    learner = problem.learner() if loss.linear else None
    asked, test = {"fresh": cell.fresh, "ranked": cell.ranked}, split.test
    curves = metrics.curves_of(loss, split.train, split.test, reference, releases, learner=learner, **asked)
    lens = None
    # The paths of a lens would take longer than the few releases of a first look.
    if cell.proved and cell.repetitions >= LEAST_BANDED:
        lens = cell.mechanism.lens(plans, prepared, split.train, problem.comparator(), problem.seed, cancelled)
    seconds = (time.perf_counter() - started) / len(plans)
    # A bound over a set does not cover better models outside it; here the other models lie in the ball of their size.
    comparable = cell.mechanism.set in ("ball", records.get_source(problem.source).set)
    beyond = problem.comparator().risk - reference.risk if comparable else 0.0
    by_record = cell.fresh and loss.classification and split.tested is not None
    lost = {}
    if by_record and learner is not None:
        lost["accuracy"] = _lost_by_record(learner, test, releases)
        if cell.ranked:
            lost["auc"] = metrics.influences(learner, test, releases).astype(np.float32)
    for k, plan in enumerate(plans):
        bounds = plan.mechanism.bounds(plan) if comparable else ()
        for curve in curves:
            about: dict[str, float | None] = {"reference_gap": reference.gap, "test_records": test.n}
            about |= {"seconds": seconds}
            row = _public(cell, plan.requested.epsilon) | _measured(plan, bounds, beyond, curve, k) | about
            if lens is not None and curve.metric == "excess_empirical_risk":
                row |= _proved(lens, reference, k)
            if cell.fresh:
                row["draws"] = curve.draws[k]
            if curve.metric in lost:
                row["lost"] = lost[curve.metric][k]
            rows.append(row)
    return sorted(rows, key=lambda row: row["epsilon"])


def _lost_by_record(learner: Array, test: Data, releases: metrics.Releases) -> Array:
    right = test.y * (test.X @ learner) > 0.0
    lost: Array = (right - metrics.shares_right(test, releases)).astype(np.float32)
    return lost


def releases_of(
    cell: Cell, plans: list[Plan], prepared: list[Prepared], stored: int, cancelled: Cancelled
) -> metrics.Releases:
    """Releases on which the metrics of a cell are measured. stored: columns of the training records that are stored."""
    mechanism, p = cell.mechanism, cell.problem.p
    if isinstance(mechanism, AdditiveMechanism) and get_loss(cell.problem.loss).linear:
        law = mechanism.law
        return metrics.Additive(
            np.stack([each.theta for each in prepared]),
            scales=np.array([plan.scale for plan in plans]),
            directions=_directions(mechanism, p, stored, cell.problem.seed, cell.repetitions),
            spread=law.spread(p),
        )
    return mechanism.draws(plans, prepared, generators(cell), cancelled)


def generators(cell: Cell) -> list[np.random.Generator]:
    """Generators of draws, which come in pairs; a standard error needs two pairs."""
    return _rngs(cell.mechanism, cell.problem.seed, max(2, (cell.repetitions + 1) // 2))


def _proved(lens: Lens, least: Minimum, k: int) -> dict[str, Any]:
    """Between which numbers the mean excess lies on these records."""
    ends = lens.low[k] - least.risk, lens.high[k] - least.risk + least.gap
    return {"proved_low": float(ends[0]), "proved_high": float(ends[1]), "proved_se": float(lens.se[k])}


def _rngs(mechanism: Mechanism, seed: int, count: int) -> list[np.random.Generator]:
    return [generator(seed, mechanism.key, r) for r in range(count)]


def _directions(mechanism: AdditiveMechanism, p: int, stored: int, seed: int, count: int) -> Array:
    """Noise of scale 1 for each repetition, [count, stored]: the same for all records and budgets, and so kept."""

    def draw() -> Array:
        return mechanism.law.directions(p, stored, _rngs(mechanism, seed, count))

    key = (mechanism, p, stored, seed, count)
    return _DIRECTIONS.get(key, draw) if stored * count <= _MOST_NUMBERS // 8 else draw()


def _public(cell: Cell, epsilon: float) -> dict[str, Any]:
    return {
        "mechanism": cell.mechanism.key,
        "label": cell.mechanism.label,
        "accounting": getattr(cell.mechanism, "accounting", ""),
        "repetitions": cell.repetitions,
        "epsilon": epsilon,
        "delta": cell.problem.delta,
        "n": cell.problem.n,
        "p": cell.problem.p,
    }


def _measured(
    plan: Plan, bounds: tuple[Bound, ...], beyond: float, curve: metrics.MetricCurve, k: int
) -> dict[str, Any]:
    """beyond: how far the best model with which upper bounds compare is above F*; it is added to them."""
    kind = (curve.metric, "upper", "expectation")
    mean = [b for b in bounds if (b.quantity, b.form, b.holds) == kind]
    bound = min(mean, key=lambda b: b.value, default=None)
    lowers = [b for b in bounds if (b.quantity, b.form) == (curve.metric, "lower")]
    lower = max(lowers, key=lambda b: b.value, default=None)
    return {
        "metric": curve.metric,
        "repetitions": curve.draws.shape[1],
        "mean": float(curve.mean[k]),
        "exact": curve.exact,
        "se": float(curve.se[k]),
        **dict(zip(("q10", "q50", "q90"), map(float, curve.quantiles[:, k]), strict=True)),
        "noiseless": float(curve.noiseless[k]),
        "reference": curve.reference,
        "nothing_learned": curve.nothing_learned,
        "bound": beyond + bound.value if bound else None,
        "bound_form": bound.form if bound else None,
        "bound_source": bound.source if bound else None,
        "lower_bound": lower.value if lower else None,
        "lower_source": lower.source if lower else None,
        "spent_epsilon": plan.spent.epsilon,
        "spent_delta": plan.spent.delta,
        "lam": float(plan.spec.lam),
        "steps": plan.steps,
        "batch": plan.ledger[0].rate * plan.spec.n,
        "scale": plan.scale,
        "status": "ok",
    }
