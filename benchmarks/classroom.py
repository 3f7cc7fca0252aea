"""A class of students at one dashboard: how long a move of a slider takes while all the others move theirs.

    python -m benchmarks.classroom [--sessions 30] [--seconds 300] [--every 3 | --rate 20] [--servers 1] [--cold]

Starts the servers on free ports; several of them share cells, as those of `dev.py run --servers` do. Opens that many
sessions, shared over the servers and the eight pages. Each begins with its page as it opens, as if all had followed the
same link, and moves epsilon or n by one place every so many seconds: up to `--farthest` places up or down and back
again, then again one of the two. `--rate` says instead how many moves all make together in a second. What they look at
was computed before, as the command that warms a lecture does it; with `--cold` only the pages were opened. A move's
seconds are those from when it was due until the page is complete, its pictures included; a late session makes the next
move at once. Every ten seconds the servers' memory is looked at; its growth is that of the median of the last of four
parts over the median of the first, once a fifth of the time is over. Errors are those on the pages and those in the
servers' logs.

The sessions live in this process: what it takes from the servers' cores is counted too. A class that has come in is
measured: before that, all sessions open their pages.
"""

import argparse
import asyncio
import contextlib
import dataclasses as dc
import os
import random
import statistics
import tempfile
import time
from collections.abc import Sequence

import pandas as pd
import psutil

from pages.lectures.warming import explore
from pages.server import shared_cells
from pages.server.headless_client import Broken, HeadlessClient
from tests.harness import ROOT, Server, serve
from tests.page_driver import LIVE

PAGES = ("", *LIVE[1:])  # the first is at the root
SLIDERS = ("epsilon", "n")  # those that most steps of the lectures leave to be moved
_LOOK_SECONDS = 10.0
_SHARES = [0.5, 0.95, 1.0]


@dc.dataclass
class Move:
    """left: seconds of the lesson that were left when it was due. took: seconds."""

    page: str
    left: float
    took: float


