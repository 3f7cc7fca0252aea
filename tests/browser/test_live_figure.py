"""A live figure keeps what the reader did to it, fits narrow screens, and never shows an empty frame."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from ..harness import ROOT, Server, fork
from .looks import refused, until

pytestmark = pytest.mark.browser

APP = """
from pathlib import Path
import streamlit as st
from pages.server import assets
app = st.App(Path(__file__).with_name("main.py"), routes=assets.routes())
"""
MAIN = """
import plotly.graph_objects as go
import streamlit as st
from pages.ui import url_controls
from pages.ui.html import literal
from pages.ui.live_figure import live_figure

st.set_page_config(layout="wide")
slope = url_controls.slider("slope", "slope", range(1, 10), 2)
shade = url_controls.segments("shade", "shade", ("black", "grey"), "black")
url_controls.segments("frame", "frame", ("thin", "thick"), "thin")  # which changes nothing in the picture
lifted = st.button("Lift", key="lift")  # which is no part of a link
figure = go.Figure(
    [
        go.Scatter(x=[0, 1, 2], y=[0, slope, 2 * slope], name="line", line={"color": shade}),
        go.Scatter(x=[0, 2], y=[1 + lifted, 1 + lifted], name="other"),
        go.Scatter(x=[k / 500 for k in range(1001)], y=[slope] * 1001, name="long <img src=x> & <b>bold</b>"),
        go.Scatter(x=[1], y=[slope], mode="markers"),
    ],
    {
        "template": "none",
        "showlegend": True,
        "yaxis": {
            "range": [0, 2 * slope],
            "title": {"text": "height" if slope < 4 else "depth", "standoff": 5 * slope},
        },
        "meta": {"narrow": {"legend": {"orientation": "h"}, "height": 360}},
    },
)
live_figure(figure, key="chart", alt=f"A line of slope {slope}", height=300)
if "texts" in st.query_params:
    st.markdown(ADDRESSES)
    st.caption(literal(ADDRESSES))
    st.error(literal(ADDRESSES))
"""
ADDRESSES = (
    "https://example.org/a?b=c HTTP://example.org www.example.org WWW.example.org (www.a.org) one+two@example.org"
)
CHART = ".st-key-chart .live-figure"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dashboard of one chart, with the real settings."""
    place = tmp_path_factory.mktemp("dashboard")
    (place / "app.py").write_text(APP)
    (place / "main.py").write_text(f"ADDRESSES = {ADDRESSES!r}\n{MAIN}")
    shutil.copytree(ROOT / ".streamlit", place / ".streamlit")
    return place


@pytest.fixture(scope="module")
def dashboard(folder: Path, port: int) -> Iterator[Server]:
    with fork(folder / "app.py", port=port) as running:
        yield running


def open_chart(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator(f"{CHART} .main-svg").first).to_be_visible()


def look(page: Page, expression: str) -> object:
    """Evaluate an expression about the chart's node, `it`."""
    return page.evaluate(f"(it => {expression})(document.querySelector('{CHART}'))")


def wait_until(page: Page, condition: str) -> None:
    until(page, f"(it => {condition})(document.querySelector('{CHART}'))")


def move_slider(page: Page, stroke: str = "ArrowRight") -> None:
    page.locator(".st-key-slope input[type=range]").press(stroke)


def zoom(page: Page) -> None:
    """Drag a rectangle, as a reader does."""
    box = page.locator(f"{CHART} .nsewdrag").bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.7 * box["height"], steps=4)
    page.mouse.up()
    wait_until(page, "it.layout.xaxis.autorange === false")


def test_a_slider_move_keeps_node_zoom_and_hidden_traces(page: Page, dashboard: Server) -> None:
    open_chart(page, dashboard.url)
    expect(page.get_by_role("figure", name="A line of slope 2")).to_be_visible()
    look(page, "it.querySelector('.main-svg').mark = 'same'")
    page.locator(f"{CHART} .legendtoggle").nth(1).click()
    wait_until(page, "it.data[1].visible === 'legendonly'")
    zoom(page)
    zoomed = look(page, "[it.layout.xaxis.range, it.layout.yaxis.range]")

    move_slider(page)
    expect(page.get_by_role("figure", name="A line of slope 3")).to_be_visible()
    wait_until(page, "it._fullData[0].y[1] === 3")
    assert look(page, "it.querySelector('.main-svg').mark") == "same"
    assert look(page, "[it.layout.xaxis.range, it.layout.yaxis.range]") == zoomed
    assert look(page, "it._fullData[1].visible") == "legendonly"

    page.locator(f"{CHART} .modebar-btn[data-title='Reset axes']").click()
    wait_until(page, "it.layout.xaxis.autorange === true")
    assert look(page, "it.layout.yaxis.range") == [0, 6], "the range of the picture that is there, not of the first"

    # A zoom ends where an axis shows something else.
    zoom(page)
    assert look(page, "it.layout.yaxis.range[1] < 6"), "zoomed in"
    move_slider(page)
    wait_until(page, "it._fullData[0].y[1] === 4")
    assert look(page, "it.layout.yaxis.range") == [0, 8]

    # An axis that a reader let find its own range goes on finding it.
    look(page, "void Plotly.relayout(it, {'yaxis.autorange': true})")
    move_slider(page)
    wait_until(page, "it._fullData[0].y[1] === 5")
    assert look(page, "it.layout.yaxis.autorange") is True and look(page, "it._fullLayout.yaxis.range[1] > 10")


