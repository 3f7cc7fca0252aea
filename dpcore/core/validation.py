"""Checks of arguments, with one sentence for each failure: "<name> must be <rule>, got <value>"."""

import math
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

Value = TypeVar("Value")

_MOST_SHOWN = 40  # choices
_LONGEST_SHOWN = 60
_LARGEST_INTEGER = 10**15  # every such integer is an ordinary float too


def shown(value: object) -> str:
    """Text of a value in error messages: on one line, and cut to a limited length."""
    if isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
        return f"an integer of {len(str(abs(value)))} digits" if abs(value) < 10**4000 else "a huge integer"
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


def check_real(name: str, value: object, rule: str, holds: Callable[[float], bool]) -> float:
    """Return `value` as a finite float that `holds` accepts, or raise "<name> must be <rule>, got <value>"."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ValueError(f"{name} must be {rule}, got {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or not holds(number):
        raise ValueError(f"{name} must be {rule}, got {number}")
    return number


def positive(name: str, value: object) -> float:
    """Finite number > 0 whose square and inverse are ordinary floats too, else ValueError."""
    number = check_real(name, value, "a finite number > 0", lambda v: v > 0)
    return check_real(name, number, "between 1e-100 and 1e100", lambda v: 1e-100 <= v <= 1e100)


def norm_order(name: str, value: object, at_least: float = 1.0) -> float:
    """Order of a norm, at_least <= order <= inf, as a float, else ValueError.

    >>> norm_order("q", 3), norm_order("q", math.inf)
    (3.0, inf)
    """
    rule = f"a number from {at_least:g} to inf"
    if isinstance(value, (float, np.floating)) and value == math.inf:
        return math.inf
    return check_real(name, value, rule, lambda v: v >= at_least)


def integer(name: str, value: object, at_least: int) -> int:
    """Integer >= at_least (and <= 10^15), else ValueError."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < at_least:
        raise ValueError(f"{name} must be an integer >= {at_least}, got {shown(value)}")
    if value > _LARGEST_INTEGER:
        raise ValueError(f"{name} must be at most 10^15, got {shown(int(value))}")
    return int(value)


def boolean(name: str, value: object) -> bool:
    """`value` as a bool if it is True or False, also numpy's, else ValueError.

    >>> boolean("clip", np.True_)
    True
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def one_of(name: str, value: object, choices: Iterable[Value]) -> Value:
    """Choice that equals `value` and has its type, else ValueError with all choices.

    >>> one_of("rule", "auto", ("auto", "published"))
    'auto'
    """
    listed = list(choices)
    for choice in listed:
        if isinstance(value, type(choice)) and value == choice:
            return choice
    told = ", ".join(map(_name_of, listed[:_MOST_SHOWN])) + (", ..." if len(listed) > _MOST_SHOWN else "")
    raise ValueError(f"{name} must be one of {told}, got {shown(value)}")


def _name_of(choice: object) -> str:
    """Name of a choice as it is written, unless it comes from a file and would break a sentence."""
    text = str(choice)
    return text if text.isprintable() and len(text) <= _LONGEST_SHOWN else shown(choice)
