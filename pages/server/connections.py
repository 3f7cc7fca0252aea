"""What the server can hold: descriptors, sessions, connections, the time of a request, and lines of its log."""

import asyncio
import errno
import functools
import logging
import time
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

# A client must send the head of a request within the first time, and its body and read the answer within the second:
# uvicorn would wait for ever. An upload of 10 MB then needs a line of .7 Mbit/s.
HEAD_SECONDS, REQUEST_SECONDS = 15.0, 120.0
_LOOK_SECONDS = 1.0
# Where the system sets no limit: as many as every system allows.
_UNLIMITED = 10_240
_MOST_SESSIONS = 1_000
_DAMPED_SECONDS = 60.0
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


@functools.cache
def descriptors() -> int:
    """The number of files and sockets that this process may have open, raised to the highest it may ask for."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return _UNLIMITED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(soft, _UNLIMITED) if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


def sessions() -> int:
    """The number of pages that are served at a time.

    Each has its connection and an event loop with three descriptors, and Streamlit keeps the loops of up to 128 pages
    that were closed.
    """
    return min(descriptors() // 10, _MOST_SESSIONS)


def bound_connections() -> None:
    """End what uvicorn would let wait for ever, and connections beyond the number that there are descriptors for."""
    protocol: Any = AutoHTTPProtocol
    made, most = protocol.connection_made, descriptors() // 4

    def connection_made(self: Any, transport: asyncio.Transport) -> None:
        made(self, transport)
        if len(self.connections) > most:
            transport.abort()
        else:
            _watch(self, None, 0.0)

    protocol.connection_made = connection_made


def _watch(connection: Any, stage: object, since: float) -> None:
    """Look whether a connection goes on from stage to stage; it is left alone once it is closed or a websocket."""
    if connection not in connection.connections:
        return
    waits = connection.cycle is None or connection.cycle.response_complete
    now = connection.loop.time()
    if stage != (stage := (connection.cycle, waits)):
        since = now
    if now - since > (HEAD_SECONDS if waits else REQUEST_SECONDS):
        connection.transport.abort()
    else:
        connection.loop.call_later(_LOOK_SECONDS, _watch, connection, stage, since)


class Damper(logging.Filter):
    """Keeps a log short when the system has run out of something: one line a minute, and no tracebacks.

    uvicorn calls a refused websocket an error, too: of these there is no line.
    """

    def __init__(self) -> None:
        super().__init__()
        self._next, self._kept_back = 0.0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.msg == "ASGI callable returned without completing handshake.":
            return False
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, OSError) or error.errno not in _EXHAUSTED:
            return True
        if time.monotonic() < self._next:
            self._kept_back += 1
            return False
        record.msg = "%s: the server is full, new connections wait; %d such errors since the last line"
        record.args, record.exc_info, record.exc_text = (error.strerror, self._kept_back), None, None
        self._next, self._kept_back = time.monotonic() + _DAMPED_SECONDS, 0
        return True


def damp_log() -> None:
    """Let all that accepts or serves connections log through one damper."""
    damper = Damper()
    for name in ("asyncio", "uvicorn.error"):
        logging.getLogger(name).addFilter(damper)
