"""First check of every request: the hosts that the server answers, and the policies that it sends to browsers."""

import base64
import hashlib
import ipaddress
import os
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from dpcore.core.facts import text_beside
from pages.server import prefetch

# Pages that one process serves at a time. A page takes a connection and an event loop with three descriptors, and
# Streamlit keeps the loops of 128 closed pages: all together less than the 1,024 that most systems allow a process.
MOST_PAGES = 100
METRICS = "PRICE_OF_PRIVACY_METRICS"
HOSTS = "PRICE_OF_PRIVACY_HOSTS"


def _inline_scripts() -> str:
    """Hashes of the scripts in Streamlit's own page, as a policy names them."""
    page = Path(st.__file__).with_name("static").joinpath("index.html").read_text(encoding="utf-8")
    scripts = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    return "".join(f" 'sha256-{digest}'" for digest in digests)


# A page runs only scripts of this server and connects only to it. Streamlit makes blob: addresses from the scripts
# of components, writes styles into the page, and counts with 64 bits in WebAssembly.
_POLICY = text_beside(__file__, "policy.txt").format(inline=_inline_scripts())
# No guessing of types; no page of ours inside another site's; no address of ours, which holds a page's state, sent to
# other sites.
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "; ".join(_POLICY.splitlines()),
    "Referrer-Policy": "same-origin",
}
_FULL = f"This server is full: it serves {MOST_PAGES} pages at a time. Please come back in a minute.\n"
_NO_METRICS = f"This server does not publish metrics; its operator can set {METRICS}=on.\n"
_NOT_HERE = f"This server does not answer to that name; its operator can add the name to {HOSTS}.\n"
_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")


def hosts_in(setting: str) -> list[str]:
    """Names and addresses in a setting that separates them by commas, as browsers write them; ValueError for others."""
    return [_host(name.strip()) for name in setting.split(",")] if setting.strip() else []


def _host(name: str) -> str:
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        labels = name.split(".")
        # A number at the end is a mistyped address.
        if all(map(_LABEL.fullmatch, labels)) and not labels[-1].isdecimal():
            return name.lower()
    raise ValueError(
        f"{HOSTS} must list names or IP addresses without scheme, port or path, separated by commas, got {name!r}; "
        f"write for example {HOSTS}=class.example.org,192.0.2.7"
    )


def let_in_named_hosts() -> None:
    """Add the names of PRICE_OF_PRIVACY_HOSTS to server.allowedHosts, or end the program with what is wrong in them."""
    try:
        named = hosts_in(os.environ.get(HOSTS, ""))
    except ValueError as error:
        sys.exit(str(error))
    config.set_option("server.allowedHosts", [*st.get_option("server.allowedHosts"), *named])


class HostGuard:
    """Middleware that refuses requests by a name that is not the server's, and websockets from pages of other servers.

    A site could point its own name at this computer, and its page would then be of the same origin as ours (DNS
    rebinding): `server.allowedHosts` says which names are ours. Streamlit looks at it when a websocket is opened, and
    lets pages from any port of this computer open one; and it asks a server on the internet for its own address before
    it refuses others. Here only the same origin and `server.corsAllowedOrigins` pass. It also refuses more websockets
    than a process serves, and metrics, which reveal the size of other visitors' files.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._base = st.get_option("server.baseUrlPath").strip("/")
        self._pages = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        # Below the server's base path, without slashes at its ends.
        path = scope["path"].strip("/").removeprefix(self._base).strip("/")
        refusal = self._refusal(scope, path)
        if refusal is not None:
            # To a websocket that was not accepted this is a plain answer too, instead of a connection.
            return await refusal(scope, receive, send)
        if scope["type"] == "websocket":
            self._pages += 1
            try:
                return await self.app(scope, receive, send)
            finally:
                self._pages -= 1

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                _mark(MutableHeaders(scope=message), path, secure=scope["scheme"] == "https")
            await send(message)

        await self.app(scope, receive, answer)

    def _refusal(self, scope: Scope, path: str) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if not is_host_allowed(headers.get("host")):
            return PlainTextResponse(_NOT_HERE, 400, HEADERS)
        if not _from_here(headers, scope["type"]):
            return PlainTextResponse("", 403, HEADERS)
        if scope["type"] == "websocket" and self._pages >= MOST_PAGES:
            return PlainTextResponse(_FULL, 503, {**HEADERS, "Retry-After": "60"})
        if path == "_stcore/metrics" and os.environ.get(METRICS) != "on":
            return PlainTextResponse(_NO_METRICS, 403, HEADERS)
        return None


def _from_here(headers: Headers, kind: str) -> bool:
    """True if a request's origin is valid and, for a websocket, our own page, or a program without an origin."""
    origin = headers.get("origin")
    if origin is None or origin in st.get_option("server.corsAllowedOrigins"):
        return True
    try:
        place = urlsplit(origin).netloc
    except ValueError:
        return False
    return kind == "http" or place == headers.get("host")


def _mark(headers: MutableHeaders, path: str, *, secure: bool) -> None:
    """Add the policies for browsers to an answer."""
    headers.update(HEADERS)
    if path.startswith(("media/", f"{prefetch.PATH}/")):
        headers["Cache-Control"] = "no-store"
    if secure:
        cookies = headers.getlist("set-cookie")
        del headers["set-cookie"]
        for cookie in cookies:
            headers.append("set-cookie", cookie if "; secure" in cookie.lower() else f"{cookie}; Secure")
