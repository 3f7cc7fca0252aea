"""Visitors without browsers at a real server: they see what a page shows, and a warmed class computes nothing."""

from __future__ import annotations

import asyncio
import dataclasses as dc
import itertools
import random
import time
from collections.abc import Iterator

import pytest
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.classroom import PAGES, Lesson, Move, attend, excursion, lesson_at, table
from pages.lectures.__main__ import _ADDRESSES, main
from pages.lectures.stories import STORIES
from pages.lectures.warming import warm
from pages.server.headless_client import Broken, HeadlessClient, _key

from ..harness import ROOT, Server, serve
from .counted import computed, write_app

# Pages whose work in the background goes on for long: nobody waits for its end here.
ENDLESS = ("trust", "decide")


class Pressing(HeadlessClient):
    """One who presses buttons, too. buttons: the ids of those that were seen, by key."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.buttons: dict[str, str] = {}

    def _see(self, element: Element) -> None:
        super()._see(element)
        if element.WhichOneof("type") == "button" and not element.button.disabled:
            self.buttons[_key(element.button.id)] = element.button.id

    async def press(self, key: str) -> None:
        button = self.buttons[key]
        self._states[button] = WidgetState(id=button, trigger_value=True)
        try:
            await self._rerun()
        finally:
            del self._states[button]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serve(write_app(tmp_path_factory.mktemp("counted"))) as running:
        yield running
        assert "Traceback" not in running.log.read_text()


@pytest.mark.parametrize("page", PAGES)
def test_two_sessions_move_a_slider_and_see_a_picture(server, page):
    """The second of them, from the same link, computes nothing."""

    async def move(visitor: HeadlessClient) -> list[str]:
        await visitor.visit(page)
        await visitor.see()
        assert visitor.figures and not visitor.errors
        if page not in ENDLESS:
            await visitor.settle()  # else the move gives up what the page still computes
        start, options = visitor.place("epsilon"), visitor.sliders["epsilon"].options
        await visitor.move("epsilon", options[start + 1])
        await visitor.see()
        assert visitor.figures and visitor.place("epsilon") == start + 1
        assert f"epsilon={options[start + 1]}" in visitor.address
        if page not in ENDLESS:
            await visitor.settle()
        return sorted(visitor.sliders)

    async def both() -> None:
        async with HeadlessClient(server.url) as first, HeadlessClient(server.url) as second:
            sliders = await move(first)
            before = computed(server)
            assert await move(second) == sliders
            assert page in ENDLESS or computed(server) == before

    asyncio.run(both())


def test_a_page_that_is_not_there_and_a_server_that_is_not_are_errors(server):
    async def lost() -> None:
        async with Pressing(server.url) as visitor:
            await visitor.visit("doors", "lecture=doors&step=2")
            assert {"epsilon", "n"} <= set(visitor.sliders) and "next" in visitor.buttons
            await visitor.press("next")
            assert "step=3" in visitor.address

    asyncio.run(lost())
    with pytest.raises(OSError):
        asyncio.run(warm(STORIES["Doors"], "doors", "http://localhost:1", lambda said: None))
    assert main(["warm", "doors", "--url", "http://localhost:1"]) == 1


def test_after_warming_a_student_computes_nothing(server):
    """Sliders of two steps; the student turns the page by the button and moves what stays, and then more."""
    story = STORIES["Start"]
    assert story.state(8)["n"] != story.state(1)["n"]
    kept = {2: ("delta", "epsilon"), 8: ("delta",)}
    short = dc.replace(story, steps=tuple(dc.replace(s, kept=kept.get(k, ())) for k, s in enumerate(story.steps, 1)))
    before, said = computed(server), list[str]()
    asyncio.run(warm(short, "", server.url, said.append))
    warmed = computed(server)
    assert warmed != before and len(said) == len(story.steps)

    async def walk() -> None:
        async with Pressing(server.url) as student:
            await student.visit("", "lecture=start&step=1")
            await student.press("next")
            assert "step=2" in student.address
            for key in ("delta", "epsilon"):
                start, options = student.place(key), list(student.sliders[key].options)
                for option in (*options[:2], options[start]):
                    await student.move(key, option)
            await student.visit("", "lecture=start&step=8")
            for option in student.sliders["delta"].options:
                await student.move("delta", option)
            assert computed(server) == warmed
            await student.move("n", student.sliders["n"].options[0])
            assert computed(server) != warmed, "what was not warmed is computed"

    asyncio.run(walk())


def test_names_of_lectures_lead_to_their_pages():
    assert _ADDRESSES["start"] == "" and _ADDRESSES["doors"] == "doors"
    assert set(_ADDRESSES.values()) < set(PAGES)


@pytest.mark.parametrize("places", [2, 5, 40])
def test_an_excursion_goes_by_neighbours_and_comes_back(places):
    for seed in range(20):
        rng = random.Random(seed)
        start = rng.randrange(places)
        path = [start, *excursion(start, places, 5, rng)]
        assert path[-1] == start and len(path) >= 3
        assert all(abs(a - b) == 1 and 0 <= b < places for a, b in itertools.pairwise(path))


def test_the_table_counts_every_move():
    lesson = Lesson(120.0, [Move("doors", 110.0, 0.1), Move("start", 20.0, 0.3), Move("doors", 10.0, 0.2)])
    rows = {row["part"]: row for row in table(lesson)}
    assert rows["all"] == {"part": "all", "moves": 3, "p50": 200, "p95": 300, "max": 300}
    assert rows["doors"]["moves"] == 2 and rows["minute 1"]["moves"] == 1 and rows["minute 2"]["max"] == 300
    assert Lesson(1.0, memory=[9.0, 100.0, 100.0, 110.0, 110.0]).growth == pytest.approx(0.1)


def test_a_broken_move_is_an_error_of_the_lesson():
    class Stuck:
        figures, sliders = 0, {"epsilon": type("Slider", (), {"options": ["1", "2"]})}

        def place(self, key):
            return 0

        async def move(self, key, option):
            raise Broken("no")

    lesson = Lesson(0.05)
    asyncio.run(attend(Stuck(), "doors", 0.01, time.monotonic() + 0.05, 5, random.Random(0), lesson))
    assert lesson.errors and set(lesson.errors) == {"no"}


@pytest.mark.nightly
def test_a_class_of_sixteen_sees_no_error():
    with serve(ROOT / "app.py") as running:
        lesson = asyncio.run(lesson_at([running], 16, every=3.0, seconds=60.0, farthest=5, ready=False))
    assert not lesson.errors
    assert {move.page for move in lesson.moves} == {page or "start" for page in PAGES}
