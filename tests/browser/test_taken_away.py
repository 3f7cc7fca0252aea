"""What can be taken away from a page says what the page says: the report of an attack, the briefing on a budget."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from ..harness import Server

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
    page.goto(f"{server.url}/decide?n=1%2C000&more=download")
    plan = json.loads(taken(page, "Plan (JSON)", tmp_path).read_text(encoding="utf-8"))
    answer = plan["page"]["answer"]
    assert answer.startswith("Sign ε = ") and plan["page"]["link"].startswith(f"{server.url}/decide?")
    expect(page.get_by_text(re.compile(re.escape(answer.split(";")[0]).replace(r"\ ", r"\s")))).to_be_visible()
    assert answer in taken(page, "Page to sign (HTML)", tmp_path).read_text(encoding="utf-8").replace(
        "\N{NO-BREAK SPACE}", " "
    )
