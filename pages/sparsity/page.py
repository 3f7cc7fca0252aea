"""Sparsity: what if few features matter, the model is a mixture of them, or a choice is made again and again?"""

import streamlit as st

from pages.sparsity import l1_ball, simplex, streaming
from pages.ui.pickers import switch

TABS = {"l1": "LASSO", "simplex": "Simplex sampling", "streaming": "Online"}
PREPARE = {"l1": l1_ball.prepare, "simplex": simplex.prepare, "streaming": streaming.prepare}

st.title("What if the model is sparse or a mixture?", anchor=False)
headline = st.container()
with st.container(horizontal=True, vertical_alignment="center", key="pickers"):
    tab = switch("What is learned", TABS, "l1", key="tab")
    drawn = PREPARE[tab](headline)
drawn()
