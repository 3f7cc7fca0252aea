"""Answers that come split by split, shared by all who ask, and given up when nobody watches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError

import numpy as np
import pytest

from dpcore import inquiries
from dpcore.decisions import curves
from dpcore.decisions.curves import Setting, lost_curve
from dpcore.decisions.people import PeopleQuestion, people_needed
from dpcore.decisions.price import PriceQuestion, price_in_people
from dpcore.inquiries import Inquiry, join


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def answered(held: Inquiry) -> Inquiry:
    def done() -> bool:
        held.watch("me")
        return held.finished

    wait_for(done)
    return held


@pytest.fixture
def gate(monkeypatch) -> Iterator[threading.Semaphore]:
    """Each cell waits until it is let through."""
    passes, compute = threading.Semaphore(0), curves.run_cell

    def held(cell, cancelled):
        while not passes.acquire(timeout=0.01):
            if cancelled():
                raise CancelledError
        return compute(cell, cancelled)

    monkeypatch.setattr(curves, "run_cell", held)
    yield passes
    passes.release(10_000)
    wait_for(lambda: all(known.finished for known in inquiries._KNOWN.values()))


def test_answers_are_those_of_the_functions():
    setting = Setting("synthetic", n=150, splits=4, seed=11)
    curve = answered(join(setting, "me"))
    assert curve.complete and np.array_equal(curve.snapshot.lost, lost_curve(setting).lost)
    price = answered(join(PriceQuestion(setting), "me"))
    assert price.snapshot.worth("loss") == price_in_people(setting).worth("loss")
    needed = answered(join(PeopleQuestion(setting, 1.0, 10.0), "me"))
    assert needed.snapshot.answer() == people_needed(setting, 1.0, 10.0).answer()
    assert join(setting, "you") is curve, "known answers are kept"


def test_snapshots_grow_and_are_shared(gate):
    setting = Setting("synthetic", n=120, splits=5, seed=12)
    mine, yours = join(setting, "me"), join(setting, "you")
    assert mine is yours and mine.snapshot is None and not mine.finished
    seen = []
    for split in range(5):
        before = mine.news
        gate.release()
        if split:
            wait_for(lambda before=before: (mine.watch("me"), mine.news > before)[1])
            seen.append(mine.snapshot.splits)
    assert seen == [2, 3, 4, 5]
    assert answered(mine).complete


def test_nobody_watches_and_nothing_goes_on(gate):
    setting = Setting("synthetic", n=110, splits=5, seed=13)
    left = join(setting, "me")
    gate.release(2)
    wait_for(lambda: (left.watch("me"), left.snapshot is not None)[1])
    left.leave("me")
    wait_for(lambda: left.finished)
    assert not left.complete and not left.failed and left.snapshot.splits == 2
    again = join(setting, "me")
    assert again is not left
    gate.release(100)
    assert answered(again).complete and again.snapshot.splits == 5


def test_reasons_and_errors_are_told(monkeypatch, caplog):
    never = answered(join(PriceQuestion(Setting("synthetic", n=100, delta=0.0, splits=2)), "me"))
    assert never.complete and "delta" in never.reason and never.snapshot is None

    def broken(cell, cancelled):
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(curves, "run_cell", broken)
    setting = Setting("synthetic", n=101, splits=2)
    failed = answered(join(setting, "me"))
    assert failed.failed and not failed.complete and "broken on purpose" in caplog.text
    assert join(setting, "me") is not failed


def test_a_short_question_passes_a_long_one(gate):
    """Three long questions hold both threads; a short one still gets its turns."""
    gate.release(10_000)
    long = [join(Setting("synthetic", n=3_000, splits=200, seed=20 + k), "me") for k in range(3)]
    short = join(Setting("synthetic", n=50, splits=3, seed=30), "me")

    def done() -> bool:
        for held in (*long, short):
            held.watch("me")
        return short.finished

    wait_for(done)
    assert short.complete and not any(held.finished for held in long)
    for held in long:
        held.leave("me")


def test_few_answers_are_kept(monkeypatch):
    monkeypatch.setattr(inquiries, "_MOST_KNOWN", 2)
    for seed in range(40, 44):
        answered(join(Setting("synthetic", n=50, splits=2, seed=seed), "me"))
    assert len(inquiries._KNOWN) == 2
