"""What browser tests and tools/screenshots.py need: an installed browser and a running server."""

from __future__ import annotations

import gc
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pages.server import preload_imports

ROOT = Path(__file__).resolve().parent.parent
REMEDIES = (
    "install Chromium or Chrome (Debian: apt install chromium)",
    "set CHROMIUM to the path of a browser's program",
    "run: python -m playwright install chromium (in .venv)",
)
# For the first: Chromium refuses to run as root with its sandbox. The second: a process that has shown a page shows the
# next one with a third less work than a new one. The third: pages that are looked at for seconds never earn back what
# optimising their scripts and looking through young objects for garbage costs, an eighth of the page's work. The others
# keep it from calling home.
FLAGS = (
    "--no-sandbox",
    "--renderer-process-limit=1",
    "--js-flags=--no-opt --no-maglev --min-semi-space-size=64",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
)


def find_browser() -> str | None:
    """The browser to drive: $CHROMIUM (nothing else if it is set), then PATH, then Playwright's own."""
    if chosen := os.environ.get("CHROMIUM"):
        return shutil.which(chosen)
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


@dataclass(frozen=True)
class Server:
    """A running dashboard: url without a slash at its end, log the file it writes to, process its id."""

    url: str
    log: Path
    process: int


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serve(script: Path, *options: str, base: str = "", port: int = 0) -> Iterator[Server]:
    """Run `streamlit run script` until the block ends; base is a base path, like "/base", port 0 a free one."""

    def start(arguments: list[str], environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
        with log.open("w") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "streamlit", *arguments],
                cwd=script.parent,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    with _running(start, script, *options, base=base, port=port) as server:
        yield server


@contextmanager
def fork(script: Path, *options: str, base: str = "", port: int = 0) -> Iterator[Server]:
    """As `serve`, from a process that has imported what every server needs: a quarter of the work, less memory."""

    def start(arguments: list[str], environment: dict[str, str], log: Path) -> _Forked:
        return _Forked(_run_streamlit, (script.parent, arguments, environment, log))

    with _running(start, script, *options, base=base, port=port) as server:
        yield server


_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["streamlit.web.cli", "streamlit.web.server.starlette", *preload_imports.MODULES])


class _Forked:
    """A process of _FORKS with the methods of subprocess.Popen."""

    def __init__(self, target: Callable[..., None], arguments: tuple[object, ...]) -> None:
        self._process = _FORKS.Process(target=target, args=arguments)
        self._process.start()
        assert self._process.pid
        self.pid, self.terminate, self.kill = self._process.pid, self._process.terminate, self._process.kill

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> None:
        self._process.join(timeout)
        if self._process.is_alive():
            raise subprocess.TimeoutExpired("streamlit", timeout or 0.0)


def _run_streamlit(folder: Path, arguments: list[str], environment: dict[str, str], log: Path) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for stream in (1, 2):
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    sys.argv = ["streamlit", *arguments]
    import streamlit.web.cli

    gc.freeze()  # as a server of ours does; Streamlit looks for garbage after each run of a page
    streamlit.web.cli.main(prog_name="streamlit")


@contextmanager
def _running(
    start: Callable[[list[str], dict[str, str], Path], subprocess.Popen[bytes] | _Forked],
    script: Path,
    *options: str,
    base: str,
    port: int,
) -> Iterator[Server]:
    port = port or free_port()
    url = f"http://localhost:{port}{base}"
    arguments = ["run", script.name, "--server.address", "localhost", "--server.port", str(port)]
    arguments += ["--server.baseUrlPath", base, "--server.fileWatcherType", "none", *options]
    # A script outside the repository imports pages and dpcore from here.
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "server.log")
        process = start(arguments, environment, log)
        try:
            _wait_for_health(url, process, log)
            yield Server(url, log, process.pid)
            if process.poll() is not None:
                raise RuntimeError(f"the server ended with {process.poll()}:\n{log.read_text()}")
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for_health(url: str, process: subprocess.Popen[bytes] | _Forked, log: Path, seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=5):
                return
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.1)
    raise RuntimeError(f"the server at {url} did not start:\n{log.read_text()}")
