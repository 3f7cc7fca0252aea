"""Results of a long run on disk as they come, so that a killed run can be resumed.

A journal is a text file of JSON lines. The first names the experiment and the code that computes it, each further line
holds the rows of one cell with their number and digest. A run that is killed loses at most the line that was being
written; cells from the first changed line on are computed again.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from .._version import __version__
from .experiment import Experiment
from .lines import as_line, cell_line, read_cell, read_object, sources

try:
    import fcntl
except ImportError:  # Windows, where two runs to one file are not detected
    fcntl = None  # type: ignore[assignment]

_KIND = "dpcore run"


class Journal:
    """Finished cells of one experiment, in a file that no other run can write to; a context manager.

    On leaving, a file without any cell is deleted; `close(delete=True)` deletes it with its cells.

    path: the file. resume: reuse the cells of an existing file; without it an existing file is refused, because its
    cells may still be wanted. known: rows of each finished cell, by its place among `experiment.cells()`. discarded:
    number of lines that were dropped, from the first damaged one on.

    Raises ValueError for a file that is no journal of this experiment and code, that another run is writing, or that
    must not be overwritten.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp(), "table.csv.unfinished")
    >>> from dpcore import Problem
    >>> with Journal(place, Experiment(Problem(n=100))) as journal:
    ...     journal.keep(0, [{"mean": 0.5}])
    >>> with Journal(place, Experiment(Problem(n=100)), resume=True) as journal:
    ...     journal.known
    {0: [{'mean': 0.5}]}
    """

    def __init__(self, path: Path, experiment: Experiment, *, resume: bool = False) -> None:
        self.path = path
        self.known: dict[int, list[dict[str, Any]]] = {}
        self.discarded = 0
        if path.exists() and not path.is_file():  # a pipe would wait for its other end
            raise ValueError(f"{path.name} must be a file or not exist, got a folder, a pipe or a device")
        if path.exists() and not resume:
            raise ValueError(
                f"{path.name} must not exist yet, got cells of an unfinished run: reuse them by --resume, or delete it"
            )
        self._file = path.open("a+b")
        try:
            self._lock()
            plain = json.loads(experiment.to_json())
            heading = {"kind": _KIND, "version": __version__, "sources": sources(), "experiment": plain}
            whole = self._read(heading, len(list(experiment.cells())))
            self._file.truncate(whole)
            if not whole:
                self._write(as_line(heading))
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        if fcntl is not None:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(
                    f"{self.path.name} must be written by one run at a time, got a second one; wait for the first"
                ) from None

    def _read(self, heading: dict[str, Any], cells: int) -> int:
        """Read the cells and return the length of the undamaged lines, 0 if the first line is damaged."""
        self._file.seek(0)
        first, *lines = self._file.read().splitlines(keepends=True) or [b""]
        if not first.endswith(b"\n") and as_line(heading).startswith(first):
            return 0  # killed before the first line was complete
        found = read_object(first)
        if found is None or found.get("kind") != _KIND:
            raise ValueError(f"{self.path.name} must be the file of an unfinished run, got another file")
        if found.get("experiment") != heading["experiment"]:
            raise ValueError(f"{self.path.name} must belong to this experiment, got the cells of another one")
        if found.get("sources") != heading["sources"]:
            raise ValueError(
                f"{self.path.name} must be of the code that resumes it, got cells of other sources (version "
                f"{found.get('version')}): resume it with those, or delete it"
            )
        whole = len(first)
        for line in lines:
            cell = read_cell(line)
            if cell is None or cell[0] not in range(cells) or cell[0] in self.known:
                break
            self.known[cell[0]] = cell[1]
            whole += len(line)
        left = lines[len(self.known) :]
        self.discarded = len(left) - (bool(left) and not left[-1].endswith(b"\n"))  # without the unfinished line
        return whole

    def keep(self, place: int, rows: list[dict[str, Any]]) -> None:
        """Write the rows of a cell; they are on the disk when this returns."""
        self._write(cell_line(place, rows))
        self.known[place] = rows

    def _write(self, line: bytes) -> None:
        try:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            error.filename = str(self.path)  # the system names no file
            raise

    def close(self, *, delete: bool = False) -> None:
        with suppress(OSError):  # a full disk may refuse again, but every kept cell is written already
            self._file.close()
        if delete or not self.known:
            self.path.unlink(missing_ok=True)

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
