"""dev.py's decisions, and what pytest says and returns where there is no browser."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import dev

from .harness import REMEDIES, ROOT


def test_an_old_python_is_refused_in_one_sentence():
    assert dev.refusal((3, 10, 13)) == "Python 3.11 or newer is needed, this is 3.10."
    assert dev.refusal((3, 11, 0)) is None
    assert dev.refusal((4, 0, 0)) is None


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository whose .venv is this Python, the commands dev.py runs, and codes for them to return."""
    for name in ("requirements.lock", "requirements-dev.lock"):
        (tmp_path / name).write_text(name)
    (tmp_path / ".venv").mkdir()
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.setattr(dev, "VENV_PYTHON", sys.executable)
    monkeypatch.setattr(dev, "STAMPS", tmp_path / ".venv" / "dev-stamps")
    monkeypatch.setattr(dev, "answer", lambda *command: "pip 25.0")
    calls = []
    codes = {}

    def call(*command):
        calls.append(" ".join(command[2:]))
        return next((code for word, code in codes.items() if word in calls[-1]), 0)

    monkeypatch.setattr(dev, "call", call)
    return tmp_path, calls, codes


def installs(calls):
    found = [words for words in calls if words.startswith("pip install")]
    assert all("--require-hashes" in words for words in found)
    return [words.split()[-1] for words in found]


def test_packages_are_installed_only_when_a_file_changed(project):
    folder, calls, _ = project
    dev.test([])
    dev.run([])
    dev.test([])
    assert installs(calls) == ["requirements-dev.lock"]
    (folder / "requirements.lock").write_text("numpy==2.0")
    dev.run([])
    dev.run([])
    assert installs(calls) == ["requirements-dev.lock", "requirements.lock"]
    # The last install may have moved a version that tests need.
    dev.test([])
    assert installs(calls) == ["requirements-dev.lock", "requirements.lock", "requirements-dev.lock"]


def test_the_address_is_printed_before_the_server_starts(project, capsys, monkeypatch):
    _, calls, _ = project
    with socket.create_server(("localhost", 0)) as taken:
        first = taken.getsockname()[1]
        assert dev.free_port(first) != first
    monkeypatch.setattr(dev, "call", lambda *command: calls.append(capsys.readouterr().out) or 0)
    dev.run(["--server.port", "8765"])
    assert "http://localhost:8765 " in calls[-1]


def test_own_lectures_and_mechanisms_reach_the_dashboard_by_their_whole_paths(project, tmp_path, monkeypatch):
    _, calls, _ = project
    monkeypatch.chdir(tmp_path)
    own = ["--mechanism=a.py", "--mechanism", "/b.py", "--warm", "all"]
    dev.run(["--lectures", "mine", "--server.port", "8765", *own])
    ours = f"--lectures {tmp_path / 'mine'} --mechanism {tmp_path / 'a.py'} --mechanism /b.py --warm all"
    assert calls[-1].endswith(f"--server.port 8765 -- {ours}")
    dev.run(["--server.port", "8765"])
    assert " -- " not in calls[-1]
    monkeypatch.setattr(dev.signal, "signal", lambda *_: None)
    for given in (
        ["--lectures", "mine", "--", "--server.port", "8765"],
        ["--", "--server.port", "8765", "--lectures=mine"],
    ):
        dev.main(["run", *given])
        _, *ours = calls[-1].split(" -- ")
        assert ours == [f"--lectures {tmp_path / 'mine'}"], given
    with pytest.raises(dev.Failure, match="--lectures must be followed by a path: say which"):
        dev.run(["--lectures"])


def test_checks_run_in_order_and_stop_at_the_first_failure(project):
    _, calls, codes = project
    codes["pytest"] = 5
    assert dev.test(["-k", "nothing"]) == 5
    spread = " ".join(dev.SPREAD)
    checks = [
        "ruff check .",
        "mypy dpcore pages benchmarks tools price_of_privacy app.py",
        "dpcore warm",
        f"pytest {spread} -k nothing",
    ]
    assert calls[-4:] == checks
    dev.test([])
    assert calls[-2:] == ["mypy dpcore pages benchmarks tools price_of_privacy app.py", f"pytest {spread}"], (
        "kernels are compiled once"
    )
    codes["mypy"] = 2
    assert dev.test([]) == 2
    assert calls[-1].startswith("mypy")


def test_without_ensurepip_and_pip_one_sentence_names_the_remedy(project, monkeypatch):
    monkeypatch.setattr(dev, "VENV_PYTHON", str(project[0] / "missing"))
    monkeypatch.setattr(dev.importlib.util, "find_spec", lambda name: None)
    for version in (None, "pip 22.2.9 from somewhere"):
        monkeypatch.setattr(dev, "answer", lambda *command, version=version: version)
        with pytest.raises(dev.Failure, match="apt install python3-venv"):
            dev.install("run")


PLAIN = "def test_plain(): assert {}\n"
NEEDY = "import pytest\n@pytest.mark.browser\ndef test_needy(): assert False\n"


def run_pytest(folder: Path, *options: str, plain: str = "True", **environment: str):
    """Run pytest in a small project with our conftest, where no browser can be found."""
    tests = folder / "tests"
    tests.mkdir()
    for name in ("__init__.py", "conftest.py", "drawn.py", "harness.py", "nights.py"):
        shutil.copy(ROOT / "tests" / name, tests)
    shutil.copy(ROOT / "pyproject.toml", folder)
    (tests / "test_small.py").write_text(PLAIN.format(plain) + NEEDY)
    clean = {name: value for name, value in os.environ.items() if name != "REQUIRE_BROWSER"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    return subprocess.run(
        command,
        cwd=folder,
        env={**clean, "PYTHONPATH": str(ROOT), "CHROMIUM": str(folder / "missing"), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


# In one process, and spread over several as `dev.py test` does it; where the browser is required, that is a failure.
@pytest.mark.parametrize(
    "options, required, status",
    [
        ((), "1", 1),
        (dev.SPREAD, "0", 3),
        pytest.param((), "0", 3, marks=pytest.mark.nightly),
        pytest.param(dev.SPREAD, "1", 1, marks=pytest.mark.nightly),
    ],
    ids=["alone, required", "spread", "alone", "spread, required"],
)
def test_without_a_browser_the_summary_and_the_status_say_so(tmp_path, options, required, status):
    result = run_pytest(tmp_path, *options, REQUIRE_BROWSER=required)
    assert result.returncode == status
    assert "1 browser tests did not run" in result.stdout
    assert result.stdout.count("tests/test_small.py::test_needy") == 1
    assert all(remedy in result.stdout for remedy in REMEDIES)
    assert ("1 passed" if options else "1 passed, 1 deselected") in result.stdout


def test_browser_tests_nobody_asked_for_are_not_missed(tmp_path):
    result = run_pytest(tmp_path, "-m", "not browser")
    assert result.returncode == 0
    assert "did not run" not in result.stdout
    assert "s  tests/test_small.py" in result.stdout.partition("slowest files")[2], "which stand at the end"
