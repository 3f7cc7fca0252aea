"""Cells that processes share through a folder: computed once, read unchanged, and none of an upload among them."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from dpcore import Problem, make_mechanism
from dpcore.core.cancel import never
from dpcore.experiments import cell as cells
from dpcore.experiments.cell import Cell, is_cached, run_cell
from dpcore.experiments.cell_store import CellStore

from ..briefings import own_records

CELL = Cell(make_mechanism("output_gaussian"), (0.1, 1.0), Problem("breast_cancer", n=100), 4, fresh=True)
OTHER = Cell(make_mechanism("output_gaussian", accounting="published"), (0.1, 1.0), CELL.problem, 4, fresh=True)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Through which this process shares cells, as long as the test runs."""
    place = tmp_path / "cells"
    place.mkdir(mode=0o700)
    monkeypatch.setattr(cells, "_store", CellStore(place))
    monkeypatch.setattr(cells, "_CELLS", cells._CELLS.like())
    return place


def as_another_process(monkeypatch: pytest.MonkeyPatch, *, computes: bool) -> None:
    """Forget what this process has computed; unless it computes, it may only read."""
    monkeypatch.setattr(cells, "_CELLS", cells._CELLS.like())
    if not computes:
        monkeypatch.setattr(cells, "_compute", lambda *_: pytest.fail("a shared cell is computed again"))


def test_another_process_reads_what_was_computed_to_the_last_bit(folder, monkeypatch):
    assert not is_cached(CELL)
    computed = run_cell(CELL)
    assert any("lost" in row for row in computed)
    as_another_process(monkeypatch, computes=False)
    assert is_cached(CELL) and not is_cached(OTHER)
    read = run_cell(CELL)
    for one, other in zip(computed, read, strict=True):
        assert one.keys() == other.keys()
        for name, value in one.items():
            np.testing.assert_array_equal(np.asarray(other[name]), np.asarray(value))
            assert np.asarray(other[name]).dtype == np.asarray(value).dtype
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o77 == 0


@pytest.mark.parametrize(
    "harm",
    [
        lambda text: text[:-9],
        lambda text: text.replace(b'"status": "ok"', b'"status": "no"', 1),
        lambda text: text.replace(b'"kind": "dpcore cell"', b'"kind": "dpcore Cell"'),
        lambda text: b"\x80\x04K\x01." + text,
        lambda text: b"",
    ],
)
def test_a_damaged_file_is_computed_anew(folder, monkeypatch, harm):
    run_cell(CELL)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    assert harm(whole) != whole
    file.write_bytes(harm(whole))
    as_another_process(monkeypatch, computes=True)
    computed = run_cell(CELL)
    as_another_process(monkeypatch, computes=False)
    assert [row["mean"] for row in run_cell(CELL)] == [row["mean"] for row in computed]


def test_nothing_of_an_upload_is_shared(folder):
    """Neither its rows nor its name."""
    records = own_records()
    rows = run_cell(Cell(CELL.mechanism, (1.0,), Problem(records.key, n=records.source.size), 4))
    assert rows[0]["status"] == "ok" and not list(folder.iterdir())
    run_cell(CELL)
    assert len(list(folder.iterdir())) == 1


def test_processes_that_ask_at_the_same_time_compute_once(folder):
    """Each opens the lock for itself, as another process would."""
    computing, times = threading.Event(), []

    def compute() -> list[dict[str, float]]:
        computing.set()
        times.append(time.sleep(0.05))
        return [{"mean": 0.25}]

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(CellStore(folder).rows, CELL, compute, never) for _ in range(4)]
        assert [each.result() for each in asked] == [[{"mean": 0.25}]] * 4
        assert len(times) == 1

        # One who has moved on does not wait, and an error of one leaves the work to the next.
        computing.clear()
        slow = pool.submit(CellStore(folder).rows, OTHER, lambda: compute() and 1 / 0, never)
        assert computing.wait(30)
        with pytest.raises(CancelledError):
            CellStore(folder).rows(OTHER, compute, lambda: True)
        with pytest.raises(ZeroDivisionError):
            slow.result()
        assert CellStore(folder).rows(OTHER, compute, never) == [{"mean": 0.25}]
    assert [file.suffix for file in folder.iterdir()] == [".cell"] * 2


def test_the_files_stay_within_their_size(tmp_path):
    tmp_path.chmod(0o700)
    size, rows = 64_000, [{"mean": 0.25, "reason": 2_000 * "x"}]
    store = CellStore(tmp_path, size)
    many = [Cell(CELL.mechanism, (float(k),), CELL.problem, 4) for k in range(1, 60)]
    for k, cell in enumerate(many):
        store.rows(cell, lambda: rows, never)
        os.utime(store._file(cell), (k, k))  # else they are of the same moment
        assert sum(file.stat().st_size for file in tmp_path.iterdir()) < size * 17 / 16 + 3_000
    assert many[-1] in store and many[0] not in store
    store.rows(CELL, lambda: [{"reason": 2**20 * "x"}], never)
    assert CELL not in store, "a cell larger than all that may be kept of one"


def test_a_folder_that_others_may_read_is_refused_and_a_full_disk_is_logged(tmp_path, monkeypatch, caplog):
    tmp_path.chmod(0o750)
    for place in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ValueError, match=r"open to its owner alone, got .*mkdir -m 700"):
            CellStore(place)
    tmp_path.chmod(0o700)
    store = CellStore(tmp_path)

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    assert store.rows(CELL, lambda: [{"mean": 0.25}], never) == [{"mean": 0.25}]
    assert "not shared with the other processes: [Errno 28]" in caplog.text and not list(tmp_path.iterdir())
