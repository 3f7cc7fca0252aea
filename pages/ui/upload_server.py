"""What the server does for uploads: whether it takes any, keeps them in memory, and lets them go with their page."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import time
from collections.abc import AsyncGenerator
from urllib.parse import urlsplit

import streamlit as st
from starlette.formparsers import MultiPartParser
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

SETTING = "PRICE_OF_PRIVACY_UPLOADS"
_HERE = ("localhost", "127.0.0.1", "::1")
# A closed page may come back within this time (a short break of the network), and then has its records still.
LEFT_SECONDS = 20.0
CHECK_SECONDS = 5.0
_LAST_SEEN: dict[str, float] = {}  # of each session that holds records


def why_off() -> str:
    """Why this server takes no uploads, in one sentence; "" where it does.

    The setting decides; without one only a server that listens to its own computer takes them, and no visitor whom a
    proxy announces.
    """
    setting = os.environ.get(SETTING, "")
    if setting:
        return "" if setting == "on" else f"This server takes no files: {SETTING} is not set to on."
    remedy = f"Whoever runs it can set {SETTING}=on, or run it on your own computer."
    if st.get_option("server.address") not in _HERE:
        return f"This server takes no files, because it can be reached from other computers. {remedy}"
    asked = urlsplit("//" + st.context.headers.get("Host", "localhost")).hostname
    if asked not in _HERE or "X-Forwarded-For" in st.context.headers:
        return f"This server takes no files, because you reach it from another computer. {remedy}"
    return ""


def uploads_allowed() -> bool:
    """Whether this server takes files from this visitor."""
    return not why_off()


def keep_in_memory() -> None:
    """Keep uploads off the disk: the server's form parser would write any beyond 1 MB to a temporary file.

    Streamlit refuses what is larger than maxUploadSize, plus 1 MB for the form around it.
    """
    MultiPartParser.spool_max_size = (st.get_option("server.maxUploadSize") + 2) * 2**20


def note_holder() -> None:
    """Say that the session whose script runs here holds records."""
    context = get_script_run_ctx()
    if context is not None:
        _LAST_SEEN[context.session_id] = time.monotonic()


@contextlib.asynccontextmanager
async def lifespan(app: st.App) -> AsyncGenerator[None]:
    """While the server runs: end sessions that hold records soon after their page was closed."""
    closing = asyncio.create_task(_close_left_sessions())
    try:
        yield
    finally:
        closing.cancel()


async def _close_left_sessions() -> None:
    """Streamlit would keep a closed page's session, with its files, until somebody else comes or goes."""
    while True:
        await asyncio.sleep(CHECK_SECONDS)
        server, now = runtime.get_instance(), time.monotonic()
        for session, seen in list(_LAST_SEEN.items()):
            if server.is_active_session(session):
                _LAST_SEEN[session] = now
            elif now - seen > LEFT_SECONDS:
                del _LAST_SEEN[session]
                server.close_session(session)
                gc.collect()  # a session is full of references to itself
