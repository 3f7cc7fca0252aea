"""The page Decide as a visitor meets it: a budget, a file of one's own, what can be taken away, screens."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from dpcore.figures.style import BACKGROUND, Theme

from ..harness import Server
from ..upload_page import declare, hand_over, people
from .looks import BETWEEN, CUT, LARGE, PHONE, Chart, NewPage, Screen

pytestmark = pytest.mark.browser


STATES = (
    "?n=300&give_up=2",
    "",
    "?n=300&more=repeated+releases",
    "?more=deployments",
    "?more=all+mechanisms&n=300",
    "?at_hand=iris%2C+virginica+or+not+%28real%29&n=105&give_up=20",
)


def open_decide(page: Page, url: str, query: str = "") -> Chart:
    page.goto(f"{url}/decide{query}")
    chart = Chart(page, "budget")
    chart.shown()
    return chart


def complete(page: Page) -> None:
    """Wait until all splits are in."""
    expect(page.get_by_text(re.compile(r"all \d+ splits"))).to_be_visible(timeout=60_000)
    expect(page.get_by_test_id("stMain").get_by_text("…", exact=True)).to_have_count(0, timeout=60_000)


@pytest.mark.nightly
def test_a_deep_link_is_the_first_request_of_a_fresh_server(fresh_server: Server, page: Page, complaints: list[str]):
    open_decide(page, fresh_server.url, "?n=1%2C000&give_up=5&epsilon=0.5")
    complete(page)
    expect(
        page.get_by_text(re.compile(r"ε\s=\s[\d.]+ is the smallest privacy budget that costs at most 5.0 points"))
    ).to_be_visible()
    expect(page.get_by_text(re.compile("With 1,000 people and .* without privacy"))).to_be_visible()
    expect(page.locator("img[alt*='times in 100']")).to_be_visible()
    assert page.locator("[data-testid=stException]").count() == 0
    assert "Traceback" not in fresh_server.log.read_text()
    assert complaints == []


def check_that_all_can_be_read(page: Page, chart: Chart, screens: tuple[Screen, ...], scheme: Theme) -> None:
    """On each of these screens nothing is cut or covered or wider than the screen."""
    for width, height, _ in screens:
        page.set_viewport_size({"width": width, "height": height})
        chart.wait(f"it.layout?.paper_bgcolor === '{BACKGROUND[scheme]}'")
        chart.settled()
        assert chart.broken_labels() == [], width
        for other in page.locator(".live-figure").all():
            assert other.get_attribute("aria-label")
        assert page.evaluate(CUT) == [], width
        scroll = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert scroll <= 0, width


def test_all_can_be_read_and_moving_what_can_be_given_up_moves_the_answer_in_place(
    server: Server, page: Page, complaints: list[str]
):
    chart = open_decide(page, server.url, STATES[0])
    complete(page)
    check_that_all_can_be_read(page, chart, (LARGE, BETWEEN, PHONE), "light")
    chart.look("it.mark = 'same node'")
    before = chart.look("it._fullData[7].x[0]")
    chart.press("give_up", "ArrowRight", f"it._fullData[7].x[0] < {before}")
    assert chart.look("it.mark") == "same node" and "give_up=3" in page.url

    page.emulate_media(color_scheme="dark")
    page.get_by_role("radio", name="repeated releases").click()
    page.wait_for_url("**more=repeated*")
    complete(page)
    check_that_all_can_be_read(page, chart, (PHONE,), "dark")
    assert complaints == []


@pytest.mark.nightly  # in every run: test_uploads.py, and without a browser tests/pages/test_decide_page.py
def test_a_file_of_one_s_own_is_decided_on_not_in_the_link_and_stays(server: Server, page: Page, complaints: list[str]):
    page.goto(f"{server.url}/decide?behind=Link&at_hand=a+file+of+your+own")
    hand_over(page, people(1_000))
    declare(page)
    Chart(page, "budget").shown()
    expect(page.get_by_text(re.compile("Read 1,000 rows.* 700 records"))).to_be_visible()
    expect(page.get_by_text(re.compile("With 700 records and .* budget"))).to_be_visible()
    expect(page.get_by_text("not in the link")).to_be_visible()
    assert "upload-" not in page.locator("[data-testid=stCode] code").inner_text()
    # After a visit to another page all is there, in the picker, too.
    page.get_by_role("link", name="Sources").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("come from")
    page.wait_for_timeout(500)
    page.get_by_role("link", name="Decide").click()
    expect(page.get_by_text(re.compile("Read 1,000 rows"))).to_be_visible()
    page.get_by_text("What the file holds").click()
    expect(page.get_by_text("You confirmed")).to_be_visible()
    expect(page.get_by_label("column is the label")).to_have_value("sick")
    expect(page.get_by_label("counts as +1")).to_have_value("yes")
    expect(page.locator("[data-testid^=glide-cell]")).to_have_text(["age", "0", "120", "dose", "0", "1"])
    page.get_by_role("button", name="Remove people.csv").click()
    expect(page.get_by_label("column is the label")).to_have_count(0)
    expect(page.locator("input[type=file]")).to_be_attached()
    assert complaints == []


@pytest.mark.nightly
def test_what_is_taken_away_says_what_the_page_says(
    server: Server, page: Page, new_page: NewPage, tmp_path: Path, complaints: list[str]
):
    open_decide(page, server.url, "?n=1%2C000&give_up=5&more=download")
    complete(page)

    def taken(label: str) -> Path:
        page.get_by_role("button", name=label).wait_for(timeout=60_000)
        page.locator("[data-test-script-state=notRunning]").wait_for()
        with page.expect_download() as waiting:
            page.get_by_role("button", name=label).click()
        waiting.value.save_as(tmp_path / waiting.value.suggested_filename)
        return tmp_path / waiting.value.suggested_filename

    numbers = json.loads(taken("Numbers (JSON)").read_text(encoding="utf-8"))
    shown = page.get_by_text(re.compile("is the smallest privacy budget")).inner_text()
    budget, reference = float(f"{numbers['budget']['value']:.2g}"), 100 * numbers["reference"]
    assert f"{budget:g}" in shown and f"{reference:.1f}" in shown
    assert numbers["link"].startswith(f"{server.url}/decide?")
    html = taken("Briefing (HTML)")
    assert html.stat().st_size < 6_000_000
    briefing = new_page()
    briefing.goto(html.as_uri())
    expect(briefing.locator("section")).to_have_count(6)
    assert taken("Curves (CSV)").read_text().startswith("epsilon,loss")
    space: dict[str, object] = {}
    exec(taken("Code (Python)").read_text(encoding="utf-8").replace("figure.show()", ""), space)
    assert abs(space["found"].value - numbers["budget"]["value"]) < 1e-9  # type: ignore[attr-defined]
    assert complaints == []


@pytest.mark.nightly  # in every run: first state, and one in the dark, in the test above
@pytest.mark.parametrize(
    ("screens", "scheme", "states"),
    [((PHONE,), "light", STATES), ((LARGE, BETWEEN), "light", STATES), ((PHONE, BETWEEN), "dark", STATES)],
    ids=str,
)
def test_nothing_is_cut_or_covered_or_wider_than_the_screen(
    server: Server, new_page: NewPage, screens: tuple[Screen, ...], scheme: Theme, states: tuple[str, ...]
):
    page = new_page(scheme=scheme)
    for state in states:
        page.set_viewport_size({"width": screens[0][0], "height": screens[0][1]})
        chart = open_decide(page, server.url, state)
        complete(page)
        check_that_all_can_be_read(page, chart, screens, scheme)
