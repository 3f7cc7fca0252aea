"""A chart that refines while one looks: the count, the same node, nothing stale or blank, and nothing left running."""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from ..harness import ROOT, Server, serve

pytestmark = pytest.mark.browser

APP = """
from pathlib import Path
import streamlit as st
from pages.ui import assets
app = st.App(Path(__file__).with_name("main.py"), routes=assets.routes())
"""
# Six solves of a quarter of a second in the background; 40 of them for the largest n.
MAIN = """
import time

import plotly.graph_objects as go
import streamlit as st

import dpcore
from dpcore import refinement
from pages.ui.live_figure import live_figure
from pages.ui.refine import refined
from tests import slow

refinement.AT_ONCE_SECONDS = 0


def hold():
    print("solving", flush=True)
    time.sleep(0.25)


slow.hold = hold
n = st.select_slider("n", [60, 70, 80, 90], key="n", bind="query-params")
epsilons = tuple(range(1, 41 if n == 90 else 7))
experiment = dpcore.Experiment(
    source="synthetic", n=n, mechanisms=(slow.Slow(),), sweep=dpcore.Axis("epsilon", epsilons), repetitions=20
)
table, progress = refined(experiment, first=10)
alt = f"n {table.n.iloc[0]}, {table.repetitions.iloc[0]} releases"
accuracy = table[table.metric == "accuracy"]
live_figure(go.Figure(go.Scatter(x=accuracy.x, y=accuracy.q10)), key="chart", alt=alt, height=300)
st.caption(progress or "full")
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


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("dashboard")
    (folder / "app.py").write_text(APP)
    (folder / "main.py").write_text(MAIN)
    shutil.copytree(ROOT / ".streamlit", folder / ".streamlit")
    with serve(folder / "app.py") as running:
        yield running


def open_page(page: Page, url: str) -> None:
    """Open the page and watch its chart from the first picture on."""
    page.goto(url)
    expect(page.locator(f"{CHART} .main-svg").first).to_be_visible(timeout=60_000)
    page.evaluate(WATCH)


def expect_picture(page: Page, alt: str) -> None:
    expect(page.get_by_role("img", name=alt)).to_be_visible()


def seen(page: Page) -> list[str]:
    return page.evaluate("window.seen")


def test_the_count_is_visible_then_the_same_chart_is_full_and_the_page_rests(dashboard: Server, page: Page):
    messages: list[float] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda _: messages.append(time.monotonic())))
    open_page(page, dashboard.url)
    expect(page.get_by_text("10 of 20 releases, refining …")).to_be_visible()
    expect_picture(page, "n 60, 20 releases")
    expect(page.get_by_text("full")).to_be_visible()
    assert seen(page) == ["n 60, 10 releases", "n 60, 20 releases"]
    page.wait_for_timeout(1000)
    sent = len(messages)
    page.wait_for_timeout(2000)
    assert len(messages) == sent, "a full picture asks no more"
    assert "Traceback" not in dashboard.log.read_text()


def test_moving_on_while_it_refines_ends_with_the_new_picture_and_shows_no_older_one(dashboard: Server, page: Page):
    open_page(page, f"{dashboard.url}/?n=70")
    expect(page.get_by_text("refining …")).to_be_visible()
    page.locator(".st-key-n input[type=range]").press("ArrowRight")
    expect_picture(page, "n 80, 10 releases")
    page.locator(".st-key-n input[type=range]").press("ArrowLeft")
    page.locator(".st-key-n input[type=range]").press("ArrowLeft")
    expect_picture(page, "n 60, 20 releases")
    states = seen(page)
    assert "gone" not in states
    last = len(states) - next(i for i, state in enumerate(reversed(states)) if state.startswith("n 80"))
    assert all(state.startswith(("n 70", "n 60")) for state in states[last:]), states
    page.wait_for_timeout(1500)
    assert seen(page) == states, "what was given up never arrives"


def test_two_visitors_of_one_picture_wait_for_one_computation(dashboard: Server, page: Page):
    before = dashboard.log.read_text().count("solving")
    other = page.context.new_page()
    for visitor in (page, other):
        visitor.goto(f"{dashboard.url}/?n=80")
    for visitor in (page, other):
        expect_picture(visitor, "n 80, 20 releases")
    solved = dashboard.log.read_text().count("solving") - before
    assert solved <= 6 + 2, "one computation, and at most the start of the one that the test before gave up"


def test_a_closed_tab_stops_the_work(dashboard: Server, page: Page):
    before = dashboard.log.read_text().count("solving")
    other = page.context.new_page()
    other.goto(f"{dashboard.url}/?n=90")
    expect(other.get_by_text("refining …")).to_be_visible(timeout=60_000)
    other.close()

    def settled() -> int:
        """How many solves have begun once a second passes without another."""
        counts = (dashboard.log.read_text().count("solving") for _ in itertools.count())
        last = next(counts)
        while True:
            time.sleep(1)
            if (now := next(counts)) == last:
                return now
            last = now

    assert 0 < settled() - before < 40
