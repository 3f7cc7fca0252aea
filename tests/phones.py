"""A room of phones as a server sees it: what asks the questions of `pages/rooms/join.js`, and the teacher's session."""

import asyncio
import json
import random
import re
import secrets
import time
from typing import Any
from urllib.parse import urlsplit

from streamlit.proto.Element_pb2 import Element
from streamlit.proto.WidgetStates_pb2 import WidgetState

from pages.server.headless_client import HeadlessClient

_LOOK_SECONDS = 2.0
_LESSON_SECONDS = 10.0  # after the last vote


class Teacher(HeadlessClient):
    """A session that can open a room and read its code, and the counts on its screen."""

    button, code, counts = "", "", ""

    def _see(self, element: Element) -> None:
        super()._see(element)
        if element.WhichOneof("type") == "button" and element.button.id.endswith("room_button"):
            self.button = element.button.id
        elif element.WhichOneof("type") == "html":
            if found := re.search(r'class="room-code">(\w+)<', element.html.body):
                self.code = found[1]
            if "room-bars" in element.html.body:
                self.counts = element.html.body

    async def open_room(self) -> None:
        self._states[self.button] = WidgetState(id=self.button, trigger_value=True)
        await self._rerun()
        del self._states[self.button]


class Phone:
    """One that asks as `pages/rooms/join.js` does."""

    def __init__(self, url: str, code: str) -> None:
        self._place, self._code, self._name = urlsplit(url), code, secrets.token_hex(16)

    async def look(self) -> Any:
        return (await self._ask("GET", "question"))["question"]

    async def vote(self, question: str, answer: int) -> float:
        """Seconds until the server has counted it."""
        start = time.perf_counter()
        message = {"phone": self._name, "question": question, "answer": answer}
        assert await self._ask("POST", "vote", json.dumps(message).encode()) == {"answer": answer}
        return time.perf_counter() - start

    async def _ask(self, method: str, what: str, body: bytes = b"") -> Any:
        reader, writer = await asyncio.open_connection(self._place.hostname, self._place.port)
        head = f"{method} /join/{self._code}/{what} HTTP/1.1\r\nHost: {self._place.netloc}\r\nConnection: close\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer, _, said = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        assert answer.startswith(b"HTTP/1.1 200"), answer
        return json.loads(said)


async def attend(phone: Phone, vote_at: float, until: float) -> float:
    """Look and vote; both times by the monotonic clock. Returns the seconds of the vote."""
    question = await phone.look()
    await asyncio.sleep(max(0.0, vote_at - time.monotonic()))
    took = await phone.vote(question["name"], random.randrange(len(question["answers"])))
    while time.monotonic() < until:
        await asyncio.sleep(_LOOK_SECONDS * (0.75 + random.random() / 2))
        await phone.look()
    return took


async def lesson(url: str, phones: int, within: float) -> tuple[list[float], str]:
    """The seconds of each vote, and the counts that the teacher saw last."""
    async with Teacher(url) as teacher:
        await teacher.visit("", "lecture=overview&step=1")
        await teacher.open_room()
        start = time.monotonic() + 2.0  # when all phones have joined
        until = start + within + _LESSON_SECONDS
        everybody = (attend(Phone(url, teacher.code), start + random.random() * within, until) for _ in range(phones))
        took = await asyncio.gather(*everybody)
        return list(took), teacher.counts
