"""Run the tests against small injected bugs in the code, each of which one named test must notice.

    python -m tools.mutants            all of them, two at a time; minutes
    python -m tools.mutants NAME ...   those with these names

tools/mutants.toml lists them: in `file`, `old` becomes `new`, and `test` must fail for it. The code without any of them
must pass all these tests first. A mutant counts as caught where its test fails by an assertion: an exception on the
way there shows that the code broke, not that a test looks at what it does.
"""

import dataclasses as dc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
TABLE = Path(__file__).with_suffix(".toml")
_WORKERS = 2
# Seconds that tests may take: all at once, and one of them, which may have to compile kernels.
_MOST_AT_FIRST, _MOST_EACH = 3600.0, 420.0
_ASSERTIONS = ("assert ", "AssertionError", "Failed: ")


@dc.dataclass(frozen=True)
class Mutant:
    """Mutant of a file. file: below the checkout. old: stands in it once. test: the node id of what must notice."""

    name: str
    file: str
    old: str
    new: str
    test: str

    def patched(self, text: str) -> str:
        """The file's text with the mutant; ValueError if `old` does not stand in it exactly once."""
        if (count := text.count(self.old)) != 1:
            raise ValueError(f"{self.name}: its old text must stand once in {self.file}, found {count} times")
        return text.replace(self.old, self.new)

    @contextmanager
    def applied(self, checkout: Path) -> Iterator[None]:
        """The checkout with the mutant, and afterwards without it."""
        file = checkout / self.file
        text, times = file.read_text(), (file.stat().st_atime_ns, file.stat().st_mtime_ns)
        file.write_text(self.patched(text))
        try:
            yield
        finally:
            file.write_text(text)
            os.utime(file, ns=times)  # bytecode of the code without it is valid again


def read_table() -> list[Mutant]:
    """All mutants, in the order of the table."""
    return [Mutant(**entry) for entry in tomllib.loads(TABLE.read_text())["mutant"]]


def copy_checkout(to: Path) -> None:
    """Copy the tracked files, and the compiled kernels so that they need not be compiled again."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    for folder in (ROOT / "dpcore/kernels/__pycache__").glob("dpcore-numba-*"):
        shutil.copytree(folder, to / "dpcore/kernels/__pycache__" / folder.name)


def run_tests(checkout: Path, tests: Sequence[str], most_seconds: float, *options: str) -> tuple[int | None, Path]:
    """pytest's exit status, None where it took too long, and its report in JUnit's format."""
    report = checkout / "report.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *options]
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    where: dict[str, Any] = {"cwd": checkout, "env": environment, "start_new_session": True}
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*command, *tests], **where, **quiet) as process:
        try:
            return process.wait(most_seconds), report
        except subprocess.TimeoutExpired:
            return None, report
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def verdict(status: int | None, report: Path) -> str:
    """Fate of a mutant: "caught", "MISSED", or "broken: " with the reason."""
    if status is None:
        return "broken: its test does not end"
    if status == 0:
        return "MISSED"
    if status != 1 or not report.exists():
        return f"broken: pytest ends with status {status}"
    tree = ElementTree.parse(report)
    messages = [found.get("message", "") for kind in ("failure", "error") for found in tree.iter(kind)]
    others = [message for message in messages if not message.startswith(_ASSERTIONS)]
    if others or tree.find(".//error") is not None:
        return f"broken: {(others or messages)[0].splitlines()[0][:100]}"
    return "caught"


def run_mutants(mutants: Sequence[Mutant]) -> dict[str, str]:
    """Verdict on each mutant by its name; prints a line for each. SystemExit if the code fails without any mutant."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        checkouts = [Path(folder) / f"worker-{i}" for i in range(_WORKERS)]
        copy_checkout(checkouts[0])
        status, report = run_tests(checkouts[0], sorted({mutant.test for mutant in mutants}), _MOST_AT_FIRST)
        if status != 0:
            cases = ElementTree.parse(report).iter("testcase") if report.exists() else []
            failed = ", ".join(f"{case.get('classname')}::{case.get('name')}" for case in cases if len(case))
            raise SystemExit(f"without any mutant pytest ends with status {status}: {failed or 'no test fails'}")
        for checkout in checkouts[1:]:
            shutil.copytree(checkouts[0], checkout)
        own = threading.local()  # a checkout for each worker

        def judged(mutant: Mutant) -> str:
            start = time.perf_counter()
            with mutant.applied(own.checkout):
                found = verdict(*run_tests(own.checkout, [mutant.test], _MOST_EACH, "-x"))
            print(f"{found:8}  {time.perf_counter() - start:5.1f} s  {mutant.name}", flush=True)
            return found

        with ThreadPoolExecutor(_WORKERS, initializer=lambda: setattr(own, "checkout", checkouts.pop())) as pool:
            return dict(zip([mutant.name for mutant in mutants], pool.map(judged, mutants), strict=True))


def main(names: Sequence[str]) -> int:
    mutants = [mutant for mutant in read_table() if not names or mutant.name in names]
    if unknown := set(names) - {mutant.name for mutant in mutants}:
        print(f"no mutant is called {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    start = time.perf_counter()
    found = run_mutants(mutants)
    caught = list(found.values()).count("caught")
    print(f"{caught} of {len(found)} caught, in {time.perf_counter() - start:.0f} s")
    return int(caught < len(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
