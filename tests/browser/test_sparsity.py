"""The page Sparsity as a visitor meets it: slider moves, screens and themes."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from dpcore.figures.style import Theme

from ..harness import Server
from .looks import Chart, NewPage, Screen, check_two_charts, on_every_screen
from .screens import check_in_the_dark, check_open_charts

pytestmark = pytest.mark.browser


def open_sparse(page: Page, url: str, query: str = "") -> tuple[Chart, Chart]:
    """Both charts of the tab that the query names, the LASSO without a name."""
    page.goto(f"{url}/sparsity{query}")
    keys = ("regret", "play") if "tab=Online" in query else ("lasso", "beside_lasso")
    keys = ("draws", "beside_chart") if "tab=Simplex+sampling" in query else keys
    charts = Chart(page, keys[0]), Chart(page, keys[1])
    for chart in charts:
        chart.shown()
    return charts


def test_controls_change_the_charts_in_place_in_every_tab(server: Server, page: Page, complaints: list[str]):
    """One opening: the first screen and others, moves, and another tab in the dark."""
    lasso, _ = charts = open_sparse(page, server.url, "?n=2%2C000&p=64&T=96&m=20")
    for where in (".takeaway", f"{lasso.where} .annotation-text:has-text('T = ')"):
        box = page.locator(where).first.bounding_box()
        assert box and box["y"] + box["height"] < 900
    check_open_charts(page, charts)
    lasso.look("it.mark = 'same node'")
    zoomed = lasso.zoom()
    lasso.press("T", "ArrowRight", "it.layout.shapes.some(shape => shape.x0 === 128)")
    expect(page.locator(".takeaway").first).to_contain_text("128")
    assert lasso.look("it.mark") == "same node" and lasso.look(lasso.ranges) == zoomed
    assert "T=128" in page.url

    page.emulate_media(color_scheme="dark")
    page.locator(".st-key-tab").get_by_role("radio", name="Simplex sampling").click()
    draws, beside = Chart(page, "draws"), Chart(page, "beside_chart")
    for chart in (draws, beside):
        chart.shown()
    sidebar = page.get_by_test_id("stSidebarContent")
    for width, height in ((1280, 720), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        assert sidebar.evaluate("it => it.scrollHeight <= it.clientHeight"), "no other page uses as many controls"
    check_in_the_dark(page, (draws, beside))
    draws.look("it.mark = 'same node'")
    zoomed = draws.zoom()
    draws.press("m", "ArrowRight", "it.layout.shapes.some(shape => shape.x0 === 50)")
    expect(page.locator(".takeaway").first).to_contain_text("50 random draws")
    assert draws.look("it.mark") == "same node" and draws.look(draws.ranges) == zoomed
    assert "m=50" in page.url

    page.get_by_role("radio", name="Online").click()
    regret = Chart(page, "regret")
    regret.shown()
    assert "tab=Online" in page.url
    regret.look("it.mark = 'same node'")
    regret.press("steps_of_stream", "ArrowLeft", "it.layout.shapes[0].x0 === 1000")
    expect(page.locator(".takeaway").first).to_contain_text("1,000 choices")
    assert regret.look("it.mark") == "same node"
    assert complaints == []


STATES = (
    "",
    "?against=n&beside_ball=Tracing",
    "?against=n&lasso_data=hardest+data",
    "?against=p&beside_ball=On+the+simplex&p=65%2C536",
    "?vertex_noise=noise+as+published&T=512&epsilon=0.1",
    "?tab=Simplex+sampling",
    "?tab=Simplex+sampling&beside=Dimension&on=fresh+records&p=1%2C024",
    "?tab=Simplex+sampling&beside=Draws+as+published&n=200",
    "?tab=Online",
    "?tab=Online&adversary=costs%3A+hardest+data+%28fair+coins%29&p=64",
    "?tab=Online&adversary=costs%3A+refutes+equation+%2812%29&p=64",
)


@pytest.mark.nightly  # in every run: first state, and one in the dark, in the test of the controls
@on_every_screen(STATES, (STATES[0], STATES[4]))
def test_no_label_is_cut_or_covered_and_charts_stand_beside_one_another_where_there_is_room(
    server: Server,
    new_page: NewPage,
    screens: tuple[Screen, ...],
    scheme: Theme,
    states: tuple[str, ...],
):
    def opened(page: Page, state: str) -> tuple[Chart, Chart]:
        return open_sparse(page, server.url, state)

    check_two_charts(new_page, opened, screens, scheme, states)


@pytest.mark.nightly  # in every run: the landing page's, and each page's policy, under which all is taken
def test_data_table_and_download(server: Server, page: Page, complaints: list[str]):
    open_sparse(page, server.url, "?tab=Simplex+sampling&behind=Data&n=2%2C000&p=64")
    expect(page.locator("[data-testid=stDataFrame]")).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download CSV").click()
    lines = waiting.value.path().read_text().splitlines()
    assert lines[0].startswith("m,lam,eta,spent_epsilon,sampling,bias,stability,affordable,training_mean")
    assert lines[1].startswith("1,") and lines[-1].startswith("10000,")
    assert complaints == []
