"""A chart that refines while one looks: the count, the same node, nothing stale or blank, and nothing left running."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages.background.asking import POLL_SECONDS

from ..harness import ROOT, Server, fork
from .looks import until

pytestmark = pytest.mark.browser

APP = """
from pathlib import Path
import streamlit as st
from pages.server import assets
app = st.App(Path(__file__).with_name("main.py"), routes=assets.routes())
"""
# A solve in the background waits until the test opens the gate.
MAIN = """
import time
from pathlib import Path

import plotly.graph_objects as go
import streamlit as st
from streamlit import runtime

import dpcore
from pages.background import asking, tables
from pages.ui.live_figure import live_figure
from pages.background.tables import refined
from tests import slow

tables.AT_ONCE_SECONDS = 0


def hold():
    print("solving", flush=True)
    while not Path(__file__).with_name("gate").exists():
        time.sleep(0.02)


slow.hold = hold
asking.begin()
n = st.select_slider("n", [60, 70, 80, 90, 100, 110, 120], key="n", bind="query-params")
if n > 100:
    # What this run says leaves together with what the next one says.
    time.sleep(0.2)
    runtime.get_instance()._get_async_objs().eventloop.call_soon_threadsafe(time.sleep, 0.5)
experiment = dpcore.Experiment(
    dpcore.Problem("synthetic", n=n), (slow.Slow(),), sweep=dpcore.Axis("epsilon", (0.1, 1, 10)), repetitions=20
)
table, progress = refined(experiment, first=10)
alt = f"n {table.n.iloc[0]}, {table.repetitions.iloc[0]} releases"
accuracy = table[table.metric == "accuracy"]
live_figure(go.Figure(go.Scatter(x=accuracy.x, y=accuracy.q10)), key="chart", alt=alt, height=300)
st.caption(progress or "full")
asking.end()
"""
CHART = ".st-key-chart .live-figure"
# Notes what a visitor sees in each frame: the picture's description, once for as long as it stays, or that it is gone.
WATCH = f"""() => {{
    const node = document.querySelector('{CHART}');
    window.seen = [];
    const look = () => {{
        const now = document.querySelector('{CHART}');
        const there = now === node && now.querySelector('.main-svg') && now.clientHeight > 0;
        const state = there ? now.getAttribute('aria-label') : 'gone';
        if (state !== window.seen.at(-1)) window.seen.push(state);
        requestAnimationFrame(look);
    }};
    look();
}}"""


@dataclass(frozen=True)
class Dashboard:
    """One chart behind a gate."""

    server: Server
    gate: Path

    @property
    def url(self) -> str:
        return self.server.url

    def solves(self) -> int:
        """How many solves have begun in the background, ever."""
        return self.server.log.read_text().count("solving")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[Dashboard]:
    folder = tmp_path_factory.mktemp("dashboard")
    (folder / "app.py").write_text(APP)
    (folder / "main.py").write_text(MAIN)
    shutil.copytree(ROOT / ".streamlit", folder / ".streamlit")
    with fork(folder / "app.py", port=port) as running:
        yield Dashboard(running, folder / "gate")


@pytest.fixture
def dashboard(served: Dashboard) -> Iterator[Dashboard]:
    """With the gate closed at the start, and open at the end."""
    served.gate.unlink(missing_ok=True)
    yield served
    served.gate.touch()


def open_page(page: Page, url: str) -> None:
    """Open the page and watch its chart from the first picture on."""
    page.goto(url)
    expect(page.locator(f"{CHART} .main-svg").first).to_be_visible(timeout=60_000)
    page.evaluate(WATCH)


def expect_picture(page: Page, alt: str) -> None:
    expect(page.get_by_role("figure", name=alt)).to_be_visible()
    # A busy machine paints later than it says; only the page that is watched is asked.
    until(page, "alt => !window.seen || window.seen.at(-1) === alt", arg=alt)


def seen(page: Page) -> list[str]:
    return page.evaluate("window.seen")


def test_the_count_is_visible_then_the_same_chart_is_full_and_the_page_rests(dashboard: Dashboard, page: Page):
    messages: list[object] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: messages.append(frame)))
    open_page(page, dashboard.url)
    expect(page.get_by_text("10 of 20 releases, about")).to_be_visible()
    dashboard.gate.touch()
    expect_picture(page, "n 60, 20 releases")
    expect(page.get_by_text("full")).to_be_visible()
    assert seen(page) == ["n 60, 10 releases", "n 60, 20 releases"]
    page.wait_for_timeout(500)  # until all is sent that there is to send
    sent = len(messages)
    page.wait_for_timeout(3000 * POLL_SECONDS)
    assert len(messages) == sent, "a full picture asks no more"
    assert "Traceback" not in dashboard.server.log.read_text()


def test_moving_on_while_it_refines_ends_with_the_new_picture_and_shows_no_older_one(dashboard: Dashboard, page: Page):
    slider = page.locator(".st-key-n input[type=range]")
    open_page(page, f"{dashboard.url}/?n=70")
    expect(page.get_by_text("more …")).to_be_visible()
    slider.press("ArrowRight")
    expect_picture(page, "n 80, 10 releases")
    slider.press("ArrowRight")
    expect_picture(page, "n 90, 10 releases")
    dashboard.gate.touch()
    expect_picture(page, "n 90, 20 releases")
    page.wait_for_timeout(700)  # an older picture would be there by then
    assert seen(page) == ["n 70, 10 releases", "n 80, 10 releases", "n 90, 10 releases", "n 90, 20 releases"]


@pytest.mark.usefixtures("own_tab")
def test_a_move_that_meets_the_page_s_own_question_keeps_the_chart(dashboard: Dashboard, page: Page):
    """What a move asks for waits for the page to ask whether the picture is full; both arrive and are answered at once.

    Then the second answer takes the place of what the first says about the block that asks.
    """
    slider = page.locator(".st-key-n input[type=range]")
    held: list[bytes] = []
    holding = False

    def between(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def send(message: str | bytes) -> None:
            assert isinstance(message, bytes)
            decoded = BackMsg()
            decoded.ParseFromString(message)
            asks = decoded.rerun_script.fragment_id
            held.append(message)
            if asks or not holding:
                for one in held:
                    server.send(one)
                held.clear()

        socket.on_message(send)

    page.route_web_socket("**/_stcore/stream", between)
    open_page(page, f"{dashboard.url}/?n=100")
    expect(page.get_by_text("more …")).to_be_visible()
    holding = True
    for n in (110, 120):
        slider.press("ArrowRight")
        expect_picture(page, f"n {n}, 10 releases")
        page.wait_for_timeout(2000 * POLL_SECONDS)
        expect_picture(page, f"n {n}, 10 releases")
    assert seen(page) == ["n 100, 10 releases", "n 110, 10 releases", "n 120, 10 releases"]
