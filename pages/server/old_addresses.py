"""Addresses that pages had before: each leads to the page of today, whose links understand their old options too."""

import streamlit as st
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route

_NOW = {"start": "", "doors": "perturbation", "sparse": "sparsity", "classes": "multiclass", "trust": "audit"}


def routes() -> list[Route]:
    """The routes to give to st.App, which wants the server's base path spelled out."""
    base = st.get_option("server.baseUrlPath").strip("/")
    return [Route("/" + f"{base}/{old}".lstrip("/"), _lead_on) for old in _NOW]


def _lead_on(request: Request) -> RedirectResponse:
    *_, old = request.url.path.strip("/").split("/")
    return RedirectResponse(f"./{_NOW[old]}" + (f"?{request.url.query}" if request.url.query else ""), 301)
