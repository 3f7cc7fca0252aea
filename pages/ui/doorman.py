"""What every request passes first: whom the server answers, and what it asks of browsers."""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

# No guessing of types; no page of ours inside somebody else's; no address of ours, which holds a page's state, told to
# others.
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "frame-ancestors 'self'",
    "Referrer-Policy": "same-origin",
}
_NOT_HERE = "This server does not go by that name: whoever runs it can add the name to server.allowedHosts.\n"


class Doorman:
    """Middleware that refuses requests by a name that is not the server's, and websockets from pages of other servers.

    A site could point its own name at this computer, and its page would then be of the same origin as ours (DNS
    rebinding): `server.allowedHosts` says which names are ours. Streamlit looks at it when a websocket is opened, and
    lets pages from any port of this computer open one; and it asks a server on the internet for its own address before
    it refuses others. Here nothing but the same origin and `server.corsAllowedOrigins` passes.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        headers = Headers(scope=scope)
        if not is_host_allowed(headers.get("host")):
            # To a websocket that was not accepted this is a plain answer too: 400 instead of a connection.
            refusal = PlainTextResponse(_NOT_HERE, 400, HEADERS)
            return await refusal(scope, receive, send)
        if scope["type"] == "websocket" and not _from_here(headers):
            return await PlainTextResponse("", 403)(scope, receive, send)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self.app(scope, receive, answer)


def _from_here(headers: Headers) -> bool:
    """Whether a websocket was opened by our own page, or by a program that is no browser and says no origin."""
    origin = headers.get("origin")
    if origin is None or origin in st.get_option("server.corsAllowedOrigins"):
        return True
    return urlsplit(origin).netloc == headers.get("host")
