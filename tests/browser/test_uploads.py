"""An upload in the browser: declared by mouse and keyboard, not in the log, out of memory when its page closes."""

from __future__ import annotations

import contextlib
import io
import re
import time
import urllib.request
from collections.abc import Iterator

import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

from dpcore.data import Declared, write_dictionary
from dpcore.figures.style import Theme

from ..harness import Server, fork
from ..upload_page import declare, hand_over, people, write_app
from .looks import NewPage, until
from .readable import AXE, CHECK, FADED

pytestmark = pytest.mark.browser

FORM = "The file, the question and its columns"  # what the form is folded under
LARGEST, FROM = 4, 6  # columns of the table of columns
# A table is a picture: what it shows stands in no element.
NOTE_DRAWN = """() => {
    const fillText = CanvasRenderingContext2D.prototype.fillText;
    window.drawn = new Set();
    CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
        window.drawn.add(text);
        return fillText.call(this, text, ...where);
    };
}"""


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[Server]:
    with fork(write_app(tmp_path_factory.mktemp("uploads")), port=port) as running:
        yield running


def said(page: Page, text: str | re.Pattern[str]) -> None:
    expect(page.get_by_test_id("stMain").get_by_text(text)).to_be_visible()


def held(dashboard: Server) -> str:
    """How many files are in memory, as the server says without a page."""
    with urllib.request.urlopen(f"{dashboard.url}/held", timeout=120) as answer:
        return str(answer.read().decode())


def held_are(dashboard: Server, files: int) -> None:
    """Wait until so many files are in memory; a busy machine takes its time."""
    deadline = time.monotonic() + 120
    while held(dashboard) != str(files):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def rest(page: Page) -> None:
    """Wait until the server has said all that it has to say."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


def edit(page: Page, column: int, row: int, x: float) -> Locator:
    """Begin to edit a cell of the table of columns, so far from its left end; returns the field."""
    page.evaluate(FADED)
    grid = page.get_by_test_id("stDataFrame").last
    # A click is seen only if it lasts and the table is not drawn anew meanwhile; a second one would begin to edit.
    for _ in range(10):
        grid.click(position={"x": x, "y": 53 + 35 * row}, delay=100)
        with contextlib.suppress(AssertionError):
            place = grid.get_by_test_id(f"glide-cell-{column}-{row}")
            expect(place).to_have_attribute("aria-selected", "true", timeout=1_000)
            return opened(page)
    raise AssertionError("no click chose the cell")


def opened(page: Page) -> Locator:
    """The field of the chosen cell, which hears no key while the last field is closing."""
    field = page.locator("#portal input, #portal textarea")
    for _ in range(10):
        page.keyboard.press("Enter")
        with contextlib.suppress(AssertionError):
            expect(field).to_be_visible(timeout=500)
            break
    return field


def grid_says(page: Page, column: int, row: int, text: str) -> None:
    expect(page.get_by_test_id("stDataFrame").last.get_by_test_id(f"glide-cell-{column}-{row}")).to_have_text(text)


def test_a_file_is_declared_used_and_gone_with_its_page(dashboard: Server, page: Page, new_page: NewPage):
    """A MB of names: more than the server's form parser would keep in memory of itself."""
    content = people(2_000).replace(b"Doe", b"Doe" * 200)
    assert len(content) > 2**20
    page.goto(dashboard.url)
    page.evaluate(NOTE_DRAWN)
    said(page, "0 in memory")
    said(page, "seconds after you close")
    hand_over(page, content)
    field = edit(page, LARGEST, row=1, x=440)
    field.fill("120.5")
    page.keyboard.press("Enter")
    below = page.get_by_test_id("stDataFrame").last.get_by_test_id(f"glide-cell-{LARGEST}-2")
    expect(below).to_have_attribute("aria-selected", "true")
    opened(page).fill("0.9")
    grid_says(page, FROM, 1, "you")
    expect(field).to_have_value("0.9")  # is still being typed while the table changes
    page.keyboard.press("Escape")
    declare(page)
    said(page, "(your file): 1400 to learn from, 2 results")
    said(page, "Read 2,000 rows; nothing")
    rest(page)
    grid = page.get_by_test_id("stDataFrame").last
    expect(grid).to_be_hidden()  # folded once there are results
    page.get_by_text(FORM).click()
    expect(grid).to_be_visible()
    field = edit(page, LARGEST, row=1, x=440)
    expect(field).to_have_value("120.5")
    field.fill("50.5")
    expect(field).to_have_value("50.5")
    page.keyboard.press("Enter")
    said(page, "0 in memory")
    until(page, "[...drawn].some(text => text.startsWith('50.'))")
    assert page.evaluate("[...drawn].filter(text => text.startsWith('50.'))") == ["50.5"], "shown as it was typed"
    page.get_by_role("button", name="Confirm").click()
    clipped = re.compile("values beyond your bounds clipped to them")
    said(page, clipped)
    for form in (0, 1):  # there and back
        page.get_by_text("another page").click()
        expect(page.get_by_text(FORM)).to_have_count(form)
        rest(page)
        page.wait_for_timeout(600)  # what nobody looks at would be gone
    said(page, clipped)
    said(page, "1 in memory")

    other = new_page()
    other.goto(dashboard.url)
    said(other, "1 in memory")
    expect(other.get_by_text("to learn from")).to_have_count(0)
    hand_over(other, people())
    declare(other)
    said(other, "2 in memory")
    page.goto("about:blank")
    held_are(dashboard, 1)
    other.close()
    held_are(dashboard, 0)  # although nobody follows
    log = dashboard.log.read_text()
    assert "Traceback" not in log and "Doe" not in log and "people" not in log


