"""A sweep over threads, processes and a Dask cluster, killed and taken up again: always the same table."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
from distributed import LocalCluster

import dpcore
from dpcore import Axis, __main__
from dpcore.experiments import checkpoint, executors
from dpcore.experiments.checkpoint import Journal
from dpcore.experiments.executors import executor_of
from dpcore.experiments.run import COLUMNS
from tests.harness import ROOT

from ..flat_fields import changed

SWEEP = dpcore.Experiment(
    dpcore.Problem("synthetic"),
    mechanisms=("output_gaussian", "objective_gaussian"),
    sweep=Axis("n", tuple(range(100, 112))),
    repetitions=3,
)
ONE = replace(SWEEP, mechanisms=("output_gaussian",))
# Its cells take long enough to lose a worker among them.
LONG = replace(SWEEP, mechanisms=("noisy_gd",), sweep=Axis("n", tuple(range(4000, 4012))), repetitions=20)
VARYING = ["seconds"]


def same(table: pd.DataFrame, other: pd.DataFrame) -> None:
    """Equal but for the time taken and the rounding of linear algebra, which may depend on the process."""
    plain = [it.drop(columns=VARYING).astype(object) for it in (table, other)]
    one, two = (it.where(it.notna() & (it != ""), None) for it in plain)  # a file has no word for "no text"
    pd.testing.assert_frame_equal(one, two, rtol=1e-9, atol=1e-12)


def command(folder: Path, *more: str, output: str = "out.csv", experiment: dpcore.Experiment = SWEEP) -> list[str]:
    (folder / "e.json").write_text(experiment.to_json())
    return ["run", str(folder / "e.json"), "-o", str(folder / output), *more]


def call(arguments: list[str]) -> None:
    __main__.main([*arguments, "--json"])


@pytest.fixture(scope="module")
def serial() -> pd.DataFrame:
    return dpcore.run(SWEEP)


@pytest.fixture(autouse=True)
def nothing_cached():
    dpcore.experiments.cell._CELLS.clear()


@pytest.mark.parametrize(
    "executor, output",
    [
        ("here", "out.csv"),
        ("threads:2", "out.parquet"),
        # By day a killed run takes up what two processes have computed.
        pytest.param("processes:2", "out.csv", marks=pytest.mark.nightly),
        pytest.param("here", "out.parquet", marks=pytest.mark.nightly),
        pytest.param("threads:2", "out.csv", marks=pytest.mark.nightly),
        pytest.param("processes:2", "out.parquet", marks=pytest.mark.nightly),
    ],
)
def test_equal_tables_come_from_all_into_both_kinds_of_files(executor, output, tmp_path, capsys, serial):
    call(command(tmp_path, "--executor", executor, output=output))
    read = pd.read_parquet if output.endswith("parquet") else pd.read_csv
    table = read(tmp_path / output)
    assert list(table.columns) == list(COLUMNS) and len(table) == 48
    same(table, serial)
    assert sorted(it.name for it in tmp_path.iterdir()) == ["e.json", output]
    assert json.loads(capsys.readouterr().out)["cells_reused"] == 0


def test_rows_of_an_executor_come_as_they_are_done_and_stand_in_their_order(monkeypatch):
    last_came = threading.Event()
    compute = dpcore.experiments.cell._compute

    def slow(cell, cancelled):
        assert cell.problem.n != 100 or last_came.wait(30), "the last cell comes before the first is done"
        return compute(cell, cancelled)

    came: list[int] = []

    def on_row(row) -> None:
        came.append(row["x"])
        if row["x"] == 111:
            last_came.set()

    monkeypatch.setattr(dpcore.experiments.cell, "_compute", slow)
    with executor_of("threads:2") as threads:
        table = dpcore.run(ONE, threads, on_row=on_row)
    assert set(came[-2:]) == {100} and sorted(came) == list(table.x) and list(table.x.unique()) == list(range(100, 112))


KILLED = """
import os, signal, sys, psutil
from dpcore import __main__
from dpcore.experiments.checkpoint import Journal

