"""Column dictionary: what a holder declares about a table, as a small JSON file that is used again with the next file.

It holds names of columns, bounds and levels, which the holder declares to be public, and no record.
"""

import json
import re
from collections.abc import Container, Sequence
from typing import Any, NoReturn

from ..core.validation import check_real, integer, one_of, shown
from .tables import threshold_in
from .uploads import Category, Declared

_MAX_BYTES = 2**20
_MAX_LETTERS = 20
_MOST_RECORDS = 100  # for more, no page accounts


def write_dictionary(label: str, declared: Declared, unit: str = "", records: int = 1) -> str:
    """Declaration as JSON. label: column of the labels. unit: what one row is, "" to leave it and `records` out.
    records: rows that one unit has at most.

    >>> print(write_dictionary("sick", Declared(("age",), (0.0,), (120.0,), "yes")))
    {
      "label": "sick",
      "positive": "yes",
      "gaps": "refuse",
      "columns": [
        {
          "name": "age",
          "kind": "number",
          "smallest": 0.0,
          "largest": 120.0
        }
      ],
      "after_looking": []
    }
    """
    columns: list[dict[str, Any]] = [
        {"name": column, "kind": "number", "smallest": low, "largest": high}
        for column, low, high in zip(declared.columns, declared.low, declared.high, strict=True)
    ]
    columns += [{"name": each.column, "kind": "category", "levels": each.levels} for each in declared.categories]
    written = {
        **({"unit": unit, "records": records} if unit else {}),
        "label": label,
        "positive": declared.positive,
        "gaps": declared.gaps,
        "columns": columns,
        "after_looking": declared.after_looking,
    }
    return json.dumps(written, indent=2, ensure_ascii=False)


def read_dictionary(content: bytes, name: str) -> tuple[str, Declared]:
    """Label column and declaration from JSON as `write_dictionary` writes it. name: of the file.

    Raises ValueError, naming the part that is missing or of another kind. Whether it fits a table is told by
    `mismatches`.

    >>> said = Declared(("age",), (0.0,), (120.0,), "yes", categories=(Category("sex", ("f", "m")),))
    >>> read_dictionary(write_dictionary("sick", said).encode(), "people.json") == ("sick", said)
    True
    """
    found = _parsed(content, name)
    try:
        return _declaration(found)
    except ValueError as error:
        raise ValueError(f"{name} must be a column dictionary: {error}") from None


def read_unit(content: bytes, name: str) -> tuple[str, int]:
    """What one row is, and the rows that one of these has at most, from JSON as `write_dictionary` writes it.

    A dictionary that does not say is about persons with one row each. Raises ValueError for another kind of file.

    >>> said = Declared(("age",), (0.0,), (120.0,), "yes")
    >>> read_unit(write_dictionary("sick", said, "patient", 3).encode(), "people.json")
    ('patient', 3)
    """
    found = _parsed(content, name)
    try:
        records = integer("records", found.get("records", 1), at_least=1)
        if records > _MOST_RECORDS:
            raise ValueError(f"records must be at most {_MOST_RECORDS}, got {records:,}")
        return check_unit(found.get("unit", "person")), records
    except ValueError as error:
        raise ValueError(f"{name} must be a column dictionary: {error}") from None


def check_unit(unit: Any) -> str:
    """The name of what one row is, if it is a short word, or a few; else ValueError.

    >>> check_unit("household")
    'household'
    """
    if not isinstance(unit, str) or len(unit) > _MAX_LETTERS or not re.fullmatch(r"[^\W\d_]+([ -][^\W\d_]+)*", unit):
        raise ValueError(f"unit must be a word of at most {_MAX_LETTERS} letters, got {shown(unit)}")
    return unit


def _parsed(content: bytes, name: str) -> dict[str, Any]:
    if len(content) > _MAX_BYTES:
        raise ValueError(f"{name} must be at most {_MAX_BYTES // 2**20} MB, got {len(content) / 2**20:.1f} MB")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"{name} must be a JSON object that was downloaded as a column dictionary, got another file")
    return found


def mismatches(declared: Declared, columns: Sequence[str], numbers: Container[str], values: Sequence[str]) -> list[str]:
    """What a dictionary declares and a table does not have, a clause each; empty if it fits.

    columns: of the table, but the label's. numbers: those that hold numbers. values: the labels that occur.

    >>> said = Declared(("age", "dose"), (0.0, 0.0), (120.0, 1.0), "yes")
    >>> mismatches(said, ("age", "name"), ("age",), ("0", "1"))
    ["the file has no column 'dose'", "no row has the label 'yes'"]
    """
    wrong = [f"the file has no column {shown(column)}" for column in declared.features if column not in columns]
    wrong += [
        f"column {shown(column)} holds no numbers"
        for column in declared.columns
        if column in columns and column not in numbers
    ]
    if declared.positive not in values and threshold_in(declared.positive) is None:
        wrong.append(f"no row has the label {shown(declared.positive)}")
    return wrong


def _declaration(found: dict[str, Any]) -> tuple[str, Declared]:
    columns, label = _of(found, "columns", list), _of(found, "label", str)
    numbers: dict[str, tuple[float, float]] = {}
    categories = []
    for column in columns:
        if not isinstance(column, dict):
            _refuse("columns", "a list of objects", column)
        name = _of(column, "name", str)
        if one_of(f"kind of {shown(name)}", column.get("kind"), ("number", "category")) == "number":
            low, high = (
                check_real(f"{end} of {shown(name)}", column.get(end), "a number", lambda _: True)
                for end in ("smallest", "largest")
            )
            if not low < high:
                raise ValueError(f"smallest of {shown(name)} must be below its largest, got {low:g} and {high:g}")
            numbers[name] = low, high
        else:
            categories.append(Category(name, _texts(column, "levels")))
    lows, highs = (tuple(bounds[end] for bounds in numbers.values()) for end in (0, 1))
    gaps = one_of("gaps", found.get("gaps"), ("refuse", "drop"))
    declared = Declared(
        (*numbers,),
        lows,
        highs,
        _of(found, "positive", str),
        gaps,
        (*categories,),
        _texts(found, "after_looking"),
    )
    if not columns or len(set(declared.features)) < len(columns):
        raise ValueError(f"columns must be at least one, each once, got {shown(declared.features)}")
    return label, declared


def _texts(found: dict[str, Any], key: str) -> tuple[str, ...]:
    texts = _of(found, key, list)
    if not all(isinstance(text, str) for text in texts):
        _refuse(key, "a list of texts", texts)
    return tuple(texts)


def _of(found: dict[str, Any], key: str, kind: type) -> Any:
    value = found.get(key)
    if not isinstance(value, kind):
        _refuse(key, "a text" if kind is str else "a list", value)
    return value


def _refuse(key: str, rule: str, value: object) -> NoReturn:
    raise ValueError(f"{key} must be {rule}, got {shown(value)}")
