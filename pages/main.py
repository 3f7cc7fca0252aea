"""The script behind every address: page frame and navigation.

`app.py` hands this file to Streamlit, so that a first request to any address runs it (a page file run alone would
have no sidebar).
"""

from pathlib import Path

import streamlit as st

from pages.server import preload_imports
from pages.ui.live_figure import current_theme, load_library

st.set_page_config(page_title="Price of Privacy", page_icon="🔏", layout="wide")
meanwhile = st.empty()
if preload_imports.is_under_way():
    with meanwhile:
        load_library()
    preload_imports.wait()  # for the imports below
    meanwhile.empty()

from pages.lectures.lecture import lecture  # noqa: E402
from pages.ui.navigation import run_pages  # noqa: E402
from pages.ui.terms import explain_terms  # noqa: E402
from pages.ui.theme import follow_theme, look  # noqa: E402

st.html(look(current_theme()))
follow_theme()
explain_terms()

run_pages(
    Path(__file__).resolve().parent,
    {
        "Overview": "overview/page.py",
        "Perturbation": "perturbation/page.py",
        "Dimension": "dimension/page.py",
        "Selection": "selection/page.py",
        "Geometry": "geometry/page.py",
        "Multiclass": "multiclass/page.py",
        "Survey": "survey/page.py",
        "Audit": "audit/page.py",
        "Composition": "composition/page.py",
        "Decide": "decide/page.py",
        "Papers": "papers/page.py",
    },
    around=lecture,
)
