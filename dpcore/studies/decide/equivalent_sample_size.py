"""Equivalent sample size: the number n' of records on which a learner without privacy makes the same error as the
private one on n.

The n' records are the first of each split. Without privacy the better of two learners counts: the one that private
ones are compared with (`Problem.learner`), or the minimiser with the private release's own lambda and no noise. Noise
of mean zero that is added to a model cannot lower the mean of a convex loss, and therefore n' <= n there in that error.
"""

import dataclasses as dc
from collections.abc import Iterator
from typing import Literal

import numpy as np

from ... import data as records
from ... import solvers
from ...core.arrays import Array
from ...core.cache import SharedCache
from ...core.cancel import Cancelled, go_on, never
from ...core.losses import get_loss
from ...core.privacy import NotApplicable
from ...core.records import Data
from ...core.validation import one_of
from ...experiments import metrics
from ...experiments.cell import Cell
from .loss_curve import LostCurve, Setting, check_applicable
from .threshold_interval import CONFIDENCE, Answer, answer

Error = Literal["loss", "accuracy"]
ERRORS: tuple[Error, ...] = ("loss", "accuracy")
_FEWEST = 10  # records of the shortest learning curve
_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
# Of theta_norm: models without privacy are found to this distance, which no chart shows.
_DISTANCE = 1e-5
# Of single splits, so that a reader who comes back does not wait for them again: up to 10^6 numbers.
_LEARNED: SharedCache[tuple[Array, Array]] = SharedCache(1_000_000, lambda errors: sum(each.size for each in errors))


@dc.dataclass(frozen=True)
class EquivalentSampleSizeQuestion:
    """Question for the n' with the same error without privacy as `setting` has with it.

    Raises NotApplicable where n exceeds a source's records.

    >>> from dpcore import Problem
    >>> *_, equivalent = EquivalentSampleSizeQuestion(Setting(Problem("synthetic", n=300), splits=8)).snapshots()
    >>> sizes = [found.value for found in equivalent.answers("loss")]
    >>> sizes[0] < 30, 30 < sizes[-1] <= 300
    (True, True)
    """

    setting: Setting

    def __post_init__(self) -> None:
        n, source = self.setting.problem.n, records.get_source(self.setting.source)
        if source.size is not None and n > source.size:
            raise NotApplicable(
                f"an equivalent sample size needs n <= {source.size:,} for {source.label}, got {n:,}: further records "
                "are copies, which add no information"
            )

    @property
    def source(self) -> str:
        return self.setting.source

    @property
    def sizes(self) -> tuple[int, ...]:
        """n' of the learning curve, up to n: 6 in each decade."""
        n = self.setting.problem.n
        steps = [round(step * _FEWEST * 10**power) for power in range(len(str(n))) for step in _STEPS]
        return (*(size for size in steps if size < n), n)

    def snapshots(self, cancelled: Cancelled = never) -> "Iterator[EquivalentSampleSize]":
        """Results of the first splits, from the second on; the last one is that of all."""
        learned: list[tuple[Array, Array]] = []
        for curve in self.setting.snapshots(cancelled):
            check_applicable(curve)
            while len(learned) < curve.splits:
                learned.append(self._of_split(len(learned), curve.lam, cancelled))
            best, same = (np.stack(part, axis=1) for part in zip(*learned, strict=True))
            found = EquivalentSampleSize(self, curve, np.array(self.sizes, float), best, same)
            found.answers()  # kept: a reader of this snapshot asks for them and should not have to wait
            yield found

    def share_done(self, found: "EquivalentSampleSize") -> float:
        """Share of the splits."""
        return self.setting.share_done(found.curve)

    def _of_split(self, split: int, lams: Array, cancelled: Cancelled) -> tuple[Array, Array]:
        """`EquivalentSampleSize.best` [2, G] and `EquivalentSampleSize.same` [2, G, K'] of one split, from a cache."""
        cell, kept = self.setting.cell(split), records.kept_with(self.source, _LEARNED)
        return kept.get_unless(cancelled, (cell, tuple(lams)), lambda: self._learned(cell, lams, cancelled))

    def _learned(self, cell: Cell, lams: Array, cancelled: Cancelled) -> tuple[Array, Array]:
        problem = cell.problem
        split, loss = problem.load(), get_loss(problem.loss)
        # A lam is that of a squared norm where models live in a ball; other sets have regularisers of their own.
        path = np.argsort(-lams) if cell.mechanism.set == "ball" and lams.all() else lams[:0].astype(int)
        best, same = np.empty((2, len(self.sizes))), np.empty((2, len(self.sizes), len(path)))
        for g, size in enumerate(self.sizes):
            go_on(cancelled)
            first = Data(split.train.X[:size], split.train.y[:size], split.train.p)
            best[:, g] = self._errors(problem.learner(first), split.test)
            theta: Array | None = None
            for k in path:  # lam falls, so that each search starts near its result
                tol = _DISTANCE * problem.theta_norm
                theta = solvers.minimise(loss, first, float(lams[k]), tol=tol, start=theta).theta
                same[:, g, k] = self._errors(theta, split.test)
        return best, same

    def _errors(self, theta: Array, test: Data) -> tuple[float, float]:
        """Errors of a model, in the order of ERRORS."""
        right = {"accuracy": metrics.accuracy, "auc": metrics.auc, "r_squared": metrics.r_squared}[self.setting.metric]
        return metrics.risk(get_loss(self.setting.problem.loss), theta, test), -right(theta, test)


