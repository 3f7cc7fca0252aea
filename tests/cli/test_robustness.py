"""Disks that are full, runs that are given up, clocks that jump, locales that differ: numbers or one sentence."""

from __future__ import annotations

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
from dpcore.__main__ import main

from ..harness import ROOT
from ..nights import each


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


PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TZ": "Pacific/Kiritimati"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> pd.DataFrame:
    """What an undisturbed process writes."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "e.json").write_text(EXPERIMENT.to_json(), encoding="utf-8")
    done = call("dpcore", "sweep", "e.json", "-o", "whole.csv", folder=folder, **PLAIN)
    assert done.returncode == 0, done.stderr
    return table(folder / "whole.csv")


@pytest.mark.parametrize("output", each(2, ["out.csv", "out.parquet"]))
def test_a_run_onto_a_full_disk_names_its_file_and_goes_on_from_what_it_kept(
    folder, whole, output, monkeypatch, capsys
):
    monkeypatch.chdir(folder)
    told = sentence(5_000, "sweep", "e.json", "-o", output)
    assert told.startswith(f"Error: {output} cannot be used: ")
    assert sorted(path.name for path in folder.iterdir()) == ["e.json", f"{output}.unfinished"]
    main(["sweep", "e.json", "-o", output, "--resume", "--json"])
    assert json.loads(capsys.readouterr().out)["cells_reused"] == 2
    read = table(folder / output)
    read.to_csv(folder / "read.csv", index=False)  # whatever the kind of file, the same numbers
    assert_frame_equal(pd.read_csv(folder / "read.csv"), whole)


KERNEL = """
import numpy as np
from dpcore import kernels
for _ in range(2):
    out = np.empty(2)
    kernels.apply(kernels.VALUE["hinge"], np.array([1.0, -2.0]), np.ones(2), 0.0, out)
    assert out.tolist() == [0.0, 3.0], out
print(len(kernels.unkept))
"""


def test_the_first_process_says_that_it_compiles(folder):
    (folder / "probe.py").write_text(KERNEL, encoding="utf-8")
    first, second = (call("probe", folder=folder, NUMBA_CACHE_DIR=str(folder / "cache")) for _ in range(2))
    assert first.stderr.decode().startswith("Compiling numerical kernels, which takes seconds once; kept in ")
    assert first.stderr.count(b"\n") == 1 and second.stderr == b""


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
    assert roomy.returncode == 0 and int(roomy.stdout) == 0 and roomy.stderr.count(b"\n") == 1


LIMIT = """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
"""
