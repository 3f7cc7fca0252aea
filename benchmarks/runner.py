"""Rivals on the same work, timed in turns in one process, and the row that each leaves."""

import contextlib
import dataclasses as dc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.guests import Invitation, guest

Accuracy = Mapping[str, float]
HEAD = "| work | who | CPU | wall | ratio | accuracy |\n|---|---|---|---|---|---|"


@dc.dataclass(frozen=True)
class Rival:
    """Implementation of the work that is compared.

    run: does it once and returns the answer; an `Invitation` has it done by another Python; a string says why it is not
    run. judge: figures of an answer. times: `run` is this part of the work, its seconds are multiplied. note: what else
    to know.
    """

    who: str
    run: Callable[[], Any] | Invitation | str
    judge: Callable[[Any], Accuracy] = lambda answer: {}
    times: float = 1.0
    note: str = ""


@dc.dataclass(frozen=True)
class Work:
    """A task in words and numbers, and its competitors: ours first, whose time is the base of ratios."""

    words: str
    sizes: Mapping[str, float]
    rivals: Sequence[Rival]


@dc.dataclass(frozen=True)
class Row:
    """One rival on one piece of work.

    cpu, wall: medians in seconds, None where it did not run. ratio: its CPU seconds over ours, None for ours. accuracy:
    figures of what came out. note: what else to know, such as why it did not run.
    """

    benchmark: str
    work: str
    sizes: dict[str, float]
    who: str
    cpu: float | None
    wall: float | None
    ratio: float | None
    accuracy: dict[str, float]
    note: str

    def __str__(self) -> str:
        """A line of a Markdown table."""
        sizes = ", ".join(f"{name} {value:,g}" for name, value in self.sizes.items())
        ratio = "" if self.ratio is None else f"{self.ratio:.3g}"
        figures = [*(f"{name} {value:.2g}" for name, value in self.accuracy.items()), self.note]
        work = f"{self.benchmark}: {self.work} ({sizes})"
        cells = (work, self.who, _seconds(self.cpu), _seconds(self.wall), ratio, ", ".join(figures).strip(", "))
        return f"| {' | '.join(cells)} |"


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f} s" if value >= 1.0 else f"{1e3 * value:.3g} ms"


def timed(run: Callable[[], Any]) -> tuple[float, float, Any]:
    """CPU seconds of the process and wall seconds of one call, and what it returned."""
    cpu, wall = time.process_time(), time.perf_counter()
    answer = run()
    return time.process_time() - cpu, time.perf_counter() - wall, answer


def compete(benchmark: str, work: Work, rounds: int, *, interpreters: Mapping[str, str | None]) -> list[Row]:
    """Let all rivals take turns: one warm-up each, whose answer is judged, then `rounds` timed turns; medians count.

    interpreters: of each package's guest, None if none is given.
    """
    seconds: list[list[tuple[float, float]]] = [[] for _ in work.rivals]
    figures: list[dict[str, float]] = [{} for _ in work.rivals]
    with contextlib.ExitStack() as guests:
        turns = [_turn_of(rival, interpreters, guests) for rival in work.rivals]
        for number in range(rounds + 1):
            for k, (rival, turn) in enumerate(zip(work.rivals, turns, strict=True)):
                if isinstance(turn, str):
                    continue
                cpu, wall, answer = turn()
                if number > 0:
                    seconds[k].append((cpu * rival.times, wall * rival.times))
                figures[k] = figures[k] or {name: float(value) for name, value in rival.judge(answer).items()}
    ours = statistics.median(cpu for cpu, _ in seconds[0])
    rows: list[Row] = []
    for rival, turn, taken, accuracy in zip(work.rivals, turns, seconds, figures, strict=True):
        note = f"not run: {turn}" if isinstance(turn, str) else rival.note
        what = benchmark, work.words, dict(work.sizes), rival.who
        row = Row(*what, None, None, None, accuracy, note)
        if taken:
            cpu, wall = (statistics.median(column) for column in zip(*taken, strict=True))
            row = dc.replace(row, cpu=cpu, wall=wall, ratio=cpu / ours if rows else None)
        rows.append(row)
    return rows


def _turn_of(
    rival: Rival, interpreters: Mapping[str, str | None], guests: contextlib.ExitStack
) -> Callable[[], tuple[float, float, Any]] | str:
    """Result of doing the work once, as `timed` returns it, or the reason why it is not done."""
    run = rival.run
    if isinstance(run, Invitation):
        python = interpreters.get(run.package)
        return guests.enter_context(guest(python, run)) if python else f"--{run.package} PYTHON"
    return run if isinstance(run, str) else lambda: timed(run)
