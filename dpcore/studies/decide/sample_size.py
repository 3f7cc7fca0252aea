"""Sample size at which a budget is affordable."""

import dataclasses as dc
from collections.abc import Iterator

import numpy as np

from ... import data as records
from ...core.arrays import Array
from ...core.cancel import Cancelled, never
from ...core.privacy import NotApplicable
from ...core.validation import check_real, positive
from .loss_curve import Setting
from .threshold_interval import Answer, nine_of_ten

SIZES = (200, 300, 500, 700, 1_000, 2_000, 3_000, 5_000, 7_000, 10_000, 20_000, 30_000, 50_000, 70_000, 100_000)
_ENOUGH = 2  # sizes in a row that surely suffice end the search: more records do not lose more


@dc.dataclass(frozen=True)
class SampleSizeQuestion:
    """Number of records with which nine of ten releases at `epsilon` lose at most `at_most` percentage points.

    setting: its n and epsilons take no part; beyond the records of a real source n is a what-if, by drawing from them
    again. The search goes up through `SIZES` and ends where two sizes in a row surely suffice; between sizes the loss
    of a release is linear in ln n.

    >>> from dpcore import Problem
    >>> *_, found = SampleSizeQuestion(Setting(Problem("synthetic"), splits=8), epsilon=1.0, at_most=5.0).snapshots()
    >>> 300 < found.answer().low < found.answer().value < found.answer().high < 1_800
    True
    """

    setting: Setting
    epsilon: float
    at_most: float

    def __post_init__(self) -> None:
        epsilon = positive("epsilon", self.epsilon)
        object.__setattr__(self, "epsilon", epsilon)
        # Equal questions have equal settings, wherever the sliders of n and epsilon stand.
        problem = dc.replace(self.setting.problem, n=records.get_source(self.setting.source).sample_size)
        object.__setattr__(self, "setting", dc.replace(self.setting, problem=problem, epsilons=(epsilon,)))
        at_most = check_real("at_most", self.at_most, "a number of points > 0", lambda v: v > 0.0)
        object.__setattr__(self, "at_most", at_most)

    @property
    def source(self) -> str:
        return self.setting.source

    @property
    def sizes(self) -> tuple[int, ...]:
        """Those of `SIZES` whose records fit into memory."""
        columns = records.get_source(self.setting.source).p or self.setting.problem.p
        return tuple(n for n in SIZES if n * columns <= records.MAX_VALUES)

    def snapshots(self, cancelled: Cancelled = never) -> "Iterator[LossBySampleSize | None]":
        """Loss at the first sizes that are not refused, None before; the last snapshot holds the answer."""
        sizes: list[int] = []
        lost: list[Array] = []
        refused: dict[int, str] = {}
        found: LossBySampleSize | None = None
        enough = 0
        for n in self.sizes:
            setting = dc.replace(self.setting, problem=dc.replace(self.setting.problem, n=n))
            for curve in setting.snapshots(cancelled):
                if not setting.share_done(curve) >= 1.0:
                    yield found  # a split more, and nothing new to show
            if curve.refused:
                refused[n] = curve.refused[self.epsilon]
            else:
                sizes.append(n)
                lost.append(curve.lost_by_release[..., 0])
                found = LossBySampleSize(self, np.array(sizes, float), np.stack(lost, axis=2), dict(refused))
                enough = enough + 1 if found.answer().high < n else 0
                yield found
                if enough == _ENOUGH:
                    return
        if not sizes:
            raise NotApplicable(next(iter(refused.values())))

    def share_done(self, found: "LossBySampleSize") -> float:
        """Share of the sizes that are tried; the search may end before."""
        return (len(found.sizes) + len(found.refused)) / len(self.sizes)


@dc.dataclass(frozen=True, eq=False)
class LossBySampleSize:
    """Accuracy loss at one epsilon by sample size: sizes [G], increasing, and lost [S, R, G], that of single releases.

    refused: sizes at which the mechanism has no guarantee, with the reasons.
    """

    question: SampleSizeQuestion
    sizes: Array
    lost: Array
    refused: dict[int, str]

    def answer(self) -> Answer:
        """Sample size needed, by the sizes tried."""
        return nine_of_ten(self.sizes, self.lost, self.question.at_most, seed=self.question.setting.problem.seed)
