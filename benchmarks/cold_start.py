"""From nothing to a picture: importing dpcore, compiling every kernel, and a server's first picture in a browser.

    python -m benchmarks cold_start [--starts 5] [--pages overview,perturbation]

Compiling begins from an empty cache and a second process repeats it: that one must compile nothing. Seconds to a
picture are those from the start of the server's process until the browser paints the page's first chart; the browser
has the server's files from an earlier visit, and the server starts afresh for each page.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import BrowserContext, sync_playwright

from tests.harness import FLAGS, ROOT, find_browser, free_port, serve
from tests.page_driver import LIVE

IMPORT = "import time; start = time.perf_counter(); import dpcore; print(time.perf_counter() - start)"
PAINTED = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))"


def import_seconds() -> float:
    """Seconds for the import of dpcore, in a new process."""
    out = subprocess.run([sys.executable, "-c", IMPORT], cwd=ROOT, capture_output=True, text=True, check=True)
    return float(out.stdout)


def warm_seconds(folder: Path) -> tuple[float, int]:
    """`python -m dpcore warm` with this folder as the cache, and how many files are in it afterwards."""
    start = time.perf_counter()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, "-m", "dpcore", "warm"]
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    return time.perf_counter() - start, sum(path.is_file() for path in folder.rglob("*"))


def picture_seconds(context: BrowserContext, page: str, port: int) -> tuple[float, float]:
    """Until a new server answers, and until its first picture."""
    start = time.perf_counter()
    with serve(ROOT / "app.py", port=port) as server:
        answers = time.perf_counter() - start
        tab = context.new_page()
        tab.goto(f"{server.url}/{'' if page == 'overview' else page}")
        tab.locator(".live-figure .main-svg").first.wait_for(timeout=120_000)
        tab.evaluate(PAINTED)
        painted = time.perf_counter() - start
        tab.close()
    return answers, painted


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks cold_start",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--pages", default=",".join(LIVE))
    words = parser.parse_args(arguments)
    print(f"import dpcore: {statistics.median(import_seconds() for _ in range(words.starts)):.3f} s")
    with tempfile.TemporaryDirectory() as folder:
        first, files = warm_seconds(Path(folder))
        again, files_again = warm_seconds(Path(folder))
    print(f"warm: {first:.1f} s; again {again:.1f} s, {files_again - files} new files of {files_again}")
    print("| page | answers s | picture s, median | max |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as profile, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=find_browser(),
            args=list(FLAGS),
            viewport={"width": 1440, "height": 900},
            bypass_csp=True,  # the pages' policy would forbid Playwright's own waiting, which evaluates strings
        )
        port = free_port()
        picture_seconds(context, "overview", port)
        for page in words.pages.split(","):
            answers, painted = zip(*(picture_seconds(context, page, port) for _ in range(words.starts)), strict=True)
            middle = statistics.median(painted)
            print(f"| {page} | {statistics.median(answers):.2f} | {middle:.2f} | {max(painted):.2f} |", flush=True)
        context.close()
