"""Cells that several processes of one computer share through a folder: what one has computed, the others read.

A file holds one cell: a line that says which, and the line of its rows with their digest, as a journal has it
(`dpcore.experiments.checkpoint`). A file that is damaged or of other code is computed anew. Nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..core.cancel import Cancelled, go_on
from .lines import Rows, as_line, cell_line, read_cell, sources

if TYPE_CHECKING:
    from .cell import Cell

try:
    import fcntl
except ImportError:  # Windows, where two processes may compute a cell at the same time
    fcntl = None  # type: ignore[assignment]

_LARGEST = 2**20  # bytes of one cell
_LOOK_SECONDS = 0.01


class CellStore:
    """Cells in a folder to which only its owner has access, the most recently written ones.

    folder: must exist. size: bytes of all files together; a process counts them after every sixteenth of that which
    it has written, and then removes the oldest files. Cells of private records must not be given to it.

    Raises ValueError for a folder that others may read or write.
    """

    def __init__(self, folder: Path, size: int = 2**28) -> None:
        found = folder.stat() if folder.is_dir() else None
        if found is None or (
            os.name == "posix" and (found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o77)
        ):
            raise ValueError(
                f"the folder of shared cells must exist and be open to its owner alone, got {str(folder)!r}: "
                "make one with mkdir -m 700"
            )
        self._folder, self._size = folder, size
        self._written = 0  # bytes since this process counted the files

    def __contains__(self, cell: Cell) -> bool:
        """True if there is a file of the cell, which may turn out to be damaged."""
        return self._file(cell).exists()

    def rows(self, cell: Cell, compute: Callable[[], Rows], cancelled: Cancelled) -> Rows:
        """Rows of a cell: read, or computed by one process while the others wait for it.

        cancelled: asked while another process computes; if it returns True, CancelledError is raised.
        """
        file = self._file(cell)
        found = _read(file, cell)
        if found is not None:
            return found
        with _alone(file.with_suffix(".lock"), cancelled):
            found = _read(file, cell)
            if found is None:
                found = compute()
                self._write(file, cell, found)
        return found

    def _file(self, cell: Cell) -> Path:
        return self._folder / f"{hashlib.sha256(_heading(cell)).hexdigest()[:32]}.cell"

    def _write(self, file: Path, cell: Cell, rows: Rows) -> None:
        """Write a file that nobody sees before it is whole."""
        plain = [row | {"lost": row["lost"].tolist()} if "lost" in row else row for row in rows]
        text = _heading(cell) + cell_line(0, plain)
        if len(text) > _LARGEST:
            return
        try:
            handle, name = tempfile.mkstemp(dir=self._folder)
            try:
                with open(handle, "wb") as half:
                    half.write(text)
                os.replace(name, file)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
            self._written += len(text)
            if self._written > self._size / 16:
                self._written = 0
                self._remove_oldest()
        except OSError as error:
            _log(error)

    def _remove_oldest(self) -> None:
        """Make room for a quarter of the size, if the files have become larger."""
        files = []
        for entry in self._folder.iterdir():
            with suppress(FileNotFoundError):  # another process has removed it
                about = entry.stat()
                files.append((about.st_mtime, about.st_size, entry))
        total = sum(size for _, size, _ in files)
        if total <= self._size:
            return
        for _, size, entry in sorted(files):
            if total <= 3 * self._size / 4:
                return
            entry.unlink(missing_ok=True)
            total -= size


def _heading(cell: Cell) -> bytes:
    """Line that says all on which the rows depend; the words for a mechanism do not name its module."""
    return as_line(
        {"kind": "dpcore cell", "sources": sources(), "module": type(cell.mechanism).__module__, "cell": repr(cell)}
    )


def _read(file: Path, cell: Cell) -> Rows | None:
    try:
        heading, _, line = file.read_bytes().partition(b"\n")
    except OSError:
        return None
    found = read_cell(line) if heading + b"\n" == _heading(cell) else None
    if found is None:
        return None
    return [row | {"lost": np.array(row["lost"], np.float32)} if "lost" in row else row for row in found[1]]


@contextmanager
def _alone(file: Path, cancelled: Cancelled) -> Iterator[None]:
    """Wait until no other holds the lock of a file; a process that dies holds none."""
    if fcntl is None:
        yield
        return
    try:
        lock = file.open("wb")
    except OSError as error:  # such as a full disk
        _log(error)
        yield
        return
    with lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                go_on(cancelled)
                time.sleep(_LOOK_SECONDS)
        try:
            yield
        finally:
            file.unlink(missing_ok=True)  # who opened it before finds the result; who comes later, too


def _log(error: OSError) -> None:
    logging.getLogger(__name__).warning("a cell is not shared with the other processes: %s", error)
