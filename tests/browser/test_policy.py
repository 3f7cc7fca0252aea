"""The pages' policy: the browser refuses foreign scripts and addresses, and all that is on the pages works under it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserType, Page, expect

from ..harness import FLAGS, Server, find_browser, serve
from ..upload_page import people
from .test_accessibility import PAGES

pytestmark = pytest.mark.browser

NOTE = """window.against = [];
document.addEventListener("securitypolicyviolation", it => against.push(`${it.effectiveDirective} ${it.blockedURI}`))"""
# With all that can be taken away, two lectures, and what draws with other tools than the rest.
VIEWS = (
    *PAGES,
    "?behind=Data",
    "decide?more=take+away",
    "trust?beside_attack=Bet",
    "?lecture=start&step=2",
    "doors?lecture=doors&step=3",
)


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


@pytest.mark.parametrize("view", VIEWS)
def test_pages_keep_to_it(server: Server, page: Page, view: str):
    page.goto(f"{server.url}/{view}")
    page.locator(".js-plotly-plot .main-svg").first.wait_for(state="attached")
    sliders = page.get_by_test_id("stSlider").get_by_role("slider", disabled=False)
    if sliders.count():
        sliders.first.press("ArrowRight")
    page.wait_for_timeout(1_500)
    for button in page.get_by_test_id("stDownloadButton").get_by_role("button", disabled=False).all():
        with page.expect_download() as download:
            button.click()
        assert download.value.path().stat().st_size > 0
    assert against(page) == []


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
    page.goto(server.url)
    page.evaluate(f"() => {{ {attack} }}")
    page.wait_for_timeout(500)
    told = against(page)
    assert len(told) == 1 and told[0].startswith(refused)
    assert page.evaluate("window.evil") is None


ADDRESSES = (
    "https://example.org/a?b=c HTTP://example.org www.example.org WWW.example.org (www.a.org) one+two@example.org"
)


def test_texts_of_a_file_that_look_like_addresses_are_no_links(tmp_path: Path, page: Page):
    (tmp_path / "app.py").write_text(
        "import streamlit as st\nfrom pages.ui.html import literal\n"
        f"st.markdown({ADDRESSES!r})\nst.caption(literal({ADDRESSES!r}))\nst.error(literal({ADDRESSES!r}))"
    )
    with serve(tmp_path / "app.py") as server:
        page.goto(server.url)
        expect(page.get_by_test_id("stAlert")).to_be_visible()
        assert page.get_by_test_id("stMarkdown").first.locator("a").count() == 6, "Markdown makes links of them"
        for kind in ("stCaptionContainer", "stAlert"):
            shown = page.get_by_test_id(kind)
            assert shown.locator("a").count() == 0 and shown.inner_text().replace("\u2060", "") == ADDRESSES
