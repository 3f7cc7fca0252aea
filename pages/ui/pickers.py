"""Pickers above a chart that several pages have."""

from __future__ import annotations

import streamlit as st

from dpcore import data
from dpcore.data import Source

# Data sets with two classes; idle columns have a page of their own.
SHOWN = [key for key, info in data.SOURCES.items() if info.task == "classification" and key != "synthetic_padded"]


def pick_source(default: str) -> Source:
    """The data set that the reader chose; another one starts with its own number of people."""
    chosen = st.selectbox(
        "Records",
        SHOWN,
        SHOWN.index(default),
        format_func=lambda key: data.SOURCES[key].label,
        key="source",
        on_change=_reset_people,
        label_visibility="collapsed",
        width=290,
        bind="query-params",
    )
    return data.get_source(chosen)


def _reset_people() -> None:
    st.session_state.n = data.get_source(st.session_state.source).people


def preset(**values: object) -> None:
    """Set controls from a chip; runs before the next script run, when widgets may still be set."""
    st.session_state.update(values)
