"""A server that was started with a mechanism of one's own, as a browser shows it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from ..docs.test_tutorial import SOURCE
from ..harness import ROOT, Server, fork

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("own")
    (folder / "by_hand.py").write_text(SOURCE, encoding="utf-8")
    options = ("--", "--mechanism", str(folder / "by_hand.py"))
    with fork(ROOT / "app.py", *options) as running:
        yield running
        assert "Traceback" not in running.log.read_text()


def test_a_mechanism_from_a_file_is_attacked_and_listed(own: Server, page: Page, complaints: list[str]):
    label = "output perturbation, noise by hand"
    page.goto(f"{own.url}/audit?mechanism={label}&runs=2,000&version=correct code")
    expect(page.locator(".takeaway").first).to_contain_text("No contradiction found")
    expect(page.get_by_role("combobox", name="Mechanism")).to_have_value(label)
    page.goto(f"{own.url}/sources?about=Algorithms")
    expect(page.locator(".sources-table")).to_contain_text("From the file by_hand.py")
    assert complaints == []
