"""Cells of a run that is not finished yet: rows of a CSV file, appended as they come, so that a run can be resumed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from .._version import __version__
from .experiment import Experiment

_TEXTS = {"label": "", "accounting": ""}  # a file has no word for an empty text


def append_cell(path: Path, experiment: Experiment, place: int, rows: list[dict[str, Any]]) -> None:
    """Append the table's rows of a cell, with its place among `experiment.cells()` and what they belong to."""
    import pandas as pd

    frame = pd.DataFrame([{"run": _run(experiment), "cell": place, **row} for row in rows])
    frame.to_csv(path, mode="a", header=not path.exists(), index=False)


def finished_cells(path: Path, experiment: Experiment) -> dict[int, list[dict[str, Any]]]:
    """Rows of each cell in a file of `append_cell`, by its place, but for the last one, which may have been cut short;
    the file is left without it.

    Raises ValueError for another file, and for one of another experiment or version.
    """
    import pandas as pd

    refusal = f"{path.name} must be the file of an unfinished run of this experiment by dpcore {__version__}"
    try:
        text = path.read_text(encoding="utf-8")
        whole_lines = io.StringIO(text[: text.rfind("\n") + 1])
        frame = pd.read_csv(whole_lines, dtype={"run": str})
    except ValueError as error:
        raise ValueError(f"{refusal}, got a file that cannot be read ({error}): delete it") from None
    if frame.columns[:2].to_list() != ["run", "cell"] or set(frame.run) - {_run(experiment)}:
        raise ValueError(f"{refusal}, got another one: delete it, or resume it with its own")
    frame = frame[~frame.cell.isin(frame.cell[-1:])].drop_duplicates(["cell", "x", "metric"])
    part = path.with_name(f"{path.name}.part")
    frame.to_csv(part, index=False)
    part.replace(path)
    frame = frame.astype(object).where(frame.notna(), None).fillna(_TEXTS)
    return {int(place): rows.drop(columns=["run", "cell"]).to_dict("records") for place, rows in frame.groupby("cell")}


def _run(experiment: Experiment) -> str:
    return f"{experiment.digest()} {__version__}"
