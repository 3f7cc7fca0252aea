"""A page of one's own records, for tests of uploads: what was found on them, and how many are in memory at all."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from .harness import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Closed pages are noticed at once, not after half a minute. What is in memory is told without a page, too.
APP = """
from pathlib import Path
import streamlit as st
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from dpcore.data import uploads
from pages.server import upload_lifetime
upload_lifetime.LEFT_SECONDS = upload_lifetime.CHECK_SECONDS = 0.5
upload_lifetime.keep_in_memory()
held = Route("/held", lambda request: PlainTextResponse(str(len(uploads._HELD))))
app = st.App(Path(__file__).with_name("main.py"), routes=[held], lifespan=upload_lifetime.lifespan)
"""
MAIN = """
import streamlit as st
import dpcore
from dpcore.data import uploads
from pages.ui.theme import look
from pages.decide.upload.form import ask_file

st.set_page_config(layout="wide")
st.html(look("dark" if st.context.theme.type == "dark" else "light"))
upload = None if st.toggle("another page") else ask_file(lambda: st.session_state.update(came=True))
if upload is not None:
    source = upload.source
    experiment = dpcore.Experiment(
        dpcore.Problem(source.key, n=source.size), sweep=dpcore.Axis("epsilon", (1.0,)), repetitions=2
    )
    table = dpcore.run(experiment)
    ledger = len(upload.ledger.releases) if upload.ledger else "no"
    st.write(f"one {upload.unit}, {upload.records} at most; {ledger} releases; {upload.digest[:8]}")
    st.write(f"{source.label}: {source.size} to learn from, {len(table)} results")
st.write(f"{len(uploads._HELD)} in memory")
"""


def write_app(folder: Path) -> Path:
    """Write the dashboard, with the real settings, into a folder; returns its app.py."""
    (folder / "app.py").write_text(APP)
    (folder / "main.py").write_text(MAIN)
    shutil.copytree(ROOT / ".streamlit", folder / ".streamlit")
    return folder / "app.py"


def people(rows: int = 60, seed: int = 0) -> bytes:
    """A CSV file: age from 0 to 100, dose from 0 to 1, whether somebody is sick, and a name nobody needs."""
    import numpy as np

    rng = np.random.default_rng(seed)
    age, dose = rng.uniform(0, 100, rows), rng.uniform(0, 1, rows)
    sick = np.where(age / 100 + dose + rng.normal(0, 0.2, rows) > 1, "yes", "no")
    lines = [f'"Doe, {i}",{a:.1f},{d:.3f},{s}' for i, (a, d, s) in enumerate(zip(age, dose, sick, strict=True))]
    return "\n".join(["name,age,dose,sick", *lines, ""]).encode()


def hand_over(page: Page, content: bytes) -> None:
    """Choose the file in the browser."""
    file = {"name": "people.csv", "mimeType": "text/csv", "buffer": content}
    page.locator("input[type=file]").set_input_files(file)  # type: ignore[arg-type]


def declare(page: Page) -> None:
    """Declare such a file in the browser: age has the bounds that are proposed, dose 0 and 1."""
    page.get_by_role("button", name="Paste a codebook").click()
    page.locator("textarea").fill("dose, 0, 1")
    page.get_by_role("button", name="Import").click()
    page.get_by_role("button", name="Confirm").click()
