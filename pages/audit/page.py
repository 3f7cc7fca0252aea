"""Audit: can I believe a privacy guarantee? Attack the code, account for its steps, or see published mechanisms."""

import streamlit as st

from pages.audit import attack, ledger, published
from pages.ui.pickers import switch

VIEWS = {"attack": "Attack", "ledger": "Accounting", "published": "Published guarantees"}
PREPARE = {"attack": attack.prepare, "ledger": ledger.prepare, "published": published.prepare}

st.title("Can I believe a privacy guarantee?", anchor=False)
headline = st.container()
with st.container(horizontal=True, vertical_alignment="center", key="pickers"):
    view = switch("How to find out", VIEWS, "attack", key="check", wrap=True)
    drawn = PREPARE[view](headline)
drawn()
