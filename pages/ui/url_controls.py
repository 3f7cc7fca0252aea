"""Every control that the address holds is made here, so that links know all of them.

Thin wrappers over Streamlit's widgets: each notes the control and its value for the page's link, and hides it where the
link asks for that.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui import set_controls, share_link
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
    return _draw(control, st.select_slider, options, default, format_func=text, **look)


def select(
    key: str,
    label: str,
    options: Sequence[Any] | Mapping[str, str],
    default: Any,
    text: Callable[[Any], str] = str,
    **look: Any,
) -> Any:
    """One of the options, from a list that opens; a mapping says what is shown for each."""
    text = options.__getitem__ if isinstance(options, Mapping) else text
    control = Control(key, label, tuple(options), default, text)
    at = control.options.index(default)
    return _draw(control, st.selectbox, control.options, at, format_func=text, label_visibility="collapsed", **look)


def segments(
    key: str, label: str, options: Sequence[Any], default: Any, text: Callable[[Any], str] = str, **look: Any
) -> Any:
    """One of a few options in a row."""

    def widget(*what: Any, **how: Any) -> Any:
        # An address that says "noise=" leaves no option on: then the default counts, and is on from the next run.
        if st.session_state.get(key, default) is None:
            st.session_state[key] = default
        chosen = st.segmented_control(*what, **how)
        return default if chosen is None else chosen

    control = Control(key, label, tuple(options), default, text)
    return _draw(control, widget, options, default=default, format_func=text, required=True, **look)


def pill(key: str, label: str, options: Sequence[Any], text: Callable[[Any], str] = str, **look: Any) -> Any:
    """One of the options or None, in a row."""
    return _draw(Control(key, label, tuple(options), None, text), st.pills, options, format_func=text, **look)


def whole_number(key: str, label: str, numbers: range, default: int, **look: Any) -> int:
    """One of consecutive whole numbers, typed or stepped."""
    # A field for fractions: the one for whole numbers fails where an address says an infinite one.
    ends = float(numbers[0]), float(numbers[-1])
    control = Control(key, label, numbers, default)
    return int(_draw(control, _whole_number, *ends, float(default), step=1.0, format="%.0f", **look))


def _whole_number(*what: Any, **how: Any) -> int:
    return round(st.number_input(*what, **how))


def _draw(control: Control, widget: Callable[..., Any], *what: Any, **how: Any) -> Any:
    if control.key in share_link.held().hidden:
        st.html(f"<style>.st-key-block_{control.key}, .st-key-{control.key} {{ display: none }}</style>")
    value = widget(control.label, *what, key=control.key, bind="query-params", **how)
    set_controls.is_drawn(control.key)
    share_link.note(control, value)
    return value