@dc.dataclass
class Lesson:
    """Result of a lesson: moves, errors in words, the servers' MB at each look, and the mean number of busy cores.

    cores: with the sessions, then with each server.
    """

    seconds: float
    moves: list[Move] = dc.field(default_factory=list)
    errors: list[str] = dc.field(default_factory=list)
    memory: list[float] = dc.field(default_factory=list)
    cores: list[float] = dc.field(default_factory=list)

    @property
    def growth(self) -> float:
        """Of the memory, once a fifth of the time is over: the last quarter of that over the first."""
        later = self.memory[len(self.memory) // 5 :]
        quarter = max(1, len(later) // 4)
        return statistics.median(later[-quarter:]) / statistics.median(later[:quarter]) - 1.0


def excursion(place: int, places: int, farthest: int, rng: random.Random) -> list[int]:
    """Places to go to one after the other: some steps up or down, and back again.

    >>> excursion(0, 4, 5, random.Random(0)), excursion(3, 4, 5, random.Random(1))
    ([1, 2, 1, 0], [2, 1, 0, 1, 2, 3])
    """
    ends = [end for end in range(max(0, place - farthest), min(places, place + farthest + 1)) if end != place]
    end = rng.choice(ends)
    step = 1 if end > place else -1
    return [*range(place + step, end + step, step), *range(end - step, place - step, -step)]


async def attend(
    client: HeadlessClient, page: str, every: float, until: float, farthest: int, rng: random.Random, lesson: Lesson
) -> None:
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
        lesson.moves.append(Move(page or "overview", until - due, time.monotonic() - due))
        due = max(due + every, time.monotonic())


async def lesson_at(
    servers: Sequence[Server], sessions: int, every: float, seconds: float, farthest: int, cold: bool
) -> Lesson:
    """Open everything that sessions may look at, unless it is to be cold, let all of them in, then start the clock."""
    if not cold:
        await asyncio.gather(
            *(_prepare(server.url, pages, farthest) for server in servers for pages in (PAGES[::2], PAGES[1::2]))
        )
    lesson = Lesson(seconds)
    async with contextlib.AsyncExitStack() as room:
        clients = []
        for k in range(sessions):
            client = await room.enter_async_context(HeadlessClient(servers[k % len(servers)].url))
            page = PAGES[k // len(servers) % len(PAGES)]
            await client.visit(page)
            clients.append((client, page))
        until = time.monotonic() + seconds
        look = asyncio.create_task(_look(servers, lesson))
        before = _cpu_seconds(servers)
        moving = (
            attend(client, page, every, until, farthest, random.Random(k), lesson)
            for k, (client, page) in enumerate(clients)
        )
        await asyncio.gather(*moving)
        look.cancel()
        lesson.cores = [(end - begin) / seconds for begin, end in zip(before, _cpu_seconds(servers), strict=True)]
    for server in servers:
        lesson.errors += [
            line for line in server.log.read_text().splitlines() if "Error" in line or "Traceback" in line
        ]
    return lesson


async def _prepare(url: str, pages: Sequence[str], farthest: int) -> None:
    for page in pages:
        async with HeadlessClient(url) as client:
            await client.visit(page)
            await client.settle()
            await explore(client, SLIDERS, farthest)


def _cpu_seconds(servers: Sequence[Server]) -> list[float]:
    """Of this process so far, then of each server's."""
    times = [psutil.Process(process).cpu_times() for process in (os.getpid(), *(each.process for each in servers))]
    return [each.user + each.system for each in times]


async def _look(servers: Sequence[Server], lesson: Lesson) -> None:
    while True:
        lesson.memory.append(sum(psutil.Process(server.process).memory_info().rss for server in servers) / 2**20)
        await asyncio.sleep(_LOOK_SECONDS)


def table(lesson: Lesson) -> pd.DataFrame:
    """Moves and milliseconds: a row for each page, for each minute, and for all."""
    moves = pd.DataFrame(lesson.moves)
    minutes = 1 + ((lesson.seconds - moves.left) // 60).astype(int)
    parts = {page: took for page, took in moves.took.groupby(moves.page)}
    parts |= {f"minute {minute}": took for minute, took in moves.took.groupby(minutes)}
    parts["all"] = moves.took
    rows = {name: (len(took), *(1000 * took.quantile(_SHARES, "higher"))) for name, took in parts.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["moves", "p50", "p95", "max"]).round().astype(int)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--every", type=float, default=3.0)
    parser.add_argument("--rate", type=float, help="moves a second of all together, in place of --every")
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--farthest", type=int, default=5, help="places that a slider is moved from where it stands")
    parser.add_argument("--cold", action="store_true", help="nothing that a move shows was computed before")
    asked = parser.parse_args()
    every = asked.sessions / asked.rate if asked.rate else asked.every
    with contextlib.ExitStack() as stack:
        if asked.servers > 1:
            os.environ[shared_cells.SETTING] = stack.enter_context(tempfile.TemporaryDirectory())
        servers = [stack.enter_context(serve(ROOT / "app.py")) for _ in range(asked.servers)]
        lesson = asyncio.run(lesson_at(servers, asked.sessions, every, asked.seconds, asked.farthest, asked.cold))

    print(f"{asked.sessions} sessions, a move every {every:g} s each, {asked.servers} server(s), {asked.seconds:g} s")
    print(table(lesson).rename_axis("ms", axis="columns").to_string())
    print(f"memory {lesson.memory[0]:.0f} MB, at last {lesson.memory[-1]:.0f} MB, growth {lesson.growth:+.1%}")
    busy = ", ".join(f"{cores:.2f}" for cores in lesson.cores[1:])
    print(f"cores busy: {lesson.cores[0]:.2f} with the sessions, {busy} with the servers")
    print(f"errors: {len(lesson.errors)}", *lesson.errors[:10], sep="\n")


if __name__ == "__main__":
    main()
