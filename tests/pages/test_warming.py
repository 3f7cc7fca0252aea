"""Lectures that are played before the server answers: a visitor then computes nothing of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from pages.lectures import stories, warming
from pages.lectures.reader import FaultyLecture
from pages.server import arguments

from ..harness import Server, fork
from ..sessions import Session
from .counted import computed, write_app

# The first step of Selection's lecture, once as it is entered and once with a slider that stays.
WARMED = """
import dataclasses
from pages.lectures import stories, warming
story = stories.STORIES["selection"]
first = story.steps[0]
steps = dataclasses.replace(first, kept=()), dataclasses.replace(first, kept=("delta", "no_slider"))
warming.warm([dataclasses.replace(story, steps=steps)])
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    script = write_app(tmp_path_factory.mktemp("warmed"))
    script.write_text(WARMED + script.read_text())
    with fork(script) as running:
        yield running


def test_a_visitor_to_a_warmed_server_computes_nothing(server):
    async def look(query: str) -> None:
        async with Session(server.url) as session:
            await session.see("selection", query)
            assert not session.errors

    warmed = computed(server)
    assert warmed and "selection, step 2 of 2" in server.log.read_text()
    asyncio.run(look("lecture=selection&step=1"))
    state = stories.STORIES["selection"].state(1)
    place = urlencode({key: state[key] for key in ("p", "n")} | {"delta": "1e-05"})
    asyncio.run(look(place))
    assert computed(server) == warmed
    asyncio.run(look(f"{place}&seed=8"))
    assert computed(server) != warmed, "what was not warmed is computed"
    assert "Traceback" not in server.log.read_text() and "ScriptRunContext" not in server.log.read_text()


def test_an_unknown_name_ends_the_start_with_those_there_are():
    with pytest.raises(SystemExit, match=r"There is no lecture “windows”, only overview, perturbation, .*, and all"):
        arguments.accept(["--warm", "windows"])
    assert warming.named(["all"]) == list(stories.STORIES.values())
    with pytest.raises(FaultyLecture):
        warming.named(["decide", "windows"])


def test_a_page_that_stops_with_an_error_is_said_and_the_next_step_is_played(monkeypatch, capsys):
    story = stories.STORIES["survey"]
    broken = {"epsilon": "none"}
    monkeypatch.setattr(type(story), "state", lambda self, number: {**self.defaults, **(broken if number == 1 else {})})
    warming.warm([story])
    said = capsys.readouterr()
    assert "survey, step 1: the page stops with an error: " in said.err and "step 2:" not in said.err
    assert f"survey, step {len(story.steps)} of {len(story.steps)}" in said.out
