"""Tables that arrive in two steps: few releases at once, all of them while the reader looks.

The noise of a repetition depends only on its number, so a table of few repetitions is the beginning of the full one,
and the chart changes without a jump.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Iterator
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING

import streamlit as st

from dpcore import Experiment, data, run
from dpcore.core.cache import SharedCache
from dpcore.core.cancel import Cancelled, never
from dpcore.core.validation import integer
from dpcore.experiments.cell import is_cached
from pages.background.jobs import Job, join
from pages.background.polling import IN_THE_BACKGROUND, follow, watcher

if TYPE_CHECKING:
    import pandas as pd

# Longest expected time of a full table that is computed without a coarse one on the screen first.
AT_ONCE_SECONDS = 0.15
# A coarse table must be cheaper than the full one by this factor to be worth showing first.
GAIN = 2.0

# Tables of cells that are in the cache: to put one together takes as long as all of Streamlit's part in a move.
_TABLES: SharedCache[pd.DataFrame] = SharedCache(500)
# Seconds of the last table of each shape.
_TOOK: dict[Experiment, float] = {}
_MOST_SHAPES = 1000


@dc.dataclass(frozen=True)
class TableQuestion:
    """Question for the table of an experiment."""

    experiment: Experiment

    @property
    def source(self) -> str:
        return self.experiment.problem.source

    def snapshots(self, cancelled: Cancelled = never) -> Iterator[pd.DataFrame]:
        """Complete table; CancelledError as soon as `cancelled` returns True."""
        table, _ = _timed(self.experiment, cancelled)
        if (table.status == "cancelled").any():
            raise CancelledError
        yield table


def refined(experiment: Experiment, *, first: int = 10, key: str = "refined") -> tuple[pd.DataFrame, str | None]:
    """The experiment's table, and a sentence to show beside it while it is not the full one (else None).

    A table that is cached or cheap is full at once. Else it has `first` repetitions, the others are computed in the
    background, and the page runs again when they are there. Asking for another experiment under the same key gives
    the old one up. Not to be called in the sidebar or in a fragment.
    """
    name, question = f"{key}{IN_THE_BACKGROUND}", TableQuestion(experiment)
    held: Job | None = st.session_state.get(name)
    if held is not None and held.question != question:
        held.leave(watcher())
        del st.session_state[name]
        held = None
    if held is not None and held.complete:
        return held.snapshot.copy(), None

    table, full = first_table(experiment, first)
    if full:
        return table, None
    so_far = f"{first} of {experiment.repetitions} releases"
    if held is not None and held.failed:
        return table, f"{so_far}; an error, noted in the server's log, keeps the others away."
    st.session_state[name] = join(question, watcher())
    follow(name)
    return table, f"{so_far}, refining …"


def of_cached_cells(experiment: Experiment) -> pd.DataFrame | None:
    """The experiment's table if all of its cells are in the cache, put together once for all visitors; else None."""
    if not all(map(is_cached, experiment.cells())):
        return None
    kept = data.kept_with(experiment.problem.source, _TABLES)
    return kept.get(experiment, lambda: run(experiment)).copy()


def first_table(experiment: Experiment, first: int) -> tuple[pd.DataFrame, bool]:
    """The table to show at once, and whether it is the full one.

    It is full where all of it is in the cache; where the last full table of this shape (whatever seed, epsilon, delta
    and lam) took at most AT_ONCE_SECONDS or GAIN times a coarse one; and where `first` repetitions (>= 2) took so
    little that in proportion the full number stays within AT_ONCE_SECONDS. Else it has `first` repetitions.

    >>> from dpcore import Axis, Problem
    >>> few = Experiment(Problem("synthetic", n=50), sweep=Axis("epsilon", (1.0,)), repetitions=10)
    >>> table, full = first_table(few, first=10)
    >>> full, set(table.repetitions)
    (True, {10})
    """
    first = integer("first", first, at_least=2)
    known = of_cached_cells(experiment)
    if known is not None or first >= experiment.repetitions:
        return run(experiment) if known is None else known, True
    small = dc.replace(experiment, repetitions=first)
    last = _TOOK.get(_shape(experiment))
    if last is not None and last <= max(AT_ONCE_SECONDS, GAIN * _TOOK.get(_shape(small), 0.0)):
        return _timed(experiment)[0], True
    coarse, seconds = _timed(small)
    if seconds * experiment.repetitions / first <= AT_ONCE_SECONDS:
        return _timed(experiment)[0], True
    return coarse, False


def _shape(experiment: Experiment) -> Experiment:
    """Experiment reduced to the facts that determine the time of its table."""
    problem = dc.replace(experiment.problem, seed=0, delta=0.0, lam="auto")
    return dc.replace(experiment, problem=problem, epsilon=1.0)


def _timed(experiment: Experiment, cancelled: Cancelled = never) -> tuple[pd.DataFrame, float]:
    """A table and the seconds of its computation, whenever that was; inf where cells have no numbers."""
    table = run(experiment, cancelled=cancelled)
    if table.status.isin(["unconverged", "cancelled"]).any():
        return table, math.inf
    points = table.drop_duplicates(["mechanism", "accounting", "rule", "x"])  # a point has a row for each metric
    seconds = float(points.seconds.sum())
    if len(_TOOK) >= _MOST_SHAPES:
        _TOOK.clear()  # which costs a few coarse pictures
    _TOOK[_shape(experiment)] = seconds
    return table, seconds
