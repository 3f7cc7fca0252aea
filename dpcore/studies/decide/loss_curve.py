"""Accuracy loss along epsilon for one problem and mechanism: the curve behind every answer of the page Decide.

Seeds of data and noise come from the setting's seed and the split's number alone, and the first split has the setting's
own. So all budgets, all mechanisms and all sample sizes see the same splits, 5 splits are the beginning of 20, and an
`Experiment` on the same problem is about the first.
"""

import dataclasses as dc
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal, cast, get_args

import numpy as np

from ...core.arrays import Array
from ...core.cancel import Cancelled, never
from ...core.losses import get_loss
from ...core.privacy import NotApplicable
from ...core.validation import check_real, integer
from ...data import get_source
from ...experiments.cell import Cell, run_cell
from ...experiments.experiment import EPSILON_GRID, Axis, Experiment
from ...mechanisms import Mechanism
from ...mechanisms.problem import Problem
from .threshold_interval import Answer, answer, band, falling

# What an interval is about: the population that the records come from, or other splits of these records.
Scope = Literal["population", "file"]
SPLITS, _MOST_SPLITS = 20, 1_000
_REPETITIONS = 4  # two pairs of releases a split where means over the noise are no integrals


@dc.dataclass(frozen=True)
class Setting:
    """A problem and a mechanism, without a budget.

    splits: number of splits of the records, each with new noise, from 2 to 1,000. epsilons: the grid, increasing.

    Raises ValueError as `Experiment` does, and for location losses, which predict nothing.

    >>> Setting(Problem("synthetic", seed=7)).seeds[:2] == Setting(Problem("synthetic", n=300, seed=7)).seeds[:2]
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
        """Metric whose loss is measured: "accuracy", or "r_squared" for regression."""
        return "accuracy" if get_loss(self.problem.loss).classification else "r_squared"

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of the data and the noise of each split."""
        seed, splits = self.problem.seed, range(1, self.splits)
        return seed, *(int(np.random.SeedSequence([seed, split]).generate_state(1)[0]) for split in splits)

    def cell(self, split: int) -> Cell:
        """Cell of one split."""
        problem = dc.replace(self.problem, seed=self.seeds[split])
        return Cell(cast(Mechanism, self.mechanism), self.epsilons, problem, _REPETITIONS, fresh=True)

    def snapshots(self, cancelled: Cancelled = never) -> "Iterator[LostCurve]":
        """The curve of the first splits, from the second on; the last one is that of all.

        cancelled: asked before each solve; when it says yes, CancelledError is raised. Raises Unconverged where a
        solver cannot certify what the mechanism must.
        """
        curve = self._curve(0, cancelled)
        for split in range(1, self.splits):
            curve = curve.joined(self._curve(split, cancelled))
            yield curve

    def share_done(self, curve: "LostCurve") -> float:
        """Share of the splits."""
        return curve.splits / self.splits

    def _curve(self, split: int, cancelled: Cancelled) -> "LostCurve":
        rows = run_cell(self.cell(split), cancelled)
        right = [row for row in rows if row.get("metric") == self.metric]
        fresh = [row for row in rows if row.get("metric") == "fresh_risk"]
        tested, lost = self._by_record(split, right)
        return LostCurve(
            setting=self,
            epsilons=np.array([row["epsilon"] for row in right]),
            private=np.array([[row["mean"] for row in right]]),
            reference=np.array([right[0]["reference"] if right else np.nan]),
            floor=np.array([right[0]["nothing_learned"] if right else np.nan]),
            loss=np.array([[row["mean"] for row in fresh]]),
            lam=np.array([row["lam"] for row in right]),
            refused={row["epsilon"]: row["reason"] for row in rows if row["status"] != "ok"},
            tested=tested,
            lost_of=lost,
        )

    def _by_record(self, split: int, rows: list[dict[str, Any]]) -> tuple[Array, Array]:
        """`LostCurve.tested` and `LostCurve.lost_of` of one split."""
        places, size = self.cell(split).problem.load().tested, get_source(self.source).size
        if size is None or places is None or not rows or "lost" not in rows[0]:
            return np.zeros(0), np.zeros((0, len(rows)))
        tested = np.zeros(size + len(places))
        lost = np.zeros((len(tested), len(rows)))
        tested[places] = 1.0
        lost[places] = 100.0 * np.stack([row["lost"] for row in rows], axis=1)
        return tested, lost


