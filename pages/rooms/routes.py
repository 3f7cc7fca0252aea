"""What phones ask of the server: a static page, the question of a room, and to count an answer.

Without a session of Streamlit: nothing but the answer comes in, and nothing but the question goes out.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from dpcore.core.facts import text_beside
from pages.rooms.limits import Limit, network
from pages.rooms.room import Refused, Room, find, server_letter

PATH = "join"
_TYPES = {"join.js": "text/javascript", "coin.js": "text/javascript", "join.css": "text/css"}
_FILES = {name: text_beside(__file__, name) for name in _TYPES}
_VERSION = hashlib.sha256("".join(_FILES.values()).encode()).hexdigest()[:16]
# Below assets/, which browsers and proxies keep; the version is part of the address.
ASSETS = f"assets/join-{_VERSION}"
_PAGE = text_beside(__file__, "join.html").replace("ASSETS", ASSETS)
_MOST_BYTES = 500  # of a vote
# Of one sender, who may be a whole class behind one address: requests to a room that knows it, and codes that it tries.
_ROOM, _TRIES = Limit(200.0, 600), Limit(1.0, 100)
_SLOWER = "Too many requests come from your network: wait a moment."
_FRESH = {"Cache-Control": "no-store"}


def routes(base: str) -> list[Route]:
    """Routes below the server's base path, which ends with a slash."""
    server_letter()  # a wrong setting stops the server, and not the first lesson
    return [
        Route(f"{base}{PATH}", _page),
        Route(f"{base}{ASSETS}/{{name}}", _file),
        Route(f"{base}{PATH}/{{code}}/question", _answered(_question)),
        Route(f"{base}{PATH}/{{code}}/vote", _answered(_vote), methods=["POST"]),
    ]


def _page(request: Request) -> Response:
    return HTMLResponse(_PAGE, headers={"Cache-Control": "no-cache"})


def _file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _FILES:
        return Response(status_code=404)
    keep = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(_FILES[name], headers=keep, media_type=_TYPES[name])


def _answered(
    answer: Callable[[Request, Room, str], Awaitable[dict[str, object]]],
) -> Callable[[Request], Awaitable[Response]]:
    """A route about a room, within the limits, whose refusals are sentences."""

    async def route(request: Request) -> Response:
        sender = network(request.client.host if request.client else "")
        try:
            room = find(request.path_params["code"])
            # First, or the answer would tell which code is right.
            if (room is None or sender not in room.known) and not _TRIES.allows(sender):
                raise Refused(429, _SLOWER)
            if room is None:
                raise Refused(404, "There is no such room: the code is wrong, or the room has ended.")
            room.let_in(sender)
            if not _ROOM.allows(f"{room.code} {sender}"):
                raise Refused(429, _SLOWER)
            return JSONResponse(await answer(request, room, sender), headers=_FRESH)
        except Refused as refused:
            return JSONResponse({"refused": str(refused)}, refused.status, headers=_FRESH)

    return route


async def _question(request: Request, room: Room, sender: str) -> dict[str, object]:
    asked = room.asked
    if asked is None:
        return {"question": None}
    return {"question": {"name": asked.name, "words": asked.words, "answers": asked.answers, "keep": asked.keep}}


async def _vote(request: Request, room: Room, sender: str) -> dict[str, object]:
    # A page of another site could otherwise have its visitors' browsers vote.
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise Refused(403, "Votes come from this server's own page only.")
    message = _parsed(await _body(request))
    match message:
        case {"phone": str(phone), "question": str(name), "answer": int(answer), **more} if (
            not more and not isinstance(answer, bool) and len(phone) == 32 and set(phone) <= set("0123456789abcdef")
        ):
            room.vote(name, phone, answer, sender)
        case _:
            raise Refused(400, "This is no vote.")
    return {"answer": answer}


async def _body(request: Request) -> bytes:
    """What a phone sends, which is short; the rest of a longer message is not waited for."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BYTES:
            raise Refused(413, f"A vote has at most {_MOST_BYTES} bytes.")
    return body


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # also bytes that are no text
        raise Refused(400, "This is no vote.") from None
