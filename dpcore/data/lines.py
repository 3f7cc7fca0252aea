"""Text files, from disk or from memory: their lines, the records of a CSV file, and the values of its cells.

Errors are ValueErrors of one sentence that names the file, the place and the rule.
"""

import codecs
import csv
import dataclasses as dc
import gzip
import io
import itertools
import math
import re
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..core.arrays import Array
from ..core.validation import one_of, shown

ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252")
SEPARATORS = (",", ";", "\t", "|")
DECIMALS = (".", ",")
NO_NAME = "column {} (no name)"
MAX_TEXTS = 1_000  # different ones in a column, whose levels a user can declare
GZIP = b"\x1f\x8b"
_UNPACKED_BYTES = 100_000_000
LONGEST_CELL = csv.field_size_limit()
_LONGEST_LINE = 2**19  # characters; split into cells, a longer one would take a hundred times its size
_SNIFFED_BYTES, _SNIFFED_RECORDS = 2**16, 100
# Words that pandas reads as missing (STR_NA_VALUES), in lower case, with "?" of the UCI repository and a dash.
_MISSING = frozenset(
    ["", "#n/a", "#n/a n/a", "#na", "-1.#ind", "-1.#qnan", "-nan", "1.#ind", "1.#qnan", "<na>", "n/a", "na", "nan"]
).union(["none", "null", "?", "-"])
_DECIMAL = tuple(re.compile(rf"[+-]?\d*{re.escape(mark)}\d+(e[+-]?\d+)?", re.IGNORECASE) for mark in DECIMALS)
_NOT_WESTERN = re.compile(rb"[\0\x81\x8d\x8f\x90\x9d]")  # bytes that mean nothing in cp1252
_SEPARATOR_LINE = re.compile(r'("?)sep=([,;\t|])\1(\r\n?|\n|\Z)', re.IGNORECASE)  # a first line that Excel obeys
_LINE_END = re.compile(rb"[\r\n]")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}([.,' \xa0\u2009\u202f]\d{3})+([.,]\d+)?")
_SINGLE_QUOTED = re.compile("'.*'")
_LARGEST_WHOLE = 2.0**53  # floats represent whole numbers exactly up to here
Progress = Callable[[float], None]  # hears which share of a file has been read
_QUOTES = (
    "{} must close each quote at the end of its cell, got one that opens in line {:,} and {}; close it, or double it "
    "where it is part of a quoted text"
)


def untold(share: float) -> None:
    """Tell nobody of progress."""


@dc.dataclass(frozen=True)
class Format:
    """Format of a CSV file. header: True if its first line names the columns."""

    encoding: str
    separator: str
    decimal: str
    header: bool

    def __post_init__(self) -> None:
        one_of("encoding", self.encoding, ENCODINGS)
        one_of("separator", self.separator, SEPARATORS)
        one_of("decimal", self.decimal, DECIMALS)


def sniff(content: bytes, name: str) -> Format:
    """Likely format of a CSV file, guessed from its first records; the encoding from the whole file.

    UTF-8 and UTF-16 are recognised; anything else counts as Western European (cp1252, which includes Latin-1). The
    separator is the one named by a first line like sep=; or the one that splits most records into as many cells as the
    first. A decimal comma is recognised by a cell that cannot hold thousands: 0,5 or 1,25, not 1,250. The first line is
    no header if it holds numbers, unless these count up like names (0, 1, 2), or if it holds words that occur again
    below them, unless more words are above columns of numbers.

    >>> sniff(b"age;sick\\n50,5;yes\\n", "people.csv")
    Format(encoding='utf-8-sig', separator=';', decimal=',', header=True)
    """
    if content.startswith(GZIP):
        raise ValueError(f"{name} must be a plain CSV file, got a compressed one")
    encoding = _encoding(content)
    end = _LINE_END.search(content, _SNIFFED_BYTES, _LONGEST_LINE)
    text = content[: end.start() if end else _LONGEST_LINE].decode(encoding, "ignore")
    said = _SEPARATOR_LINE.match(text)
    samples = {separator: _sample(text[said.end() if said else 0 :], separator) for separator in SEPARATORS}
    # If other separators split the records as well, the comma is a decimal comma.
    separator = said[2] if said else max(SEPARATORS, key=lambda separator: (_fit(samples[separator]), separator != ","))
    records = samples[separator]
    cells = [cell.strip() for record in records[1:] or records for cell in record]
    points, commas = (
        sum(bool(written.fullmatch(cell)) and not has_thousands(cell) for cell in cells) for written in _DECIMAL
    )
    decimal = "," if commas > points else "."
    return Format(encoding, separator, decimal, not records or _is_header(records, decimal))


class CsvTable:
    """CSV file in memory: its format, guessed by `sniff` if not given, the names of its columns, and its records, which
    are read once.

    Empty lines are skipped, and so is a first line like sep=;. A column without a name is named by its number; single
    quotes are no part of names if all stand in them. Raises ValueError for fewer than two columns or two of one name,
    and, while records are read, for a record whose length differs from the first.
    """

    unread: Mapping[str, str] = {}  # columns that are no texts, with the reason; a CSV file has none

    def __init__(self, content: bytes, name: str, form: Format | None, progress: Progress = untold) -> None:
        self.name, self.form = name, form or sniff(content, name)
        self._records = _records(content, name, self.form, progress)
        first = next(self._records, None)
        if first is None:
            raise ValueError(f"{name} must be a CSV table with a header line and at least 2 records, got an empty file")
        _, cells = first
        if len(cells) == 1:
            raise ValueError(
                f"{name} must have a label and at least one feature, separated by commas, semicolons, tabs or |, "
                "got one column"
            )
        if not self.form.header:
            self._records = itertools.chain([first], self._records)
            cells = [f"column {place}" for place in range(1, len(cells) + 1)]
        self.columns = column_names(cells, name)

    def read(
        self, label: str, label_of: Callable[[str, int], float], gap: Callable[[str, str, int, int], None]
    ) -> tuple[tuple[str, ...], Array, Array]:
        """Names of the features, their numbers [records, columns - 1], and labels [records], from the column `label`.

        label_of: makes a label from a cell and its line. gap: called with the column, cell, line and row (from 0) of a
        cell without a finite number. Raises ValueError if no column is called `label`, and for fewer than two records.
        """
        at = place_of_label(label, self.columns, self.name, self.form.header)
        features = self.columns[:at] + self.columns[at + 1 :]
        numbers, labels = array("d"), array("d")
        for line, cells in self._records:
            labels.append(label_of(cells[at], line))
            cells = cells[:at] + cells[at + 1 :]
            row = numbers_in(cells, self.form.decimal)
            if not all(map(math.isfinite, row)):
                for column, cell, number in zip(features, cells, row, strict=True):
                    if not math.isfinite(number):
                        gap(column, cell, line, len(labels) - 1)
            numbers.extend(row)
        at_least_two(self.name, len(labels))
        return features, np.frombuffer(numbers).reshape(len(labels), len(features)), np.frombuffer(labels)


class Followed(io.BytesIO):
    """File in memory that tells which share of it has been read as text."""

    def __init__(self, content: bytes, progress: Progress) -> None:
        super().__init__(content)
        self._whole, self._progress = max(len(content), 1), progress

    def read1(self, size: int | None = -1, /) -> bytes:
        self._progress(self.tell() / self._whole)
        return super().read1(size)


def column_names(cells: Sequence[str], name: str) -> tuple[str, ...]:
    """Names of the columns of a file; one without a name is named by its number, and two of one name are refused.

    Single quotes are no part of names if all stand in them.
    """
    names = [cell.strip().replace("\n", " ") for cell in cells]
    if all(map(_SINGLE_QUOTED.fullmatch, names)):
        names = [name[1:-1].strip() for name in names]
    columns = tuple(each or NO_NAME.format(place) for place, each in enumerate(names, start=1))
    if len(set(columns)) < len(columns):
        twice = next(column for column in columns if columns.count(column) > 1)
        raise ValueError(f"columns of {name} must have different names, got {shown(twice)} twice")
    return columns


def place_of_label(label: str, columns: tuple[str, ...], name: str, header: bool = True) -> int:
    """Place of the column `label`; ValueError if a file has none. header: whether its first line names the columns."""
    if label not in columns:
        known = ", ".join(columns[:20]) + (", ..." if len(columns) > 20 else "")
        advice = "; its first line counts as a record: put a line of names above it, or pass form= if it is one"
        raise ValueError(f"label must be a column of {name} ({known}), got {shown(label)}{'' if header else advice}")
    return columns.index(label)


def at_least_two(name: str, records: int) -> None:
    if records < 2:
        raise ValueError(f"{name} must hold at least 2 records, got {records}")


def existing_file(path: Path) -> Path:
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"path must be a file, got {path}, which is a folder")
    if not path.exists():
        raise ValueError(f"path must be a file, got {path} (No such file or directory)")
    if not path.is_file():
        raise ValueError(f"path must be a file, got {path}, which is a pipe or a device")
    return path


def opened(path: Path) -> BinaryIO:
    """Open file of bytes, unpacked if its name ends in .gz; ValueError if that is more than 100 MB."""
    if path.suffix.lower() != ".gz":
        return path.open("rb")
    try:
        with gzip.open(path, "rb") as file:
            content = file.read(_UNPACKED_BYTES + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path.name} must be a whole gzip file, got one that cannot be unpacked ({error})") from None
    if len(content) > _UNPACKED_BYTES:
        raise ValueError(
            f"{path.name} must unpack to at most {_UNPACKED_BYTES // 10**6} MB, got more; unpack it and read that file"
        )
    return io.BytesIO(content)


def numbered_lines(name: str, file: BinaryIO, encoding: str = "utf-8-sig") -> Iterator[tuple[int, str]]:
    """Lines of an open file, numbered from 1; ValueError if it holds no text."""
    try:
        with io.TextIOWrapper(file, encoding) as text:
            for number, line in enumerate(text, start=1):
                if "\0" in line:
                    raise ValueError(f"{name} must be a text file, got binary content in line {number}")
                yield number, line
    except UnicodeError:
        written = encoding.removesuffix("-sig").upper()
        raise ValueError(f"{name} must be a text file in {written}, got binary content or another encoding") from None


def number_in(cell: str, decimal: str = ".") -> float:
    """Number in a cell; nan if there is none or it has thousands separators."""
    if not cell or (cell[0].isalpha() and cell[0] not in "iInN"):  # most texts, without the cost of an exception
        return math.nan
    if decimal == ",":
        cell = cell.replace(".", "_").replace(",", ".")
    try:
        return float(in_ascii(cell))
    except ValueError:
        return math.nan


def numbers_in(cells: list[str], decimal: str) -> list[float]:
    """Numbers in a record's cells; rows of plain numbers take a fast path."""
    text = "".join(cells)
    if decimal == "." and text.isascii() and "_" not in text:
        with suppress(ValueError):
            return [*map(float, cells)]
    return [number_in(cell, decimal) for cell in cells]


def in_ascii(number: str) -> str:
    """The text, or ValueError if only Python reads it as a number: 1_0, or digits of other scripts."""
    if "_" in number or not number.strip().isascii():
        raise ValueError
    return number


def class_in(cell: str, decimal: str = ".") -> str:
    """Name of a label's class: equal numbers have one name, however they are written.

    >>> class_in(" +1.0 "), class_in("-0"), class_in(".50"), class_in("yes")
    ('1', '0', '0.5', 'yes')
    """
    number = number_in(cell, decimal)
    return word_of(number) if abs(number) < _LARGEST_WHOLE else cell.strip()


def word_of(label: float) -> str:
    return str(int(label)) if label.is_integer() else repr(label)


def is_missing(label: str) -> bool:
    """True if a label is one of the words for a missing value.

    >>> is_missing("NA"), is_missing("?"), is_missing("no")
    (True, True, False)
    """
    return label.casefold() in _MISSING


def has_thousands(cell: str) -> bool:
    """True if a cell is no number because of thousands separators, or possible ones.

    >>> has_thousands("1,234"), has_thousands("1.234.567,8"), has_thousands("1,5")
    (True, True, False)
    """
    return _THOUSANDS.fullmatch(cell.strip()) is not None


def _encoding(content: bytes) -> str:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if content[first:4:2] == b"\0\0" and b"\0" not in content[1 - first : 4 : 2]:
            return encoding
    if content.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(content), 2**20):
            decoder.decode(content[start : start + 2**20])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "utf-8-sig" if _NOT_WESTERN.search(content) else "cp1252"
    return "utf-8-sig"


