"""An upload in the browser: declared by mouse and keyboard, not in the log, out of memory when its page closes."""

from __future__ import annotations

import contextlib
import time
import urllib.request
from collections.abc import Iterator
from importlib.resources import files

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from dpcore.figures.style import Theme

from ..harness import Server, serve
from ..upload_page import declare, hand_over, people, write_app
from .looks import NewPage
from .test_accessibility import CHECK

pytestmark = pytest.mark.browser

# A table is a picture: what it shows stands in no element.
NOTE_DRAWN = """
    const fillText = CanvasRenderingContext2D.prototype.fillText;
    window.drawn = new Set();
    CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
        window.drawn.add(text);
        return fillText.call(this, text, ...where);
    };
"""


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serve(write_app(tmp_path_factory.mktemp("uploads"))) as running:
        yield running


def said(page: Page, text: str) -> None:
    expect(page.get_by_test_id("stMain").get_by_text(text)).to_be_visible()


def held(dashboard: Server) -> str:
    """How many files are in memory, as the server says without a page."""
    with urllib.request.urlopen(f"{dashboard.url}/held", timeout=30) as answer:
        return str(answer.read().decode())


def none_is_held(dashboard: Server) -> None:
    """Wait until no file is in memory any more; a busy machine takes its time."""
    deadline = time.monotonic() + 30
    while held(dashboard) != "0":
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.usefixtures("own_tab")
def test_a_file_is_declared_used_and_gone_with_its_page(dashboard: Server, page: Page, new_page: NewPage):
    """40,000 rows: more than the server's form parser would keep in memory of itself."""
    content = people(40_000)
    assert len(content) > 2**20
    page.add_init_script(NOTE_DRAWN)
    page.goto(dashboard.url)
    said(page, "0 in memory")
    said(page, "seconds after you close the page")
    hand_over(page, content)
    declare(page)
    said(page, "people (your file): 28000 to learn from, 2 results")
    said(page, "nothing was left out or clipped")
    grid = page.get_by_test_id("stDataFrame").locator("canvas").first
    expect(grid).to_be_hidden(timeout=20_000)  # folded once there are results
    page.get_by_text("What the file holds").click()
    expect(grid).to_be_visible()
    # A bound of one column, in the table: the row of age, the column "largest".
    cell = page.locator("#portal input")
    for _ in range(20):  # a table that is drawn anew just now forgets which cell was chosen
        if not grid.is_visible():  # folded only now
            page.get_by_text("What the file holds").click()
            expect(grid).to_be_visible()
            continue
        grid.scroll_into_view_if_needed()
        box = grid.bounding_box()
        assert box
        # With the mouse, as a layer above takes the click, which the table sees only if it lasts.
        page.mouse.move(box["x"] + box["width"] - 40, box["y"] + 52)
        page.mouse.click(box["x"] + box["width"] - 40, box["y"] + 52, delay=100)
        page.keyboard.press("Enter")
        with contextlib.suppress(TimeoutError):
            cell.wait_for(state="attached", timeout=2_000)
        page.wait_for_timeout(200)  # the table may be drawn anew under it
        if cell.evaluate_all("all => all.map(it => it.value)") == ["120"]:
            break
        page.keyboard.press("Escape")
    expect(cell).to_have_value("120")
    cell.fill("50.5")
    expect(cell).to_have_value("50.5")
    page.keyboard.press("Enter")
    said(page, "0 in memory")
    page.wait_for_function("[...drawn].some(text => text.startsWith('50.'))")
    assert page.evaluate("[...drawn].filter(text => text.startsWith('50.'))") == ["50.5"], "shown as it was typed"
    page.get_by_role("button", name="Confirm").click()
    said(page, "values beyond your bounds clipped to them (age")
    for form in (0, 1):  # there and back
        page.get_by_text("another page").click()
        expect(page.get_by_text("What the file holds")).to_have_count(form)
        expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
        page.wait_for_timeout(600)  # what nobody looks at would be gone
    said(page, "values beyond your bounds clipped to them (age")
    said(page, "1 in memory")

    other = new_page()
    other.goto(dashboard.url)
    said(other, "1 in memory")
    expect(other.get_by_text("to learn from")).to_have_count(0)
    page.close()
    none_is_held(dashboard)
    other.reload()
    said(other, "0 in memory")
    log = dashboard.log.read_text()
    assert "Traceback" not in log and "Doe" not in log and "people" not in log


def test_a_file_taken_away_is_gone_at_once(dashboard: Server, page: Page):
    page.goto(dashboard.url)
    hand_over(page, people())
    declare(page)
    said(page, "1 in memory")
    page.get_by_role("button", name="Remove people.csv").click()
    said(page, "0 in memory")
    expect(page.locator("input[type=file]")).to_be_attached()


def test_the_file_of_the_last_visitor_is_gone_although_nobody_follows(dashboard: Server, page: Page):
    page.goto(dashboard.url)
    hand_over(page, people())
    declare(page)
    said(page, "1 in memory")
    assert held(dashboard) == "1"
    page.close()
    none_is_held(dashboard)


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
    hand_over(page, "".join(f"{i},{i % 7},{'yes' if i % 2 else 'no'}\n" for i in range(60)).encode())
    page.get_by_label("Which column is the label?").fill("column 3")
    page.keyboard.press("Enter")
    said(page, "Is the first line a header?")
    said(page, "column 1 counts the rows")
    page.get_by_text("Paste bounds").click()
    page.get_by_label("A line for each column").fill("column 2, 0, 6")
    page.get_by_role("button", name="Take over this table").click()
    page.get_by_role("button", name="Confirm").wait_for()
    page.get_by_role("button", name="Read it differently").click()
    page.get_by_label("Columns are separated by").wait_for()
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    assert page.evaluate(CHECK) == []
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_all_is_there_after_a_visit_to_another_page(server: Server, page: Page):
    """On the real pages, whose picker must come back to the file, too."""
    page.goto(f"{server.url}/decide?at_hand=a+file+of+your+own")
    hand_over(page, people(400))
    declare(page)
    said(page, "Read 400 rows")
    page.get_by_role("link", name="Sources").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("come from")
    page.wait_for_timeout(500)
    page.get_by_role("link", name="Decide").click()
    said(page, "Read 400 rows; nothing was left out or clipped.")
    page.get_by_text("What the file holds").click()
    said(page, "You confirmed that these bounds are public knowledge.")
    expect(page.get_by_role("button", name="Remove people.csv")).to_be_visible()
    expect(page.get_by_label("Which column is the label?")).to_have_value("sick")
    expect(page.get_by_label("Which label counts as +1?")).to_have_value("yes")
    expect(page.locator("[data-testid^=glide-cell]")).to_have_text(["age", "0", "120", "dose", "0", "1"])
