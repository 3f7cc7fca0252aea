"""The definition as a toy: its numbers are the library's, and a record moves by mouse, finger and keys, in the browser
alone."""

from __future__ import annotations

import math
import re

import pytest
from playwright.sync_api import Page, expect

from dpcore import EPSILON_GRID, Budget
from dpcore.accounting.gaussian import gaussian_mu, hockey_stick
from pages.overview.definition import OTHERS, RANGE, START, STEP
from pages.ui.sidebar import DELTAS

from ..harness import ROOT, Server
from .looks import NewPage
from .test_accessibility import Finger

pytestmark = pytest.mark.browser

SCRIPT = (ROOT / "pages/overview/definition.js").read_text(encoding="utf-8").replace("export default ", "")
# For each (epsilon, mu) the area and, for each (shift, scale), the ratio.
NUMBERS = f"""([areas, ratios]) => {{
    {SCRIPT.replace("function ({ data", "function component({ data")}
    return [areas.map(it => areaAbove(...it)), ratios.map(it => largestRatio(...it))];
}}"""
HANDLE = ".definition [role=slider]"
PLACES = (0, 1, 30, START, 99, RANGE)


def test_the_areas_and_ratios_are_those_of_the_library(new_page: NewPage):
    page = new_page()
    cases = [(epsilon, delta, at) for epsilon in EPSILON_GRID for delta in DELTAS for at in PLACES]
    areas = [(epsilon, at / RANGE * gaussian_mu(Budget(epsilon, delta))) for epsilon, delta, at in cases]
    ratios = [(at / RANGE * STEP, STEP / epsilon) for epsilon, _, at in cases]
    found, largest = page.evaluate(NUMBERS, [areas, ratios])
    for (epsilon, delta, at), (_, mu), area, ratio in zip(cases, areas, found, largest, strict=True):
        assert area == pytest.approx(hockey_stick(epsilon, mu), rel=1e-9, abs=1e-200), (epsilon, delta, at)
        assert ratio == pytest.approx(math.exp(epsilon * at / RANGE), rel=1e-12)
        if at == RANGE:  # both limits are reached, and only there
            assert delta * (1 - 1e-6) < area <= delta and ratio == pytest.approx(math.exp(epsilon))
        else:
            assert area < 0.99 * delta and ratio < math.exp(epsilon) * (1 - 0.005 * epsilon)


def shown(page: Page) -> str:
    """What stands above the bells."""
    return page.locator(".definition strong").inner_text().replace("\N{NO-BREAK SPACE}", " ").replace("\n", "")


def moved_to(page: Page, place: int) -> None:
    expect(page.locator(HANDLE)).to_have_attribute("aria-valuenow", str(place))


def test_a_record_moves_by_mouse_and_keys_within_the_range_and_the_server_hears_of_nothing(server: Server, page: Page):
    sent: list[object] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    page.goto(f"{server.url}/?epsilon=1")
    handle, said = page.locator(HANDLE), page.locator(".definition [role=status]")
    expect(handle).to_have_attribute("aria-valuetext", f"{START} of {RANGE} points")
    expect(page.locator("[data-testid=stApp]")).to_have_attribute("data-test-script-state", re.compile("notRunning"))
    expect(page.locator(".live-figure .main-svg").first).to_be_visible()
    assert shown(page) == "Largest ratio of the bells: 1.82 < eε = 2.72"
    page.wait_for_timeout(500)
    before = len(sent)

    handle.scroll_into_view_if_needed()
    box = handle.locator("circle").first.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 100, y, steps=4)
    place = int(handle.get_attribute("aria-valuenow") or "")
    assert 0 < place < START
    expect(said).to_have_text("")  # nothing is announced on the way
    page.mouse.move(5, y)
    moved_to(page, 0)
    page.mouse.move(1440, y, steps=4)
    moved_to(page, RANGE)
    page.mouse.up()
    assert shown(page) == "Largest ratio of the bells: 2.72 = eε = 2.72"
    expect(said).to_contain_text(f"moves by {RANGE} of at most {RANGE} points, the mean by 5.0 of at most 5.0")
    expect(said).to_contain_text("2.72 times as likely, exactly what ε allows")

    handle.press("ArrowRight")
    moved_to(page, RANGE)
    handle.press("ArrowLeft")
    moved_to(page, RANGE - 1)
    expect(said).to_contain_text(f"moves by {RANGE - 1} of")
    page.get_by_label("Gaussian").check()
    area = re.fullmatch(r"Area of one bell above eε times the other: ([\d.]+) × 10⁻(.) < δ = 10⁻(.)", shown(page))
    assert area and area[2] >= area[3]
    handle.press("End")
    assert "10⁻" in shown(page) and shown(page).split(": ")[1].split(" = ")[0] == shown(page).split(" = ")[-1]
    handle.press("Home")
    assert ": 0 < δ" in shown(page)
    assert len(sent) == before, "it runs in the browser"


def test_a_record_stays_where_it_is_as_epsilon_moves_and_people_are_within_the_range(server: Server, page: Page):
    assert len(OTHERS) == 19 and all(0 < mark < RANGE for mark in OTHERS) and STEP == 5
    page.goto(f"{server.url}/?epsilon=1")
    handle = page.locator(HANDLE)
    handle.press("End")
    page.locator(".st-key-epsilon input[type=range]").press("ArrowRight")
    expect(page.locator(".definition strong")).to_contain_text(f"{math.exp(1.5):.2f}")
    moved_to(page, RANGE)


@pytest.mark.usefixtures("own_tab")
def test_on_a_phone_a_finger_drags_the_record(server: Server, new_page: NewPage):
    page = new_page()
    finger = Finger(page)
    page.goto(f"{server.url}/?lecture=overview&step=1")
    handle = page.locator(HANDLE)
    expect(handle).to_have_attribute("aria-valuenow", str(START))
    page.wait_for_timeout(1000)
    order = [page.locator(it).bounding_box() for it in (".lecture-words", ".definition svg", ".st-key-epsilon")]
    tops = [box["y"] for box in order if box]
    assert len(tops) == 3 and tops == sorted(tops) and tops[-1] < 740, "words, picture, and what may be moved"
    box = handle.locator("circle").first.bounding_box()
    assert box
    finger.swipe(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, 90, 12)
    assert int(handle.get_attribute("aria-valuenow") or "") > START + 20
    assert page.evaluate("scrollY") == 0, "and the page stays"
