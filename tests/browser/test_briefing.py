"""The briefing as it is opened from a disk: offline, by keyboard, on a phone, and on six sheets of paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

from pages.decide.briefing.content import Briefing
from pages.decide.briefing.page import html_page

from ..briefings import evil, example, fullest
from .looks import OVERLAPS, NewPage, until

pytestmark = pytest.mark.browser

OVERFULL = "slides.map(s => [s.scrollHeight - s.clientHeight, s.scrollWidth - s.clientWidth])"
CHARTS = "[...document.querySelectorAll('.chart')].map(it => [it._fullLayout.width, it.clientWidth])"
AT = "document.activeElement.id"


def open_file(page: Page, folder: Path, briefing: Briefing) -> list[str]:
    """Opens the page from a file; returns the list to which it adds whatever the page asks for or complains of."""
    file = folder / "briefing.html"
    file.write_text(html_page(briefing), encoding="utf-8")
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda asked: wrong.append(asked.url) if asked.url not in (file.as_uri(),) else None)
    page.route(re.compile("^(http|ws)"), lambda route: route.abort())
    page.goto(file.as_uri())
    page.locator(".chart .main-svg").first.wait_for()
    return wrong


def check_keys(page: Page) -> None:
    """Slides turn by keyboard, and charts answer."""
    seen = []
    for key in ("PageDown", "PageDown", "PageUp", "End", "PageDown", "Home"):
        page.keyboard.press(key)
        seen.append(page.evaluate(AT))
    assert seen == ["curve", "attack", "curve", "sign", "sign", "question"]
    page.keyboard.press("PageDown")
    box = page.locator(".chart .nsewdrag").first.bounding_box()
    point = "(it => LARGER * it._fullLayout.xaxis.d2p(1))(document.querySelector('.chart'))"
    assert box
    page.mouse.move(box["x"] + page.evaluate(point), box["y"] + 0.97 * box["height"])
    page.locator(".chart .hovertext").first.wait_for()
    picture = page.evaluate("Plotly.toImage(document.querySelector('.chart'), {format: 'png', scale: 3})")
    assert picture.startswith("data:image/png") and len(picture) > 20_000
    sizes = page.evaluate(
        "[...document.querySelectorAll('.slide p, .slide li, .slide dd, .chart text')]"
        ".filter(e => e.textContent.trim() && !e.closest('.hovertext'))"
        ".map(e => parseFloat(getComputedStyle(e).fontSize) * (e.closest('.chart') ? LARGER : 1))"
    )
    assert min(sizes) >= 20


@pytest.mark.parametrize("make", [pytest.param(example, marks=pytest.mark.nightly), evil, fullest])
def test_it_needs_no_network_turns_by_keyboard_and_prints_six_whole_pages(new_page: NewPage, tmp_path: Path, make):
    page = new_page(1366, 768)
    wrong = open_file(page, tmp_path, make())
    if make is evil:  # one is enough
        check_keys(page)
    page.evaluate(f"addEventListener('beforeprint', () => {{ window.seen = [{OVERFULL}, {CHARTS}] }})")
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 6
    sizes = re.findall(rb"/MediaBox\s*\[\s*0\s+0\s+([\d.]+)\s+([\d.]+)\s*\]", printed)
    assert {tuple(round(float(side) * 25.4 / 72) for side in size) for size in sizes} == {(297, 210)}  # A4
    overfull, charts = page.evaluate("window.seen")
    assert overfull == [[0, 0]] * 6
    assert all(drawn == wide for drawn, wide in charts)
    assert page.evaluate("sheet.media") == "print"  # back to the screen
    page.set_viewport_size({"width": 390, "height": 844})
    until(page, f"{CHARTS}.every(([drawn, wide]) => drawn === wide && wide < 390)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert [chart.evaluate(OVERLAPS) for chart in page.locator(".chart").all()] == [[]] * len(charts)
    assert wrong == []
    # The power twin: of an address in the page the policy forbids the request and says so.
    with page.expect_console_message(lambda message: "Content Security Policy" in message.text):
        page.evaluate("void fetch('https://example.org/').catch(() => 0)")
    assert wrong
