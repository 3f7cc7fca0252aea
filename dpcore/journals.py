"""What a long run has computed so far, on disk as it comes, so that a killed run can be taken up again.

A journal is a text file of JSON lines. The first names the experiment and the version that computes it, each further
line holds the rows of one cell. Whatever kills the run costs at most the line that was being written.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from . import __version__
from .experiment import Experiment

_KIND = "dpcore run"


class Journal:
    """The cells of one experiment that are done, in a file; a context manager.

    On leaving, a file without any cell is deleted; `close(delete=True)` deletes it with its cells.

    path: the file. resume: go on with the cells in it, where there is one; without it a file that is there is refused,
    because somebody may still want its cells. known: rows of each cell that is done, by its place among
    `experiment.cells()`.

    Raises ValueError for a file that is no journal of this experiment and version, or that must not be overwritten.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp(), "table.csv.unfinished")
    >>> with Journal(place, Experiment(n=100)) as journal:
    ...     journal.keep(0, [{"mean": 0.5}])
    >>> with Journal(place, Experiment(n=100), resume=True) as journal:
    ...     journal.known
    {0: [{'mean': 0.5}]}
    """

    def __init__(self, path: Path, experiment: Experiment, *, resume: bool = False) -> None:
        self.path = path
        self.known: dict[int, list[dict[str, Any]]] = {}
        heading = {"kind": _KIND, "version": __version__, "experiment": json.loads(experiment.to_json())}
        whole = self._read(heading, len(list(experiment.cells()))) if resume and path.exists() else 0
        if not resume and path.exists():
            raise ValueError(
                f"{path.name} holds what an unfinished run has computed: go on with it by --resume, or delete it"
            )
        self._file: IO[bytes] = path.open("r+b" if whole else "wb")
        self._file.truncate(whole)
        self._file.seek(whole)
        if not whole:
            self._write(heading)

    def _read(self, heading: dict[str, Any], cells: int) -> int:
        """Take over the cells; the length of the whole lines, 0 where a kill left not even the first one whole."""
        text = self.path.read_bytes()
        whole = text.rfind(b"\n") + 1
        if not whole and (b"\n" not in text) and text == _line(heading)[: len(text)]:
            return 0
        try:
            first, *lines = [json.loads(line) for line in text[:whole].splitlines()]
            found = first["kind"], first["version"], first["experiment"]
            self.known = {line["cell"]: line["rows"] for line in lines}
        except (ValueError, TypeError, KeyError):
            raise ValueError(f"{self.path.name} must be what an unfinished run left, got something else") from None
        if found[0] != _KIND or not all(place in range(cells) for place in self.known):
            raise ValueError(f"{self.path.name} must be what an unfinished run left, got something else")
        if found[2] != heading["experiment"]:
            raise ValueError(f"{self.path.name} must belong to this experiment, got the cells of another one")
        if found[1] != __version__:
            raise ValueError(f"{self.path.name} must be of version {__version__}, got cells of {found[1]}")
        return whole

    def keep(self, place: int, rows: list[dict[str, Any]]) -> None:
        """Write the rows of a cell; they are on the disk when this returns."""
        self._write({"cell": place, "rows": rows})
        self.known[place] = rows

    def _write(self, content: dict[str, Any]) -> None:
        try:
            self._file.write(_line(content))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            error.filename = str(self.path)  # the system names no file
            raise

    def close(self, *, delete: bool = False) -> None:
        with suppress(OSError):  # what a full disk refuses once more; every cell that is kept is written already
            self._file.close()
        if delete or not self.known:
            self.path.unlink(missing_ok=True)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _line(content: dict[str, Any]) -> bytes:
    """One line; numbers come back as they were, numpy's too."""
    return json.dumps(content, default=lambda number: number.item()).encode() + b"\n"
