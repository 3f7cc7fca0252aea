"""What would keep somebody from reading a page: axe-core's violations, markup read aloud, labels that are cut."""

from __future__ import annotations

import re
from importlib.resources import files

from playwright.sync_api import Page

from dpcore.figures.style import BACKGROUND, INKS, Theme

from .looks import CUT, OVERLAPS, SETTLED, UNNAMED, UNTOLD, until

PAGES = (
    "",
    "perturbation",
    "dimension",
    "selection",
    "geometry",
    "multiclass",
    "survey",
    "audit",
    "composition",
    "decide",
    "papers",
)

AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
# In words: what is wrong, where, and on what colours.
CHECK = """async () => {
    const { violations } = await axe.run({ resultTypes: ["violations"] });
    return violations.filter(it => ["serious", "critical"].includes(it.impact))
        .flatMap(it => it.nodes.map(node => `${it.id}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
}"""


# Each chart is drawn in these colours and nothing is being computed.
DRAWN = """paper => {
    const charts = [...document.querySelectorAll(".live-figure")];
    const drawn = it => it.layout?.paper_bgcolor === paper && it.querySelector(".main-svg");
    return charts.length && charts.every(drawn)
        && !document.querySelector("[data-testid=stApp][data-test-script-state=running]");
}"""


def drawn(page: Page, scheme: Theme) -> None:
    until(page, DRAWN, arg=BACKGROUND[scheme])


# What appears or goes, such as a slider's ends where it had the focus, is there or gone.
FADED = """Promise.all(document.getAnimations()
    .filter(it => it.effect.getTiming().iterations !== Infinity).map(it => it.finished.catch(() => 0)))"""


def violations(page: Page) -> list[str]:
    """What axe finds on a page that is there, with all that is folded unfolded."""
    page.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)")
    page.evaluate(FADED)
    page.evaluate(AXE)
    found: list[str] = page.evaluate(CHECK)
    return found


NAMES = """() => [...document.querySelectorAll("[aria-label]")].map(it => it.getAttribute("aria-label"))"""
# Labels that begin with a symbol, and how heavy it is.
SYMBOLS = """() => Object.fromEntries([...document.querySelectorAll("[data-testid=stWidgetLabel] p")]
    .filter(it => /^[^I\\s] /.test(it.innerText))
    .map(it => [it.innerText, getComputedStyle(it, "::first-letter").fontWeight]))"""


# Where the sidebar has no slider, so no label with a symbol.
NO_SYMBOLS = ("papers", "multiclass?classifier=as+published", "papers?evidence=certified+by+runs")


def unread(page: Page, address: str) -> list[str]:
    """What a screen reader would read with its markup, and symbols before labels that are not bold."""
    names, symbols = page.evaluate(NAMES), page.evaluate(SYMBOLS)
    assert len(names) > 5 or "lecture" in address
    assert symbols or address.startswith(NO_SYMBOLS) or "lecture" in address
    light = [f"{label}: {weight}" for label, weight in symbols.items() if weight != "700"]
    # F* is the reference risk's sign.
    return [name for name in names if re.search(r"[*_$`]", name.replace("F*", ""))] + light


# Read-outs with a number or a word that is wider than its card.
WIDER = """() => [...document.querySelectorAll('.readout')]
    .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => `wider than its card: ${e.innerText}`)"""
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def wrong_labels(page: Page) -> list[str]:
    """Labels that cover one another or are cut or missing, in each chart that is there once it stands still, texts and
    read-outs that are cut, and a page that is wider than the screen."""
    if page.locator(".live-figure:visible").count():
        until(page, SETTLED, arg=".live-figure")
    found: list[str] = page.evaluate(WIDER) + page.evaluate(CUT)
    if page.evaluate(SIDEWAYS) > 0:
        found.append("the page scrolls sideways")
    for chart in page.locator(".live-figure:visible").all():
        name = chart.evaluate("it => it.closest('[class*=st-key-]').className.match(/st-key-\\S+/)[0]")
        broken = chart.evaluate(OVERLAPS) + chart.evaluate(UNNAMED, INKS) + chart.evaluate(UNTOLD, INKS)
        found += [f"{name}: {it}" for it in broken]
    return found
