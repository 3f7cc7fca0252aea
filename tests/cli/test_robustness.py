"""Disks that are full, runs that are given up, clocks that jump, locales that differ: numbers or one sentence."""

from __future__ import annotations

import ast
import io
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import dpcore
from dpcore import kernels
from dpcore.__main__ import main

from ..harness import ROOT
from ..nights import each

OURS = [ROOT / "app.py", *sorted((ROOT / "dpcore").rglob("*.py")), *sorted((ROOT / "pages").rglob("*.py"))]


def call(*command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """A module of Python in a folder, with our packages in reach."""
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        timeout=300,
        check=False,
    )


@contextmanager
def full_disk(most: int) -> Iterator[None]:
    """No file of this process may grow beyond so many bytes; Python would keep the beginning of its bytecode."""
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    told, limits = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, told)
        sys.dont_write_bytecode = kept


def sentence(most: int, *command: str) -> str:
    """The one sentence with which a command gives up on a full disk, after whatever it told of its progress."""
    said = io.StringIO()  # captured output is a file as well
    with pytest.raises(SystemExit) as stopped, full_disk(most), redirect_stderr(said), redirect_stdout(io.StringIO()):
        main(list(command))
    assert stopped.value.code == 2 and "Traceback" not in said.getvalue(), said.getvalue()
    return said.getvalue().splitlines()[-1]


def table(path: Path) -> pd.DataFrame:
    """But for how long it took."""
    read = pd.read_csv if path.suffix == ".csv" else pd.read_parquet
    return read(path).drop(columns="seconds")


EXPERIMENT = dpcore.Experiment(
    dpcore.Problem("synthetic", n=100),
    mechanisms=("output_gaussian", "output_gamma", "objective_gaussian"),
    sweep=dpcore.Axis("epsilon", (0.1, 1.0)),
    repetitions=4,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "e.json").write_text(EXPERIMENT.to_json(), encoding="utf-8")
    return tmp_path


ELSEWHERE = {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "TZ": "America/St_Johns"}
PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TZ": "Pacific/Kiritimati"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> pd.DataFrame:
    """What an undisturbed process writes."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "e.json").write_text(EXPERIMENT.to_json(), encoding="utf-8")
    done = call("dpcore", "run", "e.json", "-o", "whole.csv", folder=folder, **PLAIN)
    assert done.returncode == 0, done.stderr
    return table(folder / "whole.csv")


@pytest.mark.parametrize("output", each(2, ["out.csv", "out.parquet"]))
def test_a_run_onto_a_full_disk_names_its_file_and_goes_on_from_what_it_kept(
    folder, whole, output, monkeypatch, capsys
):
    monkeypatch.chdir(folder)
    told = sentence(5_000, "run", "e.json", "-o", output)
    assert told.startswith(f"Error: {output} cannot be used: ")
    assert sorted(path.name for path in folder.iterdir()) == ["e.json", f"{output}.unfinished"]
    main(["run", "e.json", "-o", output, "--resume", "--json"])
    assert json.loads(capsys.readouterr().out)["cells_reused"] == 2
    read = table(folder / output)
    read.to_csv(folder / "read.csv", index=False)  # whatever the kind of file, the same numbers
    assert_frame_equal(pd.read_csv(folder / "read.csv"), whole)


def test_numbers_that_were_given_up_are_those_of_an_undisturbed_process_when_asked_for_again(folder, whole):
    """At each moment at which a run asks whether it is still wanted."""
    experiment = dpcore.Experiment.from_json((folder / "e.json").read_text(encoding="utf-8"))
    dpcore.experiments.cell._CELLS.clear()
    for answers in range(1, 1000):
        asked = iter([False] * answers)
        given_up = dpcore.run(experiment, cancelled=lambda asked=asked: next(asked, True))
        if not (given_up.status == "cancelled").any():
            break
        assert given_up[given_up.status == "cancelled"]["mean"].isna().all()
    assert 5 < answers < 999, "so many moments"
    dpcore.run(experiment).to_csv(folder / "again.csv", index=False)
    assert_frame_equal(table(folder / "again.csv"), whole)


def test_a_reproduction_onto_a_full_disk_leaves_no_half_of_a_file(folder, monkeypatch):
    monkeypatch.chdir(folder)
    told = sentence(8_000, "reproduce", "bassily-transition", "--runs", "2", "-o", "out")
    assert told.startswith("Error: out/figure.json cannot be used: ")
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["claims.json", "table.csv"]


KERNEL = """
import numpy as np
from dpcore import kernels
for _ in range(2):
    out = np.empty(2)
    kernels.apply(kernels.VALUE["hinge"], np.array([1.0, -2.0]), np.ones(2), 0.0, out)
    assert out.tolist() == [0.0, 3.0], out
