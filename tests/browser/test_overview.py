"""The start page as a visitor meets it: the landing address, slider moves, phone, dark, no complaint."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from dpcore import EPSILON_GRID
from pages.lectures.stories import STORIES

from ..harness import Server
from .looks import Chart

pytestmark = pytest.mark.browser

CHART = ".st-key-cost .live-figure"


def open_start(page: Page, url: str) -> Chart:
    page.goto(url)
    chart = Chart(page, "cost")
    chart.shown()
    return chart


def test_the_landing_address_answers_both_questions_and_says_what_its_words_mean(
    server: Server, page: Page, complaints: list[str]
):
    """At 1366 x 768 what is lost, how often an attacker could be right, and all of both charts, without scrolling."""
    page.set_viewport_size({"width": 1366, "height": 768})
    chart = open_start(page, server.url)
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text(STORIES["overview"].title)
    bells = page.locator(".st-key-bells .live-figure")
    expect(bells.locator(".main-svg").first).to_be_visible()
    (sentence,) = page.locator(".takeaway").all()
    said = sentence.inner_text()
    assert re.search(r"At ε\s=\s1 privacy costs \d+\.\d% of what can be learned \(.*\); .* \d+ times in 100\.", said)
    assert (page.locator(CHART).get_attribute("aria-label") or "").replace("\xa0", " ") == said.replace("\xa0", " ")
    assert page.locator(CHART).get_attribute("role") == "figure"
    for place in (sentence, page.locator(CHART), bells):
        box = place.bounding_box()
        assert box and box["y"] > 0 and box["y"] + box["height"] < 768
    measured = "it._fullData.find(t => t.name === 'measured')"
    nothing = "it._fullData.find(t => t.name === 'learns nothing').y[0]"
    share = float(str(chart.look(f"{measured}.y[[...{measured}.x].indexOf(1)] / {nothing}")))
    lost, *parts = re.findall(r"(\d+\.\d)%", said)
    assert float(lost) == pytest.approx(100 * share, rel=0.05)
    assert sum(map(float, parts)) == pytest.approx(float(lost), abs=0.11)
    (times,) = re.findall(r"(\d+) times in 100", said)
    assert f"at most {times} times in 100" in (bells.get_attribute("aria-label") or "")

    term, meaning = page.locator("label dfn", has_text="privacy budget"), page.locator("#meaning")
    place = term.bounding_box()
    slider = page.locator(".st-key-epsilon input[type=range]")
    for ask in (term.hover, lambda: term.dispatch_event("pointerdown"), slider.focus):  # mouse, finger, keyboard
        ask()
        expect(meaning).to_have_text(re.compile(r"^ε: "))
        page.keyboard.press("Escape")
        expect(meaning).to_be_hidden()
    assert term.bounding_box() == place, "nothing has moved"

    page.get_by_role("radio", name="Data", exact=True).click()
    expect(page.locator("[data-testid=stDataFrame]")).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download CSV").click()
    details = page.locator(".st-key-details")
    expect(details).to_be_in_viewport(ratio=0.99)  # it comes to where it was asked for
    page.keyboard.press("Escape")
    expect(page.locator("[data-testid=stDataFrame]")).to_have_count(0)
    expect(page.get_by_role("radio", name="Data", exact=True)).to_be_focused()
    table = pd.read_csv(waiting.value.path())
    assert list(table.columns[:6]) == ["mechanism", "label", "accounting", "axis", "x", "metric"]
    refused = (table.status != "ok").sum()  # one row for both metrics
    assert len(table) == 2 * len(EPSILON_GRID) - refused and table.x.nunique() == len(EPSILON_GRID)
    assert complaints == []


# Where the cursor's line and flag stand on the screen, and where an epsilon is.
MARKS = """(() => {
    const middle = e => { const box = e.getBoundingClientRect(); return box.x + box.width / 2; };
    const line = it.querySelector('.shapelayer path[data-index="0"]');
    const flag = [...it.querySelectorAll(".annotation")].find(e => e.textContent.startsWith("ε = "));
    const [box, text] = [".bg", "text"].map(part => flag.querySelector(part).getBoundingClientRect());
    return [flag.textContent, middle(line), box.x <= text.x && text.right <= box.right ? middle(flag) : "cut"];
})()"""
PLACE = "it.getBoundingClientRect().x + it._fullLayout.xaxis._offset + it._fullLayout.xaxis.l2p(Math.log10({}))"


def test_the_cursor_follows_the_hand_and_the_curves_come_when_it_lets_go(server: Server, page: Page):
    chart = open_start(page, server.url)
    chart.settled()
    chart.look("void (it.before = it.data)")
    thumb = page.locator(".st-key-epsilon input[type=range]")
    box = thumb.evaluate(
        "it => (({ x, y, width, height }) => [x + width / 2, y + height / 2])(it.getBoundingClientRect())"
    )
    seen = []
    page.mouse.move(*box)
    page.mouse.down()
    for step in (15, 30, 45):
        page.mouse.move(box[0] - step, box[1])
        said = str(thumb.get_attribute("aria-valuetext"))
        chart.wait(f"{MARKS}[0] === 'ε = {said}'")
        _, line, flag = chart.look(MARKS)
        assert line == pytest.approx(flag, abs=2.0) and line == pytest.approx(chart.look(PLACE.format(said)), abs=1.0)
        seen.append(said)
    assert len(set(seen)) == 3 and chart.look("it.data === it.before"), "no new curves while it is dragged"
    expect(page.locator(".takeaway").first).to_contain_text("ε = 1 ")
    page.mouse.up()
    expect(page.locator(".takeaway").first).to_contain_text(f"ε = {seen[-1]} ")
    chart.wait("it.data !== it.before")
    chart.settled()
    text, line, flag = chart.look(MARKS)
    assert text == f"ε = {seen[-1]}" and chart.look("it.layout.shapes[0].x0") == float(seen[-1])
    assert line == pytest.approx(flag, abs=2.0) and line == pytest.approx(chart.look(PLACE.format(said)), abs=1.0)

    # A click brings the slider there, its line is a handle, and a drag elsewhere zooms.
    panel = page.locator(f"{CHART} .nsewdrag").bounding_box()
    assert panel
    for epsilon in ("0.1", "3"):
        page.mouse.click(float(str(chart.look(PLACE.format(epsilon)))) + 3, panel["y"] + 0.7 * panel["height"])
        chart.wait(f"it.layout.shapes[0].x0 === {epsilon}")
        expect(thumb).to_have_attribute("aria-valuetext", epsilon)
        expect(page.locator(".takeaway").first).to_contain_text(f"ε = {epsilon} ")
    page.mouse.move(float(str(chart.look(PLACE.format("3")))), box[1] + 200)
    page.mouse.down()
    page.mouse.move(float(str(chart.look(PLACE.format("0.2")))), box[1] + 230, steps=4)
    chart.wait(f"{MARKS}[0] === 'ε = 0.2'")
    assert "epsilon=3" in page.url, "the server hears of it when it is let go"
    page.mouse.up()
    expect(page.locator(".takeaway").first).to_contain_text("ε = 0.2 ")
    assert chart.look("it._fullLayout.xaxis.range") == pytest.approx([-2, 1]), "nothing was zoomed"
    chart.zoom()
    expect(thumb).to_have_attribute("aria-valuetext", "0.2")

    page.get_by_role("button", name="Play").click()
    chart.wait("it.layout.shapes[0].x0 === 0.015")
    page.get_by_role("button", name="■ Stop").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert float(thumb.get_attribute("aria-valuetext") or "") < 0.2
