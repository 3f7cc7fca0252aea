"""Text files line by line, from disk or from memory, and what stands in a cell.

What cannot be read ends in a ValueError of one sentence that names the file, the place and the rule.
"""

from __future__ import annotations

import csv
import gzip
import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..checks import shown


def existing_file(path: Path) -> Path:
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"path must be a file, got {path}, which is a folder")
    if not path.exists():
        raise ValueError(f"path must be a file, got {path} (No such file or directory)")
    if not path.is_file():
        raise ValueError(f"path must be a file, got {path}, which is a pipe or a device")
    return path


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file, plain or gzip, numbered from 1."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig") as file:
            yield from numbered_lines(path.name, file)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path.name} must be a whole gzip file, got one that cannot be unpacked ({error})") from None


def numbered_lines(name: str, file: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The lines of an open text file, numbered from 1; ValueError where it holds no text."""
    try:
        for number, line in enumerate(file, start=1):
            if "\0" in line:
                raise ValueError(f"{name} must be a text file, got binary content in line {number}")
            yield number, line
    except UnicodeDecodeError:
        raise ValueError(f"{name} must be a text file in UTF-8, got binary content or another encoding") from None


def header_of(name: str, lines: Iterator[tuple[int, str]]) -> tuple[str, ...]:
    """The column names of a CSV file; nothing beyond its first line is read."""
    _, line = next(lines, (0, ""))
    if not line.strip():
        found = "an empty first line" if line else "an empty file"
        raise ValueError(f"{name} must be a CSV table with a header line and at least 2 records, got {found}")
    columns = tuple(column.strip() for column in next(csv.reader([line])))
    if len(columns) == 1:
        raise ValueError(f"{name} must have a label and at least one feature, separated by commas, got one column")
    if len(set(columns)) < len(columns):
        twice = next(column for column in columns if columns.count(column) > 1)
        raise ValueError(f"columns of {name} must have names of their own, got {shown(twice)} twice")
    return columns


def place_of(label: str, columns: Sequence[str], name: str) -> int:
    """Where the label's column stands, else ValueError."""
    if label not in columns:
        known = ", ".join(columns[:20]) + (", ..." if len(columns) > 20 else "")
        raise ValueError(f"label must be a column of {name} ({known}), got {shown(label)}")
    return columns.index(label)


def number_in(cell: str) -> float:
    """The cell's number; not a number where there is none."""
    try:
        return float(in_ascii(cell))
    except ValueError:
        return math.nan


def in_ascii(number: str) -> str:
    """The text, or ValueError where only Python reads a number in it: 1_0, or digits of other scripts."""
    if "_" in number or not number.strip().isascii():
        raise ValueError
    return number
