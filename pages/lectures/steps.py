"""What a lecture is made of."""

import dataclasses as dc
from collections.abc import Mapping
from typing import Any


@dc.dataclass(frozen=True)
class Question:
    """What the room predicts before the next step shows it. options: short; answer: place of the right one."""

    options: tuple[str, ...]
    answer: int


@dc.dataclass(frozen=True)
class Step:
    """One picture and what is said about it.

    words: at most 25; a number is not typed but a field, {control} for a value in this step's state, {next_control} in
    the next one's. shows: key of the chart or block on the screen, none while every picture would give the answer away.
    aside: the chart stands beside the page's main one, so that its own caption is read and not the page's headline.
    state: control -> value; what is not named stands at its default. kept: controls that stay, at most 3. question:
    answered by the next step.
    """

    words: str
    shows: str = ""
    state: Mapping[str, Any] = dc.field(default_factory=dict)
    kept: tuple[str, ...] = ()
    aside: bool = False
    question: Question | None = None


@dc.dataclass(frozen=True)
class Story:
    """A lecture on one page. defaults: all controls that the page has, also those that only some states draw."""

    page: str
    title: str
    defaults: Mapping[str, Any]
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        """In the address."""
        return self.page.lower()

    def state(self, number: int) -> dict[str, Any]:
        """Every control's value on entering a step; steps count from 1."""
        return {**self.defaults, **self.steps[number - 1].state}

    def words(self, number: int) -> str:
        """What a step says, with its numbers filled in."""
        upcoming = self.state(min(number + 1, len(self.steps)))
        fields = self.state(number) | {f"next_{key}": value for key, value in upcoming.items()}
        return self.steps[number - 1].words.format(**fields)
