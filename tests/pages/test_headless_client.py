"""A visitor without a browser, at a page made for it: what it says of a page is what the page shows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.lectures.warming import explore
from pages.server.headless_client import Broken, HeadlessClient
from tests.harness import Server, fork

# "seen" is a slider whose first option says what the server knows; "asked" counts the questions of a block that asks
# until it has done so three times and then draws the whole page anew.
PAGE = """
import streamlit as st

a = st.select_slider("a", ["1", "2", "3"], key="a", bind="query-params")
b = st.select_slider("b", ["x", "y"], key="b", bind="query-params")
if a == "3" and b == "y":
    raise ValueError("three and y")
if st.session_state.get("last") != a:
    st.session_state.last, st.session_state.asked = a, 0
    st.select_slider("seen", ["restarts", "end"], key="seen")
    st.rerun()
st.select_slider("seen", [f"{a}{b} asked {st.session_state.asked}", "end"], key=f"seen_{a}{b}_{st.session_state.asked}")
if a == "2":
    st.select_slider("only at 2", ["low", "high"], key="only")

if a == "1" and b == "y" and st.session_state.asked < 3:
    @st.fragment(run_every=0.1)
    def ask():
        st.session_state.asked += 1
        if st.session_state.asked > 3:
            st.rerun()
    ask()
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    script = tmp_path_factory.mktemp("page") / "page.py"
    script.write_text(PAGE)
    with fork(script) as running:
        yield running


def visit(server: Server, told: Callable[[HeadlessClient], Awaitable[None]]) -> None:
    async def stay() -> None:
        async with HeadlessClient(server.url) as client:
            await client.visit("")
            await told(client)

    asyncio.run(stay())


def seen(client: HeadlessClient) -> str:
    return next(slider.options[0] for key, slider in client.sliders.items() if key.startswith("seen"))


def test_a_move_ends_with_the_last_run_and_other_sliders_stay(server):
    async def told(client: HeadlessClient) -> None:
        assert seen(client) == "1x asked 0" and "only" not in client.sliders
        await client.move("a", "2")
        assert seen(client) == "2x asked 0" and "only" in client.sliders
        await client.move("b", "y")
        assert seen(client) == "2y asked 0" and (client.place("a"), client.place("b")) == (1, 1)
        assert "a=2" in client.address and "b=y" in client.address
        await client.move("b", "x")
        await client.move("a", "1")
        assert "a=" not in client.address and "b=" not in client.address, "defaults are not in the address"
        assert "only" not in client.sliders, "what the page no longer draws cannot be moved"

    visit(server, told)


def test_what_asks_in_the_background_is_answered_to_its_end(server):
    async def told(client: HeadlessClient) -> None:
        await client.move("b", "y")
        assert client.waits
        await client.settle()
        assert not client.waits and seen(client) == "1y asked 4"

    visit(server, told)


def test_an_exception_on_the_page_is_an_error_of_the_visitor_s(server):
    async def told(client: HeadlessClient) -> None:
        await client.move("b", "y")
        with pytest.raises(Broken, match="three and y"):
            await client.move("a", "3")
        await client.move("a", "2")
        assert seen(client) == "2y asked 0", "and it goes on"

    visit(server, told)


def test_exploring_goes_to_every_place_within_reach_and_back(server, monkeypatch):
    places: list[str] = []
    move = HeadlessClient.move

    async def noted(client: HeadlessClient, key: str, option: str) -> float:
        places.append(option)
        return await move(client, key, option)

    monkeypatch.setattr(HeadlessClient, "move", noted)

    async def told(client: HeadlessClient) -> None:
        assert await explore(client, ("a", "nobody")) == 2 and places == ["2", "3", "1"]
        places.clear()
        assert await explore(client, ("a",), farthest=1) == 1 and places == ["2", "1"]

    visit(server, told)


def message(kind: str, run: str) -> ForwardMsg:
    made = ForwardMsg()
    made.metadata.run.script_run_id = run
    if kind == "begins":
        made.new_session.SetInParent()
    else:
        made.script_finished = ForwardMsg.FINISHED_SUCCESSFULLY
    return made


def test_a_run_that_was_given_up_neither_begins_nor_ends_the_page():
    client = HeadlessClient("http://localhost:1")

    def take(kind: str, run: str) -> None:
        client._take(message(kind, run))

    take("begins", "first")
    client._left, client._run = "first", ""  # as a move does
    take("begins", "first")
    take("ends", "first")
    assert not client._done.is_set()
    take("begins", "second")
    take("ends", "first")
    assert not client._done.is_set()
    take("ends", "second")
    assert client._done.is_set()