print(len(kernels.unkept))
"""


@pytest.mark.nightly
def test_compiled_functions_that_cannot_be_kept_are_used_all_the_same(folder):
    (folder / "probe.py").write_text(KERNEL, encoding="utf-8")
    limited = f"import resource\n{LIMIT}\n"
    (folder / "full.py").write_text(limited + KERNEL, encoding="utf-8")
    places = {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}  # or half of it is kept
    full = call("full", folder=folder, **places)
    assert full.returncode == 0 and int(full.stdout) >= 2, full.stderr
    assert full.stderr.decode().count("cannot be kept in") == 1, "said once"
    assert not [path for path in (folder / "cache").rglob("*.nbc") if path.stat().st_size], "nothing was kept"
    roomy = call("probe", folder=folder, **places)
    assert roomy.returncode == 0 and int(roomy.stdout) == 0 and not roomy.stderr


LIMIT = """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
"""


def test_warm_says_that_something_could_not_be_kept(monkeypatch, capsys):
    monkeypatch.setattr(kernels, "unkept", [OSError(28, "No space left on device", "the cache")])
    with pytest.raises(SystemExit) as stopped:
        main(["warm"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err == "Error: the cache cannot be used: No space left on device\n"


@pytest.mark.nightly
def test_a_table_is_the_same_in_every_locale_and_time_zone(folder, whole):
    """Numbers with a point, and text in UTF-8, whatever the machine prefers."""
    done = call("dpcore", "run", "e.json", "-o", "elsewhere.csv", folder=folder, **ELSEWHERE)
    assert done.returncode == 0, done.stderr
    assert_frame_equal(table(folder / "elsewhere.csv"), whole)
    assert {0.1, 1.0} == set(whole.x)


def calls_of(path: Path) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]


def name_of(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def without_encoding(node: ast.Call) -> bool:
    """Whether a call reads or writes text as the machine's locale has it."""
    if name_of(node) not in ("open", "read_text", "write_text"):
        return False
    modes = [word.value for word in ast.walk(node) if isinstance(word, ast.Constant) and isinstance(word.value, str)]
    binary = name_of(node) == "open" and any(set(mode) <= set("rwab+x") and "b" in mode for mode in modes)
    return not binary and "encoding" not in [keyword.arg for keyword in node.keywords]


def reads_the_clock(node: ast.Call) -> bool:
    """The clock on the wall, which may go back; `time.monotonic` and `time.perf_counter` never do."""
    if name_of(node) in ("time", "localtime", "strftime"):
        return ast.unparse(node.func).startswith("time.")
    return name_of(node) in ("now", "utcnow", "today")


def test_no_file_depends_on_the_locale_and_nothing_on_the_clock():
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {fault.__name__}"
        for path in OURS
        for node in calls_of(path)
        for fault in (without_encoding, reads_the_clock)
        if fault(node)
    ]
    assert found == []


def test_these_faults_are_seen():
    faults = {
        without_encoding: ("open('a')", "open('a', 'w')", "path.read_text()", "path.write_text('abc')", "path.open()"),
        reads_the_clock: ("time.time()", "datetime.now()", "date.today()", "datetime.datetime.utcnow()"),
    }
    for fault, texts in faults.items():
        assert all(fault(ast.parse(text).body[0].value) for text in texts)
    fine = ("open('a', 'rb')", "path.read_text(encoding='utf-8')", "path.read_bytes()", "path.open('r+b')")
    assert not any(without_encoding(ast.parse(text).body[0].value) for text in fine)
