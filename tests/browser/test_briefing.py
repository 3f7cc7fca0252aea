"""The briefing as it is opened from a disk: offline, on a phone, and on one sheet of paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pages.decide.briefing.page import html_page

from ..briefings import EVIL, named, specimen
from .looks import NewPage

pytestmark = pytest.mark.browser


# Of the widest letter, with and without a place to break a line.
@pytest.mark.parametrize("text", [EVIL, "W" * 100, "WWWW " * 20 + "W", ""], ids=range(4))
def test_it_needs_no_network_and_prints_one_whole_page(new_page: NewPage, tmp_path: Path, text):
    page, file = new_page(1366, 768), tmp_path / "briefing.html"
    file.write_text(html_page(named(text)[0] if text else specimen()), encoding="utf-8")
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda asked: wrong.append(asked.url) if asked.url != file.as_uri() else None)
    page.goto(file.as_uri())
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1
    sizes = re.findall(rb"/MediaBox\s*\[\s*0\s+0\s+([\d.]+)\s+([\d.]+)\s*\]", printed)
    assert {tuple(round(float(side) * 25.4 / 72) for side in size) for size in sizes} == {(210, 297)}  # A4
    sizes = page.evaluate(
        "[...document.querySelectorAll('main, main *')].map(it => parseFloat(getComputedStyle(it).fontSize))"
    )
    assert min(sizes) * 72 / 96 >= 8.0  # points
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert wrong == []
