"""Every control that the address holds is made here, so that links know all of them.

Thin wrappers over Streamlit's widgets: each notes the control and its value for the page's link, sets it to what a
link says where Streamlit itself does not understand it, and hides it where the link asks for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui import share_link
from pages.ui.share_link import Control


def block(key: str, **look: Any) -> DeltaGenerator:
    """A control's place, with its captions: what the address hides is hidden whole, and whatever captions there are,
    each control stays where it is. One that moves is made anew by the browser, and may then say that it is what it
    was before."""
    return st.container(key=f"block_{key}", **look)


def slider(
    key: str, label: str, options: Sequence[Any], default: Any, text: Callable[[Any], str] = str, **look: Any
) -> Any:
    """One of the options, in their order; text: how the slider and the address write one."""
    control = Control(key, label, tuple(options), default, text)
    return _draw(control, lambda: st.select_slider(label, options, default, format_func=text, **_named(key, look)))


def select(
    key: str, label: str, options: Sequence[Any], default: Any, text: Callable[[Any], str] = str, **look: Any
) -> Any:
    """One of the options, from a list that opens."""
    control = Control(key, label, tuple(options), default, text)
    at = control.options.index(default)
    return _draw(
        control,
        lambda: st.selectbox(label, options, at, format_func=text, label_visibility="collapsed", **_named(key, look)),
    )


def segments(
    key: str, label: str, options: Sequence[Any], default: Any, text: Callable[[Any], str] = str, **look: Any
) -> Any:
    """One of a few options in a row."""

    def widget() -> Any:
        # An address that says "noise=" leaves no option on: then the default counts, and is on from the next run.
        if st.session_state.get(key, default) is None:
            st.session_state[key] = default
        chosen = st.segmented_control(
            label, options, default=default, format_func=text, required=True, **_named(key, look)
        )
        return default if chosen is None else chosen

    return _draw(Control(key, label, tuple(options), default, text), widget)


def pill(key: str, label: str, options: Sequence[Any], **look: Any) -> Any:
    """One of the options or None, in a row."""
    control = Control(key, label, tuple(options), None)
    return _draw(control, lambda: st.pills(label, options, **_named(key, look)))


def pills(
    key: str, label: str, options: Sequence[Any], default: Sequence[Any], text: Callable[[Any], str] = str, **look: Any
) -> list[Any]:
    """Any of the options, in a row."""
    control = Control(key, label, tuple(options), list(default), text, many=True)
    return _draw(
        control,
        lambda: st.pills(
            label, options, selection_mode="multi", default=default, format_func=text, **_named(key, look)
        ),
    )


def whole_number(key: str, label: str, numbers: range, default: int, **look: Any) -> int:
    """One of consecutive whole numbers, typed or stepped."""
    control = Control(key, label, numbers, default)
    return int(
        _draw(control, lambda: st.number_input(label, numbers[0], numbers[-1], default, step=1, **_named(key, look)))
    )


def _named(key: str, look: dict[str, Any]) -> dict[str, Any]:
    return {"key": key, "bind": "query-params", **look}


def _draw(control: Control, widget: Callable[[], Any]) -> Any:
    share_link.prepare(control)
    value = widget()
    share_link.note(control, value)
    return value
