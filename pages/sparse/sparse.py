"""Sparse: what if the model is a mixture of few features, or a choice that is made again and again?"""

from __future__ import annotations

import streamlit as st

from pages.sparse import simplex, streaming
from pages.ui.pickers import switch

TABS = {"simplex": "Simplex", "streaming": "Streaming"}

st.title("What if the model is sparse or a mixture?", anchor=False)
headline = st.empty()
with st.container(horizontal=True, vertical_alignment="center", key="pickers"):
    tab = switch("What is learned", TABS, "simplex", key="tab")
    drawn = streaming.prepare(headline) if tab == "streaming" else simplex.prepare(headline)
# Two charts need room side by side; Streamlit itself stacks columns on phones only.
st.html("<style>.st-key-halves .stColumn { min-width: min(100%, 22rem) }</style>")
drawn()
