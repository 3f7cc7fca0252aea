"""Links in the browser: offered, followed below a base path, hiding controls on every page, one step back."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, Response, expect

from pages.decide.words import mechanisms
from pages.lectures.stories import STORIES

from ..harness import ROOT, Server, serve

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def below() -> Iterator[Server]:
    """The dashboard below a base path; the first test meets it fresh."""
    with serve(ROOT / "app.py", base="/base") as running:
        yield running


IN_VAIN = ".st-key-ignored"  # where it stands what a link says in vain


def block(page: Page, key: str):
    return page.locator(f".st-key-block_{key}")


@pytest.mark.usefixtures("own_tab")
def test_a_link_opens_the_page_in_its_state_with_its_controls_hidden(below: Server, page: Page):
    link = "/trust?epsilon=0.5&n=500&defaults=runs:20000~check:attack&v=0.1.0&hide=delta,runs"
    loaded: list[Response] = []
    page.on("response", lambda answer: loaded.append(answer) if "plotly" in answer.url else None)
    page.goto(below.url + link)
    expect(block(page, "epsilon").locator("[data-testid=stSliderThumbValue]")).to_have_text("0.5")
    expect(page.locator(".st-key-mechanism")).to_be_visible()
    expect(block(page, "delta")).to_be_hidden()
    expect(block(page, "runs")).to_be_hidden()
    expect(page.locator("[data-testid=stSidebar]")).to_be_visible()
    assert page.locator(f"{IN_VAIN}, [data-testid=stException], [role=dialog]").count() == 0
    assert "Traceback" not in below.log.read_text()
    page.wait_for_function("window.Plotly !== undefined")
    (library,) = loaded
    assert "/base/assets/plotly-" in library.url
    headers = library.headers
    assert headers["cache-control"] == "public, max-age=31536000, immutable"
    assert headers["content-encoding"] == "gzip"
    assert headers["content-type"].startswith("text/javascript")

    # Until then Streamlit may drop controls from the address and put them back, each with a step in the history.
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    visits = page.evaluate("history.length")
    page.get_by_role("link", name="Start", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(STORIES["Start"].title)
    expect(block(page, "epsilon").locator("[data-testid=stSliderThumbValue]")).to_have_text("0.5")
    expect(block(page, "delta")).to_be_hidden()
    block(page, "epsilon").locator("input[type=range]").press("ArrowRight")
    page.wait_for_url("**epsilon=0.7*")
    said = parse_qs(urlsplit(page.url).query)
    assert said["hide"] == ["delta,runs"] and said["n"] == ["500"]
    expect(block(page, "delta")).to_be_hidden()
    assert page.evaluate("history.length") == visits + 1, "one step back is the page before"
    page.go_back()
    expect(page.locator(".st-key-mechanism")).to_be_visible()
    expect(block(page, "delta")).to_be_hidden()


def test_the_link_that_a_page_offers_leads_back_to_it(below: Server, page: Page):
    page.goto(f"{below.url}/?proof=textbook")
    page.get_by_role("link", name="Dimension", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(STORIES["Dimension"].title)
    page.get_by_text("Link", exact=True).click()
    code = page.locator("[data-testid=stCode] code")
    expect(code).to_contain_text(f"{below.url}/dimension?")
    page.locator("[data-test-script-state=notRunning]").wait_for()  # the end of a run closes an open list
    page.wait_for_timeout(500)
    pick = page.get_by_label("Controls that whoever opens it does not see")
    pick.click()
    pick.press_sequentially("failure", delay=20)
    expect(page.get_by_role("option")).to_have_count(1)
    pick.press("Enter")
    expect(code).to_contain_text("hide=delta")
    link = code.inner_text()
    assert link.startswith(f"{below.url}/dimension?") and "epsilon:1.0" in link

    page.goto(link)
    expect(page.get_by_role("heading", level=1)).to_have_text(STORIES["Dimension"].title)
    expect(block(page, "lam")).to_be_visible()
    expect(block(page, "delta")).to_be_hidden()
    assert page.locator(IN_VAIN).count() == 0


@pytest.mark.usefixtures("own_tab")
def test_back_leads_to_an_address_that_somebody_typed(server: Server, page: Page):
    """In words that Streamlit does not know, and with a default: each control stands as it did there.

    What it says in vain is shown as text, once, and can be dismissed.
    """

    def stands(epsilon: str, n: str, way: str) -> None:
        expect(block(page, "epsilon").locator("[data-testid=stSliderThumbValue]")).to_have_text(epsilon)
        expect(block(page, "n").locator("[data-testid=stSliderThumbValue]")).to_have_text(n)
        expect(page.locator(".st-key-way input")).to_have_value(way)
        page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()

    every_step, answer = (mechanisms()[key] for key in ("noisy_gd", "output_gaussian"))
    vain = "colour=<img src=x onerror=alert(1)>&delta=17&seed=1e999"
    page.goto(f"{server.url}/decide?epsilon=1&n=5e2&way=noisy_gd&v=0.1.0&{vain}")
    note = page.locator(IN_VAIN)
    for said in ("colour = <img src=x onerror=alert(1)> (no", "delta = 17 (not", "seed = 1e999 (not"):
        expect(note).to_contain_text(said)
    stands("1", "500", every_step)
    note.get_by_role("button").click()
    expect(note).to_have_count(0)
    page.locator(".st-key-way input").click()
    page.get_by_role("option", name=answer).click()
    block(page, "epsilon").locator("input[type=range]").press("ArrowRight")
    stands("1.5", "500", answer)
    page.evaluate("history.go(2 - history.length)")  # the page's first address, after the empty page
    stands("1", "500", every_step)
    assert note.count() == 0, "it has been told"
    said = parse_qs(urlsplit(page.url).query)
    assert (said["n"], said["way"]) == (["500"], [every_step]), "a reload finds the same"
