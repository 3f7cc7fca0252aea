"""Addresses that pages had before, and links that hold them: each leads to the page of today, in the same state."""

from urllib.parse import parse_qsl, urlencode

import streamlit as st
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route

_NOW = {"start": "", "doors": "perturbation", "sparse": "sparsity", "classes": "multiclass", "trust": "audit"}
# What a control or a lecture was called in them.
_NAMES = {"beside_printed": "beside_published"}
_VALUES = {
    "lecture": {**_NOW, "start": "overview"},
    "check": {"attack it": "Attack", "add it up": "Accounting", "as printed": "As published"},
    "classifier": {"as printed": "as published"},
    "price_against": {"columns": "dimension"},
    "version": {"the honest code": "correct code", "noise as printed": "noise as published"},
    "beside_attack": {"Bet": "Betting test"},
    "beside_published": {"Answers": "Minimisers"},
    "about": {
        **{"printed and right": "Corrections", "where curves come from": "Bounds and tests", "words": "Glossary"},
        **{"figures done again": "Reproductions", "algorithms": "Algorithms", "limits": "Limits"},
    },
    "tab": {"L1 ball": "LASSO", "Simplex": "Simplex sampling", "Streaming": "Online"},
}


def routes() -> list[Route]:
    """The routes to give to st.App, which wants the server's base path spelled out."""
    base = st.get_option("server.baseUrlPath").strip("/")
    return [Route("/" + f"{base}/{old}".lstrip("/"), _lead_on) for old in _NOW]


def _lead_on(request: Request) -> RedirectResponse:
    *_, old = request.url.path.strip("/").split("/")
    said = parse_qsl(request.url.query, keep_blank_values=True)
    named = [(_NAMES.get(name, name), value) for name, value in said]
    query = urlencode([(name, _VALUES.get(name, {}).get(value, value)) for name, value in named])
    return RedirectResponse(f"./{_NOW[old]}" + (f"?{query}" if query else ""), 301)
