"""What is decided about, and the points that privacy costs along epsilon: the curve behind every answer.

Seeds of data and noise come from the setting's seed and the split's number alone. So all budgets, all mechanisms and
all numbers of people see the same splits, and 5 splits are the beginning of 20.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import cast

import numpy as np

from ...core.arrays import Array
from ...core.cancel import never
from ...core.losses import get_loss
from ...core.privacy import NotApplicable
from ...core.validation import integer
from ...experiments.cell import Cell, run_cell
from ...experiments.experiment import EPSILON_GRID, Axis, Experiment
from ...mechanisms import Mechanism
from ...mechanisms.problem import Problem
from .threshold_interval import band, falling

SPLITS, _MOST_SPLITS = 20, 1_000
_REPETITIONS = 4  # two pairs of releases a split where means over the noise are no integrals


@dc.dataclass(frozen=True)
class Setting:
    """What is decided about: a problem and a mechanism, without a budget.

    splits: how often records are split and noise is drawn anew, from 2 to 1,000. epsilons: the grid, increasing.

    Raises ValueError as `Experiment` does, and for losses of a point, of which nothing can be counted as right.

    >>> Setting(Problem("synthetic")).seeds[:2] == Setting(Problem("synthetic", n=300)).seeds[:2]
    True
    """

    problem: Problem
    mechanism: Mechanism | str = "output_gaussian"
    splits: int = SPLITS
    epsilons: tuple[float, ...] = EPSILON_GRID

    def __post_init__(self) -> None:
        along = Axis("epsilon", self.epsilons)
        checked = Experiment(self.problem, (self.mechanism,), sweep=along, repetitions=_REPETITIONS)
        object.__setattr__(self, "mechanism", checked.mechanisms[0])
        object.__setattr__(self, "epsilons", along.values)
        object.__setattr__(self, "splits", integer("splits", self.splits, at_least=2))
        if self.splits > _MOST_SPLITS:
            raise ValueError(f"splits must be at most {_MOST_SPLITS:,}, got {self.splits:,}")
        if not get_loss(self.problem.loss).linear:
            raise ValueError(f"loss must be one of a prediction that can be right or wrong, got {self.problem.loss!r}")

    @property
    def source(self) -> str:
        return self.problem.source

    @property
    def metric(self) -> str:
        """What points are counted of: "accuracy", or "r_squared" for regression."""
        return "accuracy" if get_loss(self.problem.loss).classification else "r_squared"

    @property
    def seeds(self) -> tuple[int, ...]:
        """Of the data and the noise of each split."""
        return tuple(
            int(np.random.SeedSequence([self.problem.seed, split]).generate_state(1)[0]) for split in range(self.splits)
        )

    def cell(self, split: int) -> Cell:
        """What one split measures."""
        problem = dc.replace(self.problem, seed=self.seeds[split])
        return Cell(cast(Mechanism, self.mechanism), self.epsilons, problem, _REPETITIONS, fresh=True)

    def snapshots(self, cancelled: Callable[[], bool] = never) -> Iterator[LostCurve]:
        """The curve of the first splits, from the second on; the last one is that of all.

        cancelled: asked before each solve; when it says yes, CancelledError is raised. Raises Unconverged where a
        solver cannot certify what the mechanism must.
        """
        measured: list[_Measured] = []
        for split in range(self.splits):
            measured.append(_measured(self, self.cell(split), cancelled))
            if split:
                yield _curve_of(self, measured)


@dc.dataclass(frozen=True, eq=False)
class LostCurve:
    """What a setting loses by privacy along epsilon, split by split.

    epsilons: [K], those of the grid at which the mechanism has a guarantee; refused: the reasons of the others.
    private: `Setting.metric` of the private releases, the mean over their noise, [S, K], and reference [S], that of the
    best model without privacy. floor: [S], of whoever learns nothing, from the same test records: the share of their
    larger class, or 0 of r_squared. loss: mean loss of the private releases on the test records, [S, K]. lam: [K].
    """

    setting: Setting
    epsilons: Array
    private: Array
    reference: Array
    floor: Array
    loss: Array
    lam: Array
    refused: dict[float, str]

    @property
    def splits(self) -> int:
        return len(self.private)

    @cached_property
    def lost(self) -> Array:
        """Points lost, of 100: [S, K]."""
        return 100.0 * (self.reference[:, None] - self.private)

    @property
    def learnable(self) -> float:
        """Points above `floor` without privacy; nothing where they are 0 or fewer."""
        return 100.0 * float((self.reference - self.floor).mean())

    @property
    def mean(self) -> Array:
        """[K]."""
        return self.lost.mean(axis=0)

    @property
    def smooth(self) -> Array:
        """The mean made non-increasing, [K]."""
        return falling(self.mean)

    def band(self) -> tuple[Array, Array]:
        """95% confidence limits of `smooth` at each epsilon: low [K] and high [K]."""
        return band(self.lost, seed=self.setting.problem.seed)


def lost_curve(setting: Setting) -> LostCurve:
    """The points lost by a setting, all of its splits; single splits come from the cache of cells.

    >>> curve = lost_curve(Setting(Problem("synthetic", n=500), splits=4))
    >>> curve.lost.shape, bool(curve.smooth[0] > 20.0 > 5.0 > curve.smooth[-1])
    ((4, 19), True)
    """
    *_, curve = setting.snapshots()
    return curve


def check_applicable(curve: LostCurve) -> None:
    """Raise NotApplicable with the mechanism's reason where it refuses every budget."""
    if not len(curve.epsilons):
        raise NotApplicable(next(iter(curve.refused.values())))


@dc.dataclass(frozen=True, eq=False)
class _Measured:
    """Of one split: private, loss, lam: [K]; reference, floor: numbers."""

    epsilons: Array
    private: Array
    reference: float
    floor: float
    loss: Array
    lam: Array
    refused: dict[float, str]


def _measured(setting: Setting, cell: Cell, cancelled: Callable[[], bool]) -> _Measured:
    rows = run_cell(cell, cancelled)
    right = [row for row in rows if row.get("metric") == setting.metric]
    fresh = [row for row in rows if row.get("metric") == "fresh_risk"]
    return _Measured(
        epsilons=np.array([row["epsilon"] for row in right]),
        private=np.array([row["mean"] for row in right]),
        reference=right[0]["reference"] if right else np.nan,
        floor=(right[0]["larger_class"] or 0.0) if right else np.nan,
        loss=np.array([row["mean"] for row in fresh]),
        lam=np.array([row["lam"] for row in right]),
        refused={row["epsilon"]: row["reason"] for row in rows if row["status"] != "ok"},
    )


def _curve_of(setting: Setting, measured: Sequence[_Measured]) -> LostCurve:
    first = measured[0]
    return LostCurve(
        setting=setting,
        epsilons=first.epsilons,
        private=np.stack([m.private for m in measured]),
        reference=np.array([m.reference for m in measured]),
        floor=np.array([m.floor for m in measured]),
        loss=np.stack([m.loss for m in measured]),
        lam=first.lam,
        refused=first.refused,
    )
