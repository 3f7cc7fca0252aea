"""Visitors without browsers at a real server: they see what a page shows, and a warmed class computes nothing."""

from __future__ import annotations

import asyncio
import dataclasses as dc
from collections.abc import Iterator

import pytest
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.WidgetStates_pb2 import WidgetState

from pages.lectures.__main__ import _ADDRESSES, main
from pages.lectures.stories import STORIES
from pages.lectures.warming import warm
from pages.server.headless_client import HeadlessClient, _key

from ..harness import Server, fork
from ..nights import each
from ..page_driver import LIVE
from .counted import computed, write_app

PAGES = ("", *LIVE[1:])  # the first is at the root
SMALL = {"": "n=300&place=output", "multiclass": "n=300&C=2"}  # what the link says, of others "n=300"
# Pages whose work in the background goes on for long: nobody waits for its end here.
ENDLESS = ("audit", "decide")


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
    with fork(write_app(tmp_path_factory.mktemp("counted"))) as running:
        yield running
        assert "Traceback" not in running.log.read_text()


@pytest.mark.parametrize("page", each(3, PAGES))
def test_two_sessions_move_a_slider_and_see_a_picture(server, page):
    """The second of them, from the same link, computes nothing."""

    async def move(client: HeadlessClient) -> list[str]:
        await client.visit(page, SMALL.get(page, "n=300"))
        await client.see()
        assert client.figures and not client.errors
        if page not in ENDLESS:
            await client.settle()  # else the move gives up what the page still computes
        start, options = client.place("epsilon"), client.sliders["epsilon"].options
        await client.move("epsilon", options[start + 1])
        await client.see()
        assert client.figures and client.place("epsilon") == start + 1
        assert f"epsilon={options[start + 1]}" in client.address
        if page not in ENDLESS:
            await client.settle()
        return sorted(client.sliders)

    async def both() -> None:
        async with HeadlessClient(server.url) as first, HeadlessClient(server.url) as second:
            sliders = await move(first)
            before = computed(server)
            assert await move(second) == sliders
            assert page in ENDLESS or computed(server) == before

    asyncio.run(both())


def test_a_page_that_is_not_there_and_a_server_that_is_not_are_errors(server):
    async def lost() -> None:
        async with Pressing(server.url) as client:
            await client.visit("perturbation", "lecture=perturbation&step=2")
            assert {"epsilon", "n"} <= set(client.sliders) and "next" in client.buttons
            await client.press("next")
            assert "step=3" in client.address

    asyncio.run(lost())
    with pytest.raises(OSError):
        asyncio.run(warm(STORIES["perturbation"], "perturbation", "http://localhost:1", lambda said: None))
    assert main(["warm", "perturbation", "--url", "http://localhost:1"]) == 1


def test_after_warming_a_student_computes_nothing(server):
    """The student turns the page by the button and moves what stays, and then more."""
    story = STORIES["sparsity"]
    first, second = story.steps[:2]
    before, said = computed(server), list[str]()
    story = dc.replace(story, steps=(dc.replace(first, kept=()), dc.replace(second, kept=("delta",))))
    asyncio.run(warm(story, "sparsity", server.url, said.append))
    warmed = computed(server)
    assert warmed != before and len(said) == 2

    async def walk() -> None:
        async with Pressing(server.url) as student:
            await student.visit("sparsity", "lecture=sparsity&step=1")
            await student.press("next")
            assert "step=2" in student.address
            start, options = student.place("delta"), list(student.sliders["delta"].options)
            for option in (*options[:2], options[-1], options[start]):
                await student.move("delta", option)
            assert computed(server) == warmed
            await student.move("n", student.sliders["n"].options[0])
            assert computed(server) != warmed, "what was not warmed is computed"

    asyncio.run(walk())


def test_names_of_lectures_lead_to_their_pages():
    assert _ADDRESSES["Overview"] == "" and _ADDRESSES["Perturbation"] == "perturbation"
    assert list(_ADDRESSES.values()) == [*PAGES, "sources"]
