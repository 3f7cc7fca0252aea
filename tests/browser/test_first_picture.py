"""While a new server still imports what its pages need, its first visitor's browser loads what draws their figures."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from ..harness import ROOT, fork
from .looks import until

pytestmark = pytest.mark.browser

# The dashboard, with imports that take until the test lets them end.
APP = """
import threading, time
from pathlib import Path
import streamlit as st
from pages.server import preload_imports, assets

preload_imports.start()
imports = preload_imports._thread

def slowly():
    imports.join()
    while not Path(__file__).with_name("go on").exists():
        time.sleep(0.02)

preload_imports._thread = threading.Thread(target=slowly, daemon=True)
preload_imports._thread.start()
app = st.App(MAIN, routes=assets.routes())
"""


def test_the_library_is_there_before_the_first_figure_and_loaded_once(page: Page, tmp_path: Path, port: int) -> None:
    (tmp_path / "app.py").write_text(
        f"from pathlib import Path\nMAIN = Path({str(ROOT / 'pages' / 'main.py')!r})\n{APP}"
    )
    shutil.copytree(ROOT / ".streamlit", tmp_path / ".streamlit")
    with fork(tmp_path / "app.py", port=port) as server:
        page.goto(server.url)
        until(page, "window.Plotly !== undefined")
        assert page.locator(".live-figure").count() == 0
        (tmp_path / "go on").touch()
        expect(page.locator(".live-figure .main-svg").first).to_be_visible()
        expect(page.locator(".st-key-library")).to_have_count(0)
        assert page.locator("script[src*=plotly]").count() == 1
        node = page.locator(".live-figure").first.element_handle()
        assert node
        page.locator(".st-key-epsilon input[type=range]").press("ArrowRight")
        expect(page.locator(".takeaway", has_text="ε = 1.5 ")).to_be_visible()  # the server's answer
        expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
        assert node.evaluate("it => it.isConnected"), "a second run has its elements in the same places"
        page.goto("about:blank")  # or the page would ask a server that is no more
