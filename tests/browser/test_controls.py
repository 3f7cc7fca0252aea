"""The sidebar goes along from page to page in the browser: address, sliders, back button, deep links."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Page, expect

from ..harness import Server, fork
from ..two_pages import write_pages
from .looks import until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[Server]:
    """Two pages; the first test meets the server fresh."""
    with fork(write_pages(tmp_path_factory.mktemp("pages")), port=port) as running:
        yield running


def expect_state(page: Page, sentence: str, address: str) -> None:
    """The page's numbers, its sliders and its address agree; parameters may stand in any order."""
    expect(page.locator("[data-testid=stMain] p").filter(has_text=sentence)).to_be_visible()
    wanted = urlsplit(address)
    until(
        page,
        "([path, query]) => location.pathname === path && "
        "[...new URLSearchParams(location.search)].sort().join('&') === query",
        arg=[wanted.path, "&".join(sorted(",".join(pair) for pair in parse_qsl(wanted.query)))],
    )
    for key in ("epsilon", "n", "p"):
        thumb = page.locator(f".st-key-{key} [data-testid=stSliderThumbValue]")
        value = sentence.split(f" {key} ")[1].split(",")[0]
        expect(thumb).to_have_text(f"{int(value):,}" if key == "n" else value)


def go(page: Page, title: str) -> None:
    page.get_by_role("link", name=title, exact=True).click()


def press(page: Page, key: str, stroke: str) -> None:
    page.locator(f".st-key-{key} input[type=range]").press(stroke)


def test_every_control_goes_along_and_the_address_of_each_page_says_so(dashboard: Server, page: Page):
    page.goto(f"{dashboard.url}/perturbation?m=20")
    for key in ("epsilon", "delta", "n", "p", "lam"):
        press(page, key, "ArrowLeft" if key in ("n", "lam") else "ArrowRight")
        page.wait_for_url(lambda url, key=key: key in dict(parse_qsl(urlsplit(url).query)) or key == "lam")
    press(page, "lam", "ArrowRight")
    state = "epsilon 1.5, delta 1e-05, n 500, p 16, lam population, m 20, seed 7."
    query = "?epsilon=1.5&delta=10⁻⁵&n=500&p=16&lam=theory&m=20"
    expect_state(page, f"perturbation: {state}", f"/perturbation{query}")
    page.get_by_role("button", name="New seed").click()
    state, query = state.replace("seed 7", "seed 8"), f"{query}&seed=8"
    expect_state(page, f"perturbation: {state}", f"/perturbation{query}")
    go(page, "Overview")
    expect_state(page, f"overview: {state}", f"/{query}")
    go(page, "Perturbation")
    expect_state(page, f"perturbation: {state}", f"/perturbation{query}")

    # As where a page is turned before its controls are on the screen: the next move mends the address.
    page.evaluate("history.replaceState({}, '', '/perturbation')")
    press(page, "p", "ArrowRight")
    expect_state(
        page, f"perturbation: {state}".replace("p 16", "p 32"), f"/perturbation{query}".replace("p=16", "p=32")
    )
    page.get_by_role("button", name="Reset all").click()
    expect_state(page, "perturbation: epsilon 1, delta 1e-06, n 2000, p 8, lam auto, m auto, seed 7.", "/perturbation")
    go(page, "Overview")
    expect_state(page, "overview: epsilon 1, delta 1e-06, n 398, p 8, lam auto, m auto, seed 7.", "/")


def test_one_step_back_is_the_page_before_in_the_state_it_was_left(dashboard: Server, page: Page):
    page.goto(dashboard.url)
    before = "overview: epsilon 1.5, delta 1e-06, n 398, p 16, lam auto, m auto, seed 7."
    press(page, "epsilon", "ArrowRight")
    press(page, "p", "ArrowRight")
    expect_state(page, before, "/?epsilon=1.5&p=16")
    go(page, "Perturbation")
    expect_state(page, "perturbation: epsilon 1.5, delta 1e-06, n 2000, p 16, lam", "/perturbation?epsilon=1.5&p=16")
    press(page, "p", "ArrowRight")
    press(page, "epsilon", "ArrowRight")
    after = "perturbation: epsilon 2, delta 1e-06, n 2000, p 32, lam auto, m auto, seed 7."
    expect_state(page, after, "/perturbation?epsilon=2&p=32")
    page.go_back()
    expect_state(page, before, "/?epsilon=1.5&p=16")
    page.go_forward()
    expect_state(page, after, "/perturbation?epsilon=2&p=32")
    go(page, "Overview")
    expect_state(page, after.replace("perturbation", "overview").replace("2000", "398"), "/?epsilon=2&p=32")


def test_turning_the_page_shows_one_page_a_frame_and_makes_no_control_anew(dashboard: Server, page: Page):
    """A control that is made anew may send its old value again, over a newer one; the pages' captions differ."""
    keys = ["epsilon", "delta", "n", "p", "lam", "seed"]  # Overview leaves m out
    controls = f"{keys}.map(key => document.querySelector(`.st-key-${{key}} input`))"
    page.goto(dashboard.url)
    expect(page.get_by_text("overview: epsilon")).to_be_visible()
    expect(page.locator(".st-key-seed input")).to_be_visible()
    page.evaluate(f"window.controls = {controls}")
    page.evaluate(
        """() => {
            window.mixed = 0;
            const look = () => {
                const text = document.querySelector('[data-testid=stMain]').innerText;
                window.mixed += text.includes('overview:') && text.includes('perturbation:');
                requestAnimationFrame(look);
            };
            look();
        }"""
    )
    for title in ("Perturbation", "Overview"):
        go(page, title)
        expect(page.get_by_text(f"{title.lower()}: epsilon")).to_be_visible()
        page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
        same = page.evaluate(f"{controls}.map((it, i) => it !== null && it === window.controls[i])")
        assert same == [True] * len(keys)
        assert page.evaluate("window.mixed") == 0
