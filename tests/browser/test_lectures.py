"""Lectures from the keyboard: every step of every story, as a room sees it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from pages.lectures.reader import Story
from pages.lectures.stories import STORIES

from ..harness import Server
from ..nights import each
from .looks import CUT, OVERLAPS, Chart, NewPage, until

pytestmark = pytest.mark.browser

# What a room sees: large text in panel, sentence, controls and chart, few controls, no frame.
SEEN = """() => {
    const shown = e => e.getBoundingClientRect().width > 1 && getComputedStyle(e).visibility !== 'hidden';
    const all = where => [...document.querySelectorAll(where)].filter(shown);
    const scale = e => +(e.closest('.live-figure')?.style.transform.match(/[\\d.]+/) ?? 1);
    const size = e => parseFloat(getComputedStyle(e).fontSize) * scale(e);
    const need = e => e.closest('.live-figure') ? 16 : 18;
    const texts = all('.stApp p, .stApp label, .stApp button, .live-figure text')
        .filter(e => e.textContent.trim() && !e.querySelector('p'));
    const charts = all('.live-figure');
    const panels = charts.flatMap(it => it.layout.annotations ?? [])
        .filter(a => a.xref === 'paper' && a.yref === 'paper' && a.x === 0 && a.yshift >= 16).map(a => a.text);
    const titles = all('.annotation-text').filter(e => panels.includes(e.dataset.unformatted ?? e.textContent));
    const curves = all('.scatterlayer .js-line').map(e => parseFloat(e.style.strokeWidth) * scale(e));
    const sideways = e => e.scrollWidth - e.clientWidth;
    return {
        small: texts.filter(e => size(e) < 0.99 * need(e))
            .map(e => `${e.textContent.slice(0, 40)}: ${size(e) / need(e)}`),
        charts: charts.length,
        titles: titles.map(size),
        thin: curves.filter(width => width > 0 && width < 1.34).length,
        controls: all('[data-testid=stSlider], [data-testid=stSelectbox], [data-testid=stButtonGroup], '
            + '[data-testid=stNumberInput]').length,
        frame: all('[data-testid=stHeader], [data-testid=stToolbar], .stMain h1, .st-key-chips, .st-key-behind').length,
        sideways: Math.max(...[document.documentElement, ...all('[data-testid=stMain]')].map(sideways)),
        below: Math.max(...all('[data-testid=stMain], [data-testid=stSidebarContent]')
            .map(e => e.scrollHeight - e.clientHeight)),
    };
}"""


def begin(page: Page, url: str, story: Story, step: int = 1) -> None:
    path = "" if story.page == "Overview" else story.name
    page.goto(f"{url}/{path}?lecture={story.name}&step={step}")
    arrived(page, story, step)
    expect(page.locator("[data-listens]")).to_be_attached()


def arrived(page: Page, story: Story, number: int) -> None:
    """Wait until a step is on the screen, and its chart at rest."""
    expect(page.locator(".lecture-step")).to_have_text(f"{number} of {len(story.steps)}")
    expect(page.locator(".lecture-words")).to_have_text(story.words(number))
    shows = story.steps[number - 1].shows
    if shows == "attack_success":
        expect(page.locator(".st-key-attack_success img")).to_be_visible()
    elif shows == "definition":
        expect(page.locator(".definition path").first).to_be_visible()
    elif shows:
        chart = Chart(page, shows)
        chart.shown()
        chart.settled()
    expect(page.locator("[data-testid=stStatusWidget]")).to_have_count(0)


def read_from_the_last_row(page: Page, story: Story, number: int) -> None:
    """A step that has arrived shows what it is to show, in large text, and nothing else."""
    until(page, f"({SEEN})().below <= 0")  # what the step before left is going
    step, seen = story.steps[number - 1], page.evaluate(SEEN)
    assert seen["small"] == [] and seen["thin"] == 0 and seen["frame"] == 0, (number, seen)
    assert seen["controls"] == len(step.kept) <= 3, number
    assert seen["charts"] == (step.shows not in ("", "attack_success", "definition")), number
    assert all(title == pytest.approx(18.9, abs=0.1) for title in seen["titles"]), number
    assert seen["sideways"] <= 0, (number, seen)
    assert page.evaluate(CUT) == [], number
    if seen["charts"]:
        assert page.locator(f".st-key-{step.shows} .live-figure").evaluate(OVERLAPS) == [], number
    expect(page).to_have_url(re.compile(rf"\bstep={number}\b"))


@pytest.mark.parametrize("name", each(len(STORIES), sorted(STORIES, key="overview".__ne__)))
def test_every_step_is_reached_by_keyboard_and_can_be_read_from_the_last_row(
    server: Server, page: Page, complaints: list[str], name: str
):
    story = STORIES[name]
    page.set_viewport_size({"width": SCREENS[0][0], "height": SCREENS[0][1]})
    begin(page, server.url, story)
    fits(page, *SCREENS[0])
    before = page.evaluate(LAID_OUT) if page.locator(".live-figure:visible").count() else ""
    page.set_viewport_size({"width": 1366, "height": 768})
    if before:
        until(page, f"({LAID_OUT})() !== '{before}'")
    for number in range(1, len(story.steps) + 1):
        if number > 1:
            page.keyboard.press("PageDown")
            arrived(page, story, number)
        read_from_the_last_row(page, story, number)
        if name == "overview" and number == 2:
            move_and_go_on(page, story)
        if name == "overview" and story.steps[number - 1].question:
            predict(page, story, number)
        if name == "overview" and story.steps[number - 2].question:
            expect(page.get_by_text(f"“{first_answer(story, number - 1)}”")).to_be_visible()  # what the room said
    page.keyboard.press("PageDown")  # there is no step after the last
    page.keyboard.press("PageUp")
    arrived(page, story, len(story.steps) - 1)
    page.get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(story.title)
    expect(page).not_to_have_url(re.compile("lecture"))
    until(page, "() => [...document.querySelectorAll('.live-figure')].every(it => !it.style.transform)")
    page.get_by_role("button", name="5-minute tour" if name == "overview" else "Teach this page").click()
    arrived(page, story, 1)
    assert page.locator("[data-testid=stException]").count() == 0
    assert complaints == []


def first_answer(story: Story, number: int) -> str:
    question = story.steps[number - 1].question
    assert question
    return question.options[0]


def predict(page: Page, story: Story, number: int) -> None:
    """The room's answer to a step's question, by keyboard."""
    page.get_by_role("button", name=first_answer(story, number)).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".st-key-option_0 button[kind=primary]")).to_be_visible()


def move_and_go_on(page: Page, story: Story) -> None:
    """Of a slider's keys the arrows are its own, the others the lecture's; a step back is as it was at first."""
    slider = page.locator(".st-key-epsilon input[type=range]")
    said, before = page.locator(".takeaway"), str(slider.get_attribute("aria-valuetext"))
    slider.press("ArrowRight")
    expect(said).not_to_contain_text(re.compile(rf"ε\s=\s{before} "))
    slider.press("PageDown")
    arrived(page, story, 3)
    bar = page.locator(".st-key-lecture_bar")
    assert bar.locator("[data-testid^=stTooltip]").count() == 0, "it would stay over the next step"
    assert "PageUp" in (bar.locator(".lecture-step").get_attribute("title") or "")
    bar.locator(".st-key-back button").click()
    arrived(page, story, 2)
    expect(said).to_contain_text(re.compile(rf"ε\s=\s{before} "))


# A screen's pixels are larger on the wall where it has fewer: text may shrink with it, from its size at 1366 x 768.
SCREENS = ((1280, 720), (1024, 768), (1440, 900), (390, 844))


# For which window a chart is laid out.
LAID_OUT = "() => (it => `${it.scale} ${it.room}`)(document.querySelector('.live-figure').drawn)"


def fits(page: Page, width: int, height: int) -> None:
    """Words and picture of a step that has arrived on a small projector, a notebook or a phone."""
    if 768 <= width < 1366:
        until(page, f"({SEEN})().below <= 0")
        bar = page.locator(".st-key-lecture_bar").bounding_box()
        beside = page.locator(".stSidebar").locator(".stSlider:visible, .st-key-lecture:visible")
        edges = beside.evaluate_all("all => all.map(it => it.getBoundingClientRect().bottom)")
        assert bar and all(edge <= bar["y"] for edge in edges), "under the bar"
        assert page.evaluate(CUT) == []
    seen, least = page.evaluate(SEEN), 0.99 * min(1.0, width / 1366, height / 768)
    assert seen["sideways"] <= 0, seen
    assert width < 768 or [text for text in seen["small"] if float(text.rpartition(" ")[2]) < least] == []
    words = page.locator(".lecture-words").bounding_box()
    assert words and words["width"] > min(200, 0.15 * width) and words["y"] < height
    for chart in page.locator(".live-figure:visible").all():
        assert chart.evaluate(OVERLAPS) == []
        if width > 900:  # a window that is taller than that of a hall has a taller chart
            drawn, share = chart.bounding_box(), min(width / 1366, height / 768)
            asked = chart.evaluate("it => (it._fullLayout.height - it.drawn.room) * it.drawn.scale")
            assert drawn and drawn["height"] == pytest.approx(asked + height - 768 * share, abs=2.0)


def test_a_step_is_a_link_that_beats_other_words_in_the_address_and_fits_a_phone(server: Server, new_page: NewPage):
    story, page = STORIES["perturbation"], new_page(*SCREENS[1], scheme="dark")
    page.goto(f"{server.url}/perturbation?lecture=perturbation&step=6&epsilon=5&lam=0.5&noise=both")
    arrived(page, story, 6)
    expect(page.locator(".takeaway")).to_contain_text(re.compile(r"ε\s=\s0\.1\b"))
    assert "noise=both" not in page.url
    fits(page, *SCREENS[1])
    for width, height in SCREENS[2:]:
        before = page.evaluate(LAID_OUT)
        page.set_viewport_size({"width": width, "height": height})
        until(page, f"({LAID_OUT})() !== '{before}'")
        arrived(page, story, 6)
        fits(page, width, height)
