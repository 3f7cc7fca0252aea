"""Guarantee and accuracy loss of every registered mechanism on one data set at one (epsilon, delta), or why it does not
apply."""

import dataclasses as dc
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from ...accounting.tradeoff import ZcdpCurve
from ...core.cancel import Cancelled, never
from ...core.losses import get_loss
from ...core.privacy import Budget, Unconverged
from ...core.sets import get_set
from ...core.validation import integer
from ...data import get_source
from ...experiments.cell import Cell, run_cell
from ...experiments.experiment import Axis, Experiment
from ...mechanisms import Mechanism, list_mechanisms, make_mechanism
from ...mechanisms.problem import Problem

SPLITS = 5
REPETITIONS = 20
_USUAL = {"classification": "logistic", "regression": "squared"}
_METRICS = ("accuracy", "r_squared")
_FEWEST_ERRORS = 2.0  # that part the best from the others
Status = Literal["ok", "not applicable", "unconverged"]


@dc.dataclass(frozen=True)
class Row:
    """One mechanism; numbers are means over splits of the data and over releases, nan unless status is "ok".

    reason: why there are no numbers; beside numbers, why another loss than the asked one stands here, or nothing.
    set: where its models live. guarantee: "pure", "approximate", or "zCDP" where no more is known of the noise.
    spent_epsilon, spent_delta: what a release costs. score: its accuracy, or r_squared for regression. without: the
    same without privacy. floor: that of the larger class, or 0 for regression. lost: 100 times the difference between
    without and score, points; lost_se: its standard error; losses: of each split. limit: how many times in 100 the best
    attacker at 50:50 is right, at most. seconds: that it took.
    """

    mechanism: str
    label: str
    status: Status
    reason: str
    loss: str
    set: str
    guarantee: str = ""
    spent_epsilon: float = math.nan
    spent_delta: float = math.nan
    score: float = math.nan
    without: float = math.nan
    floor: float = math.nan
    lost: float = math.nan
    lost_se: float = math.nan
    losses: tuple[float, ...] = ()
    limit: float = math.nan
    seconds: float = 0.0


@dc.dataclass(frozen=True)
class CompareQuestion:
    """Accuracy loss of every registered mechanism on these records, at one budget.

    A mechanism that is not proved for the problem's loss shows its own usual loss of the same task, and says so.
    splits: >= 2, seeds from the problem's on. repetitions: as in `Experiment`. Raises ValueError for sources whose
    outcomes are not predicted.

    >>> rows = next(CompareQuestion(Problem("synthetic", n=100, p=4), splits=2, repetitions=4).snapshots())
    >>> rows[0].guarantee
    'approximate'
    """

    problem: Problem
    epsilon: float = 1.0
    splits: int = SPLITS
    repetitions: int = REPETITIONS

    def __post_init__(self) -> None:
        task = get_source(self.source).task
        if task not in _USUAL:
            raise ValueError(f"source must be one whose outcomes are predicted, got {self.source!r}, a {task} problem")
        integer("splits", self.splits, at_least=2)
        Budget(self.epsilon)

    @property
    def source(self) -> str:
        return self.problem.source

    def snapshots(self, cancelled: Cancelled = never) -> Iterator[tuple[Row, ...]]:
        """The rows by now in the registry's order, one more each time.

        cancelled: asked between solves; when it says yes, CancelledError is raised.
        """
        asked = Experiment(self.problem, sweep=Axis("epsilon", (self.epsilon,)), repetitions=self.repetitions)
        seeds = range(self.problem.seed, self.problem.seed + self.splits)
        rows: tuple[Row, ...] = ()
        for key in list_mechanisms():
            rows = (*rows, _best_row(make_mechanism(key), asked, seeds, cancelled))
            yield rows


def ranked(rows: Sequence[Row]) -> pd.DataFrame:
    """Rows of a `CompareQuestion` as a table, those with numbers best first.

    best: True for the mechanism that loses least, and for all that lose more by less than two standard errors of the
    difference on the same splits.

    >>> *_, rows = CompareQuestion(Problem("synthetic", n=100, p=4), splits=2, repetitions=4).snapshots()
    >>> table = ranked(rows)
    >>> len(table), sorted(table.status.unique())
    (15, ['not applicable', 'ok'])
    """
    table = pd.DataFrame([dc.asdict(row) for row in rows])
    table = table.sort_values("lost", kind="stable", na_position="last", ignore_index=True)
    return table.assign(best=[_as_good(losses, table.losses[0]) for losses in table.losses])


def _as_good(losses: tuple[float, ...], least: tuple[float, ...]) -> bool:
    if not losses:
        return False
    more = np.array(losses) - np.array(least)
    return bool(more.mean() <= _FEWEST_ERRORS * more.std(ddof=1) / math.sqrt(len(more)))


def _best_row(mechanism: Mechanism, asked: Experiment, seeds: range, cancelled: Cancelled) -> Row:
    """The row for the loss that was asked for; where that does not apply, for another of its task that does."""
    try:
        cell = next(dc.replace(asked, mechanisms=(mechanism,)).cells())
    except ValueError as error:  # what is asked for is in order, so this is about the mechanism
        return _blank(mechanism, asked.problem.loss, "not applicable", str(error))
    first = _row(cell, seeds, cancelled)
    if first.status != "not applicable":
        return first
    problem, task = asked.problem, get_loss(asked.problem.loss).task
    for loss in dict.fromkeys((mechanism.usual_loss, _USUAL[task])):
        if loss != problem.loss and get_loss(loss).task == task:
            row = _row(dc.replace(cell, problem=dc.replace(problem, loss=loss)), seeds, cancelled)
            if row.status != "not applicable":
                return dc.replace(row, reason=first.reason if row.status == "ok" else row.reason)
    return first


def _blank(mechanism: Mechanism, loss: str, status: Status, reason: str) -> Row:
    return Row(mechanism.key, mechanism.label, status, reason, loss, get_set(mechanism.set).label)


def _row(cell: Cell, seeds: range, cancelled: Cancelled) -> Row:
    started, mechanism, problem = time.perf_counter(), cell.mechanism, cell.problem
    found: list[dict[str, Any]] = []
    try:
        for seed in seeds:
            rows = run_cell(dc.replace(cell, problem=dc.replace(problem, seed=seed)), cancelled)
            if rows[0]["status"] != "ok":
                return _blank(mechanism, problem.loss, rows[0]["status"], rows[0]["reason"])
            found.append(next(row for row in rows if row["metric"] in _METRICS))
        plan = problem.plan(mechanism, cell.epsilons[0])
    except Unconverged as error:
        return _blank(mechanism, problem.loss, "unconverged", str(error))
    lost = 100.0 * np.array([row["reference"] - row["mean"] for row in found])
    weak = isinstance(mechanism.claimed_curve(plan), ZcdpCurve)
    return dc.replace(
        _blank(mechanism, problem.loss, "ok", ""),
        guarantee="pure" if plan.spent.pure else "zCDP" if weak else "approximate",
        spent_epsilon=plan.spent.epsilon,
        spent_delta=plan.spent.delta,
        score=float(np.mean([row["mean"] for row in found])),
        without=float(np.mean([row["reference"] for row in found])),
        floor=float(np.mean([row["nothing_learned"] for row in found])),
        lost=float(lost.mean()),
        lost_se=float(lost.std(ddof=1) / math.sqrt(len(lost))),
        losses=tuple(map(float, lost)),
        limit=100.0 * mechanism.attack_limit(plan),
        seconds=time.perf_counter() - started,
    )
