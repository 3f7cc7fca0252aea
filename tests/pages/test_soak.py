"""Thousands of random reruns on one server: no error is shown or logged, and its memory does not grow."""

from __future__ import annotations

import asyncio
import math
import random
import shutil
import statistics
from pathlib import Path

import pytest

from pages.server.headless_client import HeadlessClient

from ..harness import ROOT, Server, serve
from .test_links import AT_MOST, STATES

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
PAGES = ("", *(page for page in STATES if page != "overview"))
RERUNS, OF_A_VISITOR = 2_000, 25
GROWTH = 0.05


def cheap(key: str, option: str) -> bool:
    """Whether a slider's option asks for no more than what a class of small problems does."""
    number = option.replace(",", "")
    return not number.isdecimal() or int(number) <= AT_MOST.get(key, math.inf)


def resident_mb(process: int) -> float:
    """Of a process, as Linux has it."""
    line = next(line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


async def wander(server: Server, reruns: int, rng: random.Random) -> list[float]:
    """Visitors come one after the other, each to a page, and move anything; the server's memory after each, in MB."""
    memory = []
    for _ in range(reruns // OF_A_VISITOR):
        async with HeadlessClient(server.url) as client:
            await client.visit(rng.choice(PAGES), "n=300")
            for _ in range(OF_A_VISITOR - 1):
                key = rng.choice(sorted(client.sliders) or [""])
                options = [each for each in client.sliders[key].options if cheap(key, each)] if key else []
                if options:
                    await client.move(key, rng.choice(options))
                else:
                    await client.visit(rng.choice(PAGES), "n=300")
        memory.append(resident_mb(server.process))
    return memory


@pytest.mark.nightly
def test_two_thousand_random_reruns_leave_memory_flat(tmp_path):
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    shutil.copytree(ROOT / ".streamlit", tmp_path / ".streamlit")
    with serve(tmp_path / "app.py") as server:
        memory = asyncio.run(wander(server, RERUNS, random.Random(1)))
        log = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in log
    fourths = [statistics.median(memory[k * len(memory) // 4 : (k + 1) * len(memory) // 4]) for k in range(4)]
    print(" -> ".join(f"{megabytes:.0f}" for megabytes in fourths), "MB in each fourth of the reruns")
    assert fourths[3] <= (1 + GROWTH) * fourths[1]
