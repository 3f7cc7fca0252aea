"""State of the page Decide: what was asked, and the answer so far."""

import dataclasses as dc
from typing import Any

from dpcore.data import Source
from dpcore.figures.style import Theme
from dpcore.mechanisms.problem import Problem
from dpcore.studies.decide.loss_curve import Setting
from dpcore.studies.decide.smallest_epsilon import SmallestEpsilon
from pages.background.asking import Answer
from pages.decide.upload.upload import Upload


@dc.dataclass(frozen=True)
class State:
    """What was asked, and the answer so far.

    known: the job behind it. upload: None for a data set of the dashboard.
    """

    answer: SmallestEpsilon
    known: Answer
    source: Source
    upload: Upload | None
    theme: Theme

    @property
    def releases(self) -> int:
        return self.answer.releases

    @property
    def setting(self) -> Setting:
        return self.answer.curve.setting

    @property
    def problem(self) -> Problem:
        return self.setting.problem

    @property
    def mechanism(self) -> Any:
        return self.setting.cell(0).mechanism

    @property
    def complete(self) -> bool:
        """True once all splits are in: other questions build on this answer and wait for it."""
        return self.known.complete

    @property
    def unit(self) -> str:
        """Whom the guarantee protects, with all their records."""
        return self.upload.unit if self.upload else self.source.record

    @property
    def drawn(self) -> str:
        """The records in words."""
        return self.source.drawn(self.problem.n)
