"""Tables of files in memory: cells may be empty or text, labels may be words.

One reader for page and command line. Nothing is scaled, clipped or dropped here; `uploads.py` does what a holder
declares, and `files.py` refuses what is no number. Errors are ValueErrors of one sentence that names the file, the
place and the rule.
"""

import dataclasses as dc
import functools
import io
import itertools
import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.validation import one_of, shown
from .cells import is_missing, marks_in, number_and_unit, plain_numbers, typed_number, word_of
from .formats import GZIP, NO_SPREADSHEET, Format, opened, sniff
from .libsvm import read_libsvm
from .parquet import read_parquet

CSV_ENDINGS = (".csv", ".tsv", ".tab", ".data", ".dat")
LIBSVM_ENDINGS = (".libsvm", ".svm", ".txt")
PARQUET_ENDING = ".parquet"
SPREADSHEET_ENDINGS = (".xlsx", ".xls", ".ods")  # of files that are answered by what to do
LIBSVM_LABEL = "label"  # what the column of the labels is called where a file has no names
MAX_TEXTS = 1_000  # different ones in a column, whose levels a user can declare
MAX_LABELS = 100  # values among which a user can pick
_MAX_ALL_TEXTS = 100_000  # different ones of all columns: a text takes 20 times the memory of a number
NO_NAME = "column {} (no name)"
_CHUNK = 2**20  # cells that are held as texts at a time
_AS_WRITTEN = Format("utf-8-sig", ",", ".", False)  # of a Parquet file, as CSV
_SNIFFED_ROWS = 100
_AT_LEAST = re.compile(r">=(.+)")
_SHARES = ("%", "\u2030")
_DASHES = ("-", "\u2212")


@dc.dataclass(frozen=True)
class Limits:
    """Largest file that is read, and the fewest records."""

    bytes: int
    lines: int
    columns: int
    cells: int
    advice: str = "leave some out"
    fewest: int = 2

    def check(self, name: str, **found: int) -> None:
        """Raise ValueError for a file with more of anything."""
        for kind, count in found.items():
            most = getattr(self, kind)
            if count > most:
                raise ValueError(f"{name} must have at most {most:,} {kind}, got {count:,}; {self.advice}")


UPLOAD = Limits(bytes=10_000_000, lines=1_000_000, columns=1_001, cells=5_000_000)
FILE = Limits(
    bytes=100_000_000,
    lines=50_000_000,
    columns=10_001,
    cells=50_000_000,
    advice="write such records in the LIBSVM format",
)


