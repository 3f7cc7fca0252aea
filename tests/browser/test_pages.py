"""Every page as a visitor meets it, a row each: opened by a link, read on three screens, zoomed and moved."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest
from playwright.sync_api import Locator, Page, expect

from dpcore.figures.style import BACKGROUND

from ..harness import Server
from ..page_driver import LIVE
from .looks import ANSWERED, BETWEEN, LARGE, PHONE, SETTLED, Chart, until
from .readable import wrong_labels

pytestmark = pytest.mark.browser


@dataclass(frozen=True)
class View:
    """A page's address, the keys of its charts, and a slider with its next stroke.

    cursor: where a line of the first chart then stands, as JavaScript about the slider's `value`; empty: there is none.
    """

    address: str
    charts: tuple[str, ...]
    slider: str
    stroke: str = "ArrowRight"
    cursor: str = "value"
    other: str = "epsilon"  # a slider that leaves zoomed charts zoomed

    @property
    def page(self) -> str:
        return self.address.partition("?")[0] or "overview"


EACH_RUN = (
    View("?n=200", ("cost",), "epsilon"),
    View("perturbation?n=300", ("perturbation", "chain"), "epsilon"),
    View("dimension?n=300", ("dimension", "orthant"), "p", "ArrowLeft"),
    View("dimension?topic=Sparse+model&against=T&n=2,000&p=64&T=96", ("lasso", "beside_lasso"), "T"),
    View("geometry?p_norm=1.5", ("geometry", "beside_geometry_chart"), "p_norm", cursor="1 / value"),
    View("multiclass?n=300&C=2", ("classes", "beside_classes_chart"), "C"),
    View("audit?seed=3", ("ruler", "beside_attack_chart"), "epsilon"),
    View("decide?n=300", ("budget",), "keep", cursor="", other="p"),
)
BY_NIGHT = (
    View("survey", ("survey", "estimate"), "n"),
    View("perturbation?n=300&side=λ", ("perturbation", "valley"), "epsilon"),
    View("selection?tab=Simplex+sampling&n=2,000&p=64&m=20", ("draws", "beside_chart"), "m"),
    View("selection?tab=Online", ("regret", "play"), "steps_of_stream", "ArrowLeft"),
    View("geometry?view=sample+size+n&p=16", ("geometry", "beside_geometry_chart"), "n"),
    View("composition?repeated=noisy+SGD&steps=10,000", ("ledger",), "steps"),
)

# All charts' axes as they stand, and what they are drawn from.
RANGES = """() => Object.fromEntries([...document.querySelectorAll('.live-figure')].map(it => [
    it.parentElement.closest('[class*=st-key-]').className.match(/st-key-\\S+/)[0],
    Object.entries(it._fullLayout).filter(([k]) => /^[xy]axis/.test(k))
        .map(([k, axis]) => [k, axis.range.map(v => +(+v).toPrecision(9))]),
]))"""
OTHER_RANGES = f"""before => Object.entries(({RANGES})())
    .every(([chart, found]) => JSON.stringify(found) !== JSON.stringify(before[chart]))"""
DRAWN = "() => [...document.querySelectorAll('.live-figure')].every(it => it._fullLayout && it.clientWidth)"
# Of each chart: the sliders that say something else than what the server says they said when it was drawn.
MISUNDERSTOOD = """() => [...document.querySelectorAll('.live-figure')].flatMap(it =>
    Object.entries(it.latest.state).map(([key, said]) => {
        const slider = document.querySelector(`.st-key-${CSS.escape(key)} input[type=range]`);
        return [key, said, slider?.getAttribute('aria-valuetext') ?? said];
    })).filter(([key, said, seen]) => said !== seen)"""
STATES = "() => [...document.querySelectorAll('.live-figure')].map(it => Object.keys(it.latest.state))"
# Counts the frames without a headline.
WITHOUT = """() => {
    window.without = 0;
    const look = () => {
        window.without += !document.querySelector(".takeaway");
        requestAnimationFrame(look);
    };
    look();
}"""
IN_SIGHT = f"""places => places.map(place => document.querySelector(place)?.getBoundingClientRect().y)
    .every(y => y > 0 && y < {0.6 * LARGE[1]})"""
IN_ADDRESS = "([key, said]) => new URLSearchParams(location.search).get(key) === said"


def rest(page: Page) -> None:
    """Until the script has answered, what it shows later is there, and the charts are at rest."""
    until(page, f"{ANSWERED} && !document.querySelector('[data-testid=stStatusWidget]') && ({DRAWN})()")
    expect(page.get_by_text("more …")).to_have_count(0)
    until(page, SETTLED, arg=".live-figure")


def check_screens(page: Page, charts: tuple[Chart, ...]) -> None:
    """On each screen all can be read, and two charts stand beside one another where there is room."""
    for width, height, beside in (LARGE, BETWEEN, PHONE):
        page.set_viewport_size({"width": width, "height": height})
        assert wrong_labels(page) == [], width
        boxes = [page.locator(chart.where).bounding_box() for chart in charts]
        for first, second in pairwise(boxes):
            assert first and second
            first, second = sorted((first, second), key=lambda box: (box["x"], box["y"]))
            assert (second["x"] > first["x"] + first["width"]) is beside, width
            assert (second["y"] > first["y"] + first["height"]) is not beside, width


def check_meaning(page: Page) -> None:
    """Charts and sliders mean the same, else a picture that was here before would never come back at once."""
    sliders = {key for key in ("epsilon", "n") if page.locator(f".st-key-{key} input[type=range]:enabled").count()}
    assert sliders
    assert all({*sliders, "theme", "scale"} <= set(keys) for keys in page.evaluate(STATES))
    until(page, f"({MISUNDERSTOOD})().length === 0")


def zoom(page: Page, panel: Locator) -> None:
    panel.scroll_into_view_if_needed()
    box = panel.bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 0.1 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.9 * box["height"], steps=4)
    page.mouse.up()


def move(page: Page, slider: str, stroke: str) -> str:
    """Move a slider by a step, until the page has answered; returns what the slider says."""
    page.evaluate("document.querySelectorAll('.live-figure').forEach(it => { it.before = it.data })")
    control = page.locator(f".st-key-{slider} input[type=range]")
    control.press(stroke)
    until(page, "[...document.querySelectorAll('.live-figure')].some(it => it.data !== it.before)")
    rest(page)
    return str(control.get_attribute("aria-valuetext"))


@pytest.mark.parametrize(
    "view", [*EACH_RUN, *(pytest.param(it, marks=pytest.mark.nightly) for it in BY_NIGHT)], ids=lambda it: it.address
)
def test_a_link_opens_its_page_and_moves_change_it_in_place(server: Server, page: Page, view: View):
    page.set_viewport_size({"width": LARGE[0], "height": LARGE[1]})
    page.goto(f"{server.url}/{view.address}")
    charts = tuple(Chart(page, key) for key in view.charts)
    for chart in charts:
        chart.shown()
    rest(page)
    headline = page.locator(".takeaway").first
    until(page, IN_SIGHT, arg=[".takeaway", charts[0].where])
    assert all(chart.look("it.getAttribute('aria-label')") for chart in charts)
    check_screens(page, charts)

    page.set_viewport_size({"width": 1440, "height": 1400})
    rest(page)
    check_meaning(page)
    page.evaluate(WITHOUT)
    for chart in charts:
        chart.look("it.mark = 'same node'")
    before = page.evaluate(RANGES)
    for panel in page.locator(".live-figure .nsewdrag").all():
        zoom(page, panel)
    until(page, OTHER_RANGES, arg=before)
    zoomed = page.evaluate(RANGES)
    for stroke in ("ArrowRight", "ArrowLeft"):
        move(page, view.other, stroke)
        assert page.evaluate(RANGES) == zoomed
    told, hero = headline.inner_text(), charts[0].look(Chart.ranges)
    said = move(page, view.slider, view.stroke)
    expect(headline).not_to_have_text(told)
    assert charts[0].look(Chart.ranges) == hero
    if view.cursor:
        place = f"(value => {view.cursor})({float(said.replace(',', ''))})"
        assert charts[0].look(f"it.layout.shapes.some(shape => shape.x0 === {place})")
    until(page, IN_ADDRESS, arg=[view.slider, said])
    check_meaning(page)
    page.emulate_media(color_scheme="dark")
    for chart in charts:
        chart.wait(f"it.layout?.paper_bgcolor === '{BACKGROUND['dark']}'")
        assert chart.look("it.mark") == "same node"
    assert page.evaluate("window.without") == 0, "the headline stays while its next words are computed"
    assert page.locator("[data-testid=stException]").count() == 0
    assert "Traceback" not in server.log.read_text()


def test_every_page_with_sliders_is_in_the_table():
    assert {view.page for view in (*EACH_RUN, *BY_NIGHT)} == set(LIVE)


# The number of the frame in which a chart was drawn, for each of them.
FRAMES = """() => {
    window.frames_drawn = [];
    let frame = 0;
    const count = () => { frame++; requestAnimationFrame(count); };
    requestAnimationFrame(count);
    const react = Plotly.react;
    Plotly.react = (...all) => (frames_drawn.push(frame), react(...all));
}"""


def test_the_first_chart_is_on_the_screen_before_the_second_is_drawn(server: Server, page: Page):
    page.goto(f"{server.url}/geometry?p_norm=1.5")
    for key in ("geometry", "beside_geometry_chart"):
        Chart(page, key).shown()
    rest(page)
    page.evaluate(FRAMES)
    for stroke in ("ArrowRight", "ArrowLeft"):
        page.evaluate("frames_drawn.length = 0")
        page.locator(".st-key-epsilon input[type=range]").press(stroke)
        until(page, "frames_drawn.length === 2")
        first, second = page.evaluate("frames_drawn")
        assert second > first
