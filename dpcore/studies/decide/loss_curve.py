"""Accuracy loss along epsilon for one problem and mechanism: the curve behind every answer of the page Decide.

Seeds of data and noise come from the setting's seed and the split's number alone, and the first split has the setting's
own. So all budgets, all mechanisms and all sample sizes see the same splits, 5 splits are the beginning of 20, and an
`Experiment` on the same problem is about the first.
"""

import dataclasses as dc
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np

from ...core.arrays import Array
from ...core.cancel import Cancelled, never
from ...core.losses import get_loss
from ...core.privacy import NotApplicable
from ...core.validation import check_real, integer, one_of
from ...data import get_source
from ...experiments.cell import Cell, run_cell
from ...experiments.experiment import EPSILON_GRID, Axis, Experiment
from ...mechanisms import Mechanism
from ...mechanisms.base import AdditiveMechanism
from ...mechanisms.problem import Problem
from .threshold_interval import MOST, Answer, band, error_in_population, falling, nine_of_ten

# What an interval is about: the population that the records come from, or other splits of these records.
Scope = Literal["population", "file"]
SPLITS, _MOST_SPLITS = 20, 1_000
# Releases a split: two pairs where each one is solved for, more where all share one solve.
_REPETITIONS, _CHEAP_REPETITIONS = 4, 10
Metric = Literal["", "accuracy", "r_squared", "auc"]
_NAMES = {"auc": "AUC", "r_squared": "r squared"}
# Of the smaller class among all records, and in a split's test: from there on intervals for the population hold
# (docs/coverage.md).
LEAST_SHARE, LEAST_TESTED = 0.25, 9


@dc.dataclass(frozen=True)
class Setting:
    """A problem and a mechanism, without a budget.

    splits: number of splits of the records, each with new noise, from 2 to 1,000. epsilons: the grid, increasing.
    metric: whose loss is measured, by default the share of right predictions, or "r_squared" for regression; "auc" for
    the share of pairs in the right order.

    Raises ValueError as `Experiment` does, and for location losses, which predict nothing.

    >>> Setting(Problem("synthetic", seed=7)).seeds[:2] == Setting(Problem("synthetic", n=300, seed=7)).seeds[:2]
    True
    """

    problem: Problem
    mechanism: Mechanism | str = "output_gaussian"
    splits: int = SPLITS
    epsilons: tuple[float, ...] = EPSILON_GRID
    metric: Metric = ""

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
        known = ("accuracy", "auc") if get_loss(self.problem.loss).classification else ("r_squared",)
        object.__setattr__(self, "metric", one_of("metric", self.metric or known[0], known))

    @property
    def source(self) -> str:
        return self.problem.source

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of the data and the noise of each split."""
        seed, splits = self.problem.seed, range(1, self.splits)
        return seed, *(int(np.random.SeedSequence([seed, split]).generate_state(1)[0]) for split in splits)

    def cell(self, split: int) -> Cell:
        """Cell of one split."""
        problem = dc.replace(self.problem, seed=self.seeds[split])
        mechanism = cast(Mechanism, self.mechanism)
        several = _CHEAP_REPETITIONS if isinstance(mechanism, AdditiveMechanism) else _REPETITIONS
        return Cell(mechanism, self.epsilons, problem, several, fresh=True, ranked=self.metric == "auc")

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
            single=np.stack([row["draws"] for row in right], axis=1)[None] if right else np.zeros((1, 0, 0)),
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
    private: `Setting.metric` of the private releases, the mean over their noise, [S, K], single [S, R, K], that of each
    of R releases, and reference [S], that of `Problem.learner` without privacy. floor: [S], that of a model that learns
    nothing, from the same test records: the share of their larger class, 0 of r_squared, 1/2 of AUC. loss: mean loss of
    the private releases on the test records, [S, K]. lam: [K]. Where the splits are those of one file of N records and
    classes are predicted: tested, [N], the number of splits in which each record is a test record, and lost_of, [N, K],
    the sum of the points that it loses there (`metrics.influences` of AUC); else N = 0.
    """

    setting: Setting
    epsilons: Array
    private: Array
    single: Array
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
            for name in ("private", "single", "reference", "floor", "loss")
        }
        return dc.replace(self, **both, tested=self.tested + more.tested, lost_of=self.lost_of + more.lost_of)

    @cached_property
    def lost(self) -> Array:
        """Accuracy loss in percentage points, [S, K]."""
        return 100.0 * (self.reference[:, None] - self.private)

    @cached_property
    def lost_by_release(self) -> Array:
        """The same of single releases, [S, R, K]."""
        return 100.0 * (self.reference[:, None, None] - self.single)

    @cached_property
    def most(self) -> Array:
        """Points that nine of ten single releases lose less than, made non-increasing, [K]."""
        return self.quantile(MOST)

    def quantile(self, share: float) -> Array:
        """Points that a share of single releases lose less than, made non-increasing, [K]."""
        return falling(np.quantile(self.lost_by_release, share, axis=(0, 1), method="inverted_cdf"))

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

    @property
    def in_file(self) -> bool:
        """True where all splits are of the same records, False where each draws new ones from the population."""
        return get_source(self.setting.source).size is not None

    @property
    def rows(self) -> Array:
        """Rows [N, K] of the file's records, each with what it loses in the splits that test it; their mean is `mean`.

        With models given, they vary like independent records: see "Decisions" in docs/formulas.md.
        """
        away = self.lost_of - self.tested[:, None] * self.mean
        return self.mean + away * (len(self.tested) / self.tested.sum())

    @cached_property
    def no_population(self) -> str:
        """Why there is no interval for the population that a file is a sample of; "" where there is one."""
        if not self.in_file:
            return ""
        if self.setting.metric != "accuracy":
            return f"no interval for the population is given for {_NAMES[self.setting.metric]}: it would rarely cover"
        share = smaller_class(self.setting.problem)
        if share < LEAST_SHARE:
            return (
                "no interval for the population is given where the smaller class has under "
                f"{100 * LEAST_SHARE:.0f}% of the records (here {100 * share:.0f}%): it would cover too rarely"
            )
        if share * self.setting.cell(0).problem.load().test.n < LEAST_TESTED:
            return (
                "no interval for the population is given where a split tests fewer than "
                f"{LEAST_TESTED} records of the smaller class"
            )
        return ""

    def band(self, scope: Scope = "population", records: int = 1) -> tuple[Array, Array]:
        """95% confidence limits of `smooth` at each epsilon: low [K] and high [K].

        records: that one person has at most, by which records of the population are not independent. ValueError with
        the reason where there are none for the "population".
        """
        if scope == "population" and self.no_population:
            raise ValueError(self.no_population)
        least: Array | float = 0.0
        if scope == "population" and self.in_file:
            least = error_in_population(self.lost, self.rows, records)
        return band(self.lost, seed=self.setting.problem.seed, least=least)

    def lost_at(self, epsilon: float) -> float:
        """The accuracy loss to be told at an epsilon: `smooth` there; nan where nothing is released."""
        return self.between(epsilon, self.smooth)

    def between(self, epsilon: float, heights: Array) -> float:
        """Of a curve with such heights [K], linear in ln epsilon, the one at an epsilon; nan beyond `epsilons`."""
        return float(np.interp(np.log(epsilon), np.log(self.epsilons), heights, left=np.nan, right=np.nan))


