"""Tables that are computed in the background, for pictures that cost more than one move of a slider may.

One bounded pool of threads serves the whole process, and its sessions take turns (`dpcore.turns`). Whoever wants the
same experiment shares one computation, which stops when the last of them leaves or falls silent. The noise of a
repetition depends on nothing but its number, so a table of few repetitions is the beginning of the full one, and the
picture deforms without a jump.
"""

from __future__ import annotations

import dataclasses as dc
import logging
import math
import threading
import time
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from . import data as records
from .cells import is_cached, never
from .checks import integer
from .experiment import Experiment, run
from .turns import BACKGROUND

if TYPE_CHECKING:
    import pandas as pd

# What a full table may be expected to cost if it is to be computed without a coarse one on the screen first.
AT_ONCE_SECONDS = 0.15
# A coarse table must be cheaper than the full one by this factor to be worth showing first.
GAIN = 2.0
# How long a watcher may be silent; a closed browser tab says no goodbye, a busy server delays its pages.
PATIENCE_SECONDS = 3.0

_RUNNING: dict[str, Refinement] = {}
_LOCK = threading.Lock()
# Seconds of the last table of each shape.
_TOOK: dict[Experiment, float] = {}
_MOST_SHAPES = 1000


def first_table(experiment: Experiment, first: int) -> tuple[pd.DataFrame, bool]:
    """The table to show at once, and whether it is the full one.

    It is full where all of it is in the cache; where the last full table of this shape (whatever seed, epsilon, delta
    and lam) took at most AT_ONCE_SECONDS or GAIN times a coarse one; and where `first` repetitions (>= 2) took so
    little that in proportion the full number stays within AT_ONCE_SECONDS. Else it has `first` repetitions.

    >>> from dpcore import Axis
    >>> few = Experiment(source="synthetic", n=50, sweep=Axis("epsilon", (1.0,)), repetitions=10)
    >>> table, full = first_table(few, first=10)
    >>> full, set(table.repetitions)
    (True, {10})
    """
    first = integer("first", first, at_least=2)
    if first >= experiment.repetitions or all(map(is_cached, experiment.cells())):
        return run(experiment), True
    small = dc.replace(experiment, repetitions=first)
    last = _TOOK.get(_shape(experiment))
    if last is not None and last <= max(AT_ONCE_SECONDS, GAIN * _TOOK.get(_shape(small), 0.0)):
        return _timed(experiment)[0], True
    coarse, seconds = _timed(small)
    if seconds * experiment.repetitions / first <= AT_ONCE_SECONDS:
        return _timed(experiment)[0], True
    return coarse, False


def _shape(experiment: Experiment) -> Experiment:
    """What the time of a table depends on most."""
    return dc.replace(experiment, seed=0, epsilon=1.0, delta=0.0, lam="auto")


def _timed(experiment: Experiment, cancelled: Callable[[], bool] = never) -> tuple[pd.DataFrame, float]:
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


def join(experiment: Experiment, watcher: Hashable) -> Refinement:
    """The running computation of an experiment, or a new one, watched by `watcher` from now on."""
    digest = experiment.digest()
    with _LOCK:
        running = _RUNNING.get(digest)
        if running is not None and not running.abandoned():
            running.watch(watcher)
            return running
        fresh = _RUNNING[digest] = Refinement(experiment)
        fresh.watch(watcher)
        BACKGROUND.submit(watcher, fresh.compute)
        return fresh


class Watched:
    """Work in the background that goes on while somebody waits for it."""

    def __init__(self) -> None:
        self._finished = threading.Event()
        self._heard: dict[Hashable, float] = {}

    @property
    def finished(self) -> bool:
        return self._finished.is_set()

    @property
    def news(self) -> int:
        """Grows with all that there is to show."""
        return int(self.finished)

    def watch(self, watcher: Hashable, longer: float = 0.0) -> None:
        """Say that `watcher` still waits; to be repeated within PATIENCE_SECONDS, or so many seconds longer."""
        self._heard[watcher] = time.monotonic() + longer

    def wait(self, seconds: float) -> None:
        """Until all is there, so many seconds at most."""
        self._finished.wait(seconds)

    def leave(self, watcher: Hashable) -> None:
        """Say that `watcher` no longer waits."""
        self._heard.pop(watcher, None)

    def abandoned(self) -> bool:
        """Whether nobody waits any more."""
        return all(time.monotonic() - heard > PATIENCE_SECONDS for heard in list(self._heard.values()))


class Refinement(Watched):
    """The computation of one experiment's table, for all who watch it.

    table: the full table once it is there; failed: whether an error ended the computation (it is in the log). Neither,
    though finished, means that nobody watched: `join` again.
    """

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        self.experiment = experiment
        self.table: pd.DataFrame | None = None
        self.failed = False

    def compute(self) -> None:
        """Run the experiment, unless and until it is abandoned."""
        try:
            table, _ = _timed(self.experiment, self.abandoned)
            if not (table.status == "cancelled").any():
                self.table = table
        except Exception as error:
            self.failed = True
            _note(self.experiment, error)
        finally:
            with _LOCK:
                if _RUNNING.get(self.experiment.digest()) is self:
                    del _RUNNING[self.experiment.digest()]
            self._finished.set()


def _note(experiment: Experiment, error: Exception) -> None:
    """Log an error: of private records its kind only, since its words may quote them; nothing when they are gone."""
    log = logging.getLogger(__name__)
    if not records.is_private(experiment.source):
        log.error("the table of %s could not be computed", experiment.to_json(), exc_info=error)
    elif not records.is_gone(experiment.source):
        log.error("a table of private records could not be computed: %s", type(error).__name__)
