"""Answers that come split by split, shared by all who ask, and given up when nobody watches."""

from __future__ import annotations

import dataclasses as dc
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError

import numpy as np
import pytest

from dpcore import Problem
from dpcore.studies.decide import loss_curve
from dpcore.studies.decide.equivalent_sample_size import EquivalentSampleSizeQuestion
from dpcore.studies.decide.loss_curve import Setting, lost_curve
from dpcore.studies.decide.sample_size import SampleSizeQuestion
from dpcore.studies.papers.reproductions import REPRODUCTIONS, Outcome, get_reproduction
from pages.background import jobs
from pages.background.jobs import Job, join
from pages.sources.short_run import ShortRun

from ..decisions import last
from ..page_driver import open_script

NOTHING = Outcome("nothing", None, None, ())


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def answered(held: Job) -> Job:
    def done() -> bool:
        held.watch("me")
        return held.finished

    wait_for(done)
    return held


@pytest.fixture
def gate(monkeypatch) -> Iterator[threading.Semaphore]:
    """Each cell waits until it is let through."""
    passes, compute = threading.Semaphore(0), loss_curve.run_cell

    def held(cell, cancelled):
        while not passes.acquire(timeout=0.01):
            if cancelled():
                raise CancelledError
        return compute(cell, cancelled)

    monkeypatch.setattr(loss_curve, "run_cell", held)
    yield passes
    passes.release(10_000)
    wait_for(lambda: all(known.finished for known in jobs._KNOWN.values()))


def test_answers_are_those_of_the_functions():
    setting = Setting(Problem("synthetic", n=150, seed=11), splits=4)
    curve = answered(join(setting, "me"))
    assert curve.complete and np.array_equal(curve.snapshot.lost, lost_curve(setting).lost)
    size = answered(join(EquivalentSampleSizeQuestion(setting), "me"))
    assert size.snapshot.answers("loss") == last(EquivalentSampleSizeQuestion(setting)).answers("loss")
    needed = answered(join(SampleSizeQuestion(setting, 1.0, 10.0), "me"))
    assert needed.snapshot.answer() == last(SampleSizeQuestion(setting, 1.0, 10.0)).answer()
    assert join(setting, "you") is curve, "known answers are kept"


def test_snapshots_grow_and_are_shared(gate):
    setting = Setting(Problem("synthetic", n=120, seed=12), splits=5)
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
    setting = Setting(Problem("synthetic", n=110, seed=13), splits=5)
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
    never = answered(
        join(EquivalentSampleSizeQuestion(Setting(Problem("synthetic", n=100, delta=0.0), splits=2)), "me")
    )
    assert never.complete and "delta" in never.reason and never.snapshot is None

    def broken(cell, cancelled):
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(loss_curve, "run_cell", broken)
    setting = Setting(Problem("synthetic", n=101), splits=2)
    failed = answered(join(setting, "me"))
    assert failed.failed and not failed.complete and "broken on purpose" in caplog.text
    assert join(setting, "me") is not failed


def test_a_short_question_passes_a_long_one(gate):
    """Three long questions hold both threads; a short one still gets its turns."""
    gate.release(10_000)
    long = [join(Setting(Problem("synthetic", n=3_000, seed=20 + k), splits=200), "me") for k in range(3)]
    short = join(Setting(Problem("synthetic", n=50, seed=30), splits=3), "me")

    def done() -> bool:
        for held in (*long, short):
            held.watch("me")
        return short.finished

    wait_for(done)
    assert short.complete and not any(held.finished for held in long)
    for held in long:
        held.leave("me")


