"""The dimension page as a visitor meets it: slider moves, screens and themes."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from dpcore.figures.style import Theme
from pages.dimension.words import PANELS

from ..harness import Server
from .looks import Chart, NewPage, Screen, check_two_charts, on_every_screen
from .screens import check_open_charts

pytestmark = pytest.mark.browser


def open_dimension(page: Page, url: str, query: str = "") -> tuple[Chart, Chart]:
    page.goto(f"{url}/dimension{query}")
    charts = Chart(page, "dimension"), Chart(page, "orthant")
    for chart in charts:
        chart.shown()
    return charts


def test_controls_change_the_charts_in_place_on_every_screen(server: Server, page: Page, complaints: list[str]):
    """One opening: the first screen and others, moves, both pickers."""
    hero, example = charts = open_dimension(page, server.url)
    flag = f"{hero.where} .annotation-text:has-text('p = 1,048,576')"
    for where in (".takeaway:has-text('1,048,568')", flag, example.where):
        box = page.locator(where).first.bounding_box()
        assert box and box["y"] + box["height"] < 900
    check_open_charts(page, charts)
    for chart in charts:
        chart.look("it.mark = 'same node'")
    zoomed = hero.zoom()
    for p in (2**19, 2**18):
        hero.press("p", "ArrowLeft", f"it.layout.shapes[0].x0 === {p}")
        example.wait(f"it.layout.shapes[0].x0 === {p}")
        expect(page.locator(".takeaway").first).to_contain_text(f"{p - 8:,}")
    assert hero.look(hero.ranges) == zoomed
    assert "p=262" in page.url, "the address carries the state"
    page.get_by_role("radio", name=PANELS["damage"]).click()
    hero.wait("it._fullData.some(t => t.name === 'Gamma noise: earlier theory, shape only')")
    page.get_by_role("radio", name="both").click()
    hero.wait("it._fullData.some(t => t.name === 'objective, Gamma')")
    for chart in charts:
        assert chart.look("it.mark") == "same node"
    assert complaints == []


STATES = ("", "?p=8&noise_in=both", "?p=1%2C024&noise_in=objective&below=excess+risk+and+theory&epsilon=0.01")


@pytest.mark.nightly  # in every run: first state in the test of the controls
@on_every_screen(STATES, STATES[:1])
def test_no_label_is_cut_or_covered_and_charts_stand_beside_one_another_where_there_is_room(
    server: Server,
    new_page: NewPage,
    screens: tuple[Screen, ...],
    scheme: Theme,
    states: tuple[str, ...],
):
    check_two_charts(new_page, lambda page, state: open_dimension(page, server.url, state), screens, scheme, states)


@pytest.mark.nightly
def test_data_table_and_download(server: Server, page: Page, complaints: list[str]):
    open_dimension(page, server.url, "?behind=Data")
    expect(page.locator("[data-testid=stDataFrame]")).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download CSV").click()
    lines = waiting.value.path().read_text().splitlines()
    assert len(lines) == 1 + 9 * 2 * 2, "nine p, two noises, two metrics"
    assert complaints == []