def ends(message: str | bytes) -> bool:
    """Whether this, from the server, says that a run has ended."""
    said = ForwardMsg()
    said.ParseFromString(message if isinstance(message, bytes) else message.encode())
    return said.WhichOneof("type") == "script_finished"


class Line:
    """The page's line to its server, on which what the server says can be held back, and what the page says be lost.

    lost: what a message says that is lost, once; None: nothing is.
    """

    def __init__(self, page: Page) -> None:
        self.held: list[str | bytes] | None = None
        self.lost: str | None = None
        page.route_web_socket("**/_stcore/stream", self._connect)

    def _connect(self, route: WebSocketRoute) -> None:
        self._route = route
        self._server = route.connect_to_server()
        self._server.on_message(self._forward)
        route.on_message(self._say)

    def _say(self, message: str | bytes) -> None:
        if self.lost is not None and self.lost.encode() in (
            message if isinstance(message, bytes) else message.encode()
        ):
            self.lost = None
        else:
            self._server.send(message)

    def _forward(self, message: str | bytes) -> None:
        if self.held is None:
            self._route.send(message)
        else:
            self.held.append(message)

    def hold(self) -> None:
        self.held = []

    def answered(self, page: Page, answers: int = 1) -> None:
        """Wait until the server has ended so many runs since the line is held."""
        while sum(map(ends, self.held or ())) < answers:
            page.wait_for_timeout(20)

    def rest(self, page: Page) -> None:
        """Wait until the browser knows that no run goes on."""
        expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()

    def let_go(self, page: Page) -> None:
        """Once the server has said all there is; one by one, so that the browser takes none of it for outdated."""
        while (said := len(self.held or ())) == 0 or page.wait_for_timeout(200) or said < len(self.held or ()):
            page.wait_for_timeout(50)
        while self.held:  # what comes meanwhile waits behind them: a line never changes their order
            self._route.send(self.held.pop(0))
            page.wait_for_timeout(5)
        self.held = None
        page.wait_for_timeout(200)  # what is not to be drawn would be by then


SEEN = """() => {
    window.seen = [];
    const react = Plotly.react;
    Plotly.react = (node, data, ...more) => (seen.push(data[0].y), react(node, data, ...more));
}"""


@pytest.mark.usefixtures("own_tab")
def test_a_slider_that_comes_back_brings_its_picture_back_before_the_server_does(page: Page, dashboard: Server) -> None:
    line = Line(page)
    open_chart(page, dashboard.url)
    page.evaluate(SEEN)
    line.hold()
    move_slider(page)
    line.answered(page)
    move_slider(page, "ArrowLeft")
    line.let_go(page)
    assert page.evaluate("seen") == [], "a picture that the reader has left behind is not drawn"
    line.hold()
    move_slider(page)
    wait_until(page, "it._fullData[0].y[1] === 3")
    expect(page.get_by_role("figure", name="A line of slope 3")).to_be_visible()
    line.let_go(page)
    assert page.evaluate("seen") == [[0, 3, 6]], "but remembered, and that of the server, the same, not drawn again"
    line.hold()
    move_slider(page, "ArrowLeft")
    expect(page.get_by_role("figure", name="A line of slope 2")).to_be_visible()
    wait_until(page, "it._fullData[0].y[1] === 2 && it.layout.yaxis.range[1] === 4")
    line.let_go(page)
    assert page.evaluate("seen") == [[0, 3, 6], [0, 2, 4]]

    # Moves that are faster than the line leave no page that stands still.
    move_slider(page)
    wait_until(page, "it._fullData[0].y[1] === 3")
    line.rest(page)
    line.hold()
    for answers, stroke in enumerate(("ArrowRight", "ArrowLeft", "ArrowLeft"), 1):
        move_slider(page, stroke)
        line.answered(page, answers)  # and the browser hears of none
    line.let_go(page)
    page.get_by_role("button", name="Lift").click()
    wait_until(page, "it._fullData[0].y[1] === 2 && it._fullData[1].y[1] === 2")


