"""Tables as their holder hands them over, in memory: cells that may be empty or text, labels that may be words.

Nothing is guessed, scaled, clipped or dropped here; `private.py` does what the holder declares.
"""

from __future__ import annotations

import csv
import dataclasses as dc
import io
import math
from array import array
from collections.abc import Iterator

import numpy as np

from ..types import Array
from .files import libsvm_table
from .lines import header_of, number_in, numbered_lines, place_of

MAX_SHEET_BYTES = 10 * 2**20
MAX_SHEET_COLUMNS = 1_000
MAX_SHEET_CELLS = 5_000_000  # as numbers: 40 MB
MAX_LABELS = 50  # from which one can be picked
_GZIP = b"\x1f\x8b"


@dc.dataclass(frozen=True, eq=False, repr=False)
class Sheet:
    """A table in memory. columns: names of all but the label's. numbers: [rows, columns], nan where there is none.

    values: the labels that occur, sorted. labels: [rows], each row's place in `values`, -1 where it has none. label:
    name of the column they stood in, None where a format has a place for them.
    """

    columns: tuple[str, ...]
    numbers: Array
    values: tuple[str, ...]
    labels: Array
    label: str | None = None

    @property
    def gaps(self) -> Array:
        """How many rows have no number in each column, [columns]."""
        return np.isnan(self.numbers).sum(axis=0)


def sheet_columns(content: bytes, name: str) -> tuple[str, ...]:
    """The column names of a CSV file in memory, one of them to be picked as the label.

    Raises ValueError for what is no text in UTF-8, for more than 10 MB or 1,000 features, and for a header line that
    names fewer than two columns or one twice.

    >>> sheet_columns(b"age,sick\\n50,yes\\n", "people.csv")
    ('age', 'sick')
    """
    columns = header_of(name, _lines(content, name))
    _at_most_columns(name, len(columns) - 1)
    return columns


def read_sheet(content: bytes, name: str, label: str) -> Sheet:
    """A CSV file in memory (UTF-8, commas, a header line); `label` names the column of labels.

    A cell without a finite number is nan, and text in quotes may hold commas. Lines with nothing in them are skipped.
    Raises ValueError for what `sheet_columns` refuses, for lines of another length than the header, for more than
    `MAX_LABELS` different labels or `MAX_SHEET_CELLS` cells, and for fewer than two rows.

    >>> sheet = read_sheet(b"age,sick\\n50,yes\\n,no\\n", "people.csv", "sick")
    >>> sheet.numbers.tolist(), sheet.values, sheet.labels.tolist()
    ([[50.0], [nan]], ('no', 'yes'), [1, 0])
    """
    columns = sheet_columns(content, name)
    at = place_of(label, columns, name)
    numbers, words = array("d"), []
    rows = csv.reader(line for _, line in _lines(content, name))
    try:
        next(rows)
        for cells in rows:
            if len(cells) <= 1 and not "".join(cells).strip():
                continue
            if len(cells) != len(columns):
                raise ValueError(
                    f"{name} must be a CSV table with {len(columns)} fields in each line, "
                    f"got {len(cells)} in line {rows.line_num}"
                )
            words.append(cells.pop(at).strip())
            numbers.extend(map(_finite, cells))
            if len(numbers) > MAX_SHEET_CELLS:
                raise ValueError(f"{name} must have at most {MAX_SHEET_CELLS:,} cells, got more")
    except csv.Error as error:
        raise ValueError(
            f"{name} must be a CSV table, got one that cannot be read in line {rows.line_num} ({error})"
        ) from None
    sheet = _sheet(name, columns[:at] + columns[at + 1 :], np.frombuffer(numbers), words)
    return dc.replace(sheet, label=label)


def read_libsvm_sheet(content: bytes, name: str) -> Sheet:
    """A LIBSVM file in memory as a table: columns are named by their indices, what is not written is 0.

    Raises ValueError for what `read_libsvm` and `sheet_columns` refuse, and for more than `MAX_LABELS` different
    labels.

    >>> read_libsvm_sheet(b"-1 2:0.5\\n+1 1:0.25\\n", "people.txt").numbers.tolist()
    [[0.0, 0.5], [0.25, 0.0]]
    """
    table = libsvm_table(name, _lines(content, name))
    _at_most_columns(name, len(table.columns))
    if table.data.n * len(table.columns) > MAX_SHEET_CELLS:
        raise ValueError(
            f"{name} must have at most {MAX_SHEET_CELLS:,} cells, got {table.data.n * len(table.columns):,}"
        )
    return _sheet(name, table.columns, table.data.X.toarray(), [_word(y) for y in table.data.y.tolist()])  # type: ignore[union-attr]


def _lines(content: bytes, name: str) -> Iterator[tuple[int, str]]:
    if content.startswith(_GZIP):
        raise ValueError(f"{name} must be a plain text file, got a compressed one")
    if len(content) > MAX_SHEET_BYTES:
        raise ValueError(f"{name} must be at most {MAX_SHEET_BYTES // 2**20} MB, got {len(content) / 2**20:.1f} MB")
    return numbered_lines(name, io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig"))


def _at_most_columns(name: str, features: int) -> None:
    if features > MAX_SHEET_COLUMNS:
        raise ValueError(f"{name} must have at most {MAX_SHEET_COLUMNS:,} columns beside the label, got {features:,}")


def _word(label: float) -> str:
    return str(int(label)) if label.is_integer() else repr(label)


def _finite(cell: str) -> float:
    number = number_in(cell)
    return number if math.isfinite(number) else math.nan


def _sheet(name: str, columns: tuple[str, ...], numbers: Array, words: list[str]) -> Sheet:
    if len(words) < 2:
        raise ValueError(f"{name} must hold at least 2 records, got {len(words)}")
    values = tuple(sorted({word for word in words if word}))
    if len(values) > MAX_LABELS:
        raise ValueError(f"the label of {name} must take at most {MAX_LABELS} different values, got {len(values):,}")
    if not values:
        raise ValueError(f"the label of {name} must have a value in some row, got none")
    places = {word: place for place, word in enumerate(values)} | {"": -1}
    labels = np.array([places[word] for word in words])
    return Sheet(columns, numbers.reshape(len(words), len(columns)), values, labels)
