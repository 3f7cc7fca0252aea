"""The start page as a visitor meets it: first address on a fresh server, slider moves, phone, dark, no complaint."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from dpcore import EPSILON_GRID
from dpcore.figures.style import BACKGROUND, Theme

from ..harness import Server
from .looks import CUT, Chart, NewPage

pytestmark = pytest.mark.browser

CHART = ".st-key-cost .live-figure"


def open_start(page: Page, url: str) -> Chart:
    page.goto(url)
    chart = Chart(page, "cost")
    chart.shown()
    return chart


def mean_curve(chart: Chart) -> list[float]:
    found = chart.look("JSON.stringify([...it._fullData.find(t => t.name === 'private, on average').y])")
    return json.loads(str(found))


def test_a_deep_link_is_the_first_request_of_a_fresh_server(fresh_server: Server, page: Page, complaints: list[str]):
    open_start(page, f"{fresh_server.url}/?epsilon=0.1&source=synthetic+people&n=2,000")
    expect(page.get_by_text("With 2,000 people and ε = 0.1")).to_be_visible()
    expect(page.locator("[data-testid=stSidebar]").get_by_text("privacy budget")).to_be_visible()
    assert page.locator("[data-testid=stException]").count() == 0
    assert page.get_by_role("dialog").count() == 0
    assert "Traceback" not in fresh_server.log.read_text()
    assert complaints == []


def wears(page: Page, chart: Chart, scheme: Theme) -> None:
    """Chart and page have the background of one theme."""
    chart.wait(f"it.layout.paper_bgcolor === '{BACKGROUND[scheme]}'")
    colour = page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    red, green, blue = (int(BACKGROUND[scheme][i : i + 2], 16) for i in (1, 3, 5))
    assert colour == f"rgb({red}, {green}, {blue})"


def test_the_landing_address_answers_both_questions_on_the_first_screen(
    server: Server, page: Page, complaints: list[str]
):
    """At 1366 x 768 what is lost, how often an attacker could be right, and all of the chart, without scrolling."""
    page.set_viewport_size({"width": 1366, "height": 768})
    chart = open_start(page, server.url)
    expect(page.get_by_role("heading", name="What does privacy cost, and what does it buy?")).to_be_visible()
    expect(page.get_by_text("in its place? An attacker is right")).to_be_visible()
    icons = page.locator("img[alt*='times of 100']")
    expect(icons).to_be_visible()
    assert icons.evaluate("it => it.complete && it.naturalWidth > 0")
    label = page.locator(CHART).get_attribute("aria-label") or ""
    assert re.search(r"With 398 patients and ε = 1, \d+\.\d of 100 tumours", label)
    assert page.locator(CHART).get_attribute("role") == "figure"
    lost, right = page.locator("text=privacy costs").first, page.locator("text=is right at most").first
    for place in (lost, right, page.locator(CHART), icons):
        box = place.bounding_box()
        assert box and box["y"] > 0 and box["y"] + box["height"] < 768
    (accuracy,) = re.findall(r"(\d+\.\d) of 100", lost.inner_text())
    private = "it._fullData.find(t => t.name === 'private, on average')"
    assert float(accuracy) == round(float(str(chart.look(f"{private}.y[[...{private}.x].indexOf(1)]"))), 1)
    (times,) = re.findall(r"(\d+) times of 100", right.inner_text())
    assert (icons.get_attribute("alt") or "").startswith(f"At most {times} times of 100 against this noise")
    wears(page, chart, "light")
    assert complaints == []


def test_moving_epsilon_moves_the_cursor_and_keeps_node_and_zoom(server: Server, page: Page, complaints: list[str]):
    chart = open_start(page, server.url)
    chart.look("it.mark = 'same node'")
    zoomed = chart.zoom()
    curve = mean_curve(chart)
    for epsilon in (1.5, 2.0, 3.0):
        chart.press("epsilon", "ArrowRight", f"it.layout.shapes[0].x0 === {epsilon}")
        expect(page.get_by_text(f"and ε = {epsilon:g},")).to_be_visible()
    assert chart.look("it.mark") == "same node"
    assert chart.look(chart.ranges) == zoomed
    assert mean_curve(chart) == curve, "the curve does not depend on where the cursor stands"
    assert "epsilon=3" in page.url, "the address carries the state"
    assert complaints == []


# Where the cursor's line and flag stand on the screen, and where an epsilon is.
MARKS = """(() => {
    const middle = e => { const box = e.getBoundingClientRect(); return box.x + box.width / 2; };
    const [line] = it.querySelectorAll(".shapelayer path");
    const flag = [...it.querySelectorAll(".annotation")].find(e => e.textContent.startsWith("ε = "));
    const [box, text] = [".bg", "text"].map(part => flag.querySelector(part).getBoundingClientRect());
    return [flag.textContent, middle(line), box.x <= text.x && text.right <= box.right ? middle(flag) : "cut"];
})()"""
PLACE = "it.getBoundingClientRect().x + it._fullLayout.xaxis._offset + it._fullLayout.xaxis.l2p(Math.log10({}))"


def test_the_headline_stays_while_its_next_words_are_computed(server: Server, page: Page):
    open_start(page, server.url)
    page.evaluate(
        """() => {
            window.without = 0
            const look = () => {
                window.without += !document.querySelector(".takeaway")
                requestAnimationFrame(look)
            }
            look()
        }"""
    )
    for epsilon in EPSILON_GRID[EPSILON_GRID.index(1.0) - 1 :: -1][:6]:
        page.locator(".st-key-epsilon input[type=range]").press("ArrowLeft")
        expect(page.locator(".takeaway").first).to_contain_text(f"ε = {epsilon:g},")
    assert page.evaluate("window.without") == 0


def test_the_cursor_follows_the_hand_and_the_curves_come_when_it_lets_go(server: Server, page: Page):
    page.route("**/ahead/*", lambda route: route.fulfill(status=204))  # where no pictures are drawn ahead
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
    expect(page.get_by_text("and ε = 1,")).to_be_visible()
    page.mouse.up()
    expect(page.get_by_text(f"and ε = {seen[-1]},")).to_be_visible()
    chart.wait("it.data !== it.before")
    chart.settled()
    text, line, flag = chart.look(MARKS)
    assert text == f"ε = {seen[-1]}" and chart.look("it.layout.shapes[0].x0") == float(seen[-1])
    assert line == pytest.approx(flag, abs=2.0) and line == pytest.approx(chart.look(PLACE.format(said)), abs=1.0)


def test_every_other_control_redraws_the_curve_in_place(server: Server, page: Page, complaints: list[str]):
    chart = open_start(page, server.url)
    chart.look("it.mark = 'same node'")
    zoomed = chart.zoom()
    changed = "it._fullData.find(t => t.name === 'private, on average').y[12] !== it.before"
    for key in ("n", "delta", "lam", "seed"):
        before = mean_curve(chart)
        chart.look("it.before = it._fullData.find(t => t.name === 'private, on average').y[12]")
        if key == "seed":
            page.get_by_role("button", name="Re-roll").click()
            chart.wait(changed)
        else:
            chart.press(key, "ArrowRight", changed)
        assert mean_curve(chart) != before, key
        assert chart.look("it.mark") == "same node", key
        assert chart.look(chart.ranges) == zoomed, key
    assert complaints == []


# Each end of the grid with each source, on each width; three pairs in every run, the others by night.
ENDS = (EPSILON_GRID[0], 1.0, EPSILON_GRID[-1])
SOURCES = ("", "&n=50,000", "&source=synthetic+people")
PAIRS = [(epsilon, SOURCES[(k + turn) % 3]) for turn in range(3) for k, epsilon in enumerate(ENDS)]


@pytest.mark.parametrize(
    "epsilon, source", [pytest.param(*it, marks=() if k < 3 else pytest.mark.nightly) for k, it in enumerate(PAIRS)]
)
def test_no_label_is_cut_or_covered(server: Server, new_page: NewPage, epsilon: float, source: str):
    scheme: Theme = "dark" if epsilon == 1.0 else "light"
    page = new_page(scheme=scheme)
    chart = open_start(page, f"{server.url}/?epsilon={epsilon:g}{source}")
    expect(page.get_by_test_id("stMain").get_by_text(f"ε = {epsilon:g},").first).to_be_visible()
    wears(page, chart, scheme)
    for width, height in ((1440, 900), (1024, 768), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        chart.settled()
        assert chart.broken_labels() == [], width
        assert page.evaluate(CUT) == [], width
        scroll = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert scroll <= 0, "the page scrolls sideways"


def test_the_checks_see_an_overlap_and_a_cut(server: Server, page: Page):
    """Without this the test above could pass by finding no labels and no texts."""
    chart = open_start(page, server.url)
    page.add_style_tag(content=".stMarkdown { width: 60px !important; overflow: hidden; white-space: nowrap }")
    assert any("Best model" in text or "times of 100" in text for text in page.evaluate(CUT))
    chart.look("Plotly.relayout(it, {'annotations[0].x': 0.5, 'annotations[0].y': 0, 'annotations[0].yshift': -22})")
    assert chart.broken_labels() != []


def test_data_table_and_download(server: Server, page: Page, complaints: list[str]):
    open_start(page, f"{server.url}/?behind=Data")
    expect(page.locator("[data-testid=stDataFrame]")).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download CSV").click()
    lines = waiting.value.path().read_text().splitlines()
    assert len(lines) == 1 + 2 * len(EPSILON_GRID)
    assert lines[0].startswith("mechanism,label,accounting,rule,axis,x,metric")
    assert complaints == []
