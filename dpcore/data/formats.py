"""Formats of CSV files: a guess from the first records, and the records, each with the line in which it begins.

Errors are ValueErrors of one sentence that names the file, the place and the rule.
"""

import codecs
import csv
import dataclasses as dc
import io
import itertools
import math
import re
import statistics
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from ..core.validation import one_of
from .cells import is_missing, marks_in, number_in
from .encodings import ENCODINGS, guess_encoding, other_bytes

if TYPE_CHECKING:
    import _csv

SEPARATORS = (";", "\t", "|", ",", " ")  # where several fit, an earlier one: a comma may be a decimal comma
QUOTES = ('"', "'")
DECIMALS = (".", ",")
THOUSANDS = ("", ",", ".", "'", " ")
LONGEST_CELL = csv.field_size_limit()
_LIKELY = {";": "0,5", ",": "0.5"}  # numbers beside which 1,250 is no doubt
GZIP = b"\x1f\x8b"
_SPREADSHEET = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
NO_SPREADSHEET = (
    "must be a table as text, got a spreadsheet or an archive; open it in the spreadsheet program, choose File, "
    "Save as, CSV UTF-8 (comma delimited), and take that file"
)
_LONGEST_LINE = 2**19  # characters; split into cells, a longer one would take a hundred times its size
_SNIFFED_BYTES, _SNIFFED_RECORDS = 2**16, 100
_SEPARATOR_LINE = re.compile(r'("?)sep=([,;\t|])\1(\r\n?|\n|\Z)', re.IGNORECASE)  # a first line that Excel obeys
_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LINE_END = re.compile(rb"[\r\n]")
_QUOTES = (
    "{} must close each quote at the end of its cell, got one in the record that begins in line {:,} and {}; close it, "
    "or double it where it is part of a quoted text"
)


@dc.dataclass(frozen=True)
class Format:
    """Format of a CSV file.

    separator: of the cells; " " stands for any number of blanks. header: True if the first line names the columns.
    quote: the character around texts that hold separators. thousands: the mark between groups of three digits, "" for
    none. row_names: True if each row begins with a name for which the first line has none, as R writes tables.
    """

    encoding: str
    separator: str
    decimal: str
    header: bool
    quote: str = '"'
    thousands: str = ""
    row_names: bool = False

    def __post_init__(self) -> None:
        one_of("encoding", self.encoding, ENCODINGS)
        one_of("separator", self.separator, SEPARATORS)
        one_of("decimal", self.decimal, DECIMALS)
        one_of("quote", self.quote, QUOTES)
        one_of("thousands", self.thousands, THOUSANDS)
        if self.thousands == self.decimal:
            raise ValueError(f"thousands must be another mark than decimal, got {self.thousands!r} for both")


def sniff(content: bytes, name: str) -> Format:
    """Likely format of a CSV file, guessed from its first records; the encoding from the whole file.

    UTF-8 and UTF-16 are recognised; anything else counts as the Western European encoding in which fewest words look
    odd. Where several fit, or one in ten words is odd, or some are UTF-8, nothing is guessed: UTF-8 remains, in which
    reading the file fails with a sentence that asks. The separator is the one named by a first line like
    sep=; or, with the quotes, the one that splits most records into as many cells as the others and leaves fewest cells
    in quotes. `marks_in` tells the marks in numbers; 1.250 beside semicolons and 1,250 beside commas are thousands if
    no number shows the contrary. The first line is no header if it holds numbers, unless these count up like names (0,
    1, 2), or if it holds words that occur again below them, unless more words are above columns of numbers.

    >>> sniff(b"age;sick\\n50,5;yes\\n", "people.csv").separator
    ';'
    """
    if content.startswith(GZIP):
        raise ValueError(f"{name} must be a plain CSV file, got a compressed one")
    if content.startswith(_SPREADSHEET):
        raise ValueError(f"{name} {NO_SPREADSHEET}")
    encoding = guess_encoding(content)
    end = _LINE_END.search(content, _SNIFFED_BYTES, _LONGEST_LINE)
    text = content[: end.start() if end else _LONGEST_LINE].decode(encoding, "ignore")
    said = _SEPARATOR_LINE.match(text)
    text = text[said.end() if said else 0 :]
    quotes = QUOTES if text.count("'") > text.count('"') else QUOTES[:1]
    ways = itertools.product([said[2]] if said else SEPARATORS, quotes)
    samples = {way: _sample(text, *way) for way in ways}
    separator, quote = max(samples, key=lambda way: _fit(samples[way]))
    records = samples[separator, quote]
    short = _one_name_short(records)
    row_names = short and any(record[-1].strip() for record in records[1:])
    if row_names:
        records[0] = ["", *records[0]]
    cells = [cell for record in records[1:] or records for cell in record]
    decimal, thousands = marks_in(cells)
    if not (decimal or thousands):  # a program writes semicolons where it writes decimal commas, else commas
        likely = marks_in([*cells, _LIKELY.get(separator, "")])
        decimal, thousands = likely if likely[1] else ("", "")
    decimal = decimal or "."
    header = not records or short or _is_header(records, decimal)
    return Format(encoding, separator, decimal, header, quote, thousands, row_names)


