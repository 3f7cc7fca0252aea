"""Computation of an experiment's table; any executor may compute its cells, in any order."""

from __future__ import annotations

import functools
import queue
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from ..core.cancel import never
from ..core.privacy import Unconverged
from .cell import Cell, blank_rows, run_cell
from .experiment import Experiment

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    *("mechanism", "label", "accounting", "axis", "x", "metric", "repetitions", "mean", "exact", "se"),
    *("q10", "q50", "q90", "noiseless", "reference", "reference_gap", "nothing_learned"),
    *("bound", "bound_form", "bound_source", "lower_bound", "lower_source"),
    *("proved_low", "proved_high", "proved_se"),
    *("epsilon", "delta", "spent_epsilon", "spent_delta"),
    *("n", "test_records", "p", "lam", "steps", "batch", "scale", "seconds", "status", "reason"),
)


# Time that a run waits for its workers before it asks again if it is cancelled.
_PATIENCE_SECONDS = 0.05


def run(
    experiment: Experiment,
    executor: Executor | None = None,
    cancelled: Callable[[], bool] | None = None,
    *,
    known: Mapping[int, list[dict[str, Any]]] | None = None,
    on_cell: Callable[[int, list[dict[str, Any]]], None] | None = None,
) -> pd.DataFrame:
    """Table of an experiment: one row per point of the sweep, mechanism and metric (columns: `COLUMNS`).

    executor: any concurrent.futures executor, whose workers compute the cells; None computes here. cancelled: asked by
    this thread between cells, and between the solves of a cell that is computed here or in threads; once it returns
    True, finished points stay in the table and in the cache, and every other point becomes a row with status
    "cancelled" (a cell that another process has begun is finished and kept). A mechanism that does not apply gives a
    row with status "not applicable" and its reason; a cell whose solver cannot certify its accuracy gives rows with
    status "unconverged".

    on_cell: called for each computed cell, as it is finished, with its place among `experiment.cells()` and its rows;
    known: such rows of an earlier run, which are not computed again (`dpcore.experiments.unfinished` keeps them).

    Raises RuntimeError if the executor drops a cell that was not cancelled.

    >>> from dpcore import Axis, Problem
    >>> table = run(Experiment(Problem("synthetic", n=200), sweep=Axis("epsilon", (1.0,)), repetitions=2))
    >>> list(table.metric)
    ['accuracy', 'excess_empirical_risk']
    """
    rows = dict(known or {})
    wanted = {place: cell for place, cell in enumerate(experiment.cells()) if place not in rows}
    axis = experiment.sweep.name
    with closing(_computed(wanted, executor, cancelled)) as arriving:
        for place, points in arriving:
            rows[place] = [_row(axis, wanted[place], point) for point in points]
            if on_cell is not None and points[0]["status"] != "cancelled":
                on_cell(place, [dict(row) for row in rows[place]])
    return _table([row for place in sorted(rows) for row in rows[place]])


def _row(axis: str, cell: Cell, point: dict[str, Any]) -> dict[str, Any]:
    x = point["epsilon"] if axis == "epsilon" else getattr(cell.problem, axis)
    return {column: {"axis": axis, "x": x, **point}.get(column) for column in COLUMNS}


def _table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Table with words as plain objects: for small tables pandas is three times as fast with them as with strings."""
    import pandas as pd

    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    return pd.DataFrame(
        {
            name: pd.Series(values, dtype=object) if any(isinstance(value, str) for value in values) else values
            for name, values in columns.items()
        }
    )


def _computed(
    cells: dict[int, Cell], executor: Executor | None, cancelled: Callable[[], bool] | None
) -> Generator[tuple[int, list[dict[str, Any]]]]:
    """(place, points) of each cell as it is finished. At any exit, cells that no worker has begun are cancelled."""
    stop = threading.Event()

    def asked() -> bool:
        if cancelled is not None and not stop.is_set() and cancelled():
            stop.set()
        return stop.is_set()

    if executor is None:
        for place, cell in cells.items():
            yield place, _outcome(cell, functools.partial(run_cell, cell, asked), stop)
        return

    told = stop.is_set if isinstance(executor, ThreadPoolExecutor) else never  # an event stays in its process
    places = {executor.submit(run_cell, cell, told): place for place, cell in cells.items()}
    arrived: queue.SimpleQueue[Future[list[dict[str, Any]]]] = queue.SimpleQueue()
    try:
        for future in places:
            future.add_done_callback(arrived.put)
        for _ in places:
            future = _next(arrived, places, asked)
            yield places[future], _outcome(cells[places[future]], future.result, stop)
    finally:
        stop.set()
        for future in places:
            future.cancel()


def _next(arrived: queue.SimpleQueue[Any], futures: Iterable[Any], asked: Callable[[], bool]) -> Any:
    """Next future that is finished, or was cancelled on request."""
    while True:
        if asked():
            for pending in futures:
                pending.cancel()
        with suppress(queue.Empty):
            return arrived.get(timeout=_PATIENCE_SECONDS)


def _outcome(cell: Cell, compute: Callable[[], list[dict[str, Any]]], stop: threading.Event) -> list[dict[str, Any]]:
    """Points of a cell, or rows with the reason why it has none: one cell must not lose the others."""
    try:
        return compute()
    except CancelledError:
        if not stop.is_set():
            raise RuntimeError("the executor dropped a cell that was not cancelled; run again") from None
        return blank_rows(cell, "cancelled", "the run was cancelled before this point was computed")
    except Unconverged as error:
        return blank_rows(cell, "unconverged", str(error))
