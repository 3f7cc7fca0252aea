"""Audit: can I believe the number on the label? Attack the code, add up its steps, or see what papers print."""

import streamlit as st

from pages.audit import attack, ledger, printed
from pages.ui.pickers import switch

VIEWS = {"attack": "attack it", "ledger": "add it up", "printed": "as printed"}
PREPARE = {"attack": attack.prepare, "ledger": ledger.prepare, "printed": printed.prepare}

st.title("Can I believe the number on the label?", anchor=False)
headline = st.container()
with st.container(horizontal=True, vertical_alignment="center", key="pickers"):
    view = switch("How to find out", VIEWS, "attack", key="check", wrap=True)
    drawn = PREPARE[view](headline)
drawn()