@dc.dataclass(frozen=True, eq=False)
class LostCurve:
    """Accuracy loss of a setting along epsilon, split by split.

    epsilons: [K], those of the grid at which the mechanism has a guarantee; refused: the reasons of the others.
    private: `Setting.metric` of the private releases, the mean over their noise, [S, K], and reference [S], that of
    `Problem.learner` without privacy. floor: [S], that of a model that learns nothing, from the same test records: the
    share of their larger class, or 0 of r_squared. loss: mean loss of the private releases on the test records, [S, K].
    lam: [K]. Where the splits are those of one file of N records and accuracy is measured: tested, [N], the number of
    splits in which each record is a test record, and lost_of, [N, K], the sum of the points that it loses there; else
    N = 0.
    """

    setting: Setting
    epsilons: Array
    private: Array
    reference: Array
    floor: Array
    loss: Array
    lam: Array
    refused: dict[float, str]
    tested: Array
    lost_of: Array

    @property
    def splits(self) -> int:
        return len(self.private)

    def joined(self, more: "LostCurve") -> "LostCurve":
        """This curve with the splits of another one of the same setting."""
        both: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(more, name)])
            for name in ("private", "reference", "floor", "loss")
        }
        return dc.replace(self, **both, tested=self.tested + more.tested, lost_of=self.lost_of + more.lost_of)

    @cached_property
    def lost(self) -> Array:
        """Accuracy loss in percentage points, [S, K]."""
        return 100.0 * (self.reference[:, None] - self.private)

    @property
    def learnable(self) -> float:
        """Points above `floor` without privacy; where they are 0 or fewer, nothing can be learned."""
        return 100.0 * float((self.reference - self.floor).mean())

    @property
    def mean(self) -> Array:
        """Mean loss over the splits, [K]."""
        return self.lost.mean(axis=0)

    @property
    def smooth(self) -> Array:
        """The mean made non-increasing, [K]."""
        return falling(self.mean)

    def rows(self, scope: Scope) -> Array:
        """Rows [., K] that can be taken as independent, with the mean `mean`, in points.

        "file": the splits of these records. "population": where each split draws new records, the splits; of a file its
        records, each with what it loses in the splits that test it. The errors of cross-validation are those of
        independent records in this sense: see "Decisions" in docs/formulas.md.
        """
        if scope == "file" or not len(self.tested):
            return self.lost
        away = self.lost_of - self.tested[:, None] * self.mean
        return self.mean + away * (len(self.tested) / self.tested.sum())

    def band(self, scope: Scope = "population") -> tuple[Array, Array]:
        """95% confidence limits of `smooth` at each epsilon: low [K] and high [K]."""
        return self._bands[scope]

    @cached_property
    def _bands(self) -> dict[Scope, tuple[Array, Array]]:
        return {scope: band(self.rows(scope), seed=self.setting.problem.seed) for scope in get_args(Scope)}

    def lost_at(self, epsilon: float) -> float:
        """The accuracy loss to be told at an epsilon: `smooth` there; nan where nothing is released."""
        return self.between(epsilon, self.smooth)

    def between(self, epsilon: float, heights: Array) -> float:
        """Of a curve with such heights [K], linear in ln epsilon, the one at an epsilon; nan beyond `epsilons`."""
        return float(np.interp(np.log(epsilon), np.log(self.epsilons), heights, left=np.nan, right=np.nan))


def lost_curve(setting: Setting) -> LostCurve:
    """Curve of all splits of a setting; single splits come from the cache of cells."""
    *_, curve = setting.snapshots()
    return curve


def check_applicable(curve: LostCurve) -> None:
    """Raise NotApplicable with the mechanism's reason where it refuses every budget."""
    if not len(curve.epsilons):
        raise NotApplicable(next(iter(curve.refused.values())))


def smallest_budget(curve: LostCurve, at_most: float, scope: Scope = "population") -> Answer:
    """The smallest epsilon from which on a setting is expected to lose at most `at_most` percentage points.

    at_most: > 0. The expectation is over n records and the noise: records of the population, or splits of the same
    "file". Between the epsilons of the grid it is taken linear in ln epsilon. The interval covers it with confidence
    95%; an end beyond the grid is inf, one at the first epsilon of the grid means "there or below".

    Raises NotApplicable where the mechanism has no guarantee at any epsilon.

    >>> curve = lost_curve(Setting(Problem("synthetic", n=2_000)))
    >>> found = smallest_budget(curve, at_most=5.0)
    >>> 0.2 < found.low < found.value < found.high < 0.6
    True
    >>> smallest_budget(lost_curve(Setting(Problem(n=100), splits=5)), at_most=1.0).reachable
    False
    """
    at_most = check_real("at_most", at_most, "a number of points > 0", lambda v: v > 0.0)
    check_applicable(curve)
    return answer(curve.epsilons, curve.rows(scope), at_most, seed=curve.setting.problem.seed)
