"""Codebooks: bounds and levels of columns, as a person types or pastes them."""

import dataclasses as dc
import math
import re
from collections.abc import Collection

from ..core.validation import shown
from .cells import class_in, has_thousands, marks_in, number_in, typed_number

_NAME_ENDS = re.compile(r"[\t;|:=,]")
_NUMBER = r"[-+\u2212]?[\d.,']*\d(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\s*(?:\bto\b|\.{{2,3}}|[-\u2026\u2013\u2014])\s*({_NUMBER})")
_HEADING = re.compile(r"\b(smallest|min(imum)?|low(er|est)?|from|levels?|values?|bounds?|range)\b", re.IGNORECASE)


@dc.dataclass(frozen=True)
class Codebook:
    """What a text says about columns. bounds: smallest and largest value of each. levels: of each category."""

    bounds: dict[str, tuple[float, float]]
    levels: dict[str, tuple[str, ...]]


def read_codebook(text: str, columns: Collection[str], numbers: Collection[str]) -> Codebook:
    """Bounds and levels in lines like "age, 0, 120", "age: 0 to 120", "sex: f; m" and "stage = {1, 2}".

    columns: of the file. numbers: those that may have bounds. A line begins with the name of a column. Two numbers are
    its bounds, unless they stand in braces, and everything else is its levels; of "1 = male; 2 = female" these are 1
    and 2. Cells are separated by tabs, semicolons, bars or commas. A first line of headings is skipped. Raises
    ValueError with the line that is none of these or has a number that may mean two.

    >>> book = read_codebook("age: 0 to 120\\nkg; 4; 250,5\\nsex, f, m", ["age", "kg", "sex"], ["age", "kg"])
    >>> book.bounds, book.levels
    ({'age': (0.0, 120.0), 'kg': (4.0, 250.5)}, {'sex': ('f', 'm')})
    """
    book = Codebook({}, {})
    decimal, thousands = marks_in(re.split(r"[\s;|:={}\"]+", text))
    marks = (decimal, thousands) if decimal else None
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    for number, line in lines:
        column, said = _named(line, columns)
        if column is None:
            if number == lines[0][0] and _HEADING.search(line):
                continue
            raise ValueError(f"line {number} must begin with a column of this file, got {shown(said)}")
        if column in book.bounds or column in book.levels:
            raise ValueError(f"line {number} must be about another column, got {shown(column)} twice")
        try:
            ends = _ends(said)
            if ends is None:
                book.levels[column] = _levels(said)
            elif column in numbers:
                book.bounds[column] = _bounds(*ends, marks)
            else:
                raise ValueError(f"levels of {shown(column)}, which holds texts, must be given, got {shown(said)}")
        except ValueError as error:
            raise ValueError(f"line {number} of the table is refused: {error}") from None
    if not (book.bounds or book.levels):
        raise ValueError(
            'a table must have a line like "column, smallest, largest" or "column: level; level", got none'
        )
    return book


def levels_in(text: str, decimal: str = ".") -> tuple[str, ...]:
    """Levels in a text, each once: separated by lines, tabs, semicolons or bars, and only without these by commas.

    decimal: as the file writes numbers, which are one level if they are equal.

    >>> levels_in("f, m, f"), levels_in("low; 1,5; high"), levels_in("1; 1.0; 2")
    (('f', 'm'), ('low', '1,5', 'high'), ('1', '2'))
    """
    levels: dict[str, str] = {}
    for cell in _cells(text):
        if level := cell.strip('"').strip():
            levels.setdefault(class_in(level, decimal), level)
    return (*levels.values(),)


def _cells(text: str) -> list[str]:
    separators = "[\n\t;|]" if re.search("[\n\t;|]", text.strip()) else ","
    return [cell.strip() for cell in re.split(separators, text.strip())]


def _named(line: str, columns: Collection[str]) -> tuple[str | None, str]:
    """Column with whose name a line begins, the longest one, and what the line says about it; or None and its start."""
    found = [(line[: end.start()].strip().strip('"').strip(), line[end.end() :]) for end in _NAME_ENDS.finditer(line)]
    known = [each for each in found if each[0] in columns]
    return known[-1] if known else (None, found[0][0] if found else line)


def _ends(said: str) -> tuple[str, str] | None:
    """Smallest and largest value as they are written; None for levels."""
    if written := _RANGE.fullmatch(said.strip()):
        return written[1], written[2]
    cells = [cell.strip('"').strip() for cell in _cells(said)]
    if len(cells) == 2 and any(map(_is_number, cells)):
        return cells[0], cells[1]
    return None


def _is_number(cell: str) -> bool:
    return has_thousands(cell) or not math.isnan(number_in(cell, *marks_in([cell])))


def _bounds(first: str, second: str, marks: tuple[str, str] | None) -> tuple[float, float]:
    low, high = typed_number(first, marks), typed_number(second, marks)
    if not low < high:
        raise ValueError(f"the smallest value must come first, got {first} and {second}")
    return low, high


def _levels(said: str) -> tuple[str, ...]:
    inner = re.fullmatch(r"\s*[{\[](.*)[}\]]\s*", said)
    cells = _cells(inner[1] if inner else said)
    if all(re.fullmatch(r"[^=]+=.+", cell) for cell in cells):
        cells = [cell.partition("=")[0].strip() for cell in cells]
    levels = levels_in("\n".join(cells))
    if len(levels) < 2:
        raise ValueError(f"a column must have its smallest and its largest value, or two levels, got {shown(said)}")
    if not inner and not re.search("[\t;|]", said) and all(map(_is_number, levels)):
        raise ValueError(f"levels that are numbers must be separated by semicolons, got {shown(said)}")
    return levels
