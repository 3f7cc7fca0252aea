"""The dashboard, which tells at /computed how many values each cache has had to compute."""

from __future__ import annotations

import json
import shutil
import urllib.request
from pathlib import Path

from ..harness import ROOT, Server

APP = f"""
import sys
from pathlib import Path
import streamlit as st
from starlette.responses import JSONResponse
from starlette.routing import Route
from dpcore.core.cache import SharedCache
from dpcore.core.blas import one_blas_thread
from pages.server import assets

one_blas_thread()

def computed(request):
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(("dpcore", "pages"))]
    caches = {{id(value): (f"{{m.__name__}}.{{name}}", value.misses) for m in modules for name, value in vars(m).items()
               if isinstance(value, SharedCache)}}
    return JSONResponse(dict(caches.values()))

app = st.App(Path({str(ROOT)!r}) / "pages" / "main.py", routes=[*assets.routes(), Route("/computed", computed)])
"""


def write_app(folder: Path) -> Path:
    """Write it, with the real settings, into a folder; returns its script."""
    (folder / "app.py").write_text(APP)
    shutil.copytree(ROOT / ".streamlit", folder / ".streamlit")
    return folder / "app.py"


def computed(server: Server) -> dict[str, int]:
    """How many values each cache has had to compute, of those that did any."""
    with urllib.request.urlopen(f"{server.url}/computed", timeout=120) as answer:
        return {name: misses for name, misses in json.load(answer).items() if misses}
