"""Trust: can I believe the number on the label? Attack the code, add up its steps, or see what papers print."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.audit import attack, ledger, printed
from pages.ui.live_figure import current_theme
from pages.ui.pickers import switch
from pages.ui.sidebar import PEOPLE, sidebar

VIEWS = {"attack": "attack it", "ledger": "add it up", "printed": "as printed"}


def prepare_printed(headline: DeltaGenerator) -> Callable[[], None]:
    """The exhibits have no pickers of their own."""

    def show() -> None:
        exhibit = dict.fromkeys(("epsilon", "delta", "n", "p", "lam", "m"), "an exhibit with settings of its own")
        seed = sidebar(people=PEOPLE, default_people=2_000, columns=None, max_columns=8, unused=exhibit).seed
        printed.show(headline, seed, current_theme())

    return show


PREPARE = {"attack": attack.prepare, "ledger": ledger.prepare, "printed": prepare_printed}

st.title("Can I believe the number on the label?", anchor=False)
headline = st.container()
with st.container(horizontal=True, vertical_alignment="center", key="pickers"):
    view = switch("How to find out", VIEWS, "attack", key="check", wrap=True)
    drawn = PREPARE[view](headline)
drawn()
