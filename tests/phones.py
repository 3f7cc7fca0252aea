"""A room of phones as a server sees it: what asks the questions of `pages/rooms/join.js`, and the teacher's session."""

from __future__ import annotations

import asyncio
import json
import random
import re
import secrets
import time
from typing import Any
from urllib.parse import urlsplit

from .sessions import Session


class Teacher(Session):
    """A session that opens a room, with its code and the counts on its screen."""

    @property
    def texts(self) -> str:
        return "\n".join(element.html.body for element in self.elements)

    @property
    def code(self) -> str:
        return re.findall(r'class="room-code">(\w+)<', self.texts)[0]

    @property
    def counts(self) -> list[int]:
        return [int(count) for count in re.findall(r"<b>(\d+)</b>", self.texts)]

    async def open_room(self) -> None:
        await self.visit("", "lecture=overview&step=4")
        await self.press("room_button")


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


async def lesson(url: str, phones: int) -> tuple[list[float], list[int]]:
    """The seconds of each vote while all vote at once, and the counts that the teacher sees then."""
    async with Teacher(url) as teacher:
        await teacher.open_room()

        async def attend(phone: Phone) -> float:
            question = await phone.look()
            return await phone.vote(question["name"], random.randrange(len(question["answers"])))

        took = await asyncio.gather(*(attend(Phone(url, teacher.code)) for _ in range(phones)))
        await teacher.visit("", "lecture=overview&step=4")
        return list(took), teacher.counts
