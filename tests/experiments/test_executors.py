"""A sweep over threads, processes and a Dask cluster, killed and taken up again: always the same table."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from distributed import Client, LocalCluster

import dpcore
from dpcore import Axis, __main__
from dpcore.cli import experiments
from dpcore.cli.experiments import executor_of
from dpcore.experiments.run import COLUMNS
from dpcore.experiments.unfinished import append_cell, finished_cells
from tests.harness import ROOT

from ..flat_fields import changed

SWEEP = dpcore.Experiment(
    dpcore.Problem("synthetic"),
    mechanisms=("output_gaussian", "objective_gaussian"),
    sweep=Axis("n", tuple(range(100, 112))),
    repetitions=3,
)
ONE = replace(SWEEP, mechanisms=("output_gaussian",))
VARYING = ["seconds"]


def same(table: pd.DataFrame, other: pd.DataFrame) -> None:
    """Equal but for the time taken and the rounding of linear algebra, which may depend on the process."""
    plain = [it.drop(columns=VARYING).astype(object) for it in (table, other)]
    one, two = (it.where(it.notna() & (it != ""), None) for it in plain)  # a file has no word for "no text"
    pd.testing.assert_frame_equal(one, two, rtol=1e-9, atol=1e-12)


def command(folder: Path, *more: str, output: str = "out.csv", experiment: dpcore.Experiment = SWEEP) -> list[str]:
    (folder / "e.json").write_text(experiment.to_json())
    return ["sweep", str(folder / "e.json"), "-o", str(folder / output), *more]


def call(arguments: list[str]) -> None:
    __main__.main([*arguments, "--json"])


@pytest.fixture(scope="module")
def serial() -> pd.DataFrame:
    return dpcore.run(SWEEP)


@pytest.fixture(autouse=True)
def nothing_cached():
    dpcore.experiments.cell._CELLS.clear()


@pytest.mark.parametrize(
    "executor, output", [("here", "out.csv"), ("threads:2", "out.parquet"), ("processes:2", "out.csv")]
)
def test_equal_tables_come_from_all_into_both_kinds_of_files(executor, output, tmp_path, capsys, serial):
    call(command(tmp_path, "--executor", executor, output=output))
    read = pd.read_parquet if output.endswith("parquet") else pd.read_csv
    table = read(tmp_path / output)
    assert list(table.columns) == list(COLUMNS) and len(table) == 48
    same(table, serial)
    assert sorted(it.name for it in tmp_path.iterdir()) == ["e.json", output]
    assert json.loads(capsys.readouterr().out)["cells_reused"] == 0


def test_cells_of_an_executor_come_as_they_are_done_and_stand_in_their_order(monkeypatch):
    last_came = threading.Event()
    compute = dpcore.experiments.cell._compute

    def slow(cell, cancelled):
        assert cell.problem.n != 100 or last_came.wait(30), "the last cell comes before the first is done"
        return compute(cell, cancelled)

    came: list[int] = []

    def on_cell(place: int, rows) -> None:
        came.append(place)
        if place == 11:
            last_came.set()

    monkeypatch.setattr(dpcore.experiments.cell, "_compute", slow)
    with executor_of("threads:2") as threads:
        table = dpcore.run(ONE, threads, on_cell=on_cell)
    assert came[-1] == 0 and sorted(came) == list(range(12)) and list(table.x.unique()) == list(range(100, 112))


KILLED = """
import os, signal, sys
from dpcore import __main__
from dpcore.experiments import unfinished

def append_cell(path, *cell, once=unfinished.append_cell, kept=[]):
    once(path, *cell)
    kept.append(cell)
    if len(kept) == 4:
        with path.open("a") as file:
            file.write(path.read_text().splitlines()[-1][:99])  # as if the kill had come while a line was written
        os.kill(os.getpid(), signal.SIGKILL)

