"""Cells of a table: whether a text is a number, a word for a missing value, or a class."""

import math
import re
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from ..core.arrays import Array

# Words that pandas reads as missing (STR_NA_VALUES), in lower case, with "?" of the UCI repository and a dash.
_MISSING = frozenset(
    ["", "#n/a", "#n/a n/a", "#na", "-1.#ind", "-1.#qnan", "-nan", "1.#ind", "1.#qnan", "<na>", "n/a", "na", "nan"]
).union(["none", "null", "?", "-"])
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}([.,' \xa0\u2009\u202f]\d{3})+([.,]\d+)?")
_BLANKS = re.compile(r"[\xa0\u2009\u202f]")  # that separate thousands like a blank
_LARGEST_WHOLE = 2.0**53  # floats represent whole numbers exactly up to here


def number_in(cell: str, decimal: str = ".", thousands: str = "") -> float:
    """Number in a cell; nan if there is none. thousands: the mark that may stand between groups of three digits.

    >>> number_in("1.250,5", ",", "."), number_in("1,250"), number_in("12,50", ".", ",")
    (1250.5, nan, nan)
    """
    if not cell or (cell[0].isalpha() and cell[0] not in "iInN"):  # most texts, without the cost of an exception
        return math.nan
    if thousands:
        cell = _BLANKS.sub(" ", cell.strip())
        mark = re.escape(thousands)
        if re.fullmatch(rf"[+-]?\d{{1,3}}({mark}\d{{3}})+({re.escape(decimal)}\d*)?", cell):
            cell = cell.replace(thousands, "")
    if decimal == ",":
        cell = cell.replace(".", "_").replace(",", ".")
    if "_" in cell or not cell.strip().isascii():  # only Python reads them as numbers
        return math.nan
    try:
        return float(cell)
    except ValueError:
        return math.nan


def plain_numbers(cells: Sequence[str]) -> Array | None:
    """Numbers in cells if all of them are numbers with a decimal point, None if one of them is anything else."""
    text = "".join(cells)
    if text.isascii() and "_" not in text:
        with suppress(ValueError):
            return np.array([*map(float, cells)])
    return None


def class_in(cell: str, decimal: str = ".") -> str:
    """Name of a label's class: equal numbers have one name, however they are written.

    >>> class_in(" +1.0 "), class_in("-0"), class_in(".50"), class_in("yes")
    ('1', '0', '0.5', 'yes')
    """
    number = number_in(cell, decimal)
    return word_of(number) if abs(number) < _LARGEST_WHOLE else cell.strip()


def word_of(label: float) -> str:
    return str(int(label)) if label.is_integer() else repr(label)


def is_missing(cell: str) -> bool:
    """True if a cell is one of the words for a missing value.

    >>> is_missing("NA"), is_missing("?"), is_missing("no")
    (True, True, False)
    """
    return cell.casefold() in _MISSING


def has_thousands(cell: str) -> bool:
    """True if a cell is no number because of thousands separators, or possible ones.

    >>> has_thousands("1,234"), has_thousands("1.234.567,8"), has_thousands("1,5")
    (True, True, False)
    """
    return _THOUSANDS.fullmatch(cell.strip()) is not None
