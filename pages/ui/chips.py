"""Chips: buttons below a chart that set controls.

Streamlit tells the server once that a button was pressed. Where the browser's next message comes before the page has
begun to run, as after a short loss of the connection, nobody hears of it. A row of chips therefore says in every
message which of them were pressed last, when, and what the sliders showed at that moment: one that shows something
else by now was moved after it.
"""

import dataclasses as dc
import json
from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from dpcore.core.facts import text_beside
from pages.ui import share_link
from pages.ui.set_controls import set_controls

ROW = "chips"  # key of the component
_TAKEN = "chips of the page"  # in the session: a _Chips

# At import, so once per process.
_component = st.components.v2.component("chips", js=text_beside(__file__, "chips.js"), isolate_styles=False)


@dc.dataclass
class _Chips:
    """The chips that the last run has drawn, label -> control -> value, and when the last that counted was pressed."""

    offered: dict[str, Mapping[str, Any]] = dc.field(default_factory=dict)
    counted: float = 0.0


def chips_beside(module: str, name: str) -> list[tuple[str, dict[str, Any]]]:
    """What `chips` offers, from a JSON file in the folder of a module. module: its `__file__`."""
    return list(json.loads(text_beside(module, name)).items())


def chips(offered: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Buttons in a row that set controls: (label, control -> value)."""
    mine = _mine()
    mine.offered = dict(offered)
    _component(
        key=ROW,
        data={label: list(values) for label, values in mine.offered.items()},
        default={"pressed": None},
        on_pressed_change=lambda: None,  # Streamlit wants one where there is a default
    )


def begin() -> None:
    """At the begin of each run, before `set_controls.begin`: set what chips set that were pressed since."""
    mine, pressed = _mine(), st.session_state.get(ROW, {}).get("pressed") or []
    says = {key: _shown(key) for key in share_link.held().known}
    for press in pressed:
        if press["at"] > mine.counted:
            values, shown = mine.offered.get(press["chip"], {}), press["shown"]
            set_controls({key: value for key, value in values.items() if key not in shown or shown[key] == says[key]})
            mine.counted = press["at"]  # afterwards, since a run can be cut off


def _shown(key: str) -> str:
    """What the browser says that a control shows, in words."""
    control = share_link.held().known[key]
    return ",".join(control.written(st.session_state.get(key, control.default)))


def _mine() -> _Chips:
    found: _Chips = st.session_state.setdefault(_TAKEN, _Chips())
    return found
