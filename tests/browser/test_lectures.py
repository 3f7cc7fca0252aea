"""Lectures from the keyboard: every step of every story, as a room sees it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from pages.lectures.reader import Story
from pages.lectures.stories import STORIES

from ..harness import Server
from ..nights import each
from .looks import CUT, OVERLAPS, Chart, NewPage

pytestmark = pytest.mark.browser

# What a room sees: large text in panel, sentence, controls and chart, thick curves, titles, few controls, no frame.
SEEN = """() => {
    const shown = e => e.getBoundingClientRect().width > 1 && getComputedStyle(e).visibility !== 'hidden';
    const all = where => [...document.querySelectorAll(where)].filter(shown);
    const scale = e => +(e.closest('.live-figure')?.style.transform.match(/[\\d.]+/) ?? 1);
    const size = e => parseFloat(getComputedStyle(e).fontSize) * scale(e);
    const texts = all('.stApp p, .stApp label, .stApp button, .live-figure text')
        .filter(e => e.textContent.trim() && !e.querySelector('p'));
    const charts = all('.live-figure');
    const panels = charts.flatMap(it => it.layout.annotations ?? [])
        .filter(a => a.xref === 'paper' && a.yref === 'paper' && a.x === 0 && a.yshift >= 16).map(a => a.text);
    const titles = all('.annotation-text').filter(e => panels.includes(e.dataset.unformatted ?? e.textContent));
    const curves = all('.scatterlayer .js-line').map(e => parseFloat(e.style.strokeWidth) * scale(e));
    const sideways = e => e.scrollWidth - e.clientWidth;
    return {
        small: texts.filter(e => size(e) < 17.9).map(e => `${e.textContent.slice(0, 40)}: ${size(e)}`),
        charts: charts.length,
        titles: titles.map(size),
        thin: curves.filter(width => width > 0 && width < 3.99).length,
        controls: all('[data-testid=stSlider], [data-testid=stSelectbox], [data-testid=stButtonGroup], '
            + '[data-testid=stNumberInput]').length,
        frame: all('[data-testid=stHeader], [data-testid=stToolbar], .stMain h1, .st-key-chips, .st-key-behind').length,
        sideways: Math.max(...[document.documentElement, ...all('[data-testid=stMain]')].map(sideways)),
        below: Math.max(...all('[data-testid=stMain], [data-testid=stSidebarContent]')
            .map(e => e.scrollHeight - e.clientHeight)),
    };
}"""


def begin(page: Page, url: str, story: Story, step: int = 1) -> None:
    path = "" if story.page == "Start" else story.name
    page.goto(f"{url}/{path}?lecture={story.name}&step={step}")
    arrived(page, story, step)
    expect(page.locator("[data-listens]")).to_be_attached()


def arrived(page: Page, story: Story, number: int) -> None:
    """Wait until a step is on the screen, and its chart at rest."""
    expect(page.locator(".lecture-step")).to_have_text(f"{number} of {len(story.steps)}", timeout=60_000)
    expect(page.locator(".lecture-words")).to_have_text(story.words(number))
    shows = story.steps[number - 1].shows
    if shows == "odds":
        expect(page.locator(".st-key-odds img")).to_be_visible()
    elif shows:
        chart = Chart(page, shows)
        chart.shown()
        chart.settled()
    expect(page.locator("[data-testid=stStatusWidget]")).to_have_count(0)


EACH_RUN = ("Start",)


@pytest.mark.parametrize(
    "story",
    [it if name in EACH_RUN else pytest.param(it, marks=pytest.mark.nightly) for name, it in STORIES.items()],
    ids=lambda story: story.name,
)
def test_every_step_is_reached_by_keyboard_and_can_be_read_from_the_last_row(
    server: Server, page: Page, complaints: list[str], story: Story
):
    page.set_viewport_size({"width": 1366, "height": 768})
    begin(page, server.url, story)
    for number in range(1, len(story.steps) + 1):
        if number > 1:
            page.keyboard.press("PageDown")
            arrived(page, story, number)
        page.wait_for_function(f"({SEEN})().below <= 0")  # what the step before left is going
        step, seen = story.steps[number - 1], page.evaluate(SEEN)
        assert seen["small"] == [] and seen["thin"] == 0 and seen["frame"] == 0, (number, seen)
        assert seen["controls"] == len(step.kept) <= 3, number
        assert seen["charts"] == (step.shows not in ("", "odds")), number
        assert all(title == pytest.approx(24, abs=0.1) for title in seen["titles"]), number
        assert seen["sideways"] <= 0, (number, seen)
        assert page.evaluate(CUT) == [], number
        if seen["charts"]:
            assert page.locator(f".st-key-{step.shows} .live-figure").evaluate(OVERLAPS) == [], number
        expect(page).to_have_url(re.compile(rf"\bstep={number}\b"))
    page.keyboard.press("PageDown")  # there is no step after the last
    page.keyboard.press("PageUp")
    arrived(page, story, len(story.steps) - 1)
    assert page.locator("[data-testid=stException]").count() == 0
    assert complaints == []


def test_a_room_predicts_by_keyboard_moves_a_slider_and_leaves(server: Server, page: Page, complaints: list[str]):
    story = STORIES["Start"]
    begin(page, server.url, story)
    option = page.get_by_role("button", name="nothing one would see")
    option.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".st-key-option_0 button[kind=primary]")).to_be_visible()
    page.keyboard.press("PageDown")
    arrived(page, story, 2)
    expect(page.get_by_text("You said “nothing one would see”.")).to_be_visible()
    slider = page.locator(".st-key-epsilon input[type=range]")
    slider.press("ArrowRight")  # the slider's, not the lecture's
    lost, answer = page.locator(".takeaway").all()
    expect(answer).to_be_hidden()  # the step after this one tells it
    expect(lost).not_to_contain_text("ε = 1,")
    slider.press("PageDown")  # the lecture's, not the slider's
    arrived(page, story, 3)
    page.keyboard.press("PageUp")
    arrived(page, story, 2)
    expect(lost).to_contain_text("ε = 1,")
    page.get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", name="What does privacy cost")).to_be_visible()
    expect(page).not_to_have_url(re.compile("lecture"))
    Chart(page, "cost").wait("it.style.transform === ''")
    page.get_by_role("button", name="Teach this page").click()
    arrived(page, story, 1)
    assert complaints == []


def test_a_step_is_a_link_that_beats_other_words_in_the_address(server: Server, page: Page):
    story = STORIES["Doors"]
    page.goto(f"{server.url}/doors?lecture=doors&step=6&epsilon=5&lam=0.5&noise=both")
    arrived(page, story, 6)
    expect(page.locator(".takeaway")).to_contain_text("At ε = 0.1 with 1,000 people")
    assert "noise=both" not in page.url


# A screen's pixels are larger on the wall where it has fewer: text may shrink with it, from 18 px at 1366 x 768.
FITTING = ((1280, 720), (1024, 768))
STEPS = [(it, k, screen) for it in STORIES.values() for k in range(1, len(it.steps) + 1) for screen in FITTING]


@pytest.mark.parametrize("story, number, screen", each(63, STEPS), ids=lambda it: getattr(it, "name", str(it)))
def test_every_step_fits_a_small_projector(
    server: Server, new_page: NewPage, story: Story, number: int, screen: tuple[int, int]
):
    page = new_page(*screen)
    begin(page, server.url, story, number)
    page.wait_for_function(f"({SEEN})().below <= 0")
    seen, least = page.evaluate(SEEN), 17.9 * min(screen[0] / 1366, screen[1] / 768)
    assert seen["sideways"] <= 0 and page.evaluate(CUT) == []
    assert [text for text in seen["small"] if float(text.rpartition(" ")[2]) < least] == []
    for chart in page.locator(".live-figure").all():
        assert chart.evaluate(OVERLAPS) == []
    bar = page.locator(".st-key-lecture_bar").bounding_box()
    beside = page.locator(".stSidebar").locator(".stSlider:visible, .st-key-lecture:visible")
    edges = beside.evaluate_all("all => all.map(it => it.getBoundingClientRect().bottom)")
    assert bar and all(edge <= bar["y"] for edge in edges), "under the bar"


def test_while_a_slider_is_dragged_the_headline_is_pale_until_it_is_true(server: Server, page: Page):
    story = STORIES["Start"]
    begin(page, server.url, story, 2)
    headline, thumb = page.locator(".takeaway").first, page.locator(".st-key-epsilon input[type=range]").locator("..")
    box = thumb.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y, steps=4)
    expect(headline).to_have_css("opacity", "0.4")
    expect(headline).to_contain_text("ε = 1,")
    page.mouse.move(x, y, steps=4)
    expect(headline).to_have_css("opacity", "1")  # true again
    page.mouse.move(x - 60, y, steps=4)
    page.mouse.up()
    expect(headline).not_to_contain_text("ε = 1,")
    expect(headline).to_have_css("opacity", "1")


def test_what_a_button_of_the_bar_says_does_not_stay_over_the_next_step(server: Server, page: Page):
    story = STORIES["Start"]
    begin(page, server.url, story, 3)
    page.locator(".st-key-back button").hover()
    page.locator(".st-key-back button").click()
    arrived(page, story, 2)
    page.wait_for_timeout(600)  # a tooltip that stays is there by then
    assert page.locator("[role=tooltip], [data-testid=stTooltipContent]").count() == 0
    assert "PageUp" in (page.locator(".lecture-step").get_attribute("title") or "")


OTHER = [(name, size) for name in ("Doors", "Dimension") for size in ((390, 844), (1024, 768), (1440, 900))]


@pytest.mark.parametrize("name, size", each(2, OTHER))
def test_words_and_picture_fit_other_screens(server: Server, new_page: NewPage, name: str, size: tuple[int, int]):
    page, (width, height) = new_page(*size, scheme="dark"), size
    begin(page, server.url, STORIES[name], 6)
    words, seen = page.locator(".lecture-words").bounding_box(), page.evaluate(SEEN)
    assert words and words["width"] > min(200, 0.15 * width) and words["y"] < height
    assert seen["sideways"] <= 0, seen
    least = 17.9 * min(1.0, width / 1366, height / 768)
    assert width < 768 or all(float(text.rpartition(" ")[2]) >= least for text in seen["small"]), seen
    if seen["charts"]:
        assert page.locator(".st-key-doors .live-figure").evaluate(OVERLAPS) == []
