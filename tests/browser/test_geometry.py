"""The page Geometry as a visitor meets it: slider moves, screens and themes."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from dpcore.figures.style import Theme

from ..harness import Server
from .looks import Chart, NewPage, Screen, check_two_charts, on_every_screen, until
from .screens import check_in_the_dark, check_open_charts

pytestmark = pytest.mark.browser


def open_geometry(page: Page, url: str, query: str = "") -> tuple[Chart, Chart]:
    page.goto(f"{url}/geometry{query}")
    charts = Chart(page, "geometry"), Chart(page, "beside_geometry_chart")
    for chart in charts:
        chart.shown()
    return charts


# The number of the frame in which a chart was drawn, for each of them.
FRAMES = """() => {
    window.frames_drawn = [];
    let frame = 0;
    const count = () => { frame++; requestAnimationFrame(count); };
    requestAnimationFrame(count);
    const react = Plotly.react;
    Plotly.react = (...all) => (frames_drawn.push(frame), react(...all));
}"""


def test_controls_change_the_charts_in_place_on_every_screen(server: Server, page: Page, complaints: list[str]):
    """One opening: screens, moves, the order in which charts are drawn, and another view in the dark."""
    hero, ball = charts = open_geometry(page, server.url, "?p_norm=1.5")
    check_open_charts(page, charts)
    for chart in charts:
        chart.look("it.mark = 'same node'")
    zoomed = hero.zoom()
    page.evaluate(FRAMES)
    hero.press("p_norm", "ArrowRight", "it.layout.shapes[0].x0 === 0.5")
    expect(page.locator(".takeaway").first).not_to_contain_text("p = 1.5")
    assert hero.look("it.mark") == "same node" == ball.look("it.mark") and hero.look(hero.ranges) == zoomed
    assert "p_norm=2" in page.url
    ball.settled()
    for stroke in ("ArrowRight", "ArrowLeft"):
        page.evaluate("frames_drawn.length = 0")
        page.locator(".st-key-epsilon input[type=range]").press(stroke)
        until(page, "frames_drawn.length === 2")
        first, second = page.evaluate("frames_drawn")
        assert second > first, "the first chart is on the screen before the second is drawn"

    page.emulate_media(color_scheme="dark")
    page.get_by_role("radio", name="sample size n").click()
    page.wait_for_url("**view=sample+size+n*")
    page.get_by_role("radio", name="Tracing").click()
    page.wait_for_url("**beside_geometry=Tracing*")
    check_in_the_dark(page, charts)
    assert complaints == []


STATES = (
    "",
    "?p_norm=2&p=65%2C536&beside_geometry=Noise+length",
    "?p_norm=2&geometry_data=hard+for+L2",
    "?p_norm=1+%2B+1%2Fln+d&beside_geometry=Rates&epsilon=0.1",
    "?view=sample+size+n&p_norm=1.5&p=16&n=5%2C000&beside_geometry=Tracing",
    "?view=sample+size+n&p_norm=%E2%88%9E&p=8&n=20%2C000",
)


@pytest.mark.nightly  # in every run: first state, and one in the dark, in the test of the controls
@on_every_screen(STATES, (STATES[0], STATES[3]))
def test_no_label_is_cut_or_covered_and_charts_stand_beside_one_another_where_there_is_room(
    server: Server,
    new_page: NewPage,
    screens: tuple[Screen, ...],
    scheme: Theme,
    states: tuple[str, ...],
):
    check_two_charts(new_page, lambda page, state: open_geometry(page, server.url, state), screens, scheme, states)
