"""Pictures and sentences that are made once for all visitors who look at the same state of a page."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from dpcore import data
from dpcore.core.cache import SharedCache

Made = TypeVar("Made")

# Each up to a hundred kilobytes: what a class looks at in a lecture, several times over.
_MADE: SharedCache[Any] = SharedCache(1_000)


def made_once(source: str, state: Hashable, make: Callable[[], Made]) -> Made:
    """What `make()` returns, kept for everybody who asks for the same; from private records, with these alone.

    source: of the records whose numbers it shows. state: all on which it depends, the name of what it is included.
    make: must call nothing of Streamlit and not be cancelled; nobody may change its value.

    >>> made_once("iris", ("a number", 1.0), lambda: [1.0]) is made_once("iris", ("a number", 1.0), lambda: [2.0])
    True
    """
    return data.kept_with(source, _MADE).get((source, state), make)
