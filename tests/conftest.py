"""Servers for tests, and what happens to browser tests where there is no browser.

They are left out, the summary says which, and the exit status is 3 if everything else passed: neither a pass
nor a failure. With REQUIRE_BROWSER=1 it is 1. Where pytest-xdist spreads the tests over processes, each of these
collects and leaves out the same tests, and the one that spread them says so.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from dpcore.core.blas import one_blas_thread
from dpcore.figures.figure import Figure

from .drawn import checked
from .harness import REMEDIES, find_browser
from .nights import Pairwise

# Test files take longer to compile than to import: each process, the next run and all that tests start read what one of
# them has compiled, whatever the shell says.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# As in every program of ours: where each process spreads small products over all cores, all of them wait.
one_blas_thread()

# The same examples in every run, and no failure because a machine was busy.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

MAIN = sys.modules["__main__"]
LEFT_OUT = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Pairwise())


@pytest.hookimpl(trylast=True)  # after -m and -k: a test nobody asked for is not missing
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # What takes longest comes first: browsers, then the files with many tests (see dev.SPREAD).
    tests_of = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.get_closest_marker("browser") is None, -tests_of[item.path], item.path))
    wanting = [item for item in items if item.get_closest_marker("browser")]
    if not wanting or find_browser():
        return
    config.stash[LEFT_OUT] = [item.nodeid for item in wanting]
    config.hook.pytest_deselected(items=wanting)
    items[:] = [item for item in items if item not in wanting]


class FewBrowsers(LoadFileScheduling):
    """Files stay whole, and half of the processes run browser tests.

    Browser, server and test keep more than one core busy: two browsers on two cores would wait for one another.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        if not file.startswith("tests/browser/"):
            return file
        return f"browser {crc32(file.encode()) % max(1, self.numnodes // 2)}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FewBrowsers | None:
    return FewBrowsers(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", [])


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(LEFT_OUT, [])
        return
    rest_passed = session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    if rest_passed and session.config.stash.get(LEFT_OUT, []):
        session.exitstatus = 1 if os.environ.get("REQUIRE_BROWSER") == "1" else 3


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    seconds: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid.partition("::")[0]] += report.duration
    terminalreporter.section("slowest files")
    for file, duration in seconds.most_common(10):
        terminalreporter.write_line(f"{duration:7.1f} s  {file}")
    if not (names := config.stash.get(LEFT_OUT, [])):
        return
    terminalreporter.section("no browser")
    terminalreporter.write_line(f"{len(names)} browser tests did not run, because no browser was found:")
    for name in names:
        terminalreporter.write_line(f"  {name}")
    terminalreporter.write_line("Any of these helps:")
    for remedy in REMEDIES:
        terminalreporter.write_line(f"  - {remedy}")


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """AppTest puts the page in its place, and processes spawned by a later test would begin by running that page."""
    sys.modules["__main__"] = MAIN


@pytest.fixture(autouse=True, scope="session")
def figures_are_valid() -> Iterator[None]:
    """Whatever a test has drawn, plotly takes it, and would send the browser the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "to_json", checked(Figure.to_json))
        yield