def _sample(text: str, separator: str) -> list[list[str]]:
    records: list[list[str]] = []
    with suppress(csv.Error):  # raised again when the file is read
        for record in csv.reader(io.StringIO(text, newline=None), delimiter=separator):
            if any(cell.strip() for cell in record):
                records.append(record)
            if len(records) == _SNIFFED_RECORDS:
                break
    return records


def _fit(records: list[list[str]]) -> tuple[bool, int, float, int]:
    """Score of a separator: first by equal lengths of records, then by the share of cells that are numbers."""
    if not records:
        return False, 0, 0.0, 0
    width = len(records[0])
    cells = [cell.strip() for record in records for cell in record]
    numbers = sum(math.isfinite(number_in(cell)) or bool(_DECIMAL[1].fullmatch(cell)) for cell in cells)
    return width > 1, sum(len(record) == width for record in records), numbers / len(cells), width


def _is_header(records: list[list[str]], decimal: str) -> bool:
    """True if the first record seems to name columns: it has no number and no word that occurs again below it."""
    first, rest = [cell.strip() for cell in records[0]], records[1:]
    numbers = [number for cell in first if math.isfinite(number := number_in(cell, decimal))]
    names, words_return = 0, False
    for place, cell in enumerate(first):
        if math.isfinite(number_in(cell, decimal)) or is_missing(cell):
            continue
        below = [record[place].strip() for record in rest if place < len(record)]
        filled = [number_in(other, decimal) for other in below if not is_missing(other)]
        names += bool(filled) and all(map(math.isfinite, filled))
        words_return |= cell in below
    counts_up = len(numbers) > 2 and all(after - before == 1 for before, after in itertools.pairwise(numbers))
    return names > len(numbers) or (not words_return and (not numbers or counts_up))


