"""The pages' policy: the browser refuses foreign scripts and addresses, and all that is on the pages works under it.

What each page shows is looked at here for accessibility, too: opened once, it answers all questions.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserType, Page, expect

from dpcore.figures.style import BACKGROUND, INKS

from ..harness import FLAGS, Server, find_browser
from ..upload_page import people
from .looks import OVERLAPS, SETTLED, UNNAMED, UNTOLD
from .test_accessibility import DRAWN, PAGES, SCREENS, Screen, unread, violations

pytestmark = pytest.mark.browser

NOTE = """window.against = [];
document.addEventListener("securitypolicyviolation", it => against.push(`${it.effectiveDirective} ${it.blockedURI}`))"""
# Each page once, in its view with most to be read, pressed or taken away; one opening serves all that a look can tell.
EACH_RUN = (
    "?behind=Data",
    "doors",
    "dimension",
    "sparse?tab=Streaming",
    "geometry",
    "classes",
    "trust?check=add+it+up",
    "trust?beside_attack=Bet",
    "decide?more=take+away",
    "decide?more=several+releases",
    "sources",
    "?lecture=start&step=2",
)
BY_NIGHT = ("", "sparse", "trust", "decide", "doors?lecture=doors&step=3")
# The screens take turns; tests of accessibility have all of them by night.
VIEWS = [(view, SCREENS[k % len(SCREENS)]) for k, view in enumerate(EACH_RUN)]
NIGHTS = [pytest.param(view, SCREENS[0], marks=pytest.mark.nightly) for view in (*EACH_RUN, *BY_NIGHT)]


@pytest.fixture(scope="module")
def page(chromium: BrowserType) -> Iterator[Page]:
    """Of a browser that keeps to the policy, unlike that of the other tests."""
    with chromium.launch(executable_path=find_browser(), args=list(FLAGS)) as browser:
        opened = browser.new_page(viewport={"width": 1440, "height": 900})
        opened.add_init_script(NOTE)
        yield opened


def against(page: Page) -> list[str]:
    found: list[str] = page.evaluate("against.splice(0)")
    return found


def until(page: Page, condition: str, *, arg: object = None, seconds: float = 60.0) -> None:
    """Wait until JavaScript says so; the policy forbids Playwright's own waiting, which evaluates strings."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(condition, arg):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(50)


@pytest.mark.parametrize("view, screen", [*VIEWS, *NIGHTS])
def test_pages_keep_to_it_can_be_read_by_all_and_fit(server: Server, page: Page, view: str, screen: Screen):
    width, height, scheme = screen
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{server.url}/{view}")
    until(page, DRAWN, arg=BACKGROUND[scheme])
    assert unread(page, view) == []
    sliders = page.get_by_test_id("stSlider").get_by_role("slider", disabled=False)
    if sliders.count():
        sliders.first.press("ArrowRight")
        page.wait_for_timeout(200)  # until the server has heard of it
    until(page, DRAWN, arg=BACKGROUND[scheme])
    expect(page.get_by_text("refining …")).to_have_count(0, timeout=60_000)
    for button in page.get_by_test_id("stDownloadButton").get_by_role("button", disabled=False).all():
        with page.expect_download() as download:
            button.click()
        assert download.value.path().stat().st_size > 0
    for chart in page.locator(".live-figure:visible").all() if "lecture" not in view else ():
        name = chart.evaluate("it => it.closest('[class*=st-key-]').className.match(/st-key-\\S+/)[0]")
        until(page, SETTLED, arg=f".{name} .live-figure")
        assert chart.evaluate(OVERLAPS) + chart.evaluate(UNNAMED, INKS) + chart.evaluate(UNTOLD, INKS) == [], name
    assert against(page) == []
    assert violations(page) == []
    scroll = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert scroll <= 0, "the page scrolls sideways"


def test_no_page_is_forgotten():
    assert {view.partition("?")[0] for view in EACH_RUN} == set(PAGES)


def test_an_upload_keeps_to_it(server: Server, page: Page):
    page.goto(f"{server.url}/decide?at_hand=upload-own")
    page.locator("input[type=file]").set_input_files({"name": "people.csv", "mimeType": "text/csv", "buffer": people()})
    expect(page.get_by_label("Which column is the label?")).to_be_visible()
    assert against(page) == []


@pytest.mark.parametrize(
    "attack, refused",
    [
        ("document.body.append(Object.assign(document.createElement('script'), {text: 'window.evil = 1'}))", "script"),
        (
            "document.body.append(Object.assign(document.createElement('script'), {src: 'http://127.0.0.1:9/'}))",
            "script",
        ),
        ("setTimeout('window.evil = 1')", "script"),
        ("document.body.append(Object.assign(document.createElement('object'), {data: '/static/x.swf'}))", "object"),
        ("fetch('http://127.0.0.1:9/').catch(() => 0)", "connect"),
        ("new WebSocket('ws://127.0.0.1:9/')", "connect"),
        ("document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/?secret'}))", "img"),
        (
            "document.body.append(Object.assign(document.createElement('iframe'), {src: 'http://127.0.0.1:9/'}))",
            "frame",
        ),
    ],
)
def test_what_an_attacker_would_do_is_refused(server: Server, page: Page, attack: str, refused: str):
    if page.url.rstrip("/") != server.url:
        page.goto(server.url)
    page.evaluate(f"() => {{ {attack} }}")
    until(page, "against.length > 0")
    page.wait_for_timeout(100)  # a second one would come at once
    told = against(page)
    assert len(told) == 1 and told[0].startswith(refused)
    assert page.evaluate("window.evil") is None
