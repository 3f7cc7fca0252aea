"""The page Multiclass as a visitor meets it: slider moves, screens and themes."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from dpcore.figures.style import Theme

from ..harness import Server
from .looks import Chart, NewPage, Screen, check_two_charts, on_every_screen
from .screens import check_in_the_dark, check_open_charts
from .test_moves import check_meaning, check_zoom

pytestmark = pytest.mark.browser


def open_classes(page: Page, url: str, query: str = "") -> tuple[Chart, Chart]:
    page.goto(f"{url}/multiclass{query}")
    names = (
        ("membership_leak", "beside_published_chart") if "published" in query else ("classes", "beside_classes_chart")
    )
    charts = Chart(page, names[0]), Chart(page, names[1])
    for chart in charts:
        chart.shown()
    return charts


def test_controls_change_the_charts_in_place_on_every_screen(server: Server, page: Page, complaints: list[str]):
    """One opening: screens, moves, and the exhibit, one click away, in the dark."""
    hero, beside = charts = open_classes(page, server.url, "?n=300&C=2")
    check_open_charts(page, charts)
    for chart in charts:
        chart.look("it.mark = 'same node'")
    check_meaning(page)
    check_zoom(page)
    zoomed = hero.look(hero.ranges)
    hero.press("C", "ArrowRight", "it.layout.shapes[0].x0 === 3")
    expect(page.locator(".takeaway").first).to_contain_text("With 3 classes")
    assert hero.look("it.mark") == "same node" == beside.look("it.mark") and hero.look(hero.ranges) == zoomed
    assert "C=3" in page.url

    page.emulate_media(color_scheme="dark")
    page.get_by_text("as published", exact=True).first.click()
    exhibit = Chart(page, "membership_leak"), Chart(page, "beside_published_chart")
    for chart in exhibit:
        chart.shown()
    check_in_the_dark(page, exhibit)
    assert complaints == []


STATES = (
    "",
    "?price_against=budget+%CE%B5&C=10&beside_classes=%CE%BB",
    "?price_against=budget+%CE%B5&class_records=iris%2C+three+species+%28real%29&beside_classes=Ellipses",
    "?price_against=excess+risk&epsilon=0.1",
    "?price_against=dimension&C=10&columns=4",
    "?classifier=as+published",
    "?classifier=as+published&beside_published=Theorem+2",
)


@pytest.mark.nightly  # in every run: first state, and one in the dark, in the test of the controls
@on_every_screen(STATES, (STATES[5],))
def test_no_label_is_cut_or_covered_and_charts_stand_beside_one_another_where_there_is_room(
    server: Server,
    new_page: NewPage,
    screens: tuple[Screen, ...],
    scheme: Theme,
    states: tuple[str, ...],
):
    check_two_charts(new_page, lambda page, state: open_classes(page, server.url, state), screens, scheme, states)
