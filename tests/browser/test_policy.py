"""The pages' policy: the browser refuses foreign scripts and addresses, and all that is on the pages works under it.

What each page shows is looked at here for accessibility, too: opened once, it answers all questions.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from dpcore.figures.style import BACKGROUND, FAMILIES

from ..harness import Server
from .conftest import watched
from .looks import until
from .test_accessibility import DRAWN, PAGES, SCREENS, SYMBOLS, Screen, unread, violations, wrong_labels

pytestmark = pytest.mark.browser

# The last term that can be asked for has the focus, and its meaning is shown in whole: asked again where the texts have
# changed.
ASKED = """() => {
    const last = [...document.querySelectorAll("dfn.term[tabindex]")].filter(it => it.checkVisibility()).at(-1);
    last.focus();
    const meaning = document.querySelector("#meaning"), box = meaning.getBoundingClientRect();
    return meaning.checkVisibility() && meaning.textContent === last.dataset.meaning
        && box.top >= 0 && box.left >= 0 && box.bottom <= innerHeight && box.right <= innerWidth;
}"""
# Each page once, in its views with most to be read or taken away, with the ends of sliders of its own: one look serves
# all that can be told. Neighbours are different pages.
EACH_RUN = (
    "?behind=Data&place=gradient",
    "perturbation?epsilon=0.01&n=300",
    "dimension?p=8",
    "sparsity?tab=Online&steps_of_stream=50&p=8",
    "geometry?p_norm=∞&p=65,536",
    "multiclass?C=4&columns=16&n=300",
    "survey?n=500&share=0%25",
    "audit?check=Accounting&delta=10⁻¹⁰",
    "decide?n=300&more=download",
    "sources",
    "?lecture=overview&step=2",
)
BY_NIGHT = (
    *("", "?behind=Data", "perturbation", "dimension", "sparsity", "sparsity?tab=Online", "geometry", "multiclass"),
    *("audit", "audit?check=Accounting", "audit?beside_attack=Betting+test", "decide", "decide?more=download"),
    *("decide?more=repeated+releases", "decide?n=300&more=repeated+releases&releases=100&per_person=10"),
    *("audit?beside_attack=Scores&runs=1,000", "perturbation?lecture=perturbation&step=3"),
)
# Two widths take turns: a view is looked at first on the one and then on the other, on which the next one begins. Tests
# of accessibility have every view on each screen by night.
WIDE, NARROW = (1366, 768), (390, 844)
VIEWS = [
    (view, (*(NARROW if k % 2 else WIDE), "dark" if k < len(EACH_RUN) / 2 else "light"))
    for k, view in enumerate(EACH_RUN)
]
NIGHTS = [pytest.param(view, SCREENS[0], marks=pytest.mark.nightly) for view in (*EACH_RUN, *BY_NIGHT)]


# As by the browser's back button.
TURN = "address => { history.pushState({}, '', address); dispatchEvent(new PopStateEvent('popstate')) }"


@pytest.fixture(scope="module")
def complaints() -> list[str]:
    return []


@pytest.fixture(scope="module")
def page(browser: BrowserContext, tabs: list[Page], complaints: list[str]) -> Iterator[Page]:
    """One that goes from view to view."""
    with watched(tabs.pop() if tabs else browser.new_page(), complaints) as opened:
        yield opened
    tabs.append(opened)


def turn_to(page: Page, address: str) -> None:
    """Another page replaces the one that is there, at half the work of opening it."""
    here, there = urlsplit(page.url), urlsplit(address)
    if here.netloc != there.netloc or here.path == there.path:
        page.goto(address)
    else:
        page.evaluate("document.querySelectorAll('.live-figure').forEach(it => it.left = true)")
        page.evaluate(TURN, address)
        until(page, "[...document.querySelectorAll('.live-figure')].every(it => !it.left)")


@pytest.mark.parametrize("view, screen", [*VIEWS, *NIGHTS])
def test_pages_keep_to_it_can_be_read_by_all_and_fit(
    server: Server, page: Page, complaints: list[str], view: str, screen: Screen
):
    complaints.clear()  # of the view before
    width, height, scheme = screen
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    turn_to(page, f"{server.url}/{view}")
    until(page, DRAWN, arg=BACKGROUND[scheme])
    if view != "sources" and "lecture" not in view:
        until(page, f"Object.keys(({SYMBOLS})()).length > 0")  # the labels of the sidebar are there
    assert unread(page, view) == []
    assert page.locator(".st-key-ignored").all_inner_texts() == []
    expect(page.get_by_text("more …")).to_have_count(0, timeout=180_000)  # of many releases on a busy machine
    taken = page.get_by_test_id("stDownloadButton").get_by_role("button", disabled=False)
    if fewest := 4 if "download" in view else "Data" in view:
        expect(taken.nth(fewest - 1)).to_be_visible(timeout=60_000)
    for button in taken.all():
        with page.expect_download() as download:
            button.click()
        assert download.value.path().stat().st_size > 0
    assert "lecture" not in view or page.locator("dfn.term:visible").count() == 0
    terms = page.locator("dfn.term[tabindex]:visible")
    if terms.count():
        until(page, ASKED)
    assert violations(page) == []
    if "lecture" not in view:
        assert wrong_labels(page) == []
    for wide, high in ((width, height), WIDE if width < 1024 else NARROW):
        page.set_viewport_size({"width": wide, "height": high})
        scroll = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert scroll <= 0, f"the page scrolls sideways at {wide} px"
    assert complaints == []


@pytest.mark.nightly  # in every run that of charts: check_in_the_dark
def test_a_page_without_a_chart_takes_the_system_s_new_theme(server: Server, page: Page):
    page.emulate_media(color_scheme="light")
    turn_to(page, f"{server.url}/sources?about=Glossary")
    count = page.locator(".takeaway b")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        red, green, blue = bytes.fromhex(FAMILIES[scheme]["frank_wolfe"][1:])
        expect(count).to_have_css("color", f"rgb({red}, {green}, {blue})")


def test_no_page_is_forgotten():
    assert {view.partition("?")[0] for view in EACH_RUN} == set(PAGES)


# What an attacker would do, and the directive that refuses it.
ATTACKS = (
    ("document.body.append(Object.assign(document.createElement('script'), {text: 'window.evil = 1'}))", "script"),
    ("document.body.append(Object.assign(document.createElement('script'), {src: 'http://127.0.0.1:9/'}))", "script"),
    ("setTimeout('window.evil = 1')", "script"),
    ("document.body.append(Object.assign(document.createElement('object'), {data: '/static/x.swf'}))", "object"),
    ("fetch('http://127.0.0.1:9/').catch(() => 0)", "connect"),
    ("new WebSocket('ws://127.0.0.1:9/')", "connect"),
    ("document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/?secret'}))", "img"),
    ("document.body.append(Object.assign(document.createElement('iframe'), {src: 'http://127.0.0.1:9/'}))", "frame"),
)
NOTE = """() => {
    window.against = [];
    document.addEventListener("securitypolicyviolation", it => against.push(it.effectiveDirective));
}"""


def test_what_an_attacker_would_do_is_refused_and_a_complaint(server: Server, page: Page, complaints: list[str]):
    if not page.url.startswith(server.url):
        page.goto(server.url)
    complaints.clear()
    page.evaluate(NOTE)
    for attack, refused in ATTACKS:
        page.evaluate(f"() => {{ {attack} }}")
        until(page, "against.length > 0")
        page.wait_for_timeout(100)  # a second one would come at once
        (told,) = page.evaluate("against.splice(0)")
        assert told.startswith(refused) and page.evaluate("window.evil") is None
        assert any("Content Security Policy directive" in complaint for complaint in complaints), attack
        complaints.clear()
