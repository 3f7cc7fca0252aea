"""Cells of a table: whether a text is a number, a word for a missing value, or a class."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress

import numpy as np

from ..core.arrays import Array
from ..core.validation import shown

# Marks of no value, in small letters: of pandas (STR_NA_VALUES), databases, the UCI repository (?), SAS and Stata (.),
# people (dashes, n.a., k.A.), and errors of spreadsheets in any language (#DIV/0!, #N/A).
_MISSING = re.compile(
    r"|na|-?nan(\(ind\))?|-?1\.#(ind|qnan)|n/a|<na>|\(na\)|null|[<([]null[])>]|\$null\$|\\n|[?]+|\.{1,3}|\u2026"
    r"|[-\u2013\u2014\u2212]+|n\. ?a\.?|k\. ?a\.|#[\xa1\xbf]?[^\W\d_]+(/0)?[!?]|#[^\W\d_]/[^\W\d_]|#na|#nv|#n/a n/a|nat"
)
# Others, which are values where a column holds words: .a to .z of Stata, : of Eurostat, * / x [c] of other statistics.
_NO_NUMBER = re.compile(
    r"\.[a-z_]|: ?[a-z]{0,2}|\*+|#+|[/x_]|\[[a-z]\]|nil|n/?d|[ns]\.d\.|s/o|\(?(blank|empty|missing|none|unknown)\)?"
    r"|undefined|not (available|applicable|reported|known)|no data|unbekannt|keine angaben?|fehl(t|end)|inconnu"
)
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:([.,' ])\d{3})(?:\1\d{3})*(?:([.,])\d+)?")
_TWO_WAYS = re.compile(r"([1-9]\d{0,2})[.,](\d{3})")  # 1.250 may be a thousand, or little more than one
_DECIMAL = {mark: re.compile(rf"\d*{re.escape(mark)}\d+(e[+-]?\d+)?", re.IGNORECASE) for mark in ".,"}
_MARKS = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", "-")
    | dict.fromkeys("\xa0\u2007\u2008\u2009\u200a\u202f", " ")
    | dict.fromkeys("\u2018\u2019\u02bc\xb4`", "'")
    | dict.fromkeys("\u200b\u200e\u200f\u2060\ufeff", "")
    | {"\uff05": "%"}
)
_UNIT = (
    "%|\u2030|[A-Z]{0,2}[$\xa3\xa5\u0e3f\u20a0-\u20cf]|EUR|USD|GBP|CHF|JPY|CNY|RMB|INR|KRW|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|BGN|TRY"
    "|RUB|UAH|ILS|AED|SAR|ZAR|AUD|CAD|NZD|SGD|HKD|BRL|MXN|THB|[Kk]r\\.?|Fr\\.|Rs\\.?|z\u0142|K\u010d|Ft"
)
_DIGITS = r"[.,]?\d[\d.,']*(?: \d{3}[\d.,]*)*(?:[eE][-+]?\d+)?(?:(?<=[.,])-{1,2})?"  # 5.- francs have no cents
_DRESSED = re.compile(rf"([-+( ]*)({_UNIT})?([-+( ]*)({_DIGITS})([-) ]*)({_UNIT})?([-) ]*)")
_SIGNS = {"": 1.0, "+": 1.0, "-": -1.0, "()": -1.0}  # accountants write negative numbers in brackets
_OTHER = {".": ",", ",": "."}
_DIGIT = re.compile("[0-9]")
_LARGEST_WHOLE = 2.0**53  # floats represent whole numbers exactly up to here


def _undressed(cell: str) -> tuple[float, str, str] | None:
    """Sign, digits and unit of a text that may be a number; None if it cannot."""
    found = _DRESSED.fullmatch(cell.strip().translate(_MARKS))
    if found is None:
        return None
    lead, before, middle, digits, end, after, close = (part or "" for part in found.groups())
    sign = _SIGNS.get((lead + middle + end + close).replace(" ", ""))
    if sign is None or (before and after):
        return None
    if digits.endswith("-"):
        digits = digits.rstrip("-")[:-1]
    return sign, digits, before or after


def number_in(cell: str, decimal: str = ".", thousands: str = "") -> float:
    """Number in a cell; nan if there is none. thousands: the mark that may stand between groups of three digits.

    Any minus sign, before or behind, brackets for a negative number, a percent sign and a currency are read: 21% is 21.

    >>> number_in("1.250,5", ",", "."), number_in("1,250"), number_in("12,50", ".", ",")
    (1250.5, nan, nan)
    >>> number_in("\u22120.5"), number_in("\u20ac 1,250.00", ".", ","), number_in("21.5 %")
    (-0.5, 1250.0, 21.5)
    >>> number_in("(3)"), number_in("3-")
    (-3.0, -3.0)
    """
    return number_and_unit(cell, decimal, thousands)[0]


def number_and_unit(cell: str, decimal: str = ".", thousands: str = "") -> tuple[float, str]:
    """Number in a cell, nan if there is none, and its unit: a percent sign, a currency, or "" for none."""
    if not _DIGIT.search(cell):  # most texts, without the cost of an exception
        return math.nan, ""
    number = _plain(cell, decimal)
    if math.isnan(number) and (found := _undressed(cell)):
        sign, digits, unit = found
        mark = re.escape(thousands)
        if thousands and re.fullmatch(rf"\d{{1,3}}({mark}\d{{3}})+({re.escape(decimal)}\d*)?", digits):
            digits = digits.replace(thousands, "")
        number = sign * _plain(digits, decimal)
        return number, "" if math.isnan(number) else unit
    return number, ""


def _plain(cell: str, decimal: str) -> float:
    """Number that is written with ASCII digits and without separators of thousands, else nan."""
    if decimal == ",":
        cell = cell.replace(".", "_").replace(",", ".")
    if "_" in cell or not cell.strip().isascii():  # only Python reads them as numbers
        return math.nan
    try:
        return float(cell)
    except ValueError:
        return math.nan


def marks_in(cells: Iterable[str]) -> tuple[str, str]:
    """Decimal mark, and mark between groups of three digits, that numbers among texts show; "" where none do.

    1,250 alone shows nothing. It is a thousand beside 0.5, 1,250.5 or 1,000,000, and little more than one beside 0,5.

    >>> marks_in(["0,5", "1.250"]), marks_in(["1,250.5"]), marks_in(["1,250"]), marks_in(["1'250"])
    ((',', '.'), ('.', ','), ('', ''), ('', "'"))
    """
    decimals: Counter[str] = Counter()  # numbers in which a mark can only be the decimal one
    groups: Counter[str] = Counter()
    either: Counter[str] = Counter()
    for _, digits, _ in filter(None, map(_undressed, cells)):
        grouped = _GROUPED.fullmatch(digits)
        if grouped is None:
            decimals.update(mark for mark, written in _DECIMAL.items() if written.fullmatch(digits))
        elif _TWO_WAYS.fullmatch(digits):
            either[grouped[1]] += 1
        else:
            groups[grouped[1]] += 1
            decimals.update([mark] if (mark := grouped[2] or _OTHER.get(grouped[1])) else [])
    decimal = "," if decimals[","] > decimals["."] else "." if decimals["."] else ""
    other = _OTHER.get(decimal, "")
    if other and not decimals[other]:
        groups[other] += either[other]
    del groups[decimal]
    return decimal, max(+groups, key=groups.__getitem__, default="")


def typed_number(text: str, marks: tuple[str, str] | None = None) -> float:
    """Number that a person typed, with a decimal point or comma, with an exponent, or with separators of thousands.

    marks: decimal mark, and mark between groups, that the writer is known to use. Raises ValueError for what is no
    finite number, and for a text that may mean two numbers.

    >>> [typed_number(text) for text in ("0,5", ".5", "1e3", "\u22120,25", "1.250,5", "1 250")]
    [0.5, 0.5, 1000.0, -0.25, 1250.5, 1250.0]
    >>> typed_number("1,250")
    Traceback (most recent call last):
        ...
    ValueError: a number must have one meaning, got '1,250'; type '1250' or '1.2500'
    """
    found = _undressed(text)
    two = found and _TWO_WAYS.fullmatch(found[1])
    if two and marks is None:
        raise ValueError(
            f"a number must have one meaning, got {shown(text)}; type '{two[1]}{two[2]}' or '{two[1]}.{two[2]}0'"
        )
    number = number_in(text, *(marks if two and marks else marks_in([text])))
    if found is None or found[2] or not math.isfinite(number):
        raise ValueError(f"a number must be typed in digits, without a unit, got {shown(text)}")
    return number


def typed(value: float) -> str:
    """A number as a person would type it, which `typed_number` reads back; "" for nan.

    >>> typed(120.0), typed(0.1), typed(1.125), typed(float("nan"))
    ('120', '0.1', '1.1250', '')
    """
    if math.isnan(value):
        return ""
    text = word_of(value) if abs(value) < _LARGEST_WHOLE else repr(value)
    return text + "0" if _TWO_WAYS.fullmatch(text.removeprefix("-")) else text


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


def is_missing(cell: str, among_numbers: bool = False) -> bool:
    """True if a cell is a mark of no value. among_numbers: whether other cells of its column are numbers, not words.

    >>> is_missing("NA"), is_missing("#DIV/0!"), is_missing("unknown"), is_missing("unknown", among_numbers=True)
    (True, True, False, True)
    """
    word = cell.casefold()
    return bool(_MISSING.fullmatch(word) or (among_numbers and _NO_NUMBER.fullmatch(word)))


def has_thousands(cell: str) -> bool:
    """True if a cell is no number because of thousands separators, or possible ones.

    >>> has_thousands("1,234"), has_thousands("$1.234.567,8"), has_thousands("1,5")
    (True, True, False)
    """
    found = _undressed(cell)
    return found is not None and _GROUPED.fullmatch(found[1]) is not None
