"""A chart as a reader meets it, and what a reader would see as broken: labels over one another, texts that are cut."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from playwright.sync_api import Page, expect

from dpcore.figures.style import Theme

# What a test calls the state of its page.
State = TypeVar("State")


class NewPage(Protocol):
    """What the fixture of that name is."""

    def __call__(self, width: int = ..., height: int = ..., scheme: Theme = ...) -> Page: ...


def until(page: Page, condition: str, *, arg: object = None, seconds: float = 120.0) -> None:
    """Wait until JavaScript says so; Playwright's own waiting evaluates strings, which the pages' policy forbids."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(condition, arg):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(50)


@contextmanager
def refused(page: Page, *addresses: str) -> Iterator[None]:
    """Until the block ends no request to such an address succeeds; Playwright's routes would switch the cache off."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setBlockedURLs", {"urls": list(addresses)})
    yield
    session.detach()


class Chart:
    """The live figure with this key; expressions are JavaScript about its node, `it`."""

    ranges = "[it._fullLayout.xaxis.range, it._fullLayout.yaxis.range]"

    def __init__(self, page: Page, key: str) -> None:
        self.page, self.where = page, f".st-key-{key} .live-figure"

    def shown(self) -> None:
        """Wait until it is drawn."""
        expect(self.page.locator(f"{self.where} .main-svg").first).to_be_visible()

    def settled(self) -> None:
        """Wait until it fills its place, with the fonts loaded, and none of its labels moves any more."""
        settled(self.page, self)

    def look(self, expression: str) -> object:
        return self.page.evaluate(f"(it => {expression})(document.querySelector('{self.where}'))")

    def wait(self, condition: str) -> None:
        until(self.page, f"(it => {condition})(document.querySelector('{self.where}'))")

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


# Two looks, one after the other in `until`, that find the same labels in the same places, in all these charts
# that can be seen.
SETTLED = """where => {
    const at_rest = it => {
        const boxes = [...it.querySelectorAll('text')].map(e => [e.textContent, e.getBoundingClientRect()]);
        const seen = JSON.stringify([it.clientWidth, boxes]);
        const same = it.seen === seen;
        it.seen = seen;
        return same && boxes.length > 0 && Math.abs(it._fullLayout?.width - it.clientWidth) < 1;
    };
    const found = [...document.querySelectorAll(where)].filter(it => it.checkVisibility()).map(at_rest);
    return found.length > 0 && found.every(it => it) && document.fonts.status === 'loaded';
}"""


def settled(page: Page, *charts: Chart) -> None:
    """Wait until these charts are at rest, as `Chart.settled`."""
    where = ", ".join(chart.where for chart in charts)
    until(page, SETTLED, arg=where)


# The server has answered the last move of a slider, and its script has ended (markHeadline in live_figure.js).
ANSWERED = "!('ahead' in document.documentElement.dataset)"


# Texts of the chart that share space, in px: none may overlap another or leave the drawing.
OVERLAPS = """(it) => {
    const frame = it.getBoundingClientRect();
    const texts = '.annotation-text, .legendtext, .bartext, [class$=tick] text, text[class$=title]';
    const boxes = [...it.querySelectorAll(texts)]
        .filter(e => e.textContent.trim())
        .map(e => [e.textContent, e.getBoundingClientRect()]);
    const bad = [];
    for (const [text, b] of boxes)
        if (Math.min(b.left - frame.left, frame.right - b.right, b.top - frame.top, frame.bottom - b.bottom) < -1)
            bad.push('cut: ' + text);
    boxes.forEach(([s, a], i) => boxes.slice(i + 1).forEach(([t, b]) => {
        const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        const flag = [s, t].some(text => /^\\S+ = /.test(text));  // the cursor's value replaces tick labels
        if (width > 2 && height > 4 && !flag) bad.push(s + ' over ' + t);
    }));
    return bad;
}"""


# Named curves that nothing names: no label in their colour, or, where there is a legend, no entry of it. The title of a
# panel names its only curve, and a label in one panel the curve of the same name in the other. The argument: the
# colours of small text in the place of those of curves.
UNNAMED = """(it, inks) => {
    const panel = t => t.yaxis ?? 'y';
    const labels = (it.layout.annotations ?? []).map(a => `${a.yref} ${a.font?.color}`);
    const entries = it._fullLayout.showlegend ? it._fullData.filter(t => t.showlegend).map(t => t.name) : [];
    const curves = it.data.filter(t => t.name && t.mode?.startsWith('lines') && !t.fill)
        .filter(t => [...it._fullData[it.data.indexOf(t)].y].some(Number.isFinite));
    return curves
        .filter(t => curves.some(other => other.name !== t.name && panel(other) === panel(t)))
        .filter(t => !entries.includes(t.name) && !curves.some(other => other.name === t.name
            && labels.includes(`${panel(other)} ${inks[t.line.color] ?? t.line.color}`)))
        .map(t => 'no label: ' + t.name);
}"""


# Named curves that end outside their axis without an arrow, in their colour, that says so. The argument: as above.
UNTOLD = """(it, inks) => {
    const arrows = (it.layout.annotations ?? []).filter(a => /[↑↓]/.test(a.text));
    const said = arrows.map(a => `${a.yref} ${a.font?.color}`);
    const told = (axis, ink) => said.includes(`${axis} ${ink}`) || said.includes(`paper ${ink}`);
    const leaves = t => {
        const axis = it._fullLayout['yaxis' + t.yaxis.slice(1)];
        const [low, high] = [...axis.range].sort((a, b) => a - b), slack = 0.005 * (high - low);
        const last = [...t.y].filter(Number.isFinite).at(-1);
        const place = axis.type === 'log' ? Math.log10(last) : last;
        return place < low - slack || place > high + slack;
    };
    return it._fullData.filter(t => it.data[t.index].name && t.mode?.startsWith('lines') && t.fill === 'none')
        .filter(t => leaves(t) && !told(t.yaxis, inks[t.line.color] ?? t.line.color))
        .map(t => 'leaves its axis: ' + t.name);
}"""


# Texts outside charts, formulas and tables that scroll which are wider than the box that hides their overflow.
CUT = """() => [...document.querySelectorAll('[data-testid=stMain] *')]
    .filter(e => !e.closest('.live-figure, .live-figure-numbers, .announced, .papers-table, .katex'))
    .filter(e => e.innerText?.trim() && e.clientWidth)
    .filter(e => getComputedStyle(e).overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1)
    .map(e => e.innerText)"""


# Width, height, and whether two charts stand side by side there.
Screen = tuple[int, int, bool]
LARGE, BETWEEN, PHONE = (1440, 900, True), (1024, 768, False), (390, 844, False)
