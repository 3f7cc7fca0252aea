"""Tables in memory as their holder uploads them: cells may be empty or text, labels may be words.

Nothing is scaled, clipped or dropped here; `uploads.py` does what the holder declares. The format of a CSV file is
guessed if it is not given.
"""

import dataclasses as dc
import io
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from .files import libsvm_table
from .lines import GZIP, NO_NAME, CsvTable, Format, class_in, has_thousands, is_missing, word_of

MAX_SHEET_BYTES = 10 * 2**20
MAX_SHEET_LINES = 1_000_000
MAX_SHEET_COLUMNS = 1_000
MAX_SHEET_CELLS = 5_000_000  # as numbers: 40 MB
MAX_LABELS = 50  # values among which a user can pick
_MAX_SPELLINGS = 1_000
_MANY_LABELS = f"the label of {{}} must take at most {MAX_LABELS} different values, got more"
_FEWEST_NUMBERED = 10


@dc.dataclass(frozen=True, eq=False, repr=False)
class RawTable:
    """Table in memory. columns: names of all but the label's. numbers: [rows, columns], nan for a missing one.

    values: the labels that occur, sorted. labels: [rows], each row's place in `values`, -1 for a missing one. suspects:
    columns that are hardly features, each with the reason. label, form: the column of the labels and the format in
    which the file was read, None if it is no CSV file.
    """

    columns: tuple[str, ...]
    numbers: Array
    values: tuple[str, ...]
    labels: NDArray[np.int8]
    suspects: dict[str, str]
    label: str | None = None
    form: Format | None = None

    @property
    def gaps(self) -> Array:
        """Number of rows without a number in each column, [columns]."""
        return np.array([np.count_nonzero(np.isnan(column)) for column in self.numbers.T])


def sheet_columns(content: bytes, name: str, form: Format | None = None) -> tuple[str, ...]:
    """Column names of a CSV file in memory, among which a user picks the label.

    form: its format, guessed by `sniff` if None. Raises ValueError for content that is no text, for more than 10 MB or
    1,000 features, and for fewer than two columns or two of one name.

    >>> sheet_columns(b"age,sick\\n50,yes\\n", "people.csv")
    ('age', 'sick')
    """
    _at_most_lines(content, name)
    columns = CsvTable(content, name, form).columns
    _at_most_columns(name, len(columns) - 1)
    return columns


def read_sheet(content: bytes, name: str, label: str = "", form: Format | None = None) -> RawTable:
    """Table of a file in memory, read as CSV or LIBSVM by its name.

    A CSV file has its labels in the column `label`; its format is `form`, guessed by `sniff` if None. A cell without a
    finite number is nan, and a label that is empty or a word like NA, null or ? is missing. Labels that are equal as
    numbers are one label. Empty lines are skipped. Columns of a LIBSVM file are named by their indices, and missing
    entries are 0.

    Raises ValueError for what `sheet_columns` and `read_libsvm` refuse, for a line whose length differs from the first,
    for a quote that is never closed, for more than `MAX_LABELS` different labels, `MAX_SHEET_LINES` lines or
    `MAX_SHEET_CELLS` cells, and for fewer than two rows.

    >>> sheet = read_sheet(b"age,sick\\n50,yes\\n,no\\n", "people.csv", "sick")
    >>> sheet.numbers.tolist(), sheet.values, sheet.labels.tolist()
    ([[50.0], [nan]], ('no', 'yes'), [1, 0])
    >>> read_sheet(b"-1 2:0.5\\n+1 1:0.25\\n", "people.txt").numbers.tolist()
    [[0.0, 0.5], [0.25, 0.0]]
    """
    _at_most_lines(content, name)
    return _csv(content, name, label, form) if name.lower().endswith(".csv") else _libsvm(content, name)


def _csv(content: bytes, name: str, label: str, form: Format | None) -> RawTable:
    table = CsvTable(content, name, form)
    _at_most_columns(name, len(table.columns) - 1)
    unnamed = {NO_NAME.format(place) for place in range(1, len(table.columns) + 1)} - {label}
    suspects = {column: "has no name" for column in table.columns if column in unnamed}
    spellings: dict[str, int] = {}

    def place(cell: str, line: int) -> int:
        if len(spellings) > _MAX_SPELLINGS:
            raise ValueError(_MANY_LABELS.format(name))
        return spellings.setdefault(cell, len(spellings))

    def suspect(column: str, cell: str, line: int) -> None:
        if has_thousands(cell):
            suspects.setdefault(column, "has thousands separators")

    features, numbers, places = table.read(label, place, suspect)
    _at_most_cells(name, numbers.size)
    words = [class_in(spelling, table.form.decimal) for spelling in spellings]
    made = _sheet(name, features, numbers, places.astype(np.int16), words, suspects)
    return dc.replace(made, label=label, form=table.form)


def _libsvm(content: bytes, name: str) -> RawTable:
    if content.startswith(GZIP):
        raise ValueError(f"{name} must be a plain text file, got a compressed one")
    table = libsvm_table(name, io.BytesIO(content))
    _at_most_columns(name, len(table.columns))
    _at_most_cells(name, table.data.n * len(table.columns))
    labels, places = np.unique(table.data.y, return_inverse=True)
    return _sheet(name, table.columns, table.data.X.toarray(), places, [*map(word_of, labels.tolist())], {})  # type: ignore[union-attr]


def _at_most_lines(content: bytes, name: str) -> None:
    if len(content) > MAX_SHEET_BYTES:
        raise ValueError(f"{name} must be at most {MAX_SHEET_BYTES // 2**20} MB, got {len(content) / 2**20:.1f} MB")
    if (lines := max(content.count(b"\n"), content.count(b"\r"))) > MAX_SHEET_LINES:
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
    labels = np.array([values.index(word) if word in values else -1 for word in words], np.int8)[places]
    return RawTable(columns, numbers, values, labels, suspects)


def _numbering(cells: Array) -> str | None:
    """Reason why a column seems to number the rows instead of describing them, else None."""
    rows = np.flatnonzero(~np.isnan(cells))
    known = cells[rows]
    if len(known) < _FEWEST_NUMBERED:
        return None
    step = (known[-1] - known[0]) / (rows[-1] - rows[0])
    if step and np.allclose(known, known[0] + step * (rows - rows[0]), rtol=0.0, atol=abs(step) / 1e3):
        return "counts the rows"
    if (known == np.rint(known)).all() and len(np.unique(known)) == len(known):
        return "has a different value in every row"
    return None
