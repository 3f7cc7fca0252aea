"""The script behind every address: page frame and navigation.

`app.py` hands this file to Streamlit, so that a first request to any address runs it (a page file run alone would
have no sidebar).
"""

from pathlib import Path

import streamlit as st

PAGES = Path(__file__).resolve().parent

st.set_page_config(page_title="Price of Privacy", page_icon="🔏", layout="wide")

# Streamlit's theme options stop at the top and bottom; its sides waste a sixth of a projector's width.
st.html("<style>.stMainBlockContainer { padding-left: 2.5rem; padding-right: 2.5rem }</style>")

navigation = st.navigation(
    [
        st.Page(PAGES / "start" / "start.py", title="Start", default=True),
        st.Page(PAGES / "doors" / "doors.py", title="Doors", url_path="doors"),
        st.Page(PAGES / "dimension" / "dimension.py", title="Dimension", url_path="dimension"),
    ],
    position="top",
)
navigation.run()
