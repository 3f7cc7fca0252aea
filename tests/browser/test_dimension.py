"""The dimension page as a visitor meets it: first address on a fresh server, slider moves, screens and themes."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from dpcore.figures.style import Theme

from ..harness import Server
from .looks import Chart, NewPage, Screen, check_two_charts, on_every_screen

pytestmark = pytest.mark.browser

HERO, CORNER = (f".st-key-{key} .live-figure" for key in ("dimension", "corner"))
RANGES = "[it._fullLayout.xaxis.range, it._fullLayout.yaxis.range]"


def open_dimension(page: Page, url: str, query: str = "") -> None:
    page.goto(f"{url}/dimension{query}")
    for chart in (HERO, CORNER):
        expect(page.locator(f"{chart} .main-svg").first).to_be_visible(timeout=60_000)


def plotly(page: Page, chart: str, expression: str) -> object:
    """Evaluate an expression about a chart's node, `it`."""
    return page.evaluate(f"(it => {expression})(document.querySelector('{chart}'))")


def wait_for(page: Page, chart: str, condition: str) -> None:
    page.wait_for_function(f"(it => {condition})(document.querySelector('{chart}'))", timeout=30_000)


@pytest.mark.nightly
def test_a_deep_link_is_the_first_request_of_a_fresh_server(fresh_server: Server, page: Page, complaints: list[str]):
    open_dimension(page, fresh_server.url, "?p=1%2C024&noise_in=question&epsilon=3")
    expect(page.get_by_role("heading", name="Does a million useless features hurt?")).to_be_visible()
    expect(page.get_by_text("With 1,016 idle columns Gaussian noise in the question")).to_be_visible()
    expect(page.locator("[data-testid=stSidebar]").get_by_text("privacy budget")).to_be_visible()
    assert page.locator("[data-testid=stException]").count() == 0
    assert page.get_by_role("dialog").count() == 0
    assert "Traceback" not in fresh_server.log.read_text()
    assert complaints == []


@pytest.mark.nightly
def test_the_navigation_leads_here_and_back(server: Server, page: Page, complaints: list[str]):
    page.goto(server.url)
    page.get_by_role("link", name="Dimension").click()
    expect(page.get_by_role("heading", name="Does a million useless features hurt?")).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="Start").click()
    expect(page.get_by_role("heading", name="What does privacy cost, and what does it buy?")).to_be_visible()
    assert complaints == []


def test_moving_p_moves_both_cursors_and_keeps_nodes_and_zoom(server: Server, page: Page, complaints: list[str]):
    open_dimension(page, server.url)
    for chart in (HERO, CORNER):
        plotly(page, chart, "it.mark = 'same node'")
    box = page.locator(f"{HERO} .nsewdrag").first.bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.2 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.8 * box["height"], steps=4)
    page.mouse.up()
    wait_for(page, HERO, "it._fullLayout.xaxis.range[0] > 1.5")
    zoomed = plotly(page, HERO, RANGES)
    for p in (2**19, 2**18):
        page.locator(".st-key-p input[type=range]").press("ArrowLeft")
        for chart in (HERO, CORNER):
            wait_for(page, chart, f"it.layout.shapes[0].x0 === {p}")
        expect(page.get_by_text(f"With {p - 8:,} idle columns")).to_be_visible()
    for chart in (HERO, CORNER):
        assert plotly(page, chart, "it.mark") == "same node"
    assert plotly(page, HERO, RANGES) == zoomed
    assert "p=262" in page.url, "the address carries the state"
    assert complaints == []


def test_the_first_screen_answers_and_the_pickers_change_it_in_place(server: Server, page: Page, complaints: list[str]):
    open_dimension(page, server.url)
    for where in ("text=idle columns Gaussian noise", f"{HERO} .annotation-text:has-text('p = 1,048,576')", CORNER):
        box = page.locator(where).first.bounding_box()
        assert box and box["y"] + box["height"] < 900
    plotly(page, HERO, "it.mark = 'same node'")
    page.get_by_role("radio", name="damage and theory").click()
    wait_for(page, HERO, "it._fullData.some(t => t.name === 'Gamma noise: earlier theory, shape only')")
    page.get_by_role("radio", name="both").click()
    wait_for(page, HERO, "it._fullData.some(t => t.name === 'question, Gamma')")
    assert plotly(page, HERO, "it.mark") == "same node"
    assert complaints == []


STATES = ("", "?p=8&noise_in=both", "?p=1%2C024&noise_in=question&below=damage+and+theory&epsilon=0.01")


@on_every_screen(STATES, STATES[:1])
def test_no_label_is_cut_or_covered_and_charts_stand_beside_one_another_where_there_is_room(
    server: Server,
    new_page: NewPage,
    screens: tuple[Screen, ...],
    scheme: Theme,
    states: tuple[str, ...],
):
    def opened(page: Page, state: str) -> tuple[Chart, Chart]:
        open_dimension(page, server.url, state)
        return Chart(page, "dimension"), Chart(page, "corner")

    check_two_charts(new_page, opened, screens, scheme, states)


@pytest.mark.nightly
def test_data_table_and_download(server: Server, page: Page, complaints: list[str]):
    open_dimension(page, server.url, "?behind=Data")
    expect(page.locator("[data-testid=stDataFrame]")).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download CSV").click()
    lines = waiting.value.path().read_text().splitlines()
    assert len(lines) == 1 + 9 * 2 * 2, "nine p, two noises, two metrics"
    assert complaints == []
