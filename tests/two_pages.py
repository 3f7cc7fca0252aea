"""A dashboard of two pages whose sliders differ, for tests of what goes along from page to page."""

from __future__ import annotations

import shutil
from pathlib import Path

from .harness import ROOT

APP = """
from pathlib import Path
import streamlit as st
app = st.App(Path(__file__).with_name("main.py"))
"""
MAIN = """
from pathlib import Path
from pages.ui.navigation import run_pages
run_pages(Path(__file__).parent, {"Overview": "overview.py", "Perturbation": "perturbation.py"})
"""
# What the page got; the sidebar's own state is what the browser shows.
SAY = """
st.write(
    f"{TITLE}: epsilon {c.epsilon:g}, delta {c.delta:g}, n {c.n}, p {c.p}, lam {c.lam}, m {c.m}, seed {c.seed}."
)
"""
OVERVIEW = f"""
import streamlit as st
from pages.ui.sidebar import sidebar
TITLE = "overview"
records = st.selectbox("Records", ["people", "patients"], key="records", bind="query-params")
c = sidebar(
    sample_sizes=(200, 398, 500, 2000, 5000), default_n=398, columns=31 if records == "patients" else None,
    max_columns=32, unused=("m",),
)
{SAY}
"""
PERTURBATION = f"""
import time
import streamlit as st
from pages.ui.sidebar import sidebar
TITLE = "perturbation"
c = sidebar(sample_sizes=(200, 500, 2000), default_n=2000, columns=None, max_columns=2**20, unused=())
{SAY}
time.sleep({{SECONDS}})
"""


def write_pages(folder: Path, slow: float = 0.2) -> Path:
    """Write the dashboard, with the real settings, into a folder; returns its app.py.

    slow: seconds until the page Perturbation ends, as pages are slow that compute.
    """
    perturbation = PERTURBATION.replace("{SECONDS}", str(slow))
    for name, text in (("app", APP), ("main", MAIN), ("overview", OVERVIEW), ("perturbation", perturbation)):
        (folder / f"{name}.py").write_text(text)
    shutil.copytree(ROOT / ".streamlit", folder / ".streamlit")
    return folder / "app.py"
