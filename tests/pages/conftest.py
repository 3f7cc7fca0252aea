"""What tests of several pages share."""

from __future__ import annotations

import ctypes
import functools
import gc
from collections.abc import Iterator

import pytest

from dpcore import data
from dpcore.audit import attack_success
from dpcore.experiments.summary import LEAST_BANDED
from dpcore.studies.decide import loss_curve
from pages.geometry import words as geometry
from pages.multiclass import words
from pages.papers import exhibits

from .. import briefings
from ..harness import ROOT, Server, fork
from ..page_driver import opened_once


@pytest.fixture(autouse=True, scope="module")
def records_are_forgotten() -> Iterator[None]:
    """After each file those of its pages; what stays, stays to the end, and no later collection looks through it."""
    briefings.forget()  # of tests elsewhere
    yield
    briefings.forget()
    opened_once.cache_clear()
    data._SPLITS.clear()
    gc.collect()
    gc.freeze()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # of glibc: threads leave gaps
        trim(0)


@pytest.fixture(scope="package")
def server() -> Iterator[Server]:
    """The dashboard as it is, on one server for all tests here."""
    with fork(ROOT / "app.py") as running:
        yield running


@pytest.fixture(autouse=True)
def few_solves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of attacks on Overview and Decide, where each run of a mechanism that is no sum solves a problem of its own."""
    monkeypatch.setattr(attack_success, "FEW_RUNS", 30)


@pytest.fixture(autouse=True)
def few_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of Geometry against n, whose band needs as many."""
    monkeypatch.setattr(geometry, "RUNS", LEAST_BANDED)


@pytest.fixture
def few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of Decide, Classes and Trust: charts need not be exact where they are only compared with one another."""
    monkeypatch.setattr(loss_curve, "SPLITS", 2)
    monkeypatch.setattr(words, "effort", lambda *_: (2, 2))
    monkeypatch.setattr(exhibits, "run_exhibit", functools.partial(exhibits.run_exhibit, runs=1_000))
