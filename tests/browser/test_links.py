"""Links in the browser: offered, followed below a base path, hiding controls on every page, one step back."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, Response, expect

from dpcore import __version__
from pages.lectures.stories import STORIES

from ..harness import Server
from .looks import Chart, until

pytestmark = pytest.mark.browser


IN_VAIN = ".st-key-ignored"  # where it stands what a link says in vain


def block(page: Page, key: str):
    return page.locator(f".st-key-block_{key}")


def test_a_link_opens_the_page_in_its_state_with_its_controls_hidden(below: Server, page: Page):
    link = f"/audit?epsilon=0.5&n=500&runs=20,000&v={__version__}&hide=delta,runs"
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
    until(page, "window.Plotly !== undefined")
    (library,) = loaded
    assert "/base/assets/plotly-" in library.url

    # Until then Streamlit may drop controls from the address and put them back, each with a step in the history.
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    page.get_by_role("link", name="Overview", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(STORIES["overview"].title)
    expect(block(page, "epsilon").locator("[data-testid=stSliderThumbValue]")).to_have_text("0.5")
    expect(block(page, "delta")).to_be_hidden()
    block(page, "epsilon").locator("input[type=range]").press("ArrowRight")
    page.wait_for_url("**epsilon=0.7*")
    said = parse_qs(urlsplit(page.url).query)
    assert said["hide"] == ["delta,runs"] and said["n"] == ["500"]
    expect(block(page, "delta")).to_be_hidden()
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    page.go_back()  # one step back is the page before
    expect(page.locator(".st-key-mechanism")).to_be_visible()
    expect(block(page, "delta")).to_be_hidden()


def test_the_link_that_a_page_offers_is_the_first_request_of_a_fresh_server(
    below: Server, fresh_server: Server, page: Page, complaints: list[str]
):
    """It says the value of every control, so that a later default changes nothing, and hides what it is asked to."""
    page.goto(f"{below.url}/?n=200")
    page.get_by_role("link", name="Dimension", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(STORIES["dimension"].title)
    page.get_by_text("Link", exact=True).click()
    code = page.locator("[data-testid=stCode] code")
    expect(code).to_contain_text(f"{below.url}/dimension?")
    page.locator("[data-test-script-state=notRunning]").wait_for()  # the end of a run closes an open list
    page.wait_for_timeout(500)
    pick = page.locator(".st-key-hide_in_link input")
    pick.click()
    pick.press_sequentially("failure", delay=20)
    expect(page.get_by_role("option")).to_have_count(1)
    pick.press("Enter")
    expect(code).to_contain_text("hide=delta")
    link = urlsplit(code.inner_text())
    said = parse_qs(link.query)
    assert link.path == "/base/dimension" and {"epsilon", "delta", "n", "p", "lam", "noise_in"} < set(said)
    assert (said["epsilon"], said["n"], said["v"]) == (["1"], ["200"], [__version__])

    page.goto(f"{fresh_server.url}/dimension?{link.query}")
    expect(page.get_by_role("heading", level=1)).to_have_text(STORIES["dimension"].title)
    expect(block(page, "n").locator("[data-testid=stSliderThumbValue]")).to_have_text("200")
    expect(block(page, "delta")).to_be_hidden()
    Chart(page, "dimension").shown()
    assert page.locator(f"{IN_VAIN}, [data-testid=stException], [role=dialog]").count() == 0
    assert "Traceback" not in fresh_server.log.read_text()
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    expect(page).to_have_url(f"{fresh_server.url}/dimension?n=200&v={__version__}&hide=delta")
    assert complaints == []


def test_back_leads_to_an_address_that_somebody_typed(server: Server, page: Page):
    """Each control stands as it did there. What the address says in vain is shown as text, once, and dismissed."""

    def stands(epsilon: str, n: str, noise: str) -> None:
        expect(block(page, "epsilon").locator("[data-testid=stSliderThumbValue]")).to_have_text(epsilon)
        expect(block(page, "n").locator("[data-testid=stSliderThumbValue]")).to_have_text(n)
        expect(page.locator(".st-key-noise [aria-checked=true]")).to_have_text(noise)
        page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()

    vain = "colour=<img src=x onerror=alert(1)>&delta=17&seed=1e999"
    page.goto(f"{server.url}/perturbation?epsilon=1&n=300&noise=Gamma&v=0.1.0&{vain}")
    first, note = page.evaluate("navigation.currentEntry.key"), page.locator(IN_VAIN)
    for said in ("colour = <img src=x onerror=alert(1)> (no", "delta = 17 (not", "seed = 1e999 (not"):
        expect(note).to_contain_text(said)
    stands("1", "300", "Gamma")
    note.get_by_role("button").click()
    expect(note).to_have_count(0)
    page.locator(".st-key-noise").get_by_role("radio", name="Gaussian").click()
    block(page, "epsilon").locator("input[type=range]").press("ArrowRight")
    stands("1.5", "300", "Gaussian")
    page.evaluate("key => { navigation.traverseTo(key) }", first)
    stands("1", "300", "Gamma")
    assert note.count() == 0, "it has been told"
