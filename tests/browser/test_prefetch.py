"""Pictures ahead in a browser: the next step of the slider is shown before the server has said anything."""

from __future__ import annotations

from contextlib import suppress

import pytest
from playwright.sync_api import Page, Route, expect

from ..harness import Server
from .looks import refused, until
from .test_live_figure import SEEN, Line

pytestmark = pytest.mark.browser

CHART = "document.querySelector('.st-key-cost .live-figure')"
# Pictures that the chart has by now.
WHOLE = f"{CHART}.remembered.size"
CURSOR = f"{CHART}.layout.annotations.find(it => it.name === 'cursor').text"


def open_with_pictures_ahead(page: Page, url: str) -> None:
    """Until this picture and the two next ones are there; a server that is busy gives them to a later visit."""
    there = f"{CHART}?.drawnWidth && {WHOLE} >= 3"
    for _ in range(2):
        page.goto(url)
        with suppress(AssertionError):
            until(page, there, seconds=20)
            return
    page.goto(url)
    until(page, there)


@pytest.mark.usefixtures("own_tab")
def test_the_next_step_has_its_picture_before_the_server_answers(below: Server, page: Page) -> None:
    line = Line(page)
    open_with_pictures_ahead(page, f"{below.url}/?n=200")
    said = page.get_by_role("figure").first.get_attribute("aria-label")
    page.evaluate(SEEN)
    line.hold()
    slider = page.locator(".st-key-epsilon input[type=range]")
    slider.press("ArrowRight")
    until(page, f"{CURSOR} === 'ε = 1.5'")
    expect(page.get_by_role("figure").first).not_to_have_attribute("aria-label", said or "")
    headline = page.locator(".takeaway").first
    expect(headline).to_contain_text("ε = 1 ")
    assert page.evaluate("'ahead' in document.documentElement.dataset"), "the headline is the server's, and pale"
    line.let_go(page)
    until(page, "!('ahead' in document.documentElement.dataset)")
    expect(headline).to_contain_text("ε = 1.5 ")
    assert len(page.evaluate("seen")) == 2, "each of two charts once: the server's is the same"


def test_the_headline_is_pale_until_the_chart_is_drawn(page: Page, server: Server) -> None:
    held: list[Route] = []
    page.route("**/plotly*.js", lambda route: held.append(route))
    page.goto(server.url)
    until(page, "document.querySelector('.takeaway') && 'ahead' in document.documentElement.dataset")
    for route in held:
        route.continue_()
    until(page, f"{CHART}.drawnWidth && !('ahead' in document.documentElement.dataset)")


def test_no_pictures_ahead_are_no_harm(page: Page, server: Server) -> None:
    with refused(page, "*/ahead/*"):
        with page.expect_event("requestfailed"):
            page.goto(server.url)
        until(page, f"{CHART}?.drawnWidth")
        with page.expect_event("requestfailed"):
            page.locator(".st-key-epsilon input[type=range]").press("ArrowRight")
        until(page, f"{CURSOR} === 'ε = 1.5'")
        assert page.evaluate(f"{CHART}.remembered.size") <= 2, "the server's own"