def opened(content: bytes, name: str, form: Format) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Names of the columns of a CSV file as they are written, and its records, each with the line in which it begins.

    Empty lines are skipped, and so is a first line like sep=;. A name is empty where rows have one cell more than the
    first line: the first in the case of row names, else the last, which must be empty in the first record. An empty
    name at the end of the first line counts only if rows have a cell there. Raises ValueError for a file of one column,
    and, while records are read, for a record of another length, a quote that is
    not closed at the end of its cell, and lines and cells that are too long.
    """
    records = _split(content, name, form)
    begin, names = next(records, (0, []))
    if not names:
        raise ValueError(f"{name} must be a CSV table with a header line and at least 2 records, got an empty file")
    if len(names) == 1:
        raise ValueError(
            f"{name} must have a label and at least one feature, separated by commas, semicolons, tabs, | or blanks, "
            "got one column; delete the lines above the names, if there are any"
        )
    if not form.header:
        records = itertools.chain([(begin, names)], records)
        names = [f"column {place}" for place in range(1, len(names) + 1)]
    elif (second := next(records, None)) is not None:
        cells = second[1]
        if form.row_names and len(cells) == len(names) + 1:
            names = ["", *names]
        elif len(cells) == len(names) + 1 and not cells[-1].strip():
            names = [*names, ""]
        elif len(cells) == len(names) - 1 > 1 and not names[-1].strip():
            names = names[:-1]
        elif len(cells) == len(names) + 1:
            raise ValueError(
                f"{name} must have a name for each of its {len(cells)} columns in line {begin}, got {len(names)}; add "
                "the one that is missing, or read the file with row names"
            )
        records = itertools.chain([second], records)
    return names, _of_one_length(records, len(names), name)


def _text_of(content: bytes, form: Format) -> TextIO:
    """Text of a CSV file from its first record on, with one kind of line ends; blanks before these separate nothing."""
    for mark in _ORDER_MARKS if form.encoding != "utf-16" else ():  # which needs it
        content = content.removeprefix(mark)
    text: TextIO = io.TextIOWrapper(io.BytesIO(content), form.encoding)
    if form.separator == " ":
        text = io.StringIO("".join(_stripped(text)))
    if not _SEPARATOR_LINE.fullmatch(text.readline(_LONGEST_LINE)):
        text.seek(0)
    return text


def _stripped(lines: Iterable[str]) -> Iterator[str]:
    return (line.rstrip(" \n") + "\n" for line in lines)


def _cells_of(lines: Iterable[str], form: Format) -> "_csv.Reader":
    """Reader of the records in lines."""
    escape = "\\" if form.quote == "'" else None  # of an apostrophe, in files of Weka and OpenML
    return csv.reader(
        lines, delimiter=form.separator, quotechar=form.quote, escapechar=escape, skipinitialspace=True, strict=True
    )


def _is_blank(cells: list[str]) -> bool:
    """True if a record is an empty line."""
    return len(cells) < 2 and not "".join(cells).strip()


def _split(content: bytes, name: str, form: Format) -> Iterator[tuple[int, list[str]]]:
    try:
        text = _text_of(content, form)
        skipped = int(text.tell() > 0)
        reader = _cells_of(_lines(text, name, skipped), form)
        while True:
            begin = reader.line_num + 1 + skipped
            cells = next(reader, None)
            if cells is None:
                return
            if "\n" in "".join(cells) and any(_holds_records(cells, place, form) for place in range(len(cells))):
                raise ValueError(_QUOTES.format(name, begin, "closes in a later one, after what look like records"))
            if not _is_blank(cells):
                yield begin, cells
    except csv.Error as error:
        if "limit" in str(error):
            raise ValueError(
                f"{name} must have at most {LONGEST_CELL:,} characters in a cell, got more in line {begin:,}; a quote "
                "that is not closed makes one cell of all that follows"
            ) from None
        raise ValueError(_QUOTES.format(name, begin, "does not")) from None
    except UnicodeError:
        raise ValueError(other_bytes(content, name, form.encoding)) from None


def _lines(text: Iterable[str], name: str, skipped: int) -> Iterator[str]:
    for number, line in enumerate(text, start=skipped + 1):
        if "\0" in line:
            raise ValueError(f"{name} must be a text file, got binary content in line {number}")
        if len(line) > _LONGEST_LINE:
            raise ValueError(
                f"{name} must have at most {_LONGEST_LINE:,} characters in a line, got more in line {number:,}; a "
                "table of very many columns fits the LIBSVM format"
            )
        yield line


def _of_one_length(records: Iterator[tuple[int, list[str]]], width: int, name: str) -> Iterator[tuple[int, list[str]]]:
    for begin, cells in records:
        if len(cells) != width:
            raise ValueError(
                f"{name} must be a CSV table with {width} fields in each line, got {len(cells)} in line {begin}"
            )
        yield begin, cells


def _holds_records(cells: list[str], place: int, form: Format) -> bool:
    """True if each line of a cell would complete a record, which means that a quote was left open."""
    lines = cells[place].splitlines()
    if len(lines) < 2:
        return False
    marks = [line.count(form.separator) for line in lines]
    marks[0] += place
    marks[-1] += len(cells) - 1 - place
    filled = [mark for line, mark in zip(lines, marks, strict=True) if line or mark]
    return len(filled) > 1 and {*filled} == {len(cells) - 1}


def _sample(text: str, separator: str, quote: str) -> list[list[str]]:
    """First records of a text, as far as they can be read."""
    records: list[list[str]] = []
    with suppress(csv.Error):  # raised again when the file is read
        form = Format("utf-8-sig", separator, ".", True, quote)
        lines = io.StringIO(text, newline=None)
        for cells in _cells_of(_stripped(lines) if separator == " " else lines, form):
            if not _is_blank(cells):
                records.append(cells)
            if len(records) == _SNIFFED_RECORDS:
                break
    return records


def _fit(records: list[list[str]]) -> tuple[bool, int, int]:
    """Score of a separator and a quote: records of one length, then few cells that stand in quotes."""
    if not records:
        return False, 0, 0
    width = statistics.mode(map(len, records[1:] or records))
    quoted = sum(len(cell) > 1 and cell[0] == cell[-1] and cell[0] in QUOTES for record in records for cell in record)
    return width > 1, sum(len(record) == width for record in records), -quoted


def _one_name_short(records: list[list[str]]) -> bool:
    """True if all records have one cell more than the first, which holds no line break: a quote may be open there."""
    more = {len(record) - 1 for record in records[1:]}
    return bool(more) and more == {len(records[0])} and "\n" not in "".join(records[0])


def _is_header(records: list[list[str]], decimal: str) -> bool:
    """True if the first record seems to name columns: it has no number and no word that occurs again below it."""
    first, rest = [cell.strip() for cell in records[0]], records[1:]
    numbers = [number for cell in first if math.isfinite(number := number_in(cell, decimal))]
    names, words_return = 0, False
    for place, cell in enumerate(first):
        if math.isfinite(number_in(cell, decimal)) or is_missing(cell):
            continue
        below = [record[place].strip() for record in rest if place < len(record)]
        filled = [number_in(other, decimal) for other in below if not is_missing(other, among_numbers=True)]
        names += bool(filled) and all(map(math.isfinite, filled))
        words_return |= cell in below
    counts_up = len(numbers) > 2 and all(after - before == 1 for before, after in itertools.pairwise(numbers))
    return names > len(numbers) or (not words_return and (not numbers or counts_up))