def _records(content: bytes, name: str, form: Format, progress: Progress) -> Iterator[tuple[int, list[str]]]:
    """Records of a CSV file, all of one length, each with the number of the line in which it begins."""

    def lines() -> Iterator[str]:
        for number, line in numbered_lines(name, Followed(content, progress), form.encoding):
            if len(line) > _LONGEST_LINE:
                raise ValueError(
                    f"{name} must have at most {_LONGEST_LINE:,} characters in a line, got more in line {number:,}; a "
                    "table of very many columns fits the LIBSVM format"
                )
            yield "\n" if number == 1 and _SEPARATOR_LINE.fullmatch(line) else line

    rows = csv.reader(lines(), delimiter=form.separator, strict=True)
    before: list[str] = []
    while True:
        begin = rows.line_num + 1
        try:
            cells = next(rows, None)
        except csv.Error:
            text = "".join(itertools.islice(lines(), begin - 1, rows.line_num))
            raise ValueError(_unreadable(name, text, form.separator, begin)) from None
        if cells is None:
            return
        if len(cells) <= 1 and not "".join(cells).strip():
            continue
        before = before or [""] * len(cells)
        if len(cells) != len(before):
            raise ValueError(
                f"{name} must be a CSV table with {len(before)} fields in each line, got {len(cells)} in line {begin}"
            )
        if rows.line_num > begin:
            for place, cell in enumerate(cells):
                if _holds_records(cells, place, before, form):
                    opens = begin + "".join(cells[:place]).count("\n")
                    closes = opens + cell.count("\n")
                    raise ValueError(
                        _QUOTES.format(name, opens, f"closes in line {closes:,}, after what look like records")
                    )
        yield begin, cells
        before = cells