@dc.dataclass(frozen=True, eq=False, repr=False)
class Column:
    """Column of a table.

    numbers: [rows], nan where a cell has none. words: the different texts that are neither empty nor numbers. places:
    [rows], each cell's place in `words`, -1 for none. unread: reason why its texts are not kept, "" if they are. unit:
    percent sign or currency beside the numbers.
    """

    numbers: Array
    words: tuple[str, ...]
    places: NDArray[np.int16]
    unread: str = ""
    unit: str = ""

    @functools.cached_property
    def marks(self) -> NDArray[np.bool_]:
        """Which of the words are marks of no value, [words]; more of them are where most other cells are numbers."""
        words = np.array([is_missing(word, among_numbers=True) for word in self.words], bool)
        rows = np.bincount(self.places + 1, minlength=len(words) + 1)[1:]
        if np.count_nonzero(~np.isnan(self.numbers)) <= rows[~words].sum():
            words = np.array([is_missing(word) for word in self.words], bool)
        # A dash is a value, not a gap, if some values are +.
        return words & np.array(["+" not in self.words or word not in _DASHES for word in self.words], bool)

    @functools.cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Rows with neither a number nor a text, or with a mark of no value."""
        return np.isnan(self.numbers) & np.array([*self.marks, True])[self.places]

    @functools.cached_property
    def values(self) -> tuple[tuple[str, ...], NDArray[np.int16]]:
        """The different values, numbers first, and each row's place among them, -1 for a gap.

        Raises ValueError for more than `MAX_TEXTS`, which its reader completes.
        """
        known, places = np.unique(self.numbers, return_inverse=True)  # one nan, at the end
        known = known[~np.isnan(known)]
        used = np.unique(self.places[(self.places >= 0) & ~self.missing])
        names = (*map(word_of, known.tolist()), *(self.words[place] for place in used))
        if len(names) > MAX_TEXTS:
            raise ValueError(f"must have at most {MAX_TEXTS:,} different values, got more")
        order = np.full(len(self.words) + 1, -1)
        order[used] = len(known) + np.arange(len(used))
        return names, np.where(np.isnan(self.numbers), order[self.places], places).astype(np.int16)


@dc.dataclass(frozen=True, eq=False, repr=False)
class RawTable:
    """Table in memory. name: of the file. columns: by name. label: of the column of the labels, "" while none is
    picked. form: in which a CSV file was read, None for other files."""

    name: str
    columns: dict[str, Column]
    label: str = ""
    form: Format | None = None

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())).numbers)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of all columns but the label's."""
        return tuple(column for column in self.columns if column != self.label)

    def levels(self, column: str) -> tuple[str, ...]:
        """The different values of a column, numbers first, for a holder who declares that they are public."""
        try:
            names, _ = self.columns[column].values
        except ValueError as error:
            raise ValueError(f"{shown(column)} {error}") from None
        decimal = self.form.decimal if self.form else "."
        known = sum(name not in self.columns[column].words for name in names)
        return (*(name.replace(".", decimal) for name in names[:known]), *sorted(names[known:]))

    def with_label(self, label: str) -> "RawTable":
        """The table with its labels in this column; ValueError if it has none of that name."""
        if label not in self.columns:
            known = ", ".join([*self.columns][:20]) + (", ..." if len(self.columns) > 20 else "")
            advice = ""
            if self.form and not self.form.header:
                advice = "; its first line counts as a record: put a line of names above it, or pass form= if it is one"
            raise ValueError(f"label must be a column of {self.name} ({known}), got {shown(label)}{advice}")
        return dc.replace(self, label=label)

    @functools.cached_property
    def labels(self) -> tuple[tuple[str, ...], NDArray[np.int16]]:
        """The labels that occur, sorted, and each row's place among them, -1 for a missing one."""
        try:
            names, places = self.columns[self.label].values
        except ValueError:
            names = ("",) * (MAX_LABELS + 1)
        if len(names) > MAX_LABELS or self.columns[self.label].unread.startswith("holds more than"):
            raise ValueError(f"the label of {self.name} must take at most {MAX_LABELS} different values, got more")
        if not names:
            raise ValueError(f"the label of {self.name} must have a value in some row, got none")
        order = sorted(range(len(names)), key=names.__getitem__)
        ranks = np.array([*np.argsort(order), -1], np.int16)
        return tuple(names[place] for place in order), ranks[places]

    def answers(self, positive: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Rows whose label is the positive one, and rows that have a label, both [rows].

        positive: a label that occurs, or a threshold like ">= 50" for labels that are numbers.
        """
        column = self.columns[self.label]
        if positive not in column.words and (threshold := threshold_in(positive)) is not None:
            return column.numbers >= threshold, ~np.isnan(column.numbers)
        values, places = self.labels
        return places == values.index(one_of("positive", positive, values)), places >= 0


def threshold_in(positive: str) -> float | None:
    """Threshold of an answer like ">= 50", as a person types it; None for another text.

    >>> threshold_in(">= 0,5"), threshold_in("yes")
    (0.5, None)
    """
    found = _AT_LEAST.fullmatch(positive.strip())
    return typed_number(found[1]) if found else None


def kind_of(name: str) -> str:
    """csv, libsvm or parquet, by the ending of a file's name; ValueError for another one.

    >>> kind_of("people.TSV")
    'csv'
    """
    ending = Path(name.lower()).suffix
    if ending in SPREADSHEET_ENDINGS:
        raise ValueError(f"{name} {NO_SPREADSHEET}")
    for kind, endings in (("csv", CSV_ENDINGS), ("libsvm", LIBSVM_ENDINGS), ("parquet", (PARQUET_ENDING,))):
        if ending in endings:
            return kind
    known = ", ".join((*CSV_ENDINGS, *LIBSVM_ENDINGS, PARQUET_ENDING))
    raise ValueError(f"a file's name must end in one of {known}, got {name}")


def read_table(
    content: bytes, name: str, label: str = "", form: Format | None = None, limits: Limits = UPLOAD
) -> RawTable:
    """Table of a file in memory, read as CSV, Parquet or LIBSVM by the ending of its name.

    label: name of the column of the labels; a LIBSVM file has them in `LIBSVM_LABEL`. form: of a CSV file, guessed by
    `sniff` if None. A cell without a finite number is nan; texts are kept while they are few. Columns of a LIBSVM file
    are named by their indices, and missing entries are 0. A column without a name is named by its place, and so is a
    second one of the same name. Raises ValueError for a file beyond the limits, for fewer than two
    rows, and for what `opened`, `as_csv` and `read_libsvm` refuse.

    >>> table = read_table(b"age,sex,sick\\n50,f,yes\\n,m,no\\n", "people.csv", "sick")
    >>> table.columns["age"].numbers.tolist(), table.levels("sex"), table.labels[0]
    ([50.0, nan], ('f', 'm'), ('no', 'yes'))
    >>> read_table(b"-1 2:0.5\\n+1 1:0.25\\n", "people.txt").columns["1"].numbers.tolist()
    [0.0, 0.25]
    """
    limits.check(name, bytes=len(content))
    kind = kind_of(name)
    if kind == "libsvm":
        return RawTable(name, _libsvm_columns(content, name, limits), LIBSVM_LABEL)
    if kind == "csv":
        form = form or sniff(content, name)
        table = RawTable(name, _csv_columns(content, name, form, limits), form=form)
    else:
        facts, written = read_parquet(content, name, limits.lines, limits.columns, limits.cells)
        width = len(facts.columns)
        limits.check(name, lines=facts.rows, columns=width, cells=facts.rows * width)
        form = _with_thousands(written, name)
        table = RawTable(name, _csv_columns(written, name, form, limits, facts.columns, facts.unread))
    return table.with_label(label) if label else table


def _with_thousands(written: bytes, name: str) -> Format:
    """Format of a Parquet file as CSV, with the mark of thousands that its texts show."""
    _, records = opened(written, name, _AS_WRITTEN)
    cells = (cell for _, cells in itertools.islice(records, _SNIFFED_ROWS) for cell in cells)
    decimal, thousands = marks_in(cells)
    return dc.replace(_AS_WRITTEN, thousands="" if decimal == "," else thousands)


def line_of(content: bytes, name: str, form: Format, row: int) -> tuple[int, list[str]]:
    """Line in which a row of a CSV file begins, and its cells."""
    _, records = opened(content, name, form)
    return next(itertools.islice(records, row, None))


def _column_names(written: Sequence[str], name: str, limits: Limits) -> tuple[str, ...]:
    """Names of the columns, each once. Quotes are no part of names if all of these stand in them."""
    limits.check(name, columns=len(written))
    names = [" ".join(cell.split()) for cell in written]
    if all(re.fullmatch("'.*'|\".*\"", each) for each in names if each):
        names = [each[1:-1].strip() for each in names]
    counts = Counter(names)
    seen: Counter[str] = Counter()
    for place, each in enumerate(names):
        seen[each] += 1
        if not each:
            names[place] = NO_NAME.format(place + 1)
        elif counts[each] > 1 and seen[each] > 1:
            names[place] = f"{each} (column {place + 1})"
    if len({*names}) < len(names):
        raise ValueError(
            f"columns of {name} must have different names, got {shown(Counter(names).most_common(1)[0][0])} twice"
        )
    return tuple(names)


def _csv_columns(
    content: bytes,
    name: str,
    form: Format,
    limits: Limits,
    known: Sequence[str] = (),
    unread: Collection[int] = (),
) -> dict[str, Column]:
    """Columns of a CSV file. known: their names, if the file has none. unread: places of columns left out before."""
    written, records = opened(content, name, form)
    names = _column_names(known or written, name, limits)
    found = [_Found(min(MAX_TEXTS, _MAX_ALL_TEXTS // len(names))) for _ in names]
    rows, most = 0, min(limits.lines, limits.cells // len(names))
    step = max(_CHUNK // len(names), 1)
    while chunk := [cells for _, cells in itertools.islice(records, min(step, most + 1 - rows))]:
        rows += len(chunk)
        limits.check(name, lines=rows, cells=rows * len(names))
        for place, column in enumerate(found):
            column.add([cells[place] for cells in chunk], form)
    if rows < limits.fewest:
        raise ValueError(f"{name} must hold at least {limits.fewest} records, got {rows}")
    return {each: found[place].made(place in unread) for place, each in enumerate(names)}


class _Found:
    """Cells of a column while it is read; beyond `most` different texts nothing more of them is kept."""

    def __init__(self, most: int) -> None:
        self._numbers: list[Array] = []
        self._places: list[NDArray[np.int16]] = []
        self._words: dict[str, int] = {}
        self._most = most
        self._units: set[str] = set()  # that numbers may have

    def add(self, cells: list[str], form: Format) -> None:
        import pandas as pd

        numbers = plain_numbers(cells) if form.decimal == "." and not self._units - {""} else None
        places = np.full(len(cells), -1, np.int16)
        if numbers is None or not np.isfinite(numbers).all():
            codes, different = pd.factorize(np.array(cells, object))
            stripped = [cell.strip() for cell in different]
            grades = any(cell.endswith("+") for cell in stripped)  # beside 2+, the grade 2- is no number below zero
            bare = ["" if grades and cell.endswith("-") else cell for cell in stripped]
            read = [number_and_unit(cell, form.decimal, form.thousands) for cell in bare]
            known = np.array([number for number, _ in read])
            units = [unit for _, unit in read]
            if any(units) or self._units - {""}:
                self._units = self._units or _units_together(units, np.where(np.isnan(known), 0, np.bincount(codes)))
                known[[unit not in self._units for unit in units] & (known != 0.0)] = math.nan
            known[np.isinf(known)] = math.nan
            words = [
                self._place(cell) if np.isnan(number) else -1 for cell, number in zip(stripped, known, strict=True)
            ]
            numbers, places = known[codes], np.array(words, np.int16)[codes]
        self._numbers.append(numbers)
        self._places.append(places)

    def _place(self, word: str) -> int:
        if not word or len(self._words) > self._most:
            return -1
        return self._words.setdefault(word, len(self._words))

    def made(self, unread: bool) -> Column:
        numbers, places, words = np.concatenate(self._numbers), np.concatenate(self._places), (*self._words,)
        self._numbers, self._places = [], []
        reason = "holds neither numbers nor texts" if unread else ""
        if len(words) > self._most:
            words, places[:] = (), -1
            reason = f"holds more than {self._most:,} different texts"
        return Column(numbers, words, places, reason, "".join(self._units))


def _units_together(units: Sequence[str], rows: NDArray[np.int_]) -> set[str]:
    """Units that the numbers of one column may have: the one of most rows, and none beside a currency.

    A share beside a number without a sign, and two currencies, may not be compared.
    """
    counts: Counter[str] = Counter()
    for unit, count in zip(units, rows.tolist(), strict=True):
        counts[unit] += count
    first = max(counts, key=counts.__getitem__)
    if first in _SHARES:
        return {first}
    currencies = [unit for unit, _ in counts.most_common() if unit and unit not in _SHARES]
    return {"", *currencies[:1]}


def _libsvm_columns(content: bytes, name: str, limits: Limits) -> dict[str, Column]:
    if content.startswith(GZIP):
        raise ValueError(f"{name} must be a plain text file, got a compressed one")
    limits.check(name, lines=content.count(b"\n"))
    X, y = read_libsvm(io.BytesIO(content), name)
    rows, width = X.shape
    limits.check(name, columns=width + 1, cells=rows * width)
    none = np.full(rows, -1, np.int16)
    filled = np.asfortranarray(X.toarray())
    columns = {str(place + 1): Column(filled[:, place], (), none) for place in range(width)}
    return {LIBSVM_LABEL: Column(y, (), none), **columns}
