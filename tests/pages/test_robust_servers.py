"""Servers in trouble: whoever visits them sees pictures or one sentence, and their logs hold no traceback."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from ..harness import ROOT, Server, serve
from ..sessions import Session

pytestmark = pytest.mark.nightly

# No file may grow beyond 50 kB: most compiled functions are larger.
FULL_DISK = f"""
import resource
import signal
from pathlib import Path
import streamlit as st

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
from pages.server import assets
app = st.App(Path({str(ROOT)!r}) / "pages" / "main.py", routes=assets.routes())
"""


def log_of(server: Server) -> str:
    return server.log.read_text(encoding="utf-8")


async def look(url: str, page: str = "") -> int:
    """Open a page at two places of a slider, and wait for its pictures."""
    for epsilon in ("1", "0.1"):
        async with Session(url) as session:
            await session.see(page, f"n=300&epsilon={epsilon}")
    return session.figures


def test_two_servers_that_start_at_once_share_an_empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    async def both() -> list[int]:
        return await asyncio.gather(look(first.url), look(second.url))

    with serve(ROOT / "app.py") as first, serve(ROOT / "app.py") as second:
        assert min(asyncio.run(both())) >= 1
        assert "Traceback" not in log_of(first) + log_of(second)
    # Where both list a function's compiled forms at one moment, a form can be lost: a third server makes up for it.
    for _ in ("third", "fourth"):
        kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb*")}
        assert kept
        with serve(ROOT / "app.py") as later:
            assert asyncio.run(look(later.url)) >= 1
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb*")} == kept, "a fourth compiles nothing"


def test_a_server_on_a_full_disk_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # Python would keep the beginning of its bytecode
    (tmp_path / "app.py").write_text(FULL_DISK, encoding="utf-8")
    shutil.copytree(ROOT / ".streamlit", tmp_path / ".streamlit")
    with serve(tmp_path / "app.py") as server:
        for page in ("", "perturbation", "selection"):
            assert asyncio.run(look(server.url, page)) >= 1
        log = log_of(server)
    assert "Traceback" not in log
    assert log.count("cannot be kept in") == 1, "said once"
