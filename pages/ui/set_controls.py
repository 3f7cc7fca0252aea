"""Controls that the server sets: by a chip, a new seed, a step of a lecture, a page's own default.

With each message the browser says what all its controls show. A message that it sent before it showed what the server
has set would set that back. Therefore each run of the page has a number, which a field out of sight takes to the
browser and back; it is sent once the controls that were set are. A message with a smaller number says nothing about
these controls, unless it says what a control has never shown: then the reader has moved it meanwhile. A browser that
does not have the field yet could say no number, and so the first run sends it before everything else.
"""

import dataclasses as dc
from collections.abc import Mapping
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

RUN = "run"  # key of the field; pages/ui/theme.css keeps it out of sight
_ADDRESS = "address: "  # how the key of a setting begins that is no control's
_RUNS = "runs of the page"  # in the session: a _Runs


@dc.dataclass
class _Setting:
    """A value that the server has set, the run that shows it, and what the browser may say before."""

    value: Any
    run: int
    older: list[Any]


@dc.dataclass
class _Runs:
    """The runs of a session's pages.

    number: of the last one; shown: of the last one that the browser showed when it began. under_way: the last one has
    not come to its end. settings: of controls that the browser may not show yet; not_drawn: those of them that this run
    has not drawn. place: of the field, until this run has filled it.
    """

    number: int = 0
    shown: int = 0
    under_way: bool = False
    settings: dict[str, _Setting] = dc.field(default_factory=dict)
    not_drawn: set[str] = dc.field(default_factory=set)
    place: DeltaGenerator | None = None


def begin() -> None:
    """At the begin of each run: set again what the browser did not show yet when it sent its message."""
    mine = _mine()
    mine.shown = shown = _shown()
    if mine.under_way:  # the last run was cut off, and may not have shown what it set
        for setting in mine.settings.values():
            setting.run += setting.run == mine.number
    mine.number, mine.under_way = max(mine.number, shown) + 1, True
    for key, setting in list(mine.settings.items()):
        said = _said(key)
        moved = said != setting.value and said not in setting.older
        if setting.run <= shown or moved:
            del mine.settings[key]
        else:
            # In each run: of two answers that come together the browser heeds the last one only.
            _say(key, setting.value)
    mine.not_drawn = {key for key in mine.settings if not key.startswith(_ADDRESS)}
    mine.place = st.empty()
    if mine.number == 1:
        _tell(mine, 0)


def set_controls(values: Mapping[str, Any]) -> None:
    """Set controls, by their keys: in a callback, or in a run that has not drawn them yet."""
    _mine().not_drawn |= values.keys()
    _set(values)


def set_address(values: Mapping[str, str | None]) -> None:
    """Set what the address says under names that are no controls; None: nothing."""
    _set({f"{_ADDRESS}{name}": value for name, value in values.items()})


def _set(values: Mapping[str, Any]) -> None:
    mine = _mine()
    shown = mine.shown if mine.under_way else _shown()
    for key, value in values.items():
        last = mine.settings.get(key)
        older = [*last.older, last.value] if last and last.run > shown else []
        told = mine.under_way and mine.place is None  # so this run's number says nothing about the control
        run = mine.number if mine.under_way and not told else mine.number + 1
        mine.settings[key] = _Setting(value, run, [*older, _said(key)])
        _say(key, value)


def _shown() -> int:
    """The last run that the browser showed, as its message says: before this run has said its own number."""
    return int(st.session_state.get(RUN, 0))


def _said(key: str) -> Any:
    if key.startswith(_ADDRESS):
        return st.query_params.get(key.removeprefix(_ADDRESS))
    return st.session_state.get(key)


def _say(key: str, value: Any) -> None:
    if not key.startswith(_ADDRESS):
        st.session_state[key] = value
    elif value is None:
        st.query_params.pop(key.removeprefix(_ADDRESS), None)
    else:
        st.query_params[key.removeprefix(_ADDRESS)] = value


def is_drawn(key: str) -> None:
    """After a control is drawn: the last one that was set lets the browser know the number of the run."""
    mine = _mine()
    if key in mine.not_drawn:
        mine.not_drawn.remove(key)
        if not mine.not_drawn:
            _tell(mine, mine.number)


def end() -> None:
    """At the end of each run that was not cut off."""
    _tell(_mine(), _mine().number)
    _mine().under_way = False


def _tell(mine: _Runs, number: int) -> None:
    """Send a number, once in each run."""
    if mine.place is not None:
        st.session_state[RUN] = number
        mine.place.number_input("Run", key=RUN)
        mine.place = None


def _mine() -> _Runs:
    found: _Runs = st.session_state.setdefault(_RUNS, _Runs())
    return found
