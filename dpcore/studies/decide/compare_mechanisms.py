"""Smallest budget of every registered mechanism for an acceptable loss on one data set, or why it does not apply."""

import dataclasses as dc
import math
from collections.abc import Iterator, Sequence
from typing import Literal

from ...accounting.tradeoff import ZcdpCurve
from ...core.cancel import Cancelled, never
from ...core.losses import get_loss
from ...core.privacy import NotApplicable, Unconverged
from ...core.sets import get_set
from ...core.validation import check_real
from ...mechanisms import Mechanism, list_mechanisms, make_mechanism
from ...mechanisms.problem import Problem
from .loss_curve import Setting, check_applicable, smallest_budget
from .threshold_interval import Answer

_USUAL = {"classification": "logistic", "regression": "squared"}
Status = Literal["ok", "not applicable", "unconverged"]


@dc.dataclass(frozen=True)
class Row:
    """One mechanism.

    reason: why it has no budget; beside one, why another loss than the asked one stands here, or nothing. set: where
    its models live. guarantee: "pure", "approximate", or "zCDP" where no more is known of the noise. smallest: the
    smallest epsilon for the acceptable loss, None unless status is "ok".
    """

    mechanism: str
    label: str
    status: Status
    reason: str
    loss: str
    set: str
    guarantee: str = ""
    smallest: Answer | None = None


@dc.dataclass(frozen=True)
class CompareQuestion:
    """Question for the smallest budget of every registered mechanism in the place of a setting's own.

    at_most: acceptable loss, percentage points > 0. A mechanism that is not proved for the problem's loss shows its own
    usual loss of the same task, and says so.
    """

    setting: Setting
    at_most: float

    def __post_init__(self) -> None:
        check_real("at_most", self.at_most, "a number of points > 0", lambda v: v > 0.0)

    @property
    def source(self) -> str:
        return self.setting.source

    def snapshots(self, cancelled: Cancelled = never) -> Iterator[tuple[Row, ...]]:
        """The rows by now in the registry's order, one more each time.

        cancelled: asked between solves; when it says yes, CancelledError is raised.
        """
        rows: tuple[Row, ...] = ()
        for key in list_mechanisms():
            rows = (*rows, self._of(make_mechanism(key), cancelled))
            yield rows

    def share_done(self, rows: Sequence[Row]) -> float:
        """Share of the mechanisms."""
        return len(rows) / len(list_mechanisms())

    def _of(self, mechanism: Mechanism, cancelled: Cancelled) -> Row:
        """The row for the loss that was asked for; where that does not apply, for another of its task that does."""
        problem = self.setting.problem
        first = self._row(mechanism, problem, cancelled)
        if first.status != "not applicable":
            return first
        task = get_loss(problem.loss).task
        for loss in dict.fromkeys((mechanism.usual_loss, _USUAL[task])):
            if loss != problem.loss and get_loss(loss).task == task:
                row = self._row(mechanism, dc.replace(problem, loss=loss), cancelled)
                if row.status != "not applicable":
                    return dc.replace(row, reason=first.reason if row.status == "ok" else row.reason)
        return first

    def _row(self, mechanism: Mechanism, problem: Problem, cancelled: Cancelled) -> Row:
        blank = Row(mechanism.key, mechanism.label, "ok", "", problem.loss, get_set(mechanism.set).label)
        try:
            *_, curve = dc.replace(self.setting, problem=problem, mechanism=mechanism).snapshots(cancelled)
            check_applicable(curve)
        except Unconverged as error:
            return dc.replace(blank, status="unconverged", reason=str(error))
        except (NotApplicable, ValueError) as error:  # what is asked for is in order, so this is about the mechanism
            return dc.replace(blank, status="not applicable", reason=str(error))
        plan = problem.plan(mechanism, float(curve.epsilons[0]))
        weak = isinstance(mechanism.claimed_curve(plan), ZcdpCurve)
        guarantee = "pure" if plan.spent.pure else "zCDP" if weak else "approximate"
        return dc.replace(blank, guarantee=guarantee, smallest=smallest_budget(curve, self.at_most))


def ranked(rows: Sequence[Row]) -> list[Row]:
    """Rows of a `CompareQuestion`, the smallest budgets first and those without one last.

    >>> *_, rows = CompareQuestion(Setting(Problem("synthetic", n=100, p=4), splits=2), at_most=5.0).snapshots()
    >>> len(rows), ranked(rows)[0].status
    (15, 'ok')
    """
    return sorted(rows, key=lambda row: (row.smallest is None, row.smallest.value if row.smallest else math.inf))
