"""Uploads on the server: allowed or not, one per session, in memory, and freed with the page."""

import asyncio
import contextlib
import ctypes
import gc
import os
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from typing import cast
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.formparsers import MultiPartParser
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.web.server.starlette.starlette_app_utils import validate_xsrf_token
from streamlit.web.server.starlette.starlette_server_config import XSRF_COOKIE_NAME

SETTING = "PRICE_OF_PRIVACY_UPLOADS"
_HERE = ("localhost", "127.0.0.1", "::1")
# Headers by which a proxy shows that it forwards a request, besides all that begin with x-forwarded-.
_PASSED_ON = ("forwarded", "via", "x-real-ip")
_FRAME_BYTES = 2**12  # more than the form around a file has
# A closed page may come back within this time (a short break of the network), and then has its records still.
LEFT_SECONDS = 20.0
MOST_SECONDS = 120.0  # of an upload on its way: 10 MB need a line of .7 Mbit/s
CHECK_SECONDS = 5.0
_LAST_SEEN: dict[str, float] = {}  # of each session that holds records or a room
_MOST_FILES = 3  # of a session: a table, its dictionary and its ledger, which may be dropped together
_ARRIVING: dict[str, list[asyncio.Timeout]] = {}  # of each session: the uploads that are on their way


def why_off(headers: Mapping[str, str] | None = None) -> str:
    """Reason why this server takes no uploads, in one sentence; "" if it does.

    The setting decides; without one only a server that listens to its own computer takes them, and no visitor whom a
    proxy announces. headers: of a request; without them, of the session whose script runs here.
    """
    setting = os.environ.get(SETTING, "")
    if setting:
        return "" if setting == "on" else f"This server takes no files: {SETTING} is not set to on."
    remedy = f"Its operator can set {SETTING}=on, or you can run the app on your own computer."
    if st.get_option("server.address") not in _HERE:
        return f"This server takes no files, because it can be reached from other computers. {remedy}"
    if headers is None:
        headers = st.context.headers
    asked = urlsplit("//" + headers.get("Host", "localhost")).hostname
    if asked not in _HERE or any(map(_passes_on, headers)):
        return f"This server takes no files, because you reach it from another computer. {remedy}"
    return ""


def _passes_on(header: str) -> bool:
    return header.lower() in _PASSED_ON or header.lower().startswith("x-forwarded-")


def keep_in_memory() -> None:
    """Keep uploads off the disk: the server's form parser would write any beyond 1 MB to a temporary file.

    Streamlit refuses what is larger than maxUploadSize, plus 1 MB for the form around it.
    """
    MultiPartParser.spool_max_size = (st.get_option("server.maxUploadSize") + 2) * 2**20


def note_holder() -> None:
    """Say that the session whose script runs here holds what must end with its page: records, a room."""
    context = get_script_run_ctx()
    if context is not None:
        _LAST_SEEN[context.session_id] = time.monotonic()


class UploadGuard:
    """Middleware before Streamlit's uploads, which would take any number of files, also where no page asks for one, and
    change those of any session.

    It refuses before the body is read, and keeps few files a session: the last ones.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        base = st.get_option("server.baseUrlPath").strip("/")
        self._place = f"/{base}/_stcore/upload_file/".replace("//", "/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(self._place):
            return await self.app(scope, receive, send)
        headers = Headers(scope=scope)
        if off := why_off(headers):
            return await PlainTextResponse(f"{off}\n", 403)(scope, receive, send)
        if scope["method"] not in ("PUT", "DELETE", "OPTIONS"):  # Streamlit would answer with its page
            return await PlainTextResponse("Nobody reads files here.\n", 404)(scope, receive, send)
        session = scope["path"].removeprefix(self._place).partition("/")[0]
        if scope["method"] != "OPTIONS" and not _holds(session, headers):
            return await PlainTextResponse("Only a session's own page changes its files.\n", 403)(scope, receive, send)
        if scope["method"] != "PUT":
            return await self.app(scope, receive, send)
        most = st.get_option("server.maxUploadSize") * 10**6  # as its browser half counts; its server counts in 2**20
        if int(headers.get("content-length", 0)) > most + _FRAME_BYTES:
            return await PlainTextResponse(f"A file must have at most {most:,} bytes.\n", 413)(scope, receive, send)
        # Streamlit would compare the length of the whole form with what a file may have; it counts what arrives, too.
        scope = dict(scope)
        del MutableHeaders(scope=scope)["content-length"]
        await self._take(session, scope, receive, send)

    async def _take(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                _note_end(session, until)
                until.reschedule(None)
                if message["status"] == 204:
                    _keep_last(session)
            await send(message)

        earlier = _ARRIVING.get(session, [])
        if len(earlier) >= _MOST_FILES:
            earlier.pop(0).reschedule(0.0)
        try:
            async with asyncio.timeout(MOST_SECONDS) as until:
                _ARRIVING.setdefault(session, []).append(until)
                await self.app(scope, receive, answer)
        except TimeoutError:
            if not until.expired():
                raise
            late = "Other files of this page have come since, or this one took too long.\n"
            await PlainTextResponse(late, 409)(scope, receive, send)
        except ClientDisconnect:
            pass  # the sender has gone and waits for no answer
        finally:
            _note_end(session, until)


def _holds(session: str, headers: Headers) -> bool:
    """Whether a request has the token of the browser in which a session's page is open."""
    client = runtime.get_instance().get_client(session)
    asked = client and client.client_context
    return bool(asked and validate_xsrf_token(headers.get("X-Xsrftoken"), asked.cookies.get(XSRF_COOKIE_NAME)))


def _note_end(session: str, until: asyncio.Timeout) -> None:
    """Forget an upload that is no longer on its way."""
    arriving = _ARRIVING.get(session, [])
    if until in arriving:
        arriving.remove(until)
    if not arriving:
        _ARRIVING.pop(session, None)


def _files() -> MemoryUploadedFileManager:
    return cast(MemoryUploadedFileManager, runtime.get_instance().uploaded_file_mgr)


def _keep_last(session: str) -> None:
    for file in list(_files().file_storage[session])[:-_MOST_FILES]:
        _files().remove_file(session, file)


@contextlib.asynccontextmanager
async def lifespan(app: st.App) -> AsyncGenerator[None]:
    """While the server runs: end sessions that hold records or a room soon after their page was closed."""
    closing = asyncio.create_task(_close_left_sessions())
    try:
        yield
    finally:
        closing.cancel()


async def _close_left_sessions() -> None:
    """End sessions of closed pages, which Streamlit would keep, with files, until another session starts or ends."""
    while True:
        await asyncio.sleep(CHECK_SECONDS)
        server, now = runtime.get_instance(), time.monotonic()
        for session in {*_LAST_SEEN, *_files().file_storage}:
            if server.is_active_session(session):
                _LAST_SEEN[session] = now
            # A file may have come and its page have gone since the last look.
            elif now - _LAST_SEEN.setdefault(session, now - CHECK_SECONDS) > LEFT_SECONDS:
                del _LAST_SEEN[session]
                known = server._session_mgr.get_session_info(session)
                server.close_session(session)
                if known is not None:  # Streamlit's loop keeps the session that it served last until it serves another
                    known.session.session_state.clear()
                _files().remove_session_files(session)  # those that came after the session had ended
                _give_back()


def _give_back() -> None:
    """Return the memory of what has gone to the system."""
    gc.collect()  # a session is full of references to itself
    if sys.platform == "linux":  # glibc would keep it for later
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