def keep(self, *cell, once=Journal.keep, kept=[]):
    once(self, *cell)
    kept.append(cell)
    if len(kept) == int(sys.argv[1]):
        workers = [worker.pid for worker in psutil.Process().children(recursive=True)]
        print(*workers, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

Journal.keep = keep
__main__.main(sys.argv[2:])
"""


def killed_after(cells: int, folder: Path, executor: str) -> tuple[dict[int, list[dict]], list[int]]:
    """Kill a run once it has kept so many cells: what stands in its journal, and the processes that it had begun."""
    arguments = command(folder, "--executor", executor, experiment=ONE)
    done = subprocess.run([sys.executable, "-c", KILLED, str(cells), *arguments], cwd=ROOT, stdout=subprocess.PIPE)
    assert done.returncode == -signal.SIGKILL and not (folder / "out.csv").exists()
    lines = (folder / "out.csv.unfinished").read_bytes().splitlines()[1:]
    return {line["cell"]: line["rows"] for line in map(json.loads, lines)}, [int(pid) for pid in done.stdout.split()]


@pytest.mark.parametrize("executor", ["processes:2", pytest.param("here", marks=pytest.mark.nightly)])
def test_a_killed_run_leaves_no_worker_and_goes_on_where_it_was(executor, tmp_path, capsys, monkeypatch):
    kept, pids = killed_after(3, tmp_path, executor)
    assert len(kept) == 3 and (len(pids) >= 2 or executor == "here")
    assert not psutil.wait_procs([psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], timeout=30)[1]
    with (tmp_path / "out.csv.unfinished").open("ab") as journal:
        journal.write(b'{"cell": 11, "rows": [{"mea')  # as if the kill had come while a line was being written
    computed = []
    compute = dpcore.experiments.cell._compute
    monkeypatch.setattr(
        dpcore.experiments.cell, "_compute", lambda cell, *more: computed.append(cell.problem.n) or compute(cell, *more)
    )
    call(command(tmp_path, "--resume", experiment=ONE))
    assert json.loads(capsys.readouterr().out)["cells_reused"] == 3
    assert sorted(computed) == [100 + place for place in range(12) if place not in kept]
    table = pd.read_csv(tmp_path / "out.csv")
    monkeypatch.undo()
    same(table, dpcore.run(ONE))
    for place, rows in kept.items():
        seconds = table.seconds[table.x == 100 + place]
        assert np.allclose(seconds, [row["seconds"] for row in rows], rtol=1e-12), "the very rows that were kept"
    assert sorted(it.name for it in tmp_path.iterdir()) == ["e.json", "out.csv"]


@pytest.mark.parametrize("processes", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_cluster_of_two_computes_the_same(processes, tmp_path, serial):
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=processes, dashboard_address=":0") as cluster:
        call(command(tmp_path, "--executor", f"dask:{cluster.scheduler_address}"))
    same(pd.read_csv(tmp_path / "out.csv"), serial)


@pytest.mark.nightly
def test_a_cluster_survives_a_killed_worker():
    came: list[int] = []
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        pids = [worker.pid for worker in cluster.workers.values()]

        def kill_once(place: int, rows: list[dict]) -> None:
            came.append(place)
            if len(came) == 3:
                os.kill(pids[0], signal.SIGKILL)

        with executor_of(f"dask:{cluster.scheduler_address}") as workers:
            same(dpcore.run(LONG, workers, on_cell=kill_once), dpcore.run(LONG))
        assert sorted(came) == list(range(12))
        assert not psutil.pid_exists(pids[0]), "a worker was killed"


@pytest.mark.parametrize(
    "name", ["", "moon", "threads", "threads:", "threads:0", "threads:-1", "threads:1.5", "processes:9999", "dask:"]
)
def test_bad_executors_are_refused_by_name(name):
    refused = pytest.raises(
        ValueError, match=f"^executor must be {re.escape(executors.KINDS)}.* got {re.escape(repr(name))}"
    )
    with refused, executor_of(name):
        pass


def refused(message: str, address: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)), executor_of(f"dask:{address}"):
        pass


def test_a_cluster_that_cannot_compute_is_told(monkeypatch):
    monkeypatch.setattr(executors, "_PATIENCE_SECONDS", 0.05)
    refused("executor must name a Dask scheduler that answers, got 'tcp://127.0.0.1:1'", "tcp://127.0.0.1:1")
    monkeypatch.setattr(executors, "_PATIENCE_SECONDS", 0.5)
    with LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster:
        refused("which has none", cluster.scheduler_address)
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster:
        monkeypatch.setattr(executors, "__version__", "0.0.0")  # what this side expects
        monkeypatch.setattr(executors, "version", _another)
        refused("workers must have dpcore 0.0.0, got 9.9", cluster.scheduler_address)


def _another() -> str:
    return "9.9"


def test_a_cell_that_its_executor_gives_up_is_no_row(monkeypatch):
    """Only what somebody cancelled may say so; a lost cell must not look like it."""

    class Forgetful:
        def submit(self, *_):
            from concurrent.futures import Future

            future: Future = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    with pytest.raises(RuntimeError, match="cancelled"):
        dpcore.run(SWEEP, Forgetful())  # type: ignore[arg-type]


def test_a_journal_is_only_for_its_own_run(tmp_path, monkeypatch):
    place = tmp_path / "t.unfinished"
    with Journal(place, SWEEP) as journal:
        journal.keep(0, [{"mean": np.float64(0.1), "exact": np.bool_(True), "n": np.int64(3), "se": float("nan")}])
    text = place.read_bytes()
    place.write_bytes(text + b'{"cell": 1, "rows": [' + 400 * b"{}, ")  # killed while it wrote; and again a cell later
    with Journal(place, SWEEP, resume=True) as journal:
        journal.keep(2, [{"mean": 0.5}])
    assert sorted(Journal(place, SWEEP, resume=True).known) == [0, 2]
    place.write_bytes(text)
    (row,) = Journal(place, SWEEP, resume=True).known[0]
    assert (row["mean"], row["exact"], row["n"]) == (0.1, True, 3) and np.isnan(row["se"])
    with pytest.raises(ValueError, match=r"unfinished .*--resume"):
        Journal(place, SWEEP)
    with pytest.raises(ValueError, match=r"unfinished must .*this experiment"):
        Journal(place, changed(SWEEP, seed=1), resume=True)
    for other in (b"a,b\n1,2\n", b"precious", b"[]\n", b'{"kind": "x"}\n', b"\xff\n", 100_000 * b"[" + b"\n"):
        place.write_bytes(other)
        with pytest.raises(ValueError, match=f"{place.name} must .*unfinished run"):
            Journal(place, SWEEP, resume=True)
        assert place.read_bytes() == other
    monkeypatch.setattr(checkpoint, "sources", lambda: "others")
    place.write_bytes(text)
    with pytest.raises(ValueError, match=r"unfinished must .*other sources"):
        Journal(place, SWEEP, resume=True)
    monkeypatch.undo()
    place.write_bytes(text[:30])  # killed before the first line was whole
    with Journal(place, SWEEP, resume=True) as journal:
        assert journal.known == {}
    assert not place.exists(), "without a cell nothing is left behind"


@pytest.mark.parametrize(
    "harm",
    [
        lambda line: line.replace(b"0.25", b"0.26"),
        lambda line: line.replace(b'{"mean": 0.25}', b""),
        lambda line: line.replace(b'"cell": 3', b'"cell": 2'),
        lambda line: line.replace(b'"cell": 3', b'"cell": 99'),
        lambda line: line[:20] + b"\n",
        lambda line: b"\xff" + line,
        lambda line: b"[]\n",
        lambda line: b"\n",
    ],
)
def test_what_follows_a_damaged_line_is_computed_again(harm, tmp_path, capsys):
    place = tmp_path / "out.csv.unfinished"
    with Journal(place, SWEEP) as journal:
        for cell in range(5):
            journal.keep(cell, [{"mean": 0.25 if cell == 3 else 0.5}])
    lines = place.read_bytes().splitlines(keepends=True)
    assert harm(lines[4]) != lines[4]
    place.write_bytes(b"".join([*lines[:4], harm(lines[4]), lines[5]]))
    with Journal(place, SWEEP, resume=True) as journal:
        assert sorted(journal.known) == [0, 1, 2] and journal.discarded == 2
    assert place.read_bytes() == b"".join(lines[:4])


def test_a_damaged_journal_is_told_and_mended(tmp_path, capsys, serial):
    arguments = command(tmp_path)
    place = tmp_path / "out.csv.unfinished"
    with Journal(place, SWEEP) as journal:
        dpcore.run(SWEEP, on_cell=journal.keep)
    lines = place.read_bytes().splitlines(keepends=True)
    place.write_bytes(b"".join([*lines[:4], b"nonsense\n", *lines[5:]]))
    call([*arguments, "--resume"])
    out, err = capsys.readouterr()
    assert json.loads(out)["cells_reused"] == 3
    assert "out.csv.unfinished" in err and "line 5" in err
    same(pd.read_csv(tmp_path / "out.csv"), serial)


def test_two_runs_do_not_write_to_one_journal_and_a_pipe_is_none(tmp_path):
    place = tmp_path / "t.unfinished"
    with Journal(place, SWEEP) as journal:
        journal.keep(0, [{"mean": 0.5}])
        with pytest.raises(ValueError, match=r"unfinished must .*one run at a time"):
            Journal(place, SWEEP, resume=True)
    assert sorted(Journal(place, SWEEP, resume=True).known) == [0]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for resume in (False, True):
        with pytest.raises(ValueError, match=r"^pipe must "):
            Journal(pipe, SWEEP, resume=resume)


def test_stopping_by_hand_ends_what_processes_compute_and_no_other_process():
    other = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60.0,))
    with pytest.raises(KeyboardInterrupt), executor_of("processes:2") as executor:
        begun = executor.submit(time.sleep, 5.0)
        other.start()
        raise KeyboardInterrupt
    assert isinstance(begun.exception(), BrokenProcessPool)
    assert other.is_alive()
    other.kill()
    other.join()


def test_stopping_by_hand_says_what_is_kept(tmp_path, capsys, monkeypatch):
    compute = dpcore.experiments.cell._compute

    def interrupted(cell, cancelled):
        if cell.problem.n == 102:
            raise KeyboardInterrupt
        return compute(cell, cancelled)

    monkeypatch.setattr(dpcore.experiments.cell, "_compute", interrupted)
    with pytest.raises(SystemExit) as stopped:
        call(command(tmp_path))
    assert stopped.value.code == 130
    said = capsys.readouterr().err
    assert "2 cells" in said and "--resume" in said
    monkeypatch.setattr(dpcore.experiments.cell, "_compute", compute)
    call(command(tmp_path, "--resume"))
    assert json.loads(capsys.readouterr().out)["cells_reused"] == 2