def _holds_records(cells: list[str], place: int, before: list[str], form: Format) -> bool:
    """True if the lines of a cell would be records like the one before, which means that a quote was left open."""
    first, *others = (line.split(form.separator) for line in cells[place].split("\n"))
    if not others:
        return False
    others[-1] += cells[place + 1 :]
    records = [cells[:place] + first, *(record for record in others if record != [""])]
    if len(records) == 1 or any(len(record) != len(before) for record in records):
        return False
    numeric = [i for i, cell in enumerate(before) if math.isfinite(number_in(cell, form.decimal))]
    alike = [
        all(is_missing(record[i].strip()) or math.isfinite(number_in(record[i], form.decimal)) for i in numeric)
        for record in records
    ]
    return 2 * sum(alike) > len(alike)


def _unreadable(name: str, text: str, separator: str, begin: int) -> str:
    """Message for a record that cannot be read; `text` is the part that was read."""
    mark = re.escape(separator)
    quoted = rf'(?<![^{mark}\n])"[^"]*(?:""[^"]*)*("(?!")(?=[{mark}\n]|\Z))?'
    opened = next((found.start() for found in re.finditer(quoted, text) if not found[1]), None)
    if opened is None:
        return f"{name} must have at most {LONGEST_CELL:,} characters in a cell, got more in line {begin:,}"
    return _QUOTES.format(name, begin + text.count("\n", 0, opened), "does not")
