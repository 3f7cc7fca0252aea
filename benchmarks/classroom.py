"""A class of students at one dashboard: how long a move of a slider takes while all the others move theirs.

    python -m benchmarks classroom [--sessions 60] [--seconds 60] [--every 3] [--rounds 1] [--checkout FOLDER ...]

One process of this checkout, one of each other checkout that is named, and one with a bare page (a slider and one
st.plotly_chart), as information. All are warmed: a visitor goes to every place that the class may look at. Then each
has its class, one after the other, as many times as there are rounds. The sessions are shared over the pages; each
moves epsilon or n every so many seconds, up to `--farthest` places up or down and back again, then again one of the
two. A move's seconds are those from when it was due until the page is complete, its pictures included; a late session
makes the next move at once. Errors are those on the pages and those in the server's log. "Cores" are those that the
server and the sessions, which live in this process, keep busy.
"""

import argparse
import asyncio
import contextlib
import dataclasses as dc
import os
import random
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psutil

from benchmarks.client import Broken, Client
from tests.harness import ROOT, Server, serve
from tests.page_driver import LIVE

PAGES = ("", *LIVE[1:])  # the first is at the root
SLIDERS = ("epsilon", "n")  # those that most steps of the lectures leave to be moved
BARE = """
import numpy as np
import plotly.graph_objects as go
import streamlit as st
from dpcore import EPSILON_GRID

epsilon = st.select_slider("epsilon", [f"{each:g}" for each in EPSILON_GRID], "1", key="epsilon")
x = np.linspace(0.0, 1.0, 100)
st.plotly_chart(go.Figure(go.Scatter(x=x, y=x ** float(epsilon))), key="chart")
"""


@dc.dataclass
class Lesson:
    """Seconds of each move, errors in words, and the number of busy cores: this process, the server."""

    moves: list[float] = dc.field(default_factory=list)
    errors: list[str] = dc.field(default_factory=list)
    cores: list[float] = dc.field(default_factory=list)


def excursion(place: int, places: int, farthest: int, rng: random.Random) -> list[int]:
    """Places to go to one after the other: some steps up or down, and back again.

    >>> excursion(0, 4, 5, random.Random(0)), excursion(3, 4, 5, random.Random(1))
    ([1, 2, 1, 0], [2, 1, 0, 1, 2, 3])
    """
    ends = [end for end in range(max(0, place - farthest), min(places, place + farthest + 1)) if end != place]
    end = rng.choice(ends)
    step = 1 if end > place else -1
    return [*range(place + step, end + step, step), *range(end - step, place - step, -step)]


async def attend(client: Client, every: float, until: float, farthest: int, rng: random.Random, lesson: Lesson) -> None:
    """Move a slider every so often until then (both by the monotonic clock)."""
    due = time.monotonic() + rng.random() * every
    key, places = "", list[int]()
    while due < until:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        if not places:
            key = rng.choice([key for key in SLIDERS if key in client.sliders])
            places = excursion(client.place(key), len(client.sliders[key].options), farthest, rng)
        try:
            await client.move(key, client.sliders[key].options[places.pop(0)])
            await client.see()
        except Broken as error:
            lesson.errors.append(str(error))
        lesson.moves.append(time.monotonic() - due)
        due = max(due + every, time.monotonic())


async def hold(server: Server, pages: Sequence[str], asked: argparse.Namespace) -> Lesson:
    """Let all sessions in, then start the clock."""
    lesson = Lesson()
    logged = len(server.log.read_text().splitlines())
    async with contextlib.AsyncExitStack() as room:
        clients = [await room.enter_async_context(Client(server.url)) for _ in range(asked.sessions)]
        for k, client in enumerate(clients):
            await client.visit(pages[k % len(pages)])
        started, before = time.monotonic(), _cpu_seconds(server)
        moving = (
            attend(client, asked.every, started + asked.seconds, asked.farthest, random.Random(k), lesson)
            for k, client in enumerate(clients)
        )
        await asyncio.gather(*moving)
        passed = time.monotonic() - started
        lesson.cores = [(end - begin) / passed for begin, end in zip(before, _cpu_seconds(server), strict=True)]
    lines = server.log.read_text().splitlines()[logged:]
    lesson.errors += [line for line in lines if "Error" in line or "Traceback" in line]
    return lesson


async def warm(server: Server, pages: Sequence[str], farthest: int) -> None:
    """Put each slider on each place within reach of where it stands, and back."""
    for page in pages:
        async with Client(server.url) as client:
            await client.visit(page)
            await client.settle()
            for key in filter(client.sliders.__contains__, SLIDERS):
                start, options = client.place(key), list(client.sliders[key].options)
                for option in (*options[max(0, start - farthest) : start + farthest + 1], options[start]):
                    await client.move(key, option)
                    await client.settle()


def _cpu_seconds(server: Server) -> list[float]:
    """Of this process so far, and of the server's."""
    times = [psutil.Process(process).cpu_times() for process in (os.getpid(), server.process)]
    return [each.user + each.system for each in times]


def row(name: str, lesson: Lesson, due: float) -> str:
    """A line of the table, with the errors below it."""
    p50, p95, most = 1000 * np.percentile(lesson.moves, [50, 95, 100], method="higher")
    cores = ", ".join(f"{each:.2f}" for each in reversed(lesson.cores))
    cells = (name, f"{len(lesson.moves)} of {due:.0f}", f"{p50:.0f}", f"{p95:.0f}", f"{most:.0f}", cores)
    return "\n".join([f"| {' | '.join(cells)} | {len(lesson.errors)} |", *lesson.errors[:10]])


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks classroom", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sessions", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--every", type=float, default=3.0)
    parser.add_argument("--farthest", type=int, default=1, help="places that a slider is moved from where it stands")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--checkout", type=Path, action="append", default=[], help="another checkout, in turns")
    asked = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (place / "bare.py").write_text(BARE)
        shutil.copytree(ROOT / ".streamlit", place / ".streamlit")
        scripts = {str(each): each.resolve() / "app.py" for each in (ROOT, *asked.checkout)}
        rivals = {
            name: (stack.enter_context(serve(script)), PAGES if script.name == "app.py" else ("",))
            for name, script in {**scripts, "a bare page": place / "bare.py"}.items()
        }
        for server, pages in rivals.values():
            asyncio.run(warm(server, pages, asked.farthest))
        print(f"{asked.sessions} sessions, a move every {asked.every:g} s each, {asked.seconds:g} s")
        print("| server | moves made | p50 ms | p95 ms | max ms | cores: server, sessions | errors |")
        print("|---" * 7 + "|")
        for _ in range(asked.rounds):
            for name, (server, pages) in rivals.items():
                lesson = asyncio.run(hold(server, pages, asked))
                print(row(name, lesson, asked.sessions * asked.seconds / asked.every), flush=True)
