"""Tables in memory as their holder uploads them: cells may be empty or text, labels may be words.

Nothing is scaled, clipped or dropped here; `uploads.py` does what the holder declares. The format of a CSV file is
guessed if it is not given.
"""

import dataclasses as dc
import itertools
import math
import re
from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.validation import shown
from .files import libsvm_table
from .lines import (
    GZIP,
    MAX_TEXTS,
    NO_NAME,
    CsvTable,
    Followed,
    Format,
    Progress,
    class_in,
    has_thousands,
    is_missing,
    number_in,
    untold,
    word_of,
)
from .parquet import ParquetTable

MAX_SHEET_BYTES = 10_000_000  # as many as browsers let through: server.maxUploadSize
MAX_SHEET_LINES = 1_000_000
MAX_SHEET_COLUMNS = 1_000
MAX_SHEET_CELLS = 5_000_000  # as numbers: 40 MB
MAX_LABELS = 100  # values among which a user can pick
_MAX_ALL_TEXTS = 100_000  # different ones of all columns: a text takes 20 times the memory of a number
_MAX_SPELLINGS = 1_000
_PARQUET = ".parquet"
_PIECE = 2**14  # rows
_MANY_LABELS = f"the label of {{}} must take at most {MAX_LABELS} different values, got more"
_FEWEST_NUMBERED = 10
_DATED = 0.9  # share of a column's different texts
_CLOCK = r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[ap]m)?( ?z|[+-]\d{2}:?\d{2})?"
_DATES = re.compile(
    rf"({_CLOCK}|\d{{4}}[-/.]\d{{1,2}}([-/.]\d{{1,2}})?|\d{{1,2}}[-/. ](\d{{1,2}}|[a-zäé]{{3,9}}\.?)[-/., ]+\d{{2,4}}"
    rf"|[a-zäé]{{3,9}}\.? \d{{1,2}},? \d{{4}})([t ,]+{_CLOCK})?",
    re.IGNORECASE,
)
_ID_NAME = re.compile(
    r"(.*[^a-z])?(id|ids|uuid|guid|identifier|ssn|iban|e-?mail|phone|telephone)([^a-z].*)?|(?-i:.*[a-z]I[Dd])",
    re.IGNORECASE,
)


Rows = NDArray[np.intp]


@dc.dataclass(frozen=True, eq=False, repr=False)
class Texts:
    """Cells of a column that hold neither a number nor a word for a missing one.

    words: the different ones. places: [rows], each cell's place in `words`, -1 for a number or a gap.
    """

    words: tuple[str, ...]
    places: NDArray[np.int16]


@dc.dataclass(frozen=True, eq=False, repr=False)
class RawTable:
    """Table in memory. columns: names of all but the label's. numbers: [rows, columns], nan for a missing one.

    texts: columns with other texts than words for a gap, at most `MAX_TEXTS` different ones each; those with more are
    suspects and keep none. values: the labels that occur, sorted. labels: [rows], each row's place in `values`, -1 for
    a missing one. suspects: columns that are hardly features, each with the reason. label, form: the column of the
    labels and the format in which the file was read, None if it is no CSV file.
    """

    columns: tuple[str, ...]
    numbers: Array
    values: tuple[str, ...]
    labels: NDArray[np.int8]
    suspects: dict[str, str]
    texts: dict[str, Texts] = dc.field(default_factory=dict)
    label: str | None = None
    form: Format | None = None

    @property
    def gaps(self) -> Array:
        """Number of rows without a number in each column, [columns]."""
        return np.array([np.count_nonzero(np.isnan(column)) for column in self.numbers.T])

    def levels(self, column: str) -> tuple[str, ...]:
        """The different values of a column, numbers first, for a holder who declares that they are public.

        Raises ValueError for more than `MAX_TEXTS`.
        """
        numbers = self.numbers[:, self.columns.index(column)]
        known = np.unique(numbers[~np.isnan(numbers)])
        words = self.texts[column].words if column in self.texts else ()
        if len(known) + len(words) > MAX_TEXTS:
            raise ValueError(f"{shown(column)} must have at most {MAX_TEXTS:,} different values as levels, got more")
        decimal = self.form.decimal if self.form else "."
        return (*(word_of(number).replace(".", decimal) for number in known.tolist()), *sorted(words))


def sheet_columns(content: bytes, name: str, form: Format | None = None) -> tuple[str, ...]:
    """Column names of a CSV or Parquet file in memory, among which a user picks the label.

    form: of a CSV file, its format, guessed by `sniff` if None. Raises ValueError for content that is neither, for more
    than 10,000,000 bytes or 1,000 features, and for fewer than two columns or two of one name.

    >>> sheet_columns(b"age,sick\\n50,yes\\n", "people.csv")
    ('age', 'sick')
    """
    return _table(content, name, form, untold).columns