@dc.dataclass(frozen=True, eq=False)
class EquivalentSampleSize:
    """Errors of private releases on n records, and of learners without privacy on the first n' of them.

    sizes: n', [G], the last is n. best: errors of `Problem.learner`, [2, S, G], as `ERRORS` names them. same: of the
    minimisers with the lam of each epsilon and no noise, [2, S, G, K]; K = 0 where a mechanism has no such lam.
    Errors are to be small: an accuracy is negative.
    """

    question: EquivalentSampleSizeQuestion
    curve: LostCurve
    sizes: Array
    best: Array
    same: Array
    _known: dict[Error, tuple[Answer, ...]] = dc.field(default_factory=dict, init=False, repr=False)

    def private(self, error: Error) -> Array:
        """Errors of the private releases, [S, K]."""
        return self.curve.loss if error == "loss" else -self.curve.private

    def answers(self, error: Error = "loss") -> tuple[Answer, ...]:
        """Equivalent sample size of the setting's n at each epsilon of the curve.

        error: always to be named with the answer: "loss", the mean loss on the test records, or "accuracy", the
        setting's metric on them. At the first size: that size or less. Where a private release is not worse on all n
        records, which is chance or a solver's last digits, it is n. Two learners compete, so each interval takes half
        of the error.
        """
        if one_of("error", error, ERRORS) not in self._known:  # a page asks at each move of its cursor
            self._known[error] = tuple(self._answer(error, k) for k in range(len(self.curve.epsilons)))
        return self._known[error]

    def _answer(self, error: Error, k: int) -> Answer:
        """Answer at one epsilon, from the excess of each learner's error over the private one, [S, G]."""
        at, n, seed = ERRORS.index(error), float(self.sizes[-1]), self.question.setting.problem.seed
        learners = [self.best[at], *([self.same[at, :, :, k]] if self.same.size else [])]
        private, confidence = self.private(error)[:, [k]], 0.5 + 0.5 * CONFIDENCE
        found = [answer(self.sizes, errors - private, 0.0, confidence=confidence, seed=seed) for errors in learners]
        value = min(n, *(a.value for a in found))
        low, high = min(n, *(a.low for a in found)), min(n, *(a.high for a in found))
        return Answer(value, low, high, float(self.sizes[0]), n)