def smaller_class(problem: Problem) -> float:
    """Share of the smaller class among all records of a data set, or among those that a synthetic one draws first."""
    split = dc.replace(problem, n=get_source(problem.source).sample_size).load()
    positive = float(np.mean(np.concatenate([split.train.y, split.test.y]) > 0.0))
    return min(positive, 1.0 - positive)


def lost_curve(setting: Setting) -> LostCurve:
    """Curve of all splits of a setting; single splits come from the cache of cells."""
    *_, curve = setting.snapshots()
    return curve


def check_applicable(curve: LostCurve) -> None:
    """Raise NotApplicable with the mechanism's reason where it refuses every budget."""
    if not len(curve.epsilons):
        raise NotApplicable(next(iter(curve.refused.values())))


def smallest_budget(curve: LostCurve, at_most: float) -> Answer:
    """The smallest epsilon of two digits from which on nine of ten releases lose at most `at_most` percentage points.

    at_most: > 0. Of single releases, each of one split and one noise; see `nine_of_ten`. The interval, with confidence
    95%, is about other splits of a file's records, or other records where each split draws them; an end beyond the grid
    is inf, one at the first epsilon of the grid means "there or below".

    Raises NotApplicable where the mechanism has no guarantee at any epsilon.

    >>> curve = lost_curve(Setting(Problem("synthetic", n=2_000)))
    >>> found = smallest_budget(curve, at_most=5.0)
    >>> 0.2 < found.low <= found.value <= found.high < 0.8
    True
    >>> smallest_budget(lost_curve(Setting(Problem(n=100), splits=5)), at_most=1.0).reachable
    False
    """
    at_most = check_real("at_most", at_most, "a number of points > 0", lambda v: v > 0.0)
    check_applicable(curve)
    return nine_of_ten(curve.epsilons, curve.lost_by_release, at_most, seed=curve.setting.problem.seed)
