"""Controls that the server sets: by a chip, a new seed, a step of a lecture, a page's own default.

With each message the browser says what all its controls show. A message that it sent before it showed what the server
has set would set that back, and what is still on its way to the browser undoes what the reader moves there meanwhile.
Therefore each run of the page has a number, which two fields out of sight take to the browser and back: one is sent
when the run begins, the other once the controls that were set are. They tell what each control can show by what the
server has sent; if it shows something else, the reader has moved it, and that is set in the place of what is coming. A
browser that does not have the fields yet could say no number, and so the first run sends them before everything else.
"""

import dataclasses as dc
from collections.abc import Mapping
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

BEGUN, RUN = "begun", "run"  # keys of the fields; pages/ui/theme.css keeps them out of sight
_ADDRESS = "address: "  # how the key of a setting begins that is no control's
_RUNS = "runs of the page"  # in the session: a _Runs


@dc.dataclass(frozen=True)
class _Sent:
    """What the browser shows of a control from this run on, unless the reader moves it."""

    run: int
    value: Any


@dc.dataclass
class _Runs:
    """The runs of a session's pages.

    number: of the last one; shown: of the last one that the browser showed when it began. under_way: the last one has
    not come to its end. settings: of controls, what the browser showed last and what is on its way; not_drawn: those of
    them that this run has not drawn. place: of the second field, until this run has filled it.
    """

    number: int = 0
    shown: int = 0
    under_way: bool = False
    settings: dict[str, list[_Sent]] = dc.field(default_factory=dict)
    not_drawn: set[str] = dc.field(default_factory=set)
    place: DeltaGenerator | None = None


def begin() -> None:
    """At the begin of each run: set again what the browser did not show yet when it sent its message."""
    mine, shown, begun = _mine(), _shown(), int(st.session_state.get(BEGUN, 0))
    if mine.under_way:  # the last run was cut off, and may not have shown what it set
        shown = min(shown, mine.number - 1)
    mine.shown, mine.number, mine.under_way = shown, max(mine.number, shown) + 1, True
    for key, sent in list(mine.settings.items()):
        since = max((it.run for it in sent if it.run <= shown), default=shown)
        sent = [_Sent(max(it.run, shown), it.value) for it in sent if it.run >= since]
        coming = [it for it in sent if it.run > shown]
        said, value = _said(key), sent[-1].value
        if said not in (value, *(it.value for it in sent if it.run <= begun)):  # the reader has moved it
            sent, value = [_Sent(shown, said), *coming], said
        if not coming or not _is_there(key):
            del mine.settings[key]
            continue
        if any(it.value != value for it in sent):
            # In each run: of two answers that come together the browser heeds the last one only.
            sent.append(_Sent(mine.number, value))
            _say(key, value)
        mine.settings[key] = sent
    mine.not_drawn = {key for key in mine.settings if not key.startswith(_ADDRESS)}
    st.session_state[BEGUN] = mine.number
    st.number_input("Begun", key=BEGUN)
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
    told = mine.under_way and mine.place is None  # so this run's number says nothing about the controls
    run = mine.number if mine.under_way and not told else mine.number + 1
    for key, value in values.items():
        mine.settings[key] = [*mine.settings.get(key, []), _Sent(shown, _said(key)), _Sent(run, value)]
        _say(key, value)


def _shown() -> int:
    """The last run that the browser showed, as its message says: before this run has said its own number."""
    return int(st.session_state.get(RUN, 0))


def _said(key: str) -> Any:
    if key.startswith(_ADDRESS):
        return st.query_params.get(key.removeprefix(_ADDRESS))
    return st.session_state.get(key)


def _is_there(key: str) -> bool:
    return key.startswith(_ADDRESS) or key in st.session_state


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
