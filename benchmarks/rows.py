"""Rivals on the same work, timed in turns in one process, and the row that each leaves."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.clock import median, timed
from benchmarks.guests import Guest
from benchmarks.targets import TARGETS

Accuracy = Mapping[str, float]


@dc.dataclass(frozen=True)
class Row:
    """One rival on one piece of work.

    work, sizes: what is done; sizes has the numbers. who: the rival; `against` is whom its ratio is taken over. cpu,
    wall: medians in seconds, None where it did not run. ratio: its CPU seconds over those of `against`, so above 1 is
    slower. accuracy: figures of what came out. targets: keys of `TARGETS`. judged: the sizes are the ones that targets
    are for. note: what else to know, such as why it did not run.
    """

    benchmark: str
    work: str
    sizes: dict[str, float]
    who: str
    against: str
    cpu: float | None
    wall: float | None
    ratio: float | None
    accuracy: dict[str, float]
    targets: tuple[str, ...]
    judged: bool
    note: str

    @property
    def met(self) -> bool | None:
        """Whether all targets are met; None where there are none, or nothing was timed at the sizes they are for."""
        if not self.targets or not self.judged or self.cpu is None:
            return None
        figures: dict[str, Any] = {"cpu": self.cpu, "wall": self.wall, "ratio": self.ratio} | self.accuracy
        return all(TARGETS[key].met(figures[TARGETS[key].figure]) for key in self.targets)

    def facts(self) -> dict[str, Any]:
        """For JSON: all fields, the targets in words and whether they are met."""
        said = {"targets": {key: str(TARGETS[key]) for key in self.targets}, "met": self.met}
        return dc.asdict(self) | said


@dc.dataclass(frozen=True)
class Rival:
    """Somebody who can do the work.

    run: does it once and returns the answer; a `Guest` runs it in its own environment; a string says why nobody does.
    judge: figures of an answer. targets: see `Row`. times: `run` is this part of the work, its seconds are multiplied.
    once: too slow to be warmed up and repeated.
    """

    who: str
    run: Callable[[], Any] | Guest | str
    judge: Callable[[Any], Accuracy] = lambda answer: {}
    targets: tuple[str, ...] = ()
    times: float = 1.0
    once: bool = False
    note: str = ""


@dc.dataclass(frozen=True)
class Work:
    """What is to be done: the benchmark's name, words, sizes, rounds that are timed, and whether targets apply."""

    benchmark: str
    words: str
    sizes: dict[str, float]
    rounds: int
    judged: bool


def turn(run: Callable[[], Any] | Guest) -> tuple[tuple[float, float], Any]:
    """CPU and wall seconds of one run, and its answer."""
    if isinstance(run, Guest):
        cpu, wall, answer = run.turn()
        return (cpu, wall), answer
    kept: list[Any] = []
    return timed(lambda: kept.append(run())), kept[0]


def compete(work: Work, ours: Rival, peers: Sequence[Rival] = ()) -> list[Row]:
    """All take turns: one warm-up each, whose answer is judged, then `rounds` timed turns; medians count."""
    rivals = [rival for rival in (ours, *peers) if not isinstance(rival.run, str)]
    times: list[list[tuple[float, float]]] = [[] for _ in rivals]
    figures: list[dict[str, float]] = [{} for _ in rivals]
    for number in range(work.rounds + 1):
        for k, rival in enumerate(rivals):
            if rival.once and number != 1:
                continue
            assert not isinstance(rival.run, str)
            (cpu, wall), answer = turn(rival.run)
            if number > 0:
                times[k].append((cpu * rival.times, wall * rival.times))
            if not figures[k]:
                figures[k] = {name: float(value) for name, value in rival.judge(answer).items()}
    medians = [median(taken) for taken in times]
    rows = [
        _row(work, rival, ours.who, cpu, wall, cpu / medians[0][0], accuracy)
        for rival, (cpu, wall), accuracy in zip(rivals, medians, figures, strict=True)
    ]
    absent = [rival for rival in (ours, *peers) if isinstance(rival.run, str)]
    return rows + [_row(work, rival, ours.who, None, None, None, {}) for rival in absent]


def _row(
    work: Work,
    rival: Rival,
    against: str,
    cpu: float | None,
    wall: float | None,
    ratio: float | None,
    accuracy: dict[str, float],
) -> Row:
    note = f"not run: {rival.run}" if isinstance(rival.run, str) else rival.note
    return Row(
        work.benchmark, work.words, work.sizes, rival.who, against, cpu, wall, ratio, accuracy, rival.targets,
        work.judged, note,
    )  # fmt: skip
