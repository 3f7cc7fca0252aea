"""Controls that the server sets: by a chip, a new seed, a step of a lecture, a page's own default.

With each message the browser says what all its controls show. A message that it sends before it shows what the server
has just set would set that back. Therefore each run of the page has a number, which a field out of sight takes to the
browser and back. A message with a smaller number than that of the run that shows a new value says nothing about this
control, unless it says something that the control has never shown: then the reader has moved it meanwhile.
"""

import dataclasses as dc
from collections.abc import Mapping
from typing import Any

import streamlit as st

RUN = "run"  # key of the field; pages/ui/theme.css keeps it out of sight
_RUNS = "runs of the page"  # in the session: a _Runs


@dc.dataclass
class _Setting:
    """A value that the server has set, the run that shows it, and what the browser may say before."""

    value: Any
    run: int
    older: list[Any]


@dc.dataclass
class _Runs:
    """Number of the last run, whether it is under way, and what a message from an older run must not change."""

    number: int = 0
    under_way: bool = False
    settings: dict[str, _Setting] = dc.field(default_factory=dict)


def begin() -> None:
    """At the begin of each run: set again what the browser did not yet show when it sent its message."""
    mine = _mine()
    shown = int(st.session_state.get(RUN, 0))
    if mine.under_way:  # the last run was cut off: the browser may not show what it set
        for setting in mine.settings.values():
            setting.run += setting.run == mine.number
    mine.number, mine.under_way = max(mine.number, shown) + 1, True
    for key, setting in list(mine.settings.items()):
        said = st.session_state.get(key)
        moved = said != setting.value and said not in setting.older
        if setting.run <= shown or moved:
            del mine.settings[key]
        elif said != setting.value:
            st.session_state[key] = setting.value
    st.session_state[RUN] = mine.number
    st.number_input("Run", key=RUN)


def end() -> None:
    """At the end of each run that was not cut off."""
    _mine().under_way = False


def set_controls(values: Mapping[str, Any]) -> None:
    """Set controls, by their keys: in a callback, or in a run that has not drawn them yet."""
    mine = _mine()
    for key, value in values.items():
        last = mine.settings.get(key)
        older = [*last.older, last.value] if last else []
        run = mine.number if mine.under_way else mine.number + 1
        mine.settings[key] = _Setting(value, run, [*older, st.session_state.get(key)])
        st.session_state[key] = value


def _mine() -> _Runs:
    found: _Runs = st.session_state.setdefault(_RUNS, _Runs())
    return found
