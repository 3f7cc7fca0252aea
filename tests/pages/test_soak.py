"""Thousands of random visits to one server: no error is shown or logged, and its memory does not grow."""

from __future__ import annotations

import asyncio
import random
import shutil
import statistics
from pathlib import Path

import pytest

from dpcore import EPSILON_GRID
from pages.ui.sidebar import DELTAS

from ..harness import ROOT, Server, serve
from ..page_driver import LIVE
from ..sessions import Session

# What is remembered is bounded, and would fill for hours: with a twentieth of the room it is full after minutes.
APP = f"""
from pathlib import Path
import streamlit as st
from dpcore.core.cache import SharedCache

whole = SharedCache.__init__

def small(self, size, *weigh):
    whole(self, max(1, size // 20), *weigh)

SharedCache.__init__ = small

from pages.server import preload_imports, assets
preload_imports.start()
app = st.App(Path({str(ROOT)!r}) / "pages" / "main.py", routes=assets.routes())
"""
VISITS, AT_A_LOOK = 2_000, 25
GROWTH = 0.05


def resident_mb(process: int) -> float:
    """Of a process, as Linux has it."""
    line = next(line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


async def wander(server: Server, rng: random.Random) -> list[float]:
    """Visitors come one after the other, each to a page in some state; the server's memory now and then, in MB."""
    memory = []
    for visit in range(VISITS):
        page = rng.choice(LIVE)
        query = f"n=300&epsilon={rng.choice(EPSILON_GRID):g}&delta={rng.choice(DELTAS):g}&seed={rng.randrange(100)}"
        async with Session(server.url) as session:
            await session.visit(page.replace(LIVE[0], ""), query)
            assert not session.errors
        if visit % AT_A_LOOK == AT_A_LOOK - 1:
            memory.append(resident_mb(server.process))
    return memory


@pytest.mark.nightly
def test_two_thousand_random_visits_leave_memory_flat(tmp_path):
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    shutil.copytree(ROOT / ".streamlit", tmp_path / ".streamlit")
    with serve(tmp_path / "app.py") as server:
        memory = asyncio.run(wander(server, random.Random(1)))
        log = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in log
    fourths = [statistics.median(memory[k * len(memory) // 4 : (k + 1) * len(memory) // 4]) for k in range(4)]
    print(" -> ".join(f"{megabytes:.0f}" for megabytes in fourths), "MB in each fourth of the visits")
    assert fourths[3] <= (1 + GROWTH) * fourths[1]
