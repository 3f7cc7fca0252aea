"""Processor milliseconds that a move of a slider takes on each page, and on a bare page with one slider.

    python -m benchmarks.move_cost [--rounds 5] [--places 4] [--pages overview,perturbation,...]

One run, two servers: the dashboard, and Streamlit with a script of one slider. A visitor without a browser takes
epsilon some places away and back, at first to have everything computed, then in turns with the bare page; the processor
time of the servers' processes is read after each round. "Extra" is what a move takes more than one on the bare page,
in the median of the rounds; nothing is computed or fetched ahead meanwhile. A third server shows, by cProfile, whose
code the script's thread runs: shares of its processor time, those of built-in functions with those of their callers.
"""

import argparse
import asyncio
import pstats
import shutil
import statistics
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import psutil

from pages.server.headless_client import HeadlessClient
from tests.harness import ROOT, Server, serve
from tests.page_driver import LIVE

BARE = """
import streamlit as st
from dpcore import EPSILON_GRID

epsilon = st.select_slider("epsilon", [f"{each:g}" for each in EPSILON_GRID], "1", key="epsilon")
st.write(epsilon)
"""
# What app.py does for pages, with a profile of each run of a script. FOLDER and MAIN come first.
PROFILED = """
import cProfile, itertools, os, time
import streamlit as st
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from dpcore.core.blas import one_blas_thread
from pages.server import assets, upload_lifetime

def run(self, asked, run=ScriptRunner._run_script, numbers=itertools.count()):
    profile = cProfile.Profile(time.thread_time)
    profile.runcall(run, self, asked)
    name = f"{FOLDER}/{next(numbers)}"
    profile.dump_stats(name)
    os.rename(name, f"{name}.prof")

ScriptRunner._run_script = run
one_blas_thread()
upload_lifetime.keep_in_memory()
app = st.App(MAIN, routes=assets.routes(), lifespan=upload_lifetime.lifespan)
"""
OWNERS = ("streamlit", "pandas", "numpy", "dpcore", "pages")


class Visitor:
    """A session at a page that takes epsilon some places away and back."""

    def __init__(self, client: HeadlessClient, server: Server, places: int) -> None:
        self._client, self._process = client, psutil.Process(server.process)
        start, self._options = client.place("epsilon"), list(client.sliders["epsilon"].options)
        step = 1 if start + places < len(self._options) else -1
        away = range(start + step, start + step * (places + 1), step)
        self._tour = [*away, *reversed(away[:-1]), start]

    async def tour(self) -> float:
        """Milliseconds of the processor for each move, in the mean."""
        before = self._busy()
        for place in self._tour:
            await self._client.move("epsilon", self._options[place])
            await self._client.settle()
        return 1000 * (self._busy() - before) / len(self._tour)

    def _busy(self) -> float:
        times = self._process.cpu_times()
        return times.user + times.system


async def compare(page: str, ours: Server, bare: Server, rounds: int, places: int) -> tuple[list[float], list[float]]:
    """Milliseconds of a move in each round, on a page and on the bare page."""
    async with HeadlessClient(ours.url) as one, HeadlessClient(bare.url) as other:
        await one.visit(address(page))
        await one.settle()
        await other.visit("")
        here, there = Visitor(one, ours, places), Visitor(other, bare, places)
        await here.tour()
        await there.tour()
        times = [(await here.tour(), await there.tour()) for _ in range(rounds)]
        return [mine for mine, _ in times], [theirs for _, theirs in times]


async def profile(page: str, server: Server, folder: Path, places: int) -> Counter[str]:
    """Seconds of the script's thread by the package whose code it runs, on a tour of what has been computed."""
    async with HeadlessClient(server.url) as client:
        await client.visit(address(page))
        await client.settle()
        visitor = Visitor(client, server, places)
        await visitor.tour()
        for file in folder.glob("*.prof"):
            file.unlink()
        await visitor.tour()
    found: Counter[str] = Counter()
    stats = pstats.Stats(*map(str, folder.glob("*.prof"))).stats  # type: ignore[attr-defined]
    for (file, _, _), (_, _, own, _, callers) in stats.items():
        if file == "~":  # a built-in function
            for (caller, _, _), (_, _, part, _) in callers.items():
                found[owner(caller)] += part
        else:
            found[owner(file)] += own
    return found


def owner(file: str) -> str:
    """The first of OWNERS that has a folder on the path of a file, or "Python and others".

    >>> owner("/a/site-packages/pandas/core/frame.py"), owner("/a/lib/json/encoder.py")
    ('pandas', 'Python and others')
    """
    folders = Path(file).parts
    return next((name for name in OWNERS if name in folders), "Python and others")


def address(page: str) -> str:
    return "" if page == LIVE[0] else page


def measure(pages: Sequence[str], rounds: int, places: int) -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        shutil.copytree(ROOT / ".streamlit", folder / ".streamlit")
        (folder / "bare.py").write_text(BARE)
        (folder / "profiled.py").write_text(
            f"FOLDER, MAIN = {place!r}, {str(ROOT / 'pages' / 'main.py')!r}\n{PROFILED}"
        )
        print("| page | ms a move | bare page | extra |")
        print("|---|---|---|---|")
        with serve(ROOT / "app.py") as ours, serve(folder / "bare.py") as bare:
            for page in pages:
                here, there = asyncio.run(compare(page, ours, bare, rounds, places))
                extra = statistics.median(mine - theirs for mine, theirs in zip(here, there, strict=True))
                numbers = " | ".join(f"{each:.1f}" for each in (*map(statistics.median, (here, there)), extra))
                print(f"| {page} | {numbers} |", flush=True)
        names = (*OWNERS, "Python and others")
        print(f"\n| page | {' | '.join(names)} |")
        print("|---" * (len(names) + 1) + "|")
        with serve(folder / "profiled.py") as server:
            for page in pages:
                found = asyncio.run(profile(page, server, folder, places))
                shares = " | ".join(f"{found[name] / found.total():.0%}" for name in names)
                print(f"| {page} | {shares} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--places", type=int, default=4)
    parser.add_argument("--pages", default=",".join(LIVE))
    asked = parser.parse_args()
    measure(asked.pages.split(","), asked.rounds, asked.places)


if __name__ == "__main__":
    main()
