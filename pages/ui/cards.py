"""A noun, its number and what goes with it, for the row of read-outs below a chart."""

import html
from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui.html import unbroken


def readout(noun: str, value: str, rest: str = "") -> str:
    """HTML of a noun over its value, with what else is to be said below it; st.metric would cut what does not fit.

    >>> readout("Accuracy loss", "1 point", "all of it noise").count("</div>")
    3
    """
    return "".join(
        f'<div class="readout" style="font-size:{size}rem;line-height:{line}">{html.escape(unbroken(text))}</div>'
        for text, size, line in ((noun, 0.875, 1.35), (value, 1.6, 1.3), (rest, 0.875, 1.35))
        if text
    )


def cards(found: Sequence[tuple[str, str, str]], place: DeltaGenerator | None = None) -> None:
    """A framed read-out for each (noun, value, rest), side by side; nothing where there is none."""
    if found:
        columns = place.columns(len(found)) if place else st.columns(len(found))
        for card, each in zip(columns, found, strict=True):
            card.container(border=True, height="stretch").html(readout(*each))