def read_sheet(
    content: bytes, name: str, label: str = "", form: Format | None = None, progress: Progress = untold
) -> RawTable:
    """Table of a file in memory, read as CSV, Parquet or LIBSVM by its name.

    A CSV file has its labels in the column `label`; its format is `form`, guessed by `sniff` if None. A cell without a
    finite number is nan, and a label that is empty or a word like NA, null or ? is missing. Labels that are equal as
    numbers are one label. Empty lines are skipped. Columns of a LIBSVM file are named by their indices, and missing
    entries are 0.

    Raises ValueError for what `sheet_columns` and `read_libsvm` refuse, for a line whose length differs from the first,
    for a quote that is never closed, for more than `MAX_LABELS` different labels, `MAX_SHEET_LINES` lines or
    `MAX_SHEET_CELLS` cells, and for fewer than two rows.

    >>> sheet = read_sheet(b"age,sex,sick\\n50,f,yes\\n,m,no\\n", "people.csv", "sick")
    >>> sheet.numbers[:, 0].tolist(), sheet.values, sheet.labels.tolist()
    ([50.0, nan], ('no', 'yes'), [1, 0])
    >>> sheet.texts["sex"].words, sheet.texts["sex"].places.tolist()
    (('f', 'm'), [0, 1])
    >>> read_sheet(b"-1 2:0.5\\n+1 1:0.25\\n", "people.txt").numbers.tolist()
    [[0.0, 0.5], [0.25, 0.0]]
    """
    if not name.lower().endswith((".csv", _PARQUET)):
        return _libsvm(content, name, progress)
    table = _table(content, name, form, progress)
    decimal = table.form.decimal if table.form else "."
    unnamed = {NO_NAME.format(place) for place in range(1, len(table.columns) + 1)} - {label}
    suspects = {column: "has no name" for column in table.columns if column in unnamed}
    suspects |= table.unread
    spellings: dict[str, int] = {}
    most = min(MAX_TEXTS, _MAX_ALL_TEXTS // len(table.columns))
    found = {column: _Found(most) for column in table.columns}
    rows = 0

    def place(cell: str, line: int) -> int:
        nonlocal rows
        rows += 1
        _at_most_cells(name, rows * (len(table.columns) - 1))  # before another row is stored
        if len(spellings) > _MAX_SPELLINGS:
            raise ValueError(_MANY_LABELS.format(name))
        return spellings.setdefault(cell, len(spellings))

    def note(column: str, cell: str, line: int, row: int) -> None:
        cell = cell.strip()
        if not cell or found[column].holds(cell, row) or is_missing(cell):
            return
        if has_thousands(cell):
            suspects.setdefault(column, "has thousands separators")
        elif not math.isinf(number_in(cell, decimal)):
            found[column].add(cell, row)

    features, numbers, y = table.read(label, place, note)
    words = [class_in(spelling, decimal) for spelling in spellings]
    for column in features:
        if reason := found[column].no_level():
            suspects.setdefault(column, reason)
    places = y.astype(np.int16)
    del y  # it takes four times as much
    made = _sheet(name, features, numbers, places, words, suspects)
    texts = {column: found.pop(column).texts(rows) for column in features if found[column].kept}
    return dc.replace(made, texts=texts, label=label, form=table.form)


class _Found:
    """Texts of a column while it is read; beyond `most` different ones nothing more is kept but the first of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._words: dict[str, int] = {}
        self._cells, self._places = 0, array("h")  # of a row each, -1 for no text

    @property
    def kept(self) -> bool:
        return 0 < len(self._words) <= self._most

    def holds(self, cell: str, row: int) -> bool:
        """Whether a cell is done with: its text is known and now noted, or there are too many to keep."""
        place = self._words.get(cell)
        if place is None:
            return len(self._words) > self._most
        if len(self._words) <= self._most:
            if row >= len(self._places):
                self._places.extend(array("h", [-1]) * (row + 1))  # twice the room: many small steps would cost more
            self._places[row] = place
            self._cells += 1
        return True

    def add(self, cell: str, row: int) -> None:
        self._words[cell] = len(self._words)
        if self.kept:
            self.holds(cell, row)
        else:
            self._places = array("h")

    def no_level(self) -> str | None:
        """Reason why the texts seem to be no levels, else None."""
        if self._words and sum(bool(_DATES.fullmatch(word)) for word in self._words) >= _DATED * len(self._words):
            return "holds dates or times"
        if len(self._words) > self._most:
            return f"holds more than {self._most:,} different texts"
        if len(self._words) == self._cells >= _FEWEST_NUMBERED:
            return "has a different text in every row"
        return None

    def texts(self, rows: int) -> Texts:
        places = np.full(rows, -1, np.int16)
        known = np.frombuffer(self._places, np.int16)[:rows]
        places[: len(known)] = known
        return Texts(tuple(self._words), places)


def _libsvm(content: bytes, name: str, progress: Progress) -> RawTable:
    _at_most_bytes(content, name)
    _at_most_lines(name, _lines_of(content))
    if content.startswith(GZIP):
        raise ValueError(f"{name} must be a plain text file, got a compressed one")
    table = libsvm_table(name, Followed(content, progress))
    _at_most_columns(name, len(table.columns))
    _at_most_cells(name, table.data.n * len(table.columns))
    labels, places = np.unique(table.data.y, return_inverse=True)
    return _sheet(name, table.columns, table.data.X.toarray(), places, [*map(word_of, labels.tolist())], {})  # type: ignore[union-attr]


def _table(content: bytes, name: str, form: Format | None, progress: Progress) -> CsvTable | ParquetTable:
    """A file whose records are not read yet, and will not be more than an upload may have."""
    _at_most_bytes(content, name)
    table: CsvTable | ParquetTable
    if name.lower().endswith(_PARQUET):
        table = ParquetTable(content, name, progress)
        _at_most_lines(name, table.rows)
        _at_most_cells(name, table.rows * (len(table.columns) - 1))
    else:
        _at_most_lines(name, _lines_of(content))
        table = CsvTable(content, name, form, progress)
    _at_most_columns(name, len(table.columns) - 1)
    return table


def _lines_of(content: bytes) -> int:
    return max(content.count(b"\n"), content.count(b"\r"))


def _at_most_bytes(content: bytes, name: str) -> None:
    if len(content) > MAX_SHEET_BYTES:
        raise ValueError(f"{name} must have at most {MAX_SHEET_BYTES:,} bytes, got {len(content):,}")


def _at_most_lines(name: str, lines: int) -> None:
    if lines > MAX_SHEET_LINES:
        raise ValueError(f"{name} must have at most {MAX_SHEET_LINES:,} lines, got {lines:,}; upload a part of them")


def _at_most_columns(name: str, features: int) -> None:
    if features > MAX_SHEET_COLUMNS:
        raise ValueError(f"{name} must have at most {MAX_SHEET_COLUMNS:,} columns beside the label, got {features:,}")


def _at_most_cells(name: str, cells: int) -> None:
    if cells > MAX_SHEET_CELLS:
        raise ValueError(f"{name} must have at most {MAX_SHEET_CELLS:,} cells, got more; leave columns out")


def _sheet(
    name: str,
    columns: tuple[str, ...],
    numbers: Array,
    places: NDArray[np.signedinteger[Any]],
    words: list[str],
    suspects: dict[str, str],
) -> RawTable:
    """Table whose row i has the label words[places[i]]."""
    # A dash is a label, not a gap, if some labels are +.
    values = tuple(sorted({word for word in words if not is_missing(word) or (word == "-" and "+" in words)}))
    if len(values) > MAX_LABELS:
        raise ValueError(_MANY_LABELS.format(name))
    if not values:
        raise ValueError(f"the label of {name} must have a value in some row, got none")
    numbers[np.isinf(numbers)] = math.nan
    for column, cells in zip(columns, numbers.T, strict=True):
        if reason := _numbering(cells):
            suspects.setdefault(column, reason)
        elif _ID_NAME.fullmatch(column):
            suspects.setdefault(column, "is named like an ID")
    labels = np.array([values.index(word) if word in values else -1 for word in words], np.int8)[places]
    return RawTable(columns, numbers, values, labels, suspects)


def _numbering(cells: Array) -> str | None:
    """Reason why a column of numbers seems to hold dates or to number the rows, else None."""
    filled = ~np.isnan(cells)
    count = np.count_nonzero(filled)
    if count < _FEWEST_NUMBERED:
        return None
    first, last = int(filled.argmax()), len(cells) - 1 - int(filled[::-1].argmax())
    step = (cells[last] - cells[first]) / (last - first)

    def steps_on(rows: Rows, known: Array) -> bool:
        return np.allclose(known, cells[first] + step * (rows - first), rtol=0.0, atol=abs(step) / 1e3)

    if step and all(itertools.starmap(steps_on, _pieces(cells, filled))):
        return "counts the rows"
    if any((known != np.rint(known)).any() for _, known in _pieces(cells, filled)):
        return None
    if all(_are_days(known) for _, known in _pieces(cells, filled)):
        return "holds dates"
    return "has a different value in every row" if len(np.unique(cells[filled])) == count else None


def _pieces(cells: Array, filled: NDArray[np.bool_]) -> Iterator[tuple[Rows, Array]]:
    """Rows and numbers of a column, some at a time: most columns are told apart by the first, and all take memory."""
    for start in range(0, len(cells), _PIECE):
        rows = start + np.flatnonzero(filled[start : start + _PIECE])
        yield rows, cells[rows]


def _are_days(known: Array) -> bool:
    """Whether all numbers are days like 20260131."""
    parts = ((known // 10_000, 1900, 2100), (known // 100 % 100, 1, 12), (known % 100, 1, 31))
    return all(((low <= part) & (part <= high)).all() for part, low, high in parts)
