"""The pages' policy: the browser refuses foreign scripts and addresses; what is on the pages works under it, see
test_views.py.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from ..harness import Server
from .looks import until

pytestmark = pytest.mark.browser

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
    page.goto(server.url)
    page.evaluate(NOTE)
    for attack, refused in ATTACKS:
        page.evaluate(f"() => {{ {attack} }}")
        until(page, "against.length > 0")
        page.wait_for_timeout(100)  # a second one would come at once
        (told,) = page.evaluate("against.splice(0)")
        assert told.startswith(refused) and page.evaluate("window.evil") is None
        assert any("Content Security Policy directive" in complaint for complaint in complaints), attack
        complaints.clear()
