"""Smallest budget of every registered mechanism for an acceptable accuracy loss on one data set, and its guarantee and
accuracy loss at one (epsilon, delta), or why it does not apply."""

import dataclasses as dc
import math
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from ...accounting.tradeoff import ZcdpCurve
from ...core.cancel import Cancelled, never
from ...core.losses import get_loss
from ...core.privacy import Unconverged
from ...core.sets import get_set
from ...core.validation import check_real, integer, one_of
from ...data import get_source
from ...experiments.experiment import EPSILON_GRID
from ...mechanisms import Mechanism, list_mechanisms, make_mechanism
from ...mechanisms.problem import Problem
from .loss_curve import SPLITS, Setting, smallest_budget
from .threshold_interval import Answer

_USUAL = {"classification": "logistic", "regression": "squared"}
_FEWEST_ERRORS = 2.0  # that part the best from the others
Status = Literal["ok", "not applicable", "unconverged"]


@dc.dataclass(frozen=True)
class Row:
    """One mechanism; numbers are means over splits of the data and over noise, nan unless status is "ok".

    reason: why there are no numbers; beside numbers, why another loss than the asked one stands here, or nothing.
    set: where its models live. guarantee: "pure", "approximate", or "zCDP" where no more is known of the noise.
    score: accuracy, or r_squared for regression. without: the same without privacy. floor: that of the larger class, or
    0 for regression. lost: `LostCurve.lost_at`, 100 times the difference between without and score, points; lost_se:
    standard error of the mean of losses, those of each split.
    smallest: the smallest epsilon for the acceptable loss, None without numbers. limit: how many times in 100 the best
    attacker at 50:50 is right, at most.
    """

    mechanism: str
    label: str
    status: Status
    reason: str
    loss: str
    set: str
    guarantee: str = ""
    score: float = math.nan
    without: float = math.nan
    floor: float = math.nan
    lost: float = math.nan
    lost_se: float = math.nan
    losses: tuple[float, ...] = ()
    smallest: Answer | None = None
    limit: float = math.nan


@dc.dataclass(frozen=True)
class CompareQuestion:
    """Smallest budget of every registered mechanism on these records, and accuracy loss at one budget: those of a
    `Setting`.

    at_most: acceptable accuracy loss, percentage points > 0. A mechanism that is not proved for the problem's loss
    shows its own usual loss of the same task, and says so.
    splits, epsilons: as in `Setting`, epsilon among them. Raises ValueError where outcomes are not predicted.
    """

    problem: Problem
    epsilon: float = 1.0
    at_most: float = 2.0
    splits: int = SPLITS
    epsilons: tuple[float, ...] = EPSILON_GRID

    def __post_init__(self) -> None:
        task = get_source(self.source).task
        if task not in _USUAL:
            raise ValueError(f"source must be one whose outcomes are predicted, got {self.source!r}, a {task} problem")
        check_real("at_most", self.at_most, "a number of points > 0", lambda v: v > 0.0)
        integer("splits", self.splits, at_least=2)
        one_of("epsilon", self.epsilon, self.epsilons)

    @property
    def source(self) -> str:
        return self.problem.source

    def snapshots(self, cancelled: Cancelled = never) -> Iterator[tuple[Row, ...]]:
        """The rows by now in the registry's order, one more each time.

        cancelled: asked between solves; when it says yes, CancelledError is raised.
        """
        rows: tuple[Row, ...] = ()
        for key in list_mechanisms():
            rows = (*rows, _best_row(make_mechanism(key), self, cancelled))
            yield rows

    def share_done(self, rows: Sequence[Row]) -> float:
        """Share of the mechanisms."""
        return len(rows) / len(list_mechanisms())


def ranked(rows: Sequence[Row]) -> pd.DataFrame:
    """Rows of a `CompareQuestion` as a table: the smallest budgets first, then the smallest losses at its epsilon.

    best: True for the mechanism that loses least, and for all that lose more by less than two standard errors of the
    difference on the same splits.

    >>> *_, rows = CompareQuestion(Problem("synthetic", n=100, p=4), splits=2).snapshots()
    >>> table = ranked(rows)
    >>> len(table), sorted(table.status.unique())
    (15, ['not applicable', 'ok'])
    """
    found = [row for row in rows if row.smallest]
    least = min(found, key=lambda row: row.lost).losses if found else ()
    found.sort(key=lambda row: (row.smallest.value if row.smallest else math.inf, row.lost))
    found += [row for row in rows if not row.smallest]
    return pd.DataFrame([vars(row) for row in found]).assign(best=[_as_good(row.losses, least) for row in found])


def _as_good(losses: tuple[float, ...], least: tuple[float, ...]) -> bool:
    if not losses:
        return False
    more = np.array(losses) - np.array(least)
    return bool(more.mean() <= _FEWEST_ERRORS * more.std(ddof=1) / math.sqrt(len(more)))


def _best_row(mechanism: Mechanism, asked: CompareQuestion, cancelled: Cancelled) -> Row:
    """The row for the loss that was asked for; where that does not apply, for another of its task that does."""
    first = _row(mechanism, asked, cancelled)
    if first.status != "not applicable":
        return first
    problem, task = asked.problem, get_loss(asked.problem.loss).task
    for loss in dict.fromkeys((mechanism.usual_loss, _USUAL[task])):
        if loss != problem.loss and get_loss(loss).task == task:
            row = _row(mechanism, dc.replace(asked, problem=dc.replace(problem, loss=loss)), cancelled)
            if row.status != "not applicable":
                return dc.replace(row, reason=first.reason if row.status == "ok" else row.reason)
    return first


def _blank(mechanism: Mechanism, loss: str, status: Status, reason: str) -> Row:
    return Row(mechanism.key, mechanism.label, status, reason, loss, get_set(mechanism.set).label)


def _row(mechanism: Mechanism, asked: CompareQuestion, cancelled: Cancelled) -> Row:
    problem, epsilon = asked.problem, asked.epsilon
    try:
        setting = Setting(problem, mechanism, asked.splits, asked.epsilons)
    except ValueError as error:  # what is asked for is in order, so this is about the mechanism
        return _blank(mechanism, problem.loss, "not applicable", str(error))
    try:
        *_, curve = setting.snapshots(cancelled)
        if epsilon in curve.refused:
            return _blank(mechanism, problem.loss, "not applicable", curve.refused[epsilon])
        plan = problem.plan(mechanism, epsilon)
    except Unconverged as error:
        return _blank(mechanism, problem.loss, "unconverged", str(error))
    found = smallest_budget(curve, asked.at_most)
    losses, without = curve.lost[:, curve.epsilons == epsilon][:, 0], float(curve.reference.mean())
    weak = isinstance(mechanism.claimed_curve(plan), ZcdpCurve)
    return dc.replace(
        _blank(mechanism, problem.loss, "ok", ""),
        guarantee="pure" if plan.spent.pure else "zCDP" if weak else "approximate",
        score=without - 0.01 * curve.lost_at(epsilon),
        without=without,
        floor=float(curve.floor.mean()),
        lost=curve.lost_at(epsilon),
        lost_se=float(losses.std(ddof=1) / math.sqrt(len(losses))),
        losses=tuple(map(float, losses)),
        smallest=found,
        limit=100.0 * mechanism.attack_limit(plan),
    )
