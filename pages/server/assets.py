"""What the server answers beside its pages: the chart library, from the installed plotly package and never fetched from
elsewhere, pictures that are drawn ahead, and rooms of phones."""

import functools
import gzip
from importlib.metadata import distribution
from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from pages.rooms import routes as rooms
from pages.server import prefetch

# The package's metadata says version and place without the cost of importing plotly.
_PLOTLY = distribution("plotly")
_FILE = Path(str(_PLOTLY.locate_file("plotly/package_data/plotly.min.js")))
# Relative to the page: every page lies directly below the server's base path. The version is part of the name, so that
# browsers may keep the file for ever.
PLOTLY_JS_URL = f"assets/plotly-{_PLOTLY.version}.min.js"


def routes() -> list[Route]:
    """The routes to give to st.App, which wants the server's base path spelled out."""
    base = f"/{st.get_option('server.baseUrlPath').strip('/')}/".replace("//", "/")
    answers = {PLOTLY_JS_URL: _plotly_js, f"{prefetch.PATH}/{{token}}": prefetch.answer}
    return [*(Route(f"{base}{path}", endpoint) for path, endpoint in answers.items()), *rooms.routes(base)]


@functools.cache
def _compressed() -> bytes:
    return gzip.compress(_FILE.read_bytes(), mtime=0)


def _plotly_js(request: Request) -> Response:
    keep = {"Cache-Control": "public, max-age=31536000, immutable"}
    if "gzip" not in request.headers.get("Accept-Encoding", ""):
        return FileResponse(_FILE, headers=keep, media_type="text/javascript")
    # Streamlit's middleware would compress too, but anew for every visitor. It adds Vary to the plain answer.
    headers = {**keep, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return Response(_compressed(), headers=headers, media_type="text/javascript")
