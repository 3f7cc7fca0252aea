"""A room of phones: how long a phone waits for the reply to its vote while all the others vote.

    python -m benchmarks.room [--phones 200] [--within 5]

Starts the server on a free port. A session opens a lecture's question and a room, and its page counts once a second,
as a teacher's does. Every phone reads the question, votes at a random moment within so many seconds (0: all at once),
and goes on looking every two seconds; each request has a connection of its own. The phones live in this process: what
they take from the cores is counted too.
"""

import argparse
import asyncio
import os
import re
import statistics
import time

import psutil

from tests.harness import ROOT, serve
from tests.phones import lesson


def _cpu_seconds(process: int) -> float:
    times = psutil.Process(process).cpu_times()
    return times.user + times.system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--phones", type=int, default=200)
    parser.add_argument("--within", type=float, default=5.0)
    asked = parser.parse_args()
    with serve(ROOT / "app.py") as server:
        before, started = [_cpu_seconds(each) for each in (os.getpid(), server.process)], time.monotonic()
        took, counts = asyncio.run(lesson(server.url, asked.phones, asked.within))
        seconds = time.monotonic() - started
        busy = [
            (_cpu_seconds(each) - k) / seconds for each, k in zip((os.getpid(), server.process), before, strict=True)
        ]
    seen = sum(map(int, re.findall(r"<b>(\d+)</b>", counts)))
    p50, p95 = statistics.median(took), statistics.quantiles(took, n=100)[94]
    print(f"{asked.phones} phones, all votes within {asked.within:g} s: {seen} on the teacher's screen")
    print(f"reply to a vote: p50 {1000 * p50:.0f} ms, p95 {1000 * p95:.0f} ms, max {1000 * max(took):.0f} ms")
    print(f"cores busy: {busy[0]:.2f} with the phones, {busy[1]:.2f} with the server")


if __name__ == "__main__":
    main()
