"""Browsers that lack something: a page over plain HTTP has no clipboard, and those before 2024 miss newer functions."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from ..harness import Server

pytestmark = pytest.mark.browser

OLD = """
    delete Navigator.prototype.clipboard;
    delete Element.prototype.checkVisibility;
    for (const name of ["showPopover", "hidePopover", "togglePopover", "popover"]) delete HTMLElement.prototype[name];
"""
RESTS = "[data-testid=stApp][data-test-script-state=notRunning]"


def test_terms_play_and_the_link_need_no_newer_browser(server: Server, page: Page):
    page.add_init_script(OLD)
    page.goto(f"{server.url}/perturbation")
    page.locator("dfn.term[tabindex]").first.hover()
    expect(page.locator("#meaning")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#meaning")).to_be_hidden()

    slider = page.locator(".st-key-epsilon input[type=range]")
    page.locator("button.play").click()
    expect(slider).to_have_attribute("aria-valuetext", "0.1")
    expect(slider).not_to_have_attribute("aria-valuetext", "0.1")
    page.locator("button.play").click()
    page.locator(RESTS).wait_for()

    page.get_by_role("radio", name="Link").click()
    code = page.get_by_test_id("stCode").first
    code.hover()
    code.locator("..").get_by_role("button").first.click()
    page.evaluate("document.body.append(Object.assign(document.createElement('textarea'), { id: 'pasted' }))")
    page.locator("#pasted").focus()
    page.keyboard.press("ControlOrMeta+v")
    assert page.locator("#pasted").input_value() == code.inner_text()
