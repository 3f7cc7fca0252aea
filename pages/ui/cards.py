"""A number with what it means, for the row of read-outs below a chart."""

import html
from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator


def readout(value: str, label: str) -> str:
    """HTML of a small label over a large value; st.metric would cut a label that does not fit its column.

    >>> readout("1 point", "lost").count("</div>")
    2
    """
    return (
        f'<div style="font-size:0.875rem;line-height:1.35">{html.escape(label)}</div>'
        f'<div style="font-size:1.6rem;line-height:1.3">{html.escape(value)}</div>'
    )


def cards(found: Sequence[tuple[str, str]], place: DeltaGenerator | None = None) -> None:
    """A framed read-out for each (value, label) pair, side by side; nothing where there is none."""
    if found:
        columns = place.columns(len(found)) if place else st.columns(len(found))
        for card, (value, label) in zip(columns, found, strict=True):
            card.container(border=True, height="stretch").html(readout(value, label))