unfinished.append_cell = append_cell
__main__.main(sys.argv[1:])
"""


def test_a_killed_run_goes_on_where_it_was(tmp_path, capsys, monkeypatch):
    done = subprocess.run([sys.executable, "-c", KILLED, *command(tmp_path, experiment=ONE)], cwd=ROOT)
    assert done.returncode == -signal.SIGKILL and not (tmp_path / "out.csv").exists()
    kept = pd.read_csv(tmp_path / "out.csv.unfinished", nrows=6)
    computed = []
    compute = dpcore.experiments.cell._compute
    monkeypatch.setattr(
        dpcore.experiments.cell, "_compute", lambda cell, *more: computed.append(cell.problem.n) or compute(cell, *more)
    )
    call(command(tmp_path, "--resume", experiment=ONE))
    assert json.loads(capsys.readouterr().out)["cells_reused"] == 3
    assert computed == list(range(103, 112)), "the last cell that was kept is computed again"
    table = pd.read_csv(tmp_path / "out.csv")
    monkeypatch.undo()
    same(table, dpcore.run(ONE))
    assert list(table.seconds[:6]) == list(kept.seconds), "the very rows that were kept"
    assert sorted(it.name for it in tmp_path.iterdir()) == ["e.json", "out.csv"]


def test_kept_cells_are_only_for_their_own_run(tmp_path):
    place, rows = tmp_path / "t.unfinished", []
    dpcore.run(ONE, on_cell=lambda cell, found: rows.append(found))
    for cell in (0, 3, 5):
        append_cell(place, ONE, cell, rows[cell])
    whole = place.read_text()
    found = finished_cells(place, ONE)
    assert list(found) == [0, 3], "the last one may have been cut short"
    assert place.read_text() == "".join(whole.splitlines(keepends=True)[:5])
    for row, kept in zip([*rows[0], *rows[3]], [*found[0], *found[3]], strict=True):
        assert pd.Series(row).convert_dtypes().equals(pd.Series(kept).convert_dtypes()), "number by number"
    place.write_text(whole)
    with pytest.raises(ValueError, match=r"unfinished must .*this experiment.*delete it"):
        finished_cells(place, changed(ONE, seed=1))
    place.write_text(whole.replace(dpcore.__version__, "0.0"))
    with pytest.raises(ValueError, match=rf"unfinished must .*{dpcore.__version__}.*delete it"):
        finished_cells(place, ONE)
    for other in (b"a,b\n1,2\n", b"precious", b"\xff\n", b""):
        place.write_bytes(other)
        with pytest.raises(ValueError, match=f"{place.name} must .*unfinished run"):
            finished_cells(place, ONE)
        assert place.read_bytes() == other


def test_stopping_by_hand_says_what_is_kept(tmp_path, capsys, monkeypatch):
    compute = dpcore.experiments.cell._compute

    def interrupted(cell, cancelled):
        if cell.problem.n == 103:
            raise KeyboardInterrupt
        return compute(cell, cancelled)

    monkeypatch.setattr(dpcore.experiments.cell, "_compute", interrupted)
    with pytest.raises(SystemExit) as stopped:
        call(command(tmp_path))
    assert stopped.value.code == 130
    said = capsys.readouterr().err
    assert "out.csv.unfinished" in said and "--resume" in said
    with pytest.raises(SystemExit):
        call(command(tmp_path))
    assert "unfinished must not exist yet" in capsys.readouterr().err
    monkeypatch.setattr(dpcore.experiments.cell, "_compute", compute)
    call(command(tmp_path, "--resume"))
    assert json.loads(capsys.readouterr().out)["cells_reused"] == 2


@pytest.mark.parametrize("processes", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_cluster_of_two_computes_the_same(processes, serial):
    made = LocalCluster(n_workers=2, threads_per_worker=1, processes=processes, dashboard_address=":0")
    with made as cluster, Client(cluster, set_as_default=False) as client:
        same(dpcore.run(SWEEP, client.get_executor(pure=False)), serial)


@pytest.mark.parametrize("name", ["", "moon", "threads", "threads:", "threads:0", "threads:-1", "threads:1.5", "dask:"])
def test_bad_executors_are_refused_by_name(name):
    refused = pytest.raises(
        ValueError, match=f"^--executor must be {re.escape(experiments.EXECUTORS)}.* got {re.escape(repr(name))}"
    )
    with refused, executor_of(name):
        pass
