"""Moves of epsilon's slider on every page: a reader's zoom stays, and a dragged cursor ends where the axis does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    expect(page.get_by_text("refining …")).to_have_count(0, timeout=60_000)
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


# Of the first chart whose cursor is epsilon's: the flag's words, where the line and the flag stand from the left end of
# the axis to the right one (0 to 1), each null where it is not to be seen, and where the slider's epsilon is.
CURSOR = """() => {
    const named = it => it.layout?.annotations?.findIndex(a => a.name === 'cursor' && a.text.startsWith('ε = '));
    const it = [...document.querySelectorAll('.live-figure')].find(one => named(one) >= 0);
    const axis = it._fullLayout.xaxis, left = it.getBoundingClientRect().x + axis._offset;
    const place = e => {
        if (!e || getComputedStyle(e).visibility === 'hidden') return null;
        const box = e.getBoundingClientRect();
        return (box.x + box.width / 2 - left) / axis._length;
    };
    const flag = it.querySelector(`.annotation[data-index="${named(it)}"] .bg`);
    const k = it.layout.shapes.findIndex(s => s.name === 'cursor');
    const line = it.querySelector(`.shapelayer path[data-index="${k}"]`);
    const said = document.querySelector('.st-key-epsilon input[type=range]').getAttribute('aria-valuetext');
    const wanted = axis.l2p(Math.log10(Number(said))) / axis._length;
    return [flag?.parentElement.textContent, place(line), place(flag), wanted, said];
}"""
FOLLOWED = ("overview", "perturbation", "decide")


def settled(found: list[Any]) -> bool:
    """Line and flag stand where the slider does, or neither is to be seen."""
    words, line, flag, wanted, said = found
    if not 0.0 <= wanted <= 1.0:
        return flag is None and (line is None or not 0.0 <= line <= 1.0)
    return words == f"ε = {said}" and None not in (line, flag) and max(abs(line - wanted), abs(flag - wanted)) < 0.02


def cursor_once(page: Page, condition: Callable[[list[Any]], bool]) -> list[Any]:
    """What is seen once a condition holds, or after twenty seconds: a busy machine is no defect."""
    for _ in range(1_000):
        found = page.evaluate(CURSOR)
        if condition(found):
            break
        page.wait_for_timeout(20)
    return found


@pytest.mark.nightly  # in every run: test_overview.py
@pytest.mark.parametrize("path", FOLLOWED)
def test_a_dragged_cursor_goes_at_the_end_of_a_zoomed_axis_and_comes_back(server: Server, page: Page, path: str):
    open_page(page, server.url, path)
    start = page.evaluate(CURSOR)
    assert start[0] == "ε = 0.1" and start[1] == pytest.approx(start[3], abs=0.01)
    check_drag(page)


def check_drag(page: Page) -> None:
    """A cursor that is left of what will be the axis goes at the ends of a zoomed axis and comes back."""
    page.locator(".st-key-epsilon input[type=range]").scroll_into_view_if_needed()
    expect(page.get_by_text("Our own attack is running")).to_have_count(0, timeout=60_000)  # it draws the page again
    # The cursor is outside and was never drawn there.
    assert float(page.evaluate(CURSOR)[4]) < 0.25
    page.evaluate("""() => {
        for (const it of document.querySelectorAll('.live-figure'))
            if (it.layout?.annotations?.some(a => a.name === 'cursor' && a.text.startsWith('ε = ')))
                Plotly.relayout(it, {'xaxis.range[0]': Math.log10(0.25), 'xaxis.range[1]': Math.log10(1.2)});
    }""")
    until(page, f"() => ({CURSOR})()[2] === null")
    box = page.locator(".st-key-epsilon [role=group], .st-key-epsilon [data-baseweb=slider]").first.bounding_box()
    thumb = page.locator(".st-key-epsilon input[type=range]").bounding_box()
    assert box and thumb
    y = thumb["y"] + thumb["height"] / 2
    page.mouse.move(thumb["x"] + thumb["width"] / 2, y)
    page.mouse.down()
    seen = []
    for share in (*range(2, 100, 6), *range(98, 0, -6)):
        page.mouse.move(box["x"] + share / 100 * box["width"], y)
        words, line, flag, wanted, said = cursor_once(page, settled)
        inside = 0.0 <= wanted <= 1.0
        seen.append(inside)
        assert settled([words, line, flag, wanted, said]), (words, line, flag, wanted, said)
    page.mouse.up()
    turns = [here for here, next_one in zip(seen, [*seen[1:], None], strict=True) if here != next_one]
    assert turns == [False, True, False, True, False], "in, out at the other end, and back"
    rest(page)
    assert settled(cursor_once(page, settled)) and page.evaluate(CURSOR)[2] is None
