"""Pictures and sentences that are made once for all visitors who look at the same state of a page."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from dpcore import Experiment, data
from dpcore.core.cache import SharedCache

Made = TypeVar("Made")

# Each some ten kilobytes: what a class looks at in a lecture, several times over.
_MADE: SharedCache[Any] = SharedCache(1_000)


def made_once(experiment: Experiment, state: Hashable, make: Callable[[], Made]) -> Made:
    """What `make()` returns, kept for everybody who asks for the same; from private records, with these alone.

    experiment: whose numbers it shows. state: all else on which it depends, the name of what it is included. make: must
    call nothing of Streamlit and not be cancelled; nobody may change its value.

    >>> from dpcore import Problem
    >>> asked = Experiment(Problem("synthetic", n=50))
    >>> made_once(asked, ("a number", 1.0), lambda: [1.0]) is made_once(asked, ("a number", 1.0), lambda: [2.0])
    True
    """
    return data.kept_with(experiment.problem.source, _MADE).get((experiment, state), make)
