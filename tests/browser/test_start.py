"""The start page as a visitor meets it: first address on a fresh server, slider moves, phone, dark, no complaint."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from dpcore import EPSILON_GRID, figures

from ..harness import Server
from .looks import CUT, OVERLAPS

pytestmark = pytest.mark.browser

CHART = ".st-key-cost .live-figure"


def open_start(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator(f"{CHART} .main-svg").first).to_be_visible(timeout=60_000)


def plotly(page: Page, expression: str) -> object:
    """Evaluate an expression about the chart's node, `it`."""
    return page.evaluate(f"(it => {expression})(document.querySelector('{CHART}'))")


def press(page: Page, key: str, stroke: str, done: str) -> None:
    """Move a slider by one step and wait until an expression about the chart's node is true."""
    page.locator(f".st-key-{key} input[type=range]").press(stroke)
    page.wait_for_function(f"(it => {done})(document.querySelector('{CHART}'))", timeout=30_000)


def zoom(page: Page) -> object:
    """Drag a rectangle in the upper panel, as a reader does; returns the ranges it leaves."""
    box = page.locator(f"{CHART} .nsewdrag").first.bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.2 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.8 * box["height"], steps=4)
    page.mouse.up()
    page.wait_for_function(f"(it => it._fullLayout.xaxis.range[0] > -1.9)(document.querySelector('{CHART}'))")
    return plotly(page, RANGES)


RANGES = "[it._fullLayout.xaxis.range, it._fullLayout.yaxis.range]"


def mean_curve(page: Page) -> list[float]:
    found = plotly(page, "JSON.stringify([...it._fullData.find(t => t.name === 'private, on average').y])")
    return json.loads(str(found))


def test_a_deep_link_is_the_first_request_of_a_fresh_server(fresh_server: Server, page: Page, complaints: list[str]):
    open_start(page, f"{fresh_server.url}/?epsilon=0.1&source=synthetic+people&n=2,000")
    expect(page.get_by_text("With 2,000 people and ε = 0.1")).to_be_visible()
    expect(page.locator("[data-testid=stSidebar]").get_by_text("privacy budget")).to_be_visible()
    assert page.locator("[data-testid=stException]").count() == 0
    assert page.get_by_role("dialog").count() == 0
    assert "Traceback" not in fresh_server.log.read_text()
    assert complaints == []


def test_the_landing_address_draws_everything(server: Server, page: Page, complaints: list[str]):
    open_start(page, server.url)
    expect(page.get_by_role("heading", name="What does privacy cost, and what does it buy?")).to_be_visible()
    expect(page.get_by_text("An attacker is right")).to_be_visible()
    icons = page.locator("img[alt*='times of 100']")
    expect(icons).to_be_visible()
    assert icons.evaluate("it => it.complete && it.naturalWidth > 0")
    label = page.locator(CHART).get_attribute("aria-label") or ""
    assert re.search(r"With 398 patients and ε = 1, \d+\.\d of 100 tumours", label)
    assert page.locator(CHART).get_attribute("role") == "img"
    assert complaints == []


def test_moving_epsilon_moves_the_cursor_and_keeps_node_and_zoom(server: Server, page: Page, complaints: list[str]):
    open_start(page, server.url)
    plotly(page, "it.mark = 'same node'")
    zoomed = zoom(page)
    curve = mean_curve(page)
    for epsilon in (1.5, 2.0, 3.0):
        press(page, "epsilon", "ArrowRight", f"it.layout.shapes[0].x0 === {epsilon}")
        expect(page.get_by_text(f"and ε = {epsilon:g},")).to_be_visible()
    assert plotly(page, "it.mark") == "same node"
    assert plotly(page, RANGES) == zoomed
    assert mean_curve(page) == curve, "the curve does not depend on where the cursor stands"
    assert "epsilon=3" in page.url, "the address carries the state"
    assert complaints == []