def test_other_work_waits_while_pages_are_drawn_and_first_pictures_do_not(gate, monkeypatch):
    monkeypatch.setattr(jobs, "_GIVE_WAY_SECONDS", 60.0)
    gate.release(10_000)
    drawn, other = (Setting(Problem("synthetic", n=60, seed=seed), splits=4) for seed in (35, 36))
    with jobs.FIRST_PICTURES.one():
        later, first = join(other, "you"), join(drawn, "me", first=True)
        first.watch("me", 60.0), later.watch("you", 60.0)
        wait_for(lambda: first.snapshot is not None)
        time.sleep(0.1)
        assert first.snapshot.splits == 2 and not first.finished, "what is shown first, not all of it"
        assert later.snapshot is None
        with jobs.FIRST_PICTURES.other_work():  # the page waits for more
            wait_for(lambda: first.finished and later.finished)
    assert first.complete and later.complete


def test_a_busy_class_gets_the_rest_slowly(gate, monkeypatch):
    monkeypatch.setattr(jobs, "_GIVE_WAY_SECONDS", 0.01)
    gate.release(10_000)
    with jobs.FIRST_PICTURES.one():
        assert answered(join(Setting(Problem("synthetic", n=60, seed=37), splits=3), "me")).complete


def test_few_answers_are_kept(monkeypatch):
    monkeypatch.setattr(jobs, "_MOST_KNOWN", 2)
    for seed in range(40, 44):
        answered(join(Setting(Problem("synthetic", n=50, seed=seed), splits=2), "me"))
    assert len(jobs._KNOWN) == 2


@pytest.fixture
def short_run(monkeypatch) -> Iterator[tuple[threading.Event, list[tuple[object, ...]]]]:
    """A reproduction that waits: what lets it go on, and the list of its runs."""
    go_on, started = threading.Event(), []

    def run(data, *, runs: int, seed: int, told):
        started.append((data, runs, seed))
        go_on.wait(10)
        told("half of it")
        return NOTHING

    slow = dc.replace(get_reproduction("kamath-three-ways"), run=run)
    monkeypatch.setattr("pages.sources.short_run.get_reproduction", lambda name: dc.replace(slow, name=name))
    yield go_on, started
    go_on.set()


def test_all_who_look_share_one_short_run(short_run):
    go_on, runs = short_run
    first, second = (join(ShortRun("shared", 5), watcher) for watcher in "ab")
    other = join(ShortRun("shared", 6), "a")
    assert first is second and first is not other and first.snapshot is None
    go_on.set()
    answered(first), answered(other)
    assert first.snapshot is NOTHING and sorted(runs) == [(None, 4, 5), (None, 4, 6)]


def test_a_short_run_ends_where_it_says_how_far_it_is_when_nobody_waits(short_run):
    go_on, runs = short_run
    left = join(ShortRun("left", 5), "me")
    wait_for(lambda: len(runs) == 1)
    left.leave("me")
    go_on.set()
    wait_for(lambda: left.finished)
    assert left.snapshot is None and not left.failed and left.given_up
    again = answered(join(ShortRun("left", 5), "me"))
    assert again is not left and again.snapshot is NOTHING and len(runs) == 2


def test_a_silent_watcher_is_gone(short_run, monkeypatch):
    go_on, runs = short_run
    left = join(ShortRun("silent", 5), "me")
    wait_for(lambda: len(runs) == 1)
    monkeypatch.setattr(jobs, "PATIENCE_SECONDS", -1.0)
    go_on.set()
    wait_for(lambda: left.finished)
    assert left.snapshot is None and not left.complete


def test_choosing_another_figure_leaves_the_one_before(short_run):
    page = open_script("sources/page.py", about="reproductions", reproduced="kamath-three-ways")
    (left,) = page.session_state["jobs in the background"].jobs.values()
    assert not left.abandoned()
    page.session_state["reproduced"] = "talwar-rate"
    page.run()
    (asked,) = page.session_state["jobs in the background"].jobs.values()
    assert not page.exception and left.abandoned() and asked is not left and not asked.abandoned()


def test_one_reproduction_has_no_short_run():
    assert [name for name in REPRODUCTIONS if not get_reproduction(name).few] == ["jain-thakurta-1a"]
