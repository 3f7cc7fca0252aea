"""A server that was started with a lecture and a mechanism of one's own, as a browser shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from ..docs.test_tutorial import SOURCE
from ..harness import ROOT, Server, fork
from ..pages.test_lecture_files import CLINIC

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("own")
    (folder / "clinic.yaml").write_text(CLINIC, encoding="utf-8")
    (folder / "by_hand.py").write_text(SOURCE, encoding="utf-8")
    options = ("--", "--lectures", str(folder), "--mechanism", str(folder / "by_hand.py"))
    with fork(ROOT / "app.py", *options) as running:
        yield running
        assert "Traceback" not in running.log.read_text()


def test_a_page_offers_all_its_lectures_and_copies_its_state(own: Server, page: Page, complaints: list[str]):
    page.goto(f"{own.url}/?epsilon=0.5")
    copy = page.get_by_role("button", name="Make a step of this")
    copy.click(timeout=60_000)
    expect(page.locator("[data-testid=stCode]")).to_contain_text(re.compile(r"shows: cost.*epsilon: 0\.5", re.DOTALL))
    copy.click()
    page.get_by_role("button", name="Teach this page").click()
    page.get_by_role("button", name="What would privacy cost our clinic?").click()
    expect(page.locator(".lecture-words")).to_contain_text("a guarantee of ε = 5 for each of them")
    expect(page).to_have_url(re.compile("lecture=clinic"))
    expect(page.locator(".live-figure .main-svg").first).to_be_visible(timeout=60_000)
    page.keyboard.press("PageDown")
    expect(page.get_by_role("button", name="at least twice as large")).to_be_visible()
    expect(page.get_by_role("button", name="Make a step of this")).to_have_count(0)
    assert complaints == []


def test_a_mechanism_from_a_file_is_attacked_compared_and_listed(own: Server, page: Page, complaints: list[str]):
    label = "output perturbation, noise by hand"
    page.goto(f"{own.url}/audit?mechanism={label}&runs=2,000&version=correct code")
    expect(page.locator(".takeaway").first).to_contain_text("No contradiction found", timeout=60_000)
    expect(page.get_by_role("combobox", name="Mechanism")).to_have_value(label)
    page.goto(f"{own.url}/sources?about=Algorithms")
    expect(page.locator(".sources-table")).to_contain_text("From the file by_hand.py", timeout=60_000)
    page.get_by_role("row").filter(has_text="by_hand.py").get_by_role("link", name="attack").click()
    expect(page.get_by_role("combobox", name="Mechanism")).to_have_value(label, timeout=60_000)
    assert complaints == []