def test_what_the_server_says_counts_where_a_remembered_picture_differs(page: Page, dashboard: Server) -> None:
    open_chart(page, dashboard.url)
    move_slider(page)
    wait_until(page, "it._fullData[0].y[1] === 3")
    move_slider(page, "ArrowLeft")
    wait_until(page, "it._fullData[0].y[1] === 2")
    page.get_by_role("button", name="Lift").click()
    wait_until(page, "it._fullData[1].y[1] === 2")
    move_slider(page)  # the button is up again by then
    wait_until(page, "it._fullData[0].y[1] === 3 && it._fullData[1].y[1] === 1")
    move_slider(page, "ArrowLeft")
    wait_until(page, "it._fullData[0].y[1] === 2 && it._fullData[1].y[1] === 1")


def test_another_view_forgets_the_pictures_of_the_one_before(page: Page, dashboard: Server) -> None:
    open_chart(page, dashboard.url)
    move_slider(page)
    wait_until(page, "it._fullData[0].y[1] === 3")
    move_slider(page)  # the first picture may have been drawn before the slider was there, and is another view's then
    wait_until(page, "it._fullData[0].y[1] === 4 && it.remembered.size >= 2")
    page.get_by_role("radio", name="grey").click()
    wait_until(page, "it._fullData[0].line.color === 'grey' && it.remembered.size === 1")
    # A picture that looks the same stands for the view that is there.
    page.evaluate(SEEN)
    page.get_by_role("radio", name="thick").click()
    wait_until(page, "it.latest.state.frame === 'thick' && it.remembered.size === 1")
    assert page.evaluate("seen") == []
    wait_until(page, "[...it.remembered.keys()][0] === JSON.stringify(Object.entries(it.latest.state))")


def test_numbers_open_by_keyboard_follow_and_are_plain_text_no_tool_sends_the_chart_away_and_texts_are_no_links(
    page: Page, dashboard: Server
) -> None:
    open_chart(page, f"{dashboard.url}/?texts=1")
    tools = look(page, "[...it.querySelectorAll('.modebar-btn')].map(it => it.dataset.title.split(' ', 2).join(' '))")
    assert tools == ["Download plot", "Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes"]
    assert look(page, "it._context.plotlyServerURL") == ""
    numbers = page.locator(".live-figure-numbers")
    assert numbers.locator("table").count() == 0, "a closed one costs nothing"
    height = look(page, "it.clientHeight")
    numbers.locator("summary").press("Enter")
    rows = numbers.locator("tbody tr")
    expect(rows.first).to_have_text("0012")
    names = numbers.locator("thead th").all_inner_texts()[1:]
    assert names == ["line", "other", "long & bold"], "a mark without a name repeats what a curve shows"
    assert numbers.locator("img, b").count() == 0
    assert 60 < rows.count() <= 400 // 3, "a row an x, of many every so many"
    move_slider(page)
    expect(rows.locator("td").first).to_have_text("0")
    assert look(page, "it.clientHeight") == height

    # Texts of a file that look like addresses are no links.
    assert page.get_by_test_id("stMarkdown").first.locator("a").count() == 6, "Markdown makes links of them"
    for kind in ("stCaptionContainer", "stAlert"):
        shown = page.get_by_test_id(kind)
        assert shown.locator("a").count() == 0 and shown.inner_text().replace("\u2060", "") == ADDRESSES


def test_a_narrow_screen_gets_its_own_layout_and_a_wide_one_the_first(page: Page, dashboard: Server) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    open_chart(page, dashboard.url)
    wait_until(page, "it._fullLayout.legend.orientation === 'h'")
    assert look(page, "[it.clientHeight, it._fullLayout.height]") == [360, 360]
    assert look(page, "it._fullLayout.width === it.clientWidth && it.clientWidth < 390")

    zoom(page)
    zoomed = look(page, "it.layout.xaxis.range")
    page.set_viewport_size({"width": 1440, "height": 900})
    wait_until(page, "it._fullLayout.legend.orientation === 'v'")
    assert look(page, "[it.clientHeight, it._fullLayout.height]") == [300, 300]
    assert look(page, "it.layout.xaxis.range") == zoomed
    page.set_viewport_size({"width": 1000, "height": 900})
    wait_until(page, "it._fullLayout.width === it.clientWidth")


def test_without_its_library_the_chart_says_so_and_the_next_move_tries_again(
    page: Page, dashboard: Server, complaints: list[str]
) -> None:
    with refused(page, "*/assets/plotly-*"):
        page.goto(dashboard.url)
        expect(page.locator(CHART)).to_contain_text("could not be drawn")
    assert complaints
    complaints.clear()
    move_slider(page)
    expect(page.locator(f"{CHART} .main-svg").first).to_be_visible()
    expect(page.locator(CHART)).not_to_contain_text("could not be drawn")
