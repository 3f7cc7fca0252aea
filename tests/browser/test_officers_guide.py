"""The officer's guide, step by step: files that others wrote go from upload to the page to sign as it stands there."""

from __future__ import annotations

import importlib.util
import io
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from ..harness import ROOT, Server
from .looks import Chart, NewPage
from .test_uploads import rest

pytestmark = pytest.mark.browser

STEPS, *FILES = re.split("\n##+ ", (ROOT / "docs" / "officers_guide.md").read_text(encoding="utf-8"))[1:]
PLACES = {
    "anes96.csv": "datasets/anes96/anes96.csv",
    "fair.csv": "datasets/fair/fair.csv",
    "heart.csv": "data/hearts.zip",
}
MODULES = {"statsmodels": "statsmodels", "scikit-lego": "sklego"}


def section(name: str) -> str:
    (found,) = (text for text in FILES if text.partition("\n")[0].endswith(f": {name}"))
    return found


def shipped(name: str) -> bytes:
    """The file as its package ships it, from the place that the guide names."""
    text = section(name)
    package, module = next((package, module) for package, module in MODULES.items() if f"package {package}" in text)
    place = PLACES[name]
    assert f"`{place}`" in text
    spec = importlib.util.find_spec(module)
    assert spec and spec.submodule_search_locations, f"{package} must be installed (requirements-dev.lock)"
    content = Path(spec.submodule_search_locations[0], place).read_bytes()
    if place.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            content = archive.read(name)
    return content


def chosen(name: str) -> dict[str, str]:
    """What the guide says to choose, by the words on the screen."""
    return dict(re.findall(r"^\| (.+?) \| (.+?) \|$", section(name), re.MULTILINE)[1:])


def choose(page: Page, label: str, values: list[str]) -> None:
    """Choose values of a list, one after the other, by typing them."""
    for value in values:
        control = page.get_by_role("combobox", name=label)
        control.fill(value)
        page.get_by_role("option", name=value, exact=True).click()
        rest(page)


def move(page: Page, label: str, value: str) -> None:
    """Move a slider with the arrow keys."""
    slider, moves = page.get_by_role("slider", name=label), 0
    while (said := str(slider.get_attribute("aria-valuetext"))) != value:
        slider.press("ArrowRight" if float(said) < float(value) else "ArrowLeft")
        expect(slider).not_to_have_attribute("aria-valuetext", said)
        rest(page)
        moves += 1
        assert moves < 20, f"{value} must be on the scale of {label}"


def test_the_guide_names_three_files_one_of_them_large():
    assert set(PLACES) == {
        text.partition("\n")[0].partition(": ")[2] for text in FILES if ": " in text.partition("\n")[0]
    }
    for name in PLACES:
        records = int(re.search(r"^([\d,]+) ", section(name).partition("\n\n")[2])[1].replace(",", ""))  # type: ignore[index]
        assert len(shipped(name).splitlines()) == records + 1, name
    assert len(shipped("fair.csv").splitlines()) > 5_000


@pytest.mark.nightly  # uploads, bounds, levels and briefings by day: tests/browser/test_uploads.py, tests/pages
@pytest.mark.parametrize("name", ["anes96.csv", "fair.csv", "heart.csv"])
def test_a_file_goes_from_upload_to_the_page_to_sign(
    server: Server, page: Page, new_page: NewPage, tmp_path: Path, name: str, complaints: list[str]
):
    bold = re.findall(r"\*\*(.+?)\*\*", " ".join(STEPS.split()))
    own, upload, label, counts, features, codes, paste, imports, levels, leave, confirm, loss, splits, *end = bold
    next_above, download, draw, key, briefing, dictionary = end
    asked = chosen(name)
    told = asked.pop("*you then read*")
    assert {*asked} <= {label, counts, features, codes, leave, loss, *(row for row in asked if "Levels of" in row)}

    page.goto(f"{server.url}/decide")
    page.get_by_role("combobox", name="Records").wait_for()
    choose(page, "Records", [own])
    with page.expect_file_chooser() as choosing:
        page.get_by_test_id("stFileUploaderDropzone").get_by_text(upload, exact=True).click()
    file = {"name": name, "mimeType": "text/csv", "buffer": shipped(name)}
    choosing.value.set_files(file)  # type: ignore[arg-type]
    for question in (label, counts):
        page.get_by_label(question).wait_for()
        choose(page, question, [asked[question]])
    for question in (features, codes):
        if question in asked:
            choose(page, question, asked[question].split(", "))
            page.keyboard.press("Escape")
        expect(page.get_by_label(question)).to_be_visible()
    page.get_by_text(paste).click()
    (block,) = re.findall("```\n(.*?)```", section(name), re.DOTALL)
    page.get_by_label("One line per column").fill(block)
    page.get_by_role("button", name=imports).click()
    expect(page.get_by_text(re.compile("Imported the bounds of"))).to_be_visible()
    rows = [row for row in asked if row.startswith("Levels of")]
    expect(page.get_by_text(levels)).to_have_count(1 if rows else 0)
    for row in rows:  # without waiting for the page, which must not lose what is typed meanwhile
        page.get_by_label(row, exact=True).fill(asked[row])
        page.keyboard.press("Control+Enter")
    if leave in asked:
        page.get_by_text(leave).last.click()
        rest(page)
    page.get_by_role("button", name=confirm).click()
    Chart(page, "budget").shown()
    expect(page.get_by_text(told)).to_be_visible()

    move(page, loss, asked[loss])
    expect(page.get_by_text(re.compile(rf"{splits} \d+ splits"))).to_be_visible()
    budget = page.get_by_role("button", name=next_above).inner_text().partition(",")[0]
    page.get_by_role("button", name=next_above).click()
    rest(page)
    page.get_by_role("radio", name=download).click()
    page.get_by_role("button", name=draw).wait_for(timeout=240_000)
    rest(page)  # or the click may meet the last run, which draws the page anew
    page.get_by_role("button", name=draw).click()
    page.get_by_role("button", name=key).wait_for()
    page.get_by_role("button", name=dictionary).wait_for()
    with page.expect_download() as waiting:
        page.get_by_role("button", name=briefing).click()
    waiting.value.save_as(tmp_path / "briefing.html")
    signed = new_page()
    signed.goto((tmp_path / "briefing.html").as_uri())
    last = signed.locator("main")
    for words in (f"{name.removesuffix('.csv')} (your file); HMAC-SHA-256", f"To sign: {budget}", "Signature"):
        expect(last).to_contain_text(words)
    expect(last).not_to_contain_text("Nothing to sign")
    expect(last).not_to_contain_text("after looking")
    assert complaints == []
