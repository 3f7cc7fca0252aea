"""State of the page Decide: its controls, and the answers that its background questions have given so far."""

import dataclasses as dc
from functools import cached_property
from typing import Any, cast

import numpy as np

from dpcore import AttackSuccess, Plan
from dpcore.audit.attack_success import Attack, AttackSuccessQuestion
from dpcore.data import Source
from dpcore.figures.style import Theme
from dpcore.studies.decide.equivalent_sample_size import EquivalentSampleSize, Error
from dpcore.studies.decide.loss_curve import LostCurve, Scope, Setting, smallest_budget
from dpcore.studies.decide.sample_size import LossBySampleSize
from dpcore.studies.decide.threshold_interval import Answer
from pages.background.asking import Answer as Known
from pages.decide.briefing.words import Document, learned
from pages.ui.sidebar import Controls


@dc.dataclass(frozen=True)
class State:
    """Controls of the page and the answers that are there.

    answers: to the questions "curve" and "needed", and "attack_success" and "equivalent" where they can be asked.
    no_equivalent: why that cannot. at_most: percentage points. looks: answers from the records of a file so far, 0
    where there is no file.
    """

    answers: dict[str, Known]
    source: Source
    setting: Setting
    controls: Controls
    at_most: float
    error: Error
    no_equivalent: str
    theme: Theme
    looks: int = 0

    @property
    def n(self) -> int:
        return self.controls.n

    @property
    def drawn(self) -> str:
        """The n records in words."""
        return self.source.drawn(self.n)

    @property
    def epsilon(self) -> float:
        return self.controls.epsilon

    @property
    def way(self) -> str:
        return self.setting.mechanism.key  # type: ignore[union-attr]

    @property
    def family(self) -> str:
        return self.setting.mechanism.family  # type: ignore[union-attr]

    @cached_property
    def curve(self) -> LostCurve | None:
        """None before the first splits are in, and where the mechanism refuses every budget."""
        found: LostCurve | None = self._snapshot("curve")
        return found if found is not None and len(found.epsilons) else None

    @property
    def refusal(self) -> str | None:
        """Reason for which the mechanism refuses every budget."""
        found: LostCurve | None = self._snapshot("curve")
        if found is not None and not len(found.epsilons):
            return next(iter(found.refused.values()))
        return self.answers["curve"].reason

    @property
    def _known(self) -> LostCurve:
        if self.curve is None:
            raise ValueError("curve must be there before anything is said of it")
        return self.curve

    @cached_property
    def found(self) -> Answer:
        """Smallest budget of nine of ten releases, with its interval over splits."""
        return smallest_budget(self._known, self.at_most)

    @property
    def in_file(self) -> bool:
        """True where all splits are of the same records."""
        return self._known.in_file

    @property
    def no_population(self) -> str:
        """Why intervals are about other splits of the file alone; "" where there are some for the population."""
        return self._known.no_population

    @property
    def widest(self) -> Scope:
        """What the widest interval that is given is about."""
        return "file" if self.no_population else "population"

    @cached_property
    def band(self) -> tuple[np.ndarray, np.ndarray]:
        """95% limits along epsilon, of the widest kind that is given."""
        return self._known.band(self.widest)

    @property
    def reference(self) -> float:
        """Accuracy without privacy, a share."""
        return float(self._known.reference.mean())

    @property
    def floor(self) -> float:
        """Accuracy of the larger class, a share."""
        return float(self._known.floor.mean())

    def learned(self, epsilon: float) -> Document:
        """Accuracy lost there, and what can be learned above the larger class."""
        found = learned(self.reference - 0.01 * self.lost_at(epsilon), self.reference, self.floor)
        return found | {"source": {"drawn": self.drawn}}

    def lost_at(self, epsilon: float) -> float:
        """Accuracy loss there on the smoothed curve, in points; nan where nothing is released."""
        return self._known.lost_at(epsilon)

    def lost_limits(self, scope: Scope) -> tuple[float, float]:
        """95% limits of the accuracy loss at the slider's epsilon, in points."""
        low, high = (self._known.between(self.epsilon, limit) for limit in self._known.band(scope))
        return low, high

    @property
    def plan(self) -> Plan | None:
        """Plan of one release at the slider's epsilon; None where nothing is released."""
        asked = self.answers.get("attack_success")
        return cast(AttackSuccessQuestion, asked.question).plan if asked else None

    @property
    def attack(self) -> Attack | None:
        """Our own attack on that release so far; None before the first runs, and where nothing is released."""
        return self._snapshot("attack_success")

    @property
    def attack_success(self) -> AttackSuccess | None:
        return self.attack.success if self.attack else None

    @property
    def needed(self) -> Answer | None:
        """Sample size at which the slider's epsilon is affordable; None before that is known."""
        found: LossBySampleSize | None = self._snapshot("needed")
        return found.answer() if found is not None and self.answers["needed"].complete else None

    @property
    def equivalent(self) -> EquivalentSampleSize | None:
        return self._snapshot("equivalent")

    def _snapshot(self, name: str) -> Any:
        """Answer so far; None where the question cannot be asked."""
        return self.answers[name].snapshot if name in self.answers else None

    @cached_property
    def sizes(self) -> tuple[Answer, ...]:
        """Equivalent sample sizes along epsilon."""
        return self.equivalent.answers(self.error) if self.equivalent else ()

    @property
    def equivalent_here(self) -> Answer | None:
        """The same at the slider's epsilon."""
        if self.equivalent is None:
            return None
        at = np.flatnonzero(self.equivalent.curve.epsilons == self.epsilon)
        return self.sizes[at[0]] if len(at) else None
