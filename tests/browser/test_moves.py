"""Moves of epsilon's slider on every page: a reader's zoom stays."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from ..harness import Server
from ..page_driver import LIVE
from .looks import ANSWERED, SETTLED, until

pytestmark = pytest.mark.browser

# All charts' axes as they stand, and what they are drawn from.
RANGES = """() => Object.fromEntries([...document.querySelectorAll('.live-figure')].map(it => [
    it.parentElement.closest('[class*=st-key-]').className,
    Object.entries(it._fullLayout).filter(([k]) => /^[xy]axis/.test(k))
        .map(([k, axis]) => [k, axis.range.map(v => +(+v).toPrecision(9))]),
]))"""
OTHER_RANGES = f"""before => Object.entries(({RANGES})())
    .every(([chart, found]) => JSON.stringify(found) !== JSON.stringify(before[chart]))"""
DRAWN = "() => [...document.querySelectorAll('.live-figure')].every(it => it._fullLayout && it.clientWidth)"


def open_page(page: Page, url: str, path: str) -> None:
    name, _, query = path.partition("?")
    page.goto(f"{url}/{'' if name == 'overview' else name}?epsilon=0.1&{query}")
    page.locator(".live-figure .main-svg").first.wait_for(timeout=60_000)
    rest(page)


def rest(page: Page) -> None:
    """Until the script has answered, what it shows later is there, and the charts are at rest."""
    until(page, f"{ANSWERED} && !document.querySelector('[data-testid=stStatusWidget]') && ({DRAWN})()")
    expect(page.get_by_text("more …")).to_have_count(0, timeout=60_000)
    until(page, SETTLED, arg=".live-figure")


def zoom(page: Page, panel: Locator) -> None:
    panel.scroll_into_view_if_needed()
    box = panel.bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 0.1 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.9 * box["height"], steps=4)
    page.mouse.up()


# Of each chart: the sliders that say something else than what the server says they said when it was drawn.
MISUNDERSTOOD = """() => [...document.querySelectorAll('.live-figure')].flatMap(it =>
    Object.entries(it.wanted.state).map(([key, said]) => {
        const slider = document.querySelector(`.st-key-${CSS.escape(key)} input[type=range]`);
        return [key, said, slider?.getAttribute('aria-valuetext') ?? said];
    })).filter(([key, said, seen]) => said !== seen)"""
STATES = "() => [...document.querySelectorAll('.live-figure')].map(it => Object.keys(it.wanted.state))"


def check_meaning(page: Page) -> None:
    """Charts and sliders mean the same, else a picture that was here before would never come back at once."""
    sliders = {key for key in ("epsilon", "n") if page.locator(f".st-key-{key} input[type=range]:enabled").count()}
    assert "epsilon" in sliders
    assert all({*sliders, "theme", "scale"} <= set(keys) for keys in page.evaluate(STATES))
    assert page.evaluate(MISUNDERSTOOD) == []


def check_zoom(page: Page) -> None:
    """Moves keep the zoom of each panel of a page that is at rest."""
    page.set_viewport_size({"width": 1440, "height": 1400})
    rest(page)
    before = page.evaluate(RANGES)
    for panel in page.locator(".live-figure .nsewdrag").all():
        zoom(page, panel)
    until(page, OTHER_RANGES, arg=before)
    zoomed = page.evaluate(RANGES)
    assert len(before) >= 1
    for stroke in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        page.evaluate("document.querySelectorAll('.live-figure').forEach(it => { it.before = it.data })")
        page.locator(".st-key-epsilon input[type=range]").press(stroke)
        until(page, "[...document.querySelectorAll('.live-figure')].some(it => it.data !== it.before)")
        rest(page)
        assert page.evaluate(RANGES) == zoomed


# In every run, of a page whose pictures change their own ranges with epsilon: test_multiclass.py.
@pytest.mark.nightly
@pytest.mark.parametrize("path", LIVE)
def test_charts_mean_what_sliders_do_and_moves_keep_their_zoom(server: Server, page: Page, path: str):
    open_page(page, server.url, f"{path}?n=300" if path == "multiclass" else path)
    check_meaning(page)
    check_zoom(page)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "path", ("perturbation?side=λ", "sparsity?tab=Simplex+sampling", "geometry?view=sample+size+n")
)
def test_charts_and_sliders_of_other_views_mean_the_same(server: Server, page: Page, path: str):
    open_page(page, server.url, path)
    check_meaning(page)
