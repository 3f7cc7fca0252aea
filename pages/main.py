"""The script behind every address: page frame and navigation.

`app.py` hands this file to Streamlit, so that a first request to any address runs it (a page file run alone would
have no sidebar).
"""

from pathlib import Path

import streamlit as st

from pages.ui import ahead
from pages.ui.live_figure import load_library

st.set_page_config(page_title="Price of Privacy", page_icon="🔏", layout="wide")
meanwhile = st.empty()
if ahead.is_under_way():
    with meanwhile:
        load_library()
    ahead.wait()  # for the imports below
    meanwhile.empty()

from pages.lectures.lecture import lecture  # noqa: E402
from pages.ui.look import look  # noqa: E402
from pages.ui.navigation import run_pages  # noqa: E402

st.html(look("dark" if st.context.theme.type == "dark" else "light"))

run_pages(
    Path(__file__).resolve().parent,
    {
        "Start": "start/start.py",
        "Doors": "doors/doors.py",
        "Dimension": "dimension/dimension.py",
        "Sparse": "sparse/sparse.py",
        "Geometry": "geometry/geometry.py",
        "Classes": "classes/classes.py",
        "Trust": "trust/trust.py",
        "Decide": "decide/decide.py",
        "Sources": "sources/sources.py",
    },
    around=lecture,
)
