"""What can be taken away from a page says what the page says: the report of an attack, the briefing on a budget."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from ..harness import Server
from .looks import Chart

pytestmark = pytest.mark.browser


def taken(page: Page, label: str, folder: Path) -> Path:
    """The file that a button gives, once it can be pressed."""
    button = page.get_by_role("button", name=label)
    expect(button).to_be_enabled()
    page.locator("[data-test-script-state=notRunning]").wait_for()
    with page.expect_download() as waiting:
        button.click()
    waiting.value.save_as(folder / waiting.value.suggested_filename)
    return folder / waiting.value.suggested_filename


@pytest.mark.nightly
def test_the_briefing_says_what_the_page_says(server: Server, page: Page, tmp_path: Path):
    page.goto(f"{server.url}/decide?n=1%2C000&give_up=5&more=download")
    Chart(page, "budget").shown()
    expect(page.get_by_text(re.compile(r"all \d+ splits"))).to_be_visible()
    numbers = json.loads(taken(page, "Numbers (JSON)", tmp_path).read_text(encoding="utf-8"))
    shown = page.get_by_text(re.compile("is the smallest privacy budget")).inner_text()
    budget, reference = float(f"{numbers['budget']['value']:.2g}"), 100 * numbers["reference"]
    assert f"{budget:g}" in shown and f"{reference:.1f}" in shown
    assert numbers["link"].startswith(f"{server.url}/decide?")
    assert "To sign: " in taken(page, "Page to sign (HTML)", tmp_path).read_text(encoding="utf-8")