@pytest.mark.parametrize("key", ["n", "delta", "lam", "seed"])
def test_every_other_control_redraws_the_curve_in_place(server: Server, page: Page, complaints: list[str], key: str):
    open_start(page, server.url)
    plotly(page, "it.mark = 'same node'")
    zoomed = zoom(page)
    before = mean_curve(page)
    plotly(page, "it.before = it._fullData.find(t => t.name === 'private, on average').y[12]")
    changed = "it._fullData.find(t => t.name === 'private, on average').y[12] !== it.before"
    if key == "seed":
        page.get_by_role("button", name="Re-roll").click()
        page.wait_for_function(f"(it => {changed})(document.querySelector('{CHART}'))", timeout=30_000)
    else:
        press(page, key, "ArrowRight", changed)
    assert mean_curve(page) != before
    assert plotly(page, "it.mark") == "same node"
    assert plotly(page, RANGES) == zoomed
    assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_chart_wears_the_page_s_theme(server: Server, browser: Browser, scheme: figures.Theme):
    page = browser.new_page(color_scheme=scheme)
    open_start(page, server.url)
    page.wait_for_function(
        f"(it => it.layout.paper_bgcolor === '{figures.BACKGROUND[scheme]}')(document.querySelector('{CHART}'))"
    )
    colour = page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    red, green, blue = (int(figures.BACKGROUND[scheme][i : i + 2], 16) for i in (1, 3, 5))
    assert colour == f"rgb({red}, {green}, {blue})"
    page.close()


@pytest.mark.parametrize("epsilon", [EPSILON_GRID[0], 1.0, EPSILON_GRID[-1]])
@pytest.mark.parametrize("width, height", [(1440, 900), (1024, 768), (390, 844)])
def test_no_label_is_cut_or_covered(server: Server, browser: Browser, width: int, height: int, epsilon: float):
    page = browser.new_page(viewport={"width": width, "height": height})
    for more in ("", "&n=50,000", "&source=synthetic+people"):
        open_start(page, f"{server.url}/?epsilon={epsilon:g}{more}")
        expect(page.get_by_text(f"ε = {epsilon:g},").first).to_be_visible()
        assert page.locator(CHART).evaluate(OVERLAPS) == []
        assert page.evaluate(CUT) == []
        scroll = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert scroll <= 0, "the page scrolls sideways"
    page.close()


def test_the_checks_see_an_overlap_and_a_cut(server: Server, page: Page):
    """Without this the test above could pass by finding no labels and no texts."""
    open_start(page, server.url)
    page.add_style_tag(content=".stMarkdown { width: 60px !important; overflow: hidden; white-space: nowrap }")
    assert any("Best model" in text or "times of 100" in text for text in page.evaluate(CUT))
    plotly(page, "Plotly.relayout(it, {'annotations[0].x': 0.5, 'annotations[0].y': 0, 'annotations[0].yshift': -22})")
    assert page.locator(CHART).evaluate(OVERLAPS) != []


def test_the_first_screen_answers_both_questions(server: Server, browser: Browser):
    """At 1366 x 768 the price, the odds and the chart's cursor are there without scrolling."""
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    open_start(page, server.url)
    bottom: Callable[[str], float] = lambda where: page.locator(where).first.bounding_box()["y"]  # noqa: E731
    assert bottom("text=privacy costs") < 200
    assert bottom("text=An attacker is right") < 400
    assert bottom(f"{CHART} .annotation-text:has-text('ε = 1')") < 768
    page.close()


def test_data_table_and_download(server: Server, page: Page, complaints: list[str]):
    open_start(page, f"{server.url}/?behind=Data")
    expect(page.locator("[data-testid=stDataFrame]")).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download CSV").click()
    lines = waiting.value.path().read_text().splitlines()
    assert len(lines) == 1 + 2 * len(EPSILON_GRID) and lines[0].startswith("mechanism,label,accounting,axis,x,metric")
    assert complaints == []
