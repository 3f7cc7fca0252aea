"""Tables that arrive in two steps: few releases at once, all of them while the reader looks.

The noise of a repetition depends only on its number, so a table of few repetitions is the beginning of the full one,
and the chart changes without a jump.
"""

from __future__ import annotations

import dataclasses as dc
import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from dpcore import Experiment, data, run
from dpcore.core.cache import SharedCache
from dpcore.core.validation import integer
from dpcore.experiments.cell import is_cached
from dpcore.mechanisms import Mechanism
from pages.background.asking import ask, still_to_come

if TYPE_CHECKING:
    import pandas as pd

# Longest expected time of a full table that is computed without a coarse one on the screen first.
AT_ONCE_SECONDS = 0.15

# Tables of cells that are in the cache: to put one together takes as long as all of Streamlit's part in a move.
_TABLES: SharedCache[pd.DataFrame] = SharedCache(500)


@dc.dataclass(frozen=True)
class TableQuestion:
    """Question for the table of an experiment. first: repetitions of the table that comes first, >= 2."""

    experiment: Experiment
    first: int = dc.field(default=10, compare=False)

    def __post_init__(self) -> None:
        integer("first", self.first, at_least=2)

    @property
    def source(self) -> str:
        return self.experiment.problem.source

    def snapshots(self) -> Iterator[pd.DataFrame]:
        """A table of the first repetitions and then the full one; the latter alone where it is there, or cheap.

        >>> from dpcore import Axis, Problem
        >>> few = Experiment(Problem("synthetic", n=50), sweep=Axis("epsilon", (1.0,)), repetitions=10)
        >>> [set(table.repetitions) for table in TableQuestion(few).snapshots()]
        [{10}]
        """
        wanted = self.experiment.repetitions
        if self.first < wanted and of_cached_cells(self.experiment) is None:
            begun = time.perf_counter()
            coarse = run(dc.replace(self.experiment, repetitions=self.first))
            if (time.perf_counter() - begun) * wanted / self.first > AT_ONCE_SECONDS:
                yield coarse
                for mechanism in cast("tuple[Mechanism, ...]", self.experiment.mechanisms):
                    proved = mechanism.key if mechanism.key == self.experiment.proved else ""
                    run(dc.replace(self.experiment, mechanisms=(mechanism,), proved=proved))  # its cells are kept
                    yield coarse
        found = of_cached_cells(self.experiment)
        yield run(self.experiment) if found is None else found

    def share_done(self, table: pd.DataFrame) -> float:
        return min(1.0, table.repetitions.iloc[0] / self.experiment.repetitions)


def refined(experiment: Experiment, *, first: int = 10) -> tuple[pd.DataFrame, str | None]:
    """The experiment's table, and a sentence to show beside it while it is not the full one (else None).

    A table that is there or cheap is full at once. Else it has `first` repetitions, and the page runs again with the
    full one. Not to be called in a fragment.
    """
    answer = ask(TableQuestion(experiment, first), math.inf)
    if answer.snapshot is None:
        raise RuntimeError(f"no table of {experiment}: the log says why")
    return answer.snapshot.copy(), still_to_come(answer, f"{first} of {experiment.repetitions} releases")


def of_cached_cells(experiment: Experiment) -> pd.DataFrame | None:
    """The experiment's table if all of its cells are in the cache, put together once for all visitors; else None."""
    if not all(map(is_cached, experiment.cells())):
        return None
    kept = data.kept_with(experiment.problem.source, _TABLES)
    return kept.get(experiment, lambda: run(experiment)).copy()
