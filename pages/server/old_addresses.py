"""Addresses that pages had before, and links that hold them: each leads to the page of today, in the same state."""

from urllib.parse import parse_qsl, urlencode

import streamlit as st
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route

_NOW = {"start": "", "doors": "perturbation", "sparse": "sparsity", "classes": "multiclass", "trust": "audit"}
# What a control or a lecture was called in them.
_VALUES = {
    "lecture": {**_NOW, "start": "overview"},
    "tab": {"L1 ball": "LASSO", "Simplex": "Simplex sampling", "Streaming": "Online"},
}


def routes() -> list[Route]:
    """The routes to give to st.App, which wants the server's base path spelled out."""
    base = st.get_option("server.baseUrlPath").strip("/")
    return [Route("/" + f"{base}/{old}".lstrip("/"), _lead_on) for old in _NOW]


def _lead_on(request: Request) -> RedirectResponse:
    *_, old = request.url.path.strip("/").split("/")
    said = parse_qsl(request.url.query, keep_blank_values=True)
    query = urlencode([(name, _VALUES.get(name, {}).get(value, value)) for name, value in said])
    return RedirectResponse(f"./{_NOW[old]}" + (f"?{query}" if query else ""), 301)
