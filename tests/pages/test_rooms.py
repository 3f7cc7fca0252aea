"""Rooms: what phones may ask, one vote a phone, floods, and that a room ends with the session that opened it."""

from __future__ import annotations

import asyncio
import gc
import json
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.applications import Starlette

from pages.lectures.stories import STORIES
from pages.rooms import limits, room, routes, screen
from pages.rooms.limits import Limit
from pages.rooms.room import MOST_PHONES, MOST_ROOMS, Asked, Refused, Room
from pages.server import upload_lifetime
from pages.server.host_guard import HEADERS, HostGuard

from ..page_driver import texts
from .test_lectures import open_step

APP = HostGuard(Starlette(routes=routes.routes("/")))
PLAIN = Asked("overview/1", "What does it cost?", ("nothing", "much", "all"), 1)


@pytest.fixture(autouse=True)
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has senders that nobody has seen."""
    for limit in (routes._ROOM, routes._TRIES):
        monkeypatch.setattr(limit, "_left", {})


@pytest.fixture
def opened() -> Iterator[Room]:
    held = room.open_room()
    held.ask(PLAIN)
    yield held


def ask(
    path: str, body: bytes | dict[str, Any] | None = None, sender: str = "192.0.2.7", app: Any = APP, **headers: str
) -> Any:
    """(status, what is said, headers) of the answer to a GET, or to a POST of a body."""
    told = {"host": "localhost:8501"} | headers
    scope = {
        "type": "http",
        "method": "GET" if body is None else "POST",
        "path": path,
        "query_string": b"",
        "scheme": "http",
        "client": (sender, 5),
        "headers": [(name.encode(), value.encode()) for name, value in told.items()],
    }
    sent = json.dumps(body).encode() if isinstance(body, dict) else body or b""
    parts = [sent[k : k + 200] for k in range(0, len(sent), 200)] or [b""]
    said: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: Any) -> None:
        said.append(message)

    asyncio.run(app(scope, receive, send))
    text = b"".join(part["body"] for part in said[1:]).decode()
    found = {name.decode(): value.decode() for name, value in said[0]["headers"]}
    return said[0]["status"], json.loads(text) if text.startswith("{") else text, found


def vote(held: Room, answer: Any, phone: int = 0, name: str = PLAIN.name, **headers: str) -> tuple[int, Any]:
    message = {"phone": f"{phone:032x}", "question": name, "answer": answer}
    status, said, _ = ask(f"/join/{held.code}/vote", message, **headers)
    return status, said


# What phones see.


def test_phones_see_a_static_page_that_loads_only_what_is_beside_it():
    status, text, headers = ask("/join")
    assert status == 200 and {name: headers[name.lower()] for name in HEADERS} == HEADERS
    asked = re.findall(r'(?:src|href)="(\S+)"', text)
    assert len(asked) == 3 and asked.pop(0) == "data:,"
    for file in (*asked, asked[0].replace("join.css", "coin.js")):
        status, _, headers = ask(f"/{file}")
        assert status == 200 and "immutable" in headers["cache-control"]
    assert ask(f"/{asked[0]}x")[0] == 404


def test_below_a_base_path_everything_is_below_it(opened: Room):
    below = Starlette(routes=routes.routes("/base/"))
    (style,) = re.findall(r'"(\S+join.css)"', ask("/base/join", app=below)[1])
    for path in (style, f"join/{opened.code}/question"):  # relative to the page, whose address is /base/join
        assert ask(f"/base/{path}", app=below)[0] == 200 and ask(f"/{path}", app=below)[0] == 404


def test_phones_see_question_and_answers_only_while_it_stands(opened: Room):
    status, said, headers = ask(f"/join/{opened.code.lower()}/question")
    shown = {"name": PLAIN.name, "words": PLAIN.words, "answers": list(PLAIN.answers), "keep": None}
    assert (status, said, headers["cache-control"]) == (200, {"question": shown}, "no-store")
    assert vote(opened, 1) == (200, {"answer": 1})
    assert ask(f"/join/{opened.code}/question")[1] == said, "no counts and no right answer"
    opened.ask(None)
    assert ask(f"/join/{opened.code}/question")[1] == {"question": None}
    assert vote(opened, 1, phone=1) == (409, {"refused": "This question is closed."})


def test_the_guard_of_names_is_before_the_rooms_too(opened: Room):
    for path in ("/join", f"/join/{opened.code}/question"):
        assert ask(path, host="example.org")[0] == 400


# Votes.


def test_a_phone_has_one_vote_a_question_however_often_it_is_sent(opened: Room):
    for _ in range(3):
        assert vote(opened, 2)[0] == 200
    assert vote(opened, 1) == (409, {"refused": "The first answer of this phone counts already."})
    assert vote(opened, 1, phone=7)[0] == 200
    assert opened.counts(PLAIN.name) == (0, 1, 1) and opened.counts("overview/7") == ()
    opened.ask(Asked("overview/7", "And now?", ("a", "b"), 0))
    assert vote(opened, 1, name="overview/7")[0] == 200 and vote(opened, 1, phone=8)[0] == 409
    assert opened.counts("overview/7") == (0, 1) and opened.counts(PLAIN.name) == (0, 1, 1)


def test_a_question_that_comes_back_is_the_same_and_keeps_its_votes(opened: Room):
    coin = Asked("survey/1", "Did you?", ("yes", "no"), None, 3 * 2**30)
    opened.ask(coin)
    assert vote(opened, 0, name=coin.name)[0] == 200
    opened.ask(None)
    opened.ask(Asked("survey/1", "Did you?", ("yes", "no"), None, 2**32 - 1))
    assert opened.asked == coin, "with another coin a phone that has answered would have a second draw"
    assert opened.counts(coin.name) == (1, 0)


@pytest.mark.parametrize("answer", [-1, 3, "1", 1.0, True, None, [1]])
def test_what_is_no_answer_is_refused(opened: Room, answer: Any):
    assert vote(opened, answer)[0] == 400 and opened.counts(PLAIN.name) in ((), (0, 0, 0))


@pytest.mark.parametrize(
    "body, status",
    [
        (b"", 400),
        (b"\xff", 400),
        (b"[" * 400, 400),
        (b"{}", 400),
        (b'{"phone": "x", "question": "overview/1", "answer": 1}', 400),
        (b'{"phone": "%032d", "question": "overview/1", "answer": 1, "name": "Ann"}' % 1, 400),
        (b" " * 501, 413),
        (b" " * 10**6, 413),
    ],
)
def test_a_message_that_is_no_vote_is_refused_in_a_sentence(opened: Room, body: bytes, status: int):
    found, said, _ = ask(f"/join/{opened.code}/vote", body)
    assert found == status and said["refused"].endswith(".") and not opened.counts(PLAIN.name)[0:1] > (0,)


def test_pages_of_other_sites_cannot_vote(opened: Room):
    assert vote(opened, 0, origin="http://localhost:8501")[0] == 200
    assert vote(opened, 0, phone=1, origin="http://example.org")[0] == 403
    assert vote(opened, 0, phone=2, origin="null")[0] == 403
    assert sum(opened.counts(PLAIN.name)) == 1


# Floods and strangers.


def test_a_room_takes_so_many_phones_and_those_that_are_in_stay(opened: Room):
    for phone in range(MOST_PHONES):
        opened.vote(PLAIN.name, str(phone), 0)
    status, said = vote(opened, 0, phone=9)
    assert status == 403 and str(MOST_PHONES) in said["refused"]
    opened.ask(Asked("overview/7", "And now?", ("a", "b"), 0))
    opened.vote("overview/7", "17", 1)
    assert opened.counts("overview/7") == (0, 1)


def test_a_flood_is_refused_and_does_not_keep_others_out(opened: Room, monkeypatch: pytest.MonkeyPatch):
    now = [100.0]
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(routes._ROOM, "burst", 20)
    path = f"/join/{opened.code}/question"
    assert [ask(path)[0] for _ in range(25)] == [200] * 20 + [429] * 5
    assert ask(path, sender="192.0.2.8")[0] == 200
    now[0] += 1.01 / routes._ROOM.rate
    assert [ask(path)[0] for _ in range(2)] == [200, 429]


def test_codes_cannot_be_tried_one_after_the_other(opened: Room, monkeypatch: pytest.MonkeyPatch):
    """Who has tried too many is refused the right one, too; but a class goes on beside somebody in it who tries."""
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: 100.0))

    def look(code: str, sender: str) -> int:
        return int(ask(f"/join/{code}/question", sender=sender)[0])

    assert look(opened.code, "192.0.2.7") == 200
    for sender in ("2001:db8::1", "192.0.2.7", "192.0.2.9"):
        tries = [look(f"BX{k:04d}", sender) for k in range(routes._TRIES.burst + 5)]
        assert tries[:90] == [404] * 90 and tries[-5:] == [429] * 5
    for sender in ("2001:db8::1", "2001:db8::2"):  # an IPv6 network is one sender
        assert look(opened.code, sender) == look("BXXXXX", sender) == 429
    assert look(opened.code, "192.0.2.7") == 200, "it was in the room before"
    other = room.open_room("192.0.2.9")
    assert look(other.code, "192.0.2.7") == 429
    assert look(other.code, "192.0.2.9") == 200, "the teacher's own network"


def test_one_network_cannot_take_all_rooms_of_a_process(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(room, "_ROOMS", type(room._ROOMS)())
    held = [room.open_room("192.0.2.7") for _ in range(room.MOST_OF_ONE)]
    with pytest.raises(Refused, match=f"Your network has {room.MOST_OF_ONE} rooms open already"):
        room.open_room("192.0.2.7")
    held.append(room.open_room("192.0.2.8"))
    held.pop(0)
    gc.collect()
    held.append(room.open_room("192.0.2.7"))


def test_the_teacher_sees_how_many_phones_share_an_address(opened: Room):
    for phone, sender in enumerate(("2001:db8::1", "2001:db8::2", "192.0.2.7", "2001:db8::3")):
        opened.vote(PLAIN.name, str(phone), phone % 3, limits.network(sender))
    assert opened.sharing(PLAIN.name) == 3 and opened.sharing("overview/7") == 0
    assert "4 phones, 3 of them behind one address" in screen.bars(PLAIN.answers, opened.counts(PLAIN.name), 3)
    assert "4 phones, all of them behind one address" in screen.bars(PLAIN.answers, (4, 0, 0), 4)
    assert ">4 phones<" in screen.bars(PLAIN.answers, (4, 0, 0), 1)


def test_a_limit_forgets_who_came_long_ago(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "_MOST_SENDERS", 3)
    limit = Limit(0.001, 1)
    assert [limit.allows(sender) for sender in "abcdab"] == [True, True, True, True, True, True]
    assert not limit.allows("b") and len(limit._left) == 3


def test_a_process_has_so_many_rooms_with_different_codes_of_its_own_letter(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(room.SETTING, "2")
    gc.collect()
    held = [room.open_room(str(k)) for k in range(MOST_ROOMS - len(room._ROOMS))]
    with pytest.raises(Refused, match=f"has {MOST_ROOMS} rooms open already"):
        room.open_room()
    assert len({each.code for each in held}) == len(held)
    assert all(re.fullmatch(f"C[{room.LETTERS}]{{5}}", each.code) for each in held)


@pytest.mark.parametrize("said", ["0", "20", "x", ""])
def test_a_wrong_number_of_a_server_stops_it_with_a_sentence(monkeypatch: pytest.MonkeyPatch, said: str):
    monkeypatch.setenv(room.SETTING, said)
    with pytest.raises(ValueError, match=f"must be a whole number from 1 to 19, got {said!r}: give each server"):
        routes.routes("/")


# The teacher's screen.


def test_a_room_ends_with_its_session(monkeypatch: pytest.MonkeyPatch):
    seen: dict[str, float] = {}
    monkeypatch.setattr(upload_lifetime, "_LAST_SEEN", seen)
    page = open_step("overview", "4")
    assert not seen
    page.button("room_button").click().run()
    assert len(seen) == 1, "the session is ended soon after its page"
    code = page.session_state["room"].code
    assert ask(f"/join/{code}/question")[1]["question"]["name"] == "overview/4"
    page.session_state["room"] = None  # as `upload_lifetime` clears what a session has held
    gc.collect()
    assert ask(f"/join/{code}/question")[0] == 404


def test_a_lecture_asks_the_phones_counts_and_shows_what_is_right():
    page = open_step("overview", "4")
    assert page.button("room_button").label == "Open a room"
    page.button("room_button").click().run()
    held = page.session_state["room"]
    assert page.button("room_button").label == f"Room {held.code}" and held.code in texts(page)
    assert not [button for button in page.button if button.key == "option_0"], "the phones answer"
    first = STORIES["overview"].steps[3].question
    assert first and held.asked.answers == first.options and held.asked.words == STORIES["overview"].words(4)
    for phone, answer in enumerate((0, 1, 1)):
        assert vote(held, answer, phone=phone, name=held.asked.name)[0] == 200
    page.run()
    assert screen.bars(first.options, (1, 2, 0), 3) in texts(
        page
    ) and "3 phones, all of them behind one address" in texts(page)
    assert [button.key for button in page.button].count("close_room") == 1, "a page that runs again shows it still"
    page.button("next").click().run()
    assert "close_room" not in [button.key for button in page.button]
    assert held.asked is None and screen.bars(first.options, (1, 2, 0), 3, 2) in texts(page)
    page.button("back").click().run()
    assert held.asked.name == "overview/4" and held.counts("overview/4") == (1, 2, 0)
    page.button("leave").click().run()
    assert held.asked is None and page.session_state["room"] is held


def test_a_server_with_too_many_rooms_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(room, "MOST_ROOMS", 0)
    page = open_step("overview", "4")
    page.button("room_button").click().run()
    assert "room" not in page.session_state and "rooms open already" in "".join(each.value for each in page.markdown)


def test_where_phones_cannot_reach_the_server_a_sentence_has_the_command_in_the_place_of_the_code():
    page = open_step("overview", "4")
    page.button("room_button").click().run()
    assert "Phones cannot reach this page&#x27;s address" in texts(page) and "--server.address 0.0.0.0" in texts(page)
    assert "<img" not in screen.invitation(page.session_state["room"], small=False)
