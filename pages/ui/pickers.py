"""Pickers above a chart that several pages have."""

from __future__ import annotations

import streamlit as st

from dpcore import data
from dpcore.data import Source

# Data sets with two classes; idle columns have a page of their own.
SHOWN = [key for key, info in data.SOURCES.items() if info.task == "classification" and key != "synthetic_padded"]


def pick_source(default: str, key: str, most: int = 100_000) -> tuple[Source, int]:
    """The data set that the reader chose, and the number of people it starts with: all of its own, at most `most`.

    key: of the picker and in the address; pages with different defaults need different ones.
    """
    chosen = st.selectbox(
        "Records",
        SHOWN,
        SHOWN.index(default),
        format_func=lambda key: data.SOURCES[key].label,
        key=key,
        on_change=_reset_people,
        args=(key, most),
        label_visibility="collapsed",
        width=290,
        bind="query-params",
    )
    source = data.get_source(chosen)
    return source, min(source.people, most)


def _reset_people(key: str, most: int) -> None:
    st.session_state.n = min(data.get_source(st.session_state[key]).people, most)


def preset(**values: object) -> None:
    """Set controls from a chip; runs before the next script run, when widgets may still be set."""
    st.session_state.update(values)
