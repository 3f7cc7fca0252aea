"""A chart as a reader meets it, and what a reader would see as broken: labels over one another, texts that are cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import pytest
from playwright.sync_api import Page, expect

from dpcore import figures


class NewPage(Protocol):
    """What the fixture of that name is."""

    def __call__(self, width: int = ..., height: int = ..., scheme: figures.Theme = ...) -> Page: ...


class Chart:
    """The live figure with this key; expressions are JavaScript about its node, `it`."""

    ranges = "[it._fullLayout.xaxis.range, it._fullLayout.yaxis.range]"

    def __init__(self, page: Page, key: str) -> None:
        self.page, self.where = page, f".st-key-{key} .live-figure"

    def shown(self) -> None:
        """Wait until it is drawn."""
        expect(self.page.locator(f"{self.where} .main-svg").first).to_be_visible(timeout=60_000)

    def look(self, expression: str) -> object:
        return self.page.evaluate(f"(it => {expression})(document.querySelector('{self.where}'))")

    def wait(self, condition: str) -> None:
        self.page.wait_for_function(f"(it => {condition})(document.querySelector('{self.where}'))", timeout=30_000)

    def press(self, slider: str, stroke: str, done: str) -> None:
        """Move a slider by one step and wait until a condition holds."""
        self.page.locator(f".st-key-{slider} input[type=range]").press(stroke)
        self.wait(done)

    def zoom(self) -> object:
        """Drag a rectangle in the (upper) panel, as a reader does; returns the ranges it leaves."""
        before = self.look("it._fullLayout.xaxis.range[0]")
        box = self.page.locator(f"{self.where} .nsewdrag").first.bounding_box()
        assert box
        self.page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.2 * box["height"])
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.8 * box["height"], steps=4)
        self.page.mouse.up()
        self.wait(f"it._fullLayout.xaxis.range[0] > {before}")
        return self.look(self.ranges)

    def broken_labels(self) -> list[str]:
        return self.page.locator(self.where).evaluate(OVERLAPS)


# Labels of the chart that share space, in px: none may overlap another or leave the drawing.
OVERLAPS = """(it) => {
    const frame = it.getBoundingClientRect();
    const boxes = [...it.querySelectorAll('.annotation-text, .legendtext, .xtick text, .ytick text')]
        .filter(e => e.textContent.trim())
        .map(e => [e.textContent, e.getBoundingClientRect()]);
    const bad = [];
    for (const [text, b] of boxes)
        if (b.left < frame.left - 1 || b.right > frame.right + 1 || b.bottom > frame.bottom + 1)
            bad.push('cut: ' + text);
    boxes.forEach(([s, a], i) => boxes.slice(i + 1).forEach(([t, b]) => {
        const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        const flag = /^[ελp] = /.test(s) || /^[ελp] = /.test(t);  // the cursor's value replaces tick labels
        if (width > 2 && height > 4 && !flag) bad.push(s + ' over ' + t);
    }));
    return bad;
}"""


# Texts of the page, outside the chart, that are wider than the box that hides their overflow.
CUT = """() => [...document.querySelectorAll('[data-testid=stMain] *')]
    .filter(e => !e.closest('.live-figure') && e.innerText?.trim() && e.clientWidth)
    .filter(e => getComputedStyle(e).overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1)
    .map(e => e.innerText)"""


def on_every_screen(states: Sequence[str], dark: Sequence[str]) -> Callable[..., None]:
    """Parametrise a test by `screen` (width, height, whether two charts stand side by side there), `scheme`, `states`.

    All states on a large screen and on a phone, both light, and some of them in between, dark: each screen has a layout
    of its own, and colours are the same on each.
    """
    looks = [
        pytest.param((1440, 900, True), "light", states, id="1440"),
        pytest.param((390, 844, False), "light", states, id="390"),
        pytest.param((1024, 768, False), "dark", dark, id="1024"),
    ]
    return pytest.mark.parametrize("screen, scheme, states", looks)


def check_two_charts(
    new_page: NewPage,
    open_page: Callable[[Page, str], tuple[Chart, Chart]],
    screen: tuple[int, int, bool],
    scheme: figures.Theme,
    states: Sequence[str],
) -> None:
    """In no state is anything cut, covered or wider than the screen, and the charts stand as there is room for."""
    width, height, beside = screen
    page = new_page(width, height, scheme)
    for state in states:
        charts = open_page(page, state)
        page.wait_for_timeout(300)  # fonts
        for chart in charts:
            chart.wait(f"it.layout.paper_bgcolor === '{figures.BACKGROUND[scheme]}'")
            assert chart.broken_labels() == [], state
        assert page.evaluate(CUT) == [], state
        scroll = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert scroll <= 0, "the page scrolls sideways"
        first, second = (page.locator(chart.where).bounding_box() for chart in charts)
        assert first and second
        assert (second["x"] > first["x"] + first["width"]) is beside, state
        assert (second["y"] > first["y"] + first["height"]) is not beside, state