def test_file_dictionary_and_ledger_are_dropped_together(dashboard: Server, page: Page):
    """A Parquet file; one drop, no click."""
    page.goto(dashboard.url)
    table = pd.read_csv(io.BytesIO(people())).to_parquet()
    declared = Declared(("age", "dose"), (0.0, 0.0), (100.0, 1.0), "yes")
    files = {
        "people.parquet": table,
        "columns.json": write_dictionary("sick", declared, "patient", 3).encode(),
        "people.parquet.ledger.json": b'{"file": "people.parquet", "releases": []}',
    }
    page.locator("input[type=file]").set_input_files(
        [{"name": name, "mimeType": "application/json", "buffer": content} for name, content in files.items()]
    )
    said(page, "(your file): 42 to learn from, 2 results")
    said(page, "one patient, 3 at most; 0 releases")
    for form in (0, 1):
        page.get_by_text("another page").click()
        expect(page.get_by_text(FORM)).to_have_count(form)
        rest(page)
    said(page, "(your file): 42 to learn from, 2 results")
    page.get_by_role("button", name="Remove").click()
    said(page, "0 in memory")
    expect(page.get_by_text("people.parquet")).to_have_count(0)  # the new place names no file of those before
    expect(page.get_by_test_id("stException")).to_have_count(0)


@pytest.mark.parametrize(
    ("width", "height", "scheme"),
    [pytest.param(1366, 768, "dark", marks=pytest.mark.nightly), (390, 844, "light")],
)
def test_whoever_cannot_see_the_panel_or_holds_a_phone_declares_too(
    dashboard: Server, new_page: NewPage, width: int, height: int, scheme: Theme
):
    """With a first line like a record and a column that numbers the rows."""
    page = new_page(width, height, scheme)
    page.goto(dashboard.url)
    hand_over(page, "".join(f"{i},{i * i % 7},{'yes' if i % 2 else 'no'}\n" for i in range(60)).encode())
    page.get_by_label("Value to predict").fill("yes")
    page.keyboard.press("Enter")
    said(page, "first line a header")
    page.get_by_role("button", name="Paste a codebook").click()
    page.locator("textarea").fill("column 2, 0, 6")
    page.get_by_role("button", name="Import").click()
    page.get_by_role("button", name="Confirm").wait_for()
    expect(page.locator("textarea")).to_have_count(0)  # folded
    page.get_by_role("button", name="Read it differently").click()
    page.get_by_label("Columns are separated by").wait_for()
    page.evaluate(AXE)
    assert page.evaluate(CHECK) == []
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
