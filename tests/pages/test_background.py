"""The background: answers that only grow, for all who ask, and for nobody once nobody shows the question."""

from __future__ import annotations

import dataclasses as dc
import gc
import math
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpcore
from dpcore import NotApplicable, Problem
from dpcore.studies.decide.loss_curve import Setting, lost_curve
from pages.background import asking, jobs, pictures, tables
from pages.background.jobs import Job, Jobs
from pages.background.tables import TableQuestion

from .. import slow
from ..briefings import own_records
from ..page_driver import finished, open_source


@dc.dataclass(frozen=True)
class Counted:
    """A question of so many steps, each of which waits until it is let through, and is noted."""

    name: str
    steps: int = 3
    gate: threading.Semaphore = dc.field(default_factory=lambda: threading.Semaphore(0), compare=False)
    taken: list[str] = dc.field(default_factory=list, compare=False)
    source: str | None = None

    def snapshots(self) -> Iterator[int]:
        for step in range(1, self.steps + 1):
            assert self.gate.acquire(timeout=60)
            self.taken.append(f"{self.name} {step}")
            yield step

    def share_done(self, step: int) -> float:
        return step / self.steps


@dc.dataclass(frozen=True)
class Broken(Counted):
    """The first attempts at it fail."""

    def snapshots(self) -> Iterator[int]:
        self.taken.append(self.name)
        if len(self.taken) == 1:
            raise RuntimeError("broken on purpose")
        yield self.steps


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def shown(question: object, session: str = "mine") -> Job:
    job = Job(question)
    job.show(session, first=False)
    return job


def test_an_answer_grows_step_by_step_and_is_that_of_the_function():
    asked = Counted("grows")
    job = shown(asked)
    assert job.answer.snapshot is None and not job.answer.finished
    for step in (1, 2, 3):
        asked.gate.release()
        job.wait(60, lambda snapshot, step=step: snapshot == step)
        assert job.answer.snapshot == step and job.answer.news == step
    assert job.answer.complete, "the last snapshot says so itself"
    setting = Setting(Problem("synthetic", n=150, seed=11), splits=4)
    curve = shown(setting)
    curve.wait(60, lambda curve: curve.splits == 4)
    assert np.array_equal(curve.answer.snapshot.lost, lost_curve(setting).lost)


def test_the_time_left_is_that_of_the_steps_so_far_in_proportion():
    asked = Counted("time", steps=4)
    job = shown(asked)
    asked.gate.release()
    job.wait(60)
    assert job.answer.seconds_left == pytest.approx(3 * job._seconds)
    asked.gate.release(3)
    wait_for(lambda: job.answer.finished)
    assert job.answer.seconds_left == 0.0


def test_what_nobody_shows_rests_and_goes_on_from_there():
    asked = Counted("rests", steps=5)
    job = shown(asked)
    asked.gate.release(2)
    job.wait(60, lambda step: step == 2)
    job.hide("mine")
    asked.gate.release()  # the step that is under way ends; no other one begins
    wait_for(lambda: job._queued_at is None)
    assert job.rests and job.answer.snapshot == 3
    asked.gate.release(2)
    job.show("yours", first=True)
    wait_for(lambda: job.answer.finished)
    assert asked.taken == [f"rests {step}" for step in range(1, 6)], "no step is taken twice"


def test_a_session_that_is_silent_is_served_and_one_that_the_server_has_dropped_is_not(monkeypatch):
    known = {"silent", "dropped"}
    monkeypatch.setattr(jobs, "is_known", known.__contains__)
    asked = Counted("silent", steps=5)
    job = shown(asked, "silent")
    job.show("dropped", first=False)
    asked.gate.release()
    job.wait(60)
    known.remove("dropped")
    asked.gate.release()
    job.wait(60, lambda step: step == 2)
    known.remove("silent")
    asked.gate.release(3)
    wait_for(lambda: job._queued_at is None)
    assert len(asked.taken) <= 3, "the step that was under way, and no other"


def test_a_long_question_delays_another_by_the_steps_under_way_only():
    order: list[str] = []
    long = [Counted(f"long {k}", steps=50, taken=order) for k in range(3)]
    for asked in long:
        asked.gate.release(50)
        shown(asked)
    short = Counted("short", steps=2, taken=order)
    short.gate.release(2)
    job = shown(short)
    wait_for(lambda: job.answer.finished)
    between = order[order.index("short 1") : order.index("short 2")]
    assert len(between) <= 1 + len(long) + jobs.FURTHER_STEPS._max_workers


def test_a_reason_is_an_answer_and_an_error_is_logged_and_tried_again_by_the_next_who_asks(caplog):
    class Refused(Counted):
        def snapshots(self):
            raise NotApplicable("delta must be positive")
            yield

    known = Jobs()
    refused = known.job_of(Refused("refused"))
    refused.show("mine", first=True)
    wait_for(lambda: refused.answer.finished)
    assert refused.answer.complete and refused.answer.reason == "delta must be positive"
    broken = known.job_of(Broken("broken"))
    broken.show("mine", first=True)
    wait_for(lambda: broken.answer.finished)
    assert broken.answer.failed and not broken.answer.complete and "broken on purpose" in caplog.text
    again = known.job_of(broken.answer.question)
    assert again is not broken and known.job_of(refused.answer.question) is refused
    again.show("mine", first=True)
    wait_for(lambda: again.answer.finished)
    assert again.answer.complete


def test_of_private_records_the_log_has_the_kind_of_an_error_only(caplog):
    records = own_records()
    job = shown(Broken("private", source=records.key))
    wait_for(lambda: job.answer.finished)
    assert "RuntimeError" in caplog.text and "on purpose" not in caplog.text


def test_few_jobs_are_kept_and_fewer_that_rest(monkeypatch):
    monkeypatch.setattr(jobs, "_MOST_KNOWN", 4)
    monkeypatch.setattr(jobs, "_MOST_RESTING", 2)
    known = Jobs()
    for k in range(6):
        known.job_of(Counted(f"rests {k}"))
    assert [asked.name for asked in known._known] == ["rests 4", "rests 5"]
    for k in range(6):
        asked = Counted(f"whole {k}", steps=1)
        asked.gate.release()
        job = known.job_of(asked)
        job.show("mine", first=True)
        wait_for(lambda job=job: job.answer.finished)
    assert len(known._known) == 4


def experiment(n: int, **facts: object) -> dpcore.Experiment:
    facts = {"sweep": dpcore.Axis("epsilon", (0.1, 1.0)), "repetitions": 20, **facts}
    return dpcore.Experiment(dpcore.Problem("synthetic", n=n), (slow.Slow(),), **facts)


def test_a_table_comes_with_few_repetitions_and_then_with_all(monkeypatch):
    monkeypatch.setattr(tables, "AT_ONCE_SECONDS", 0.0)
    asked = experiment(61)
    few, *_, full = TableQuestion(asked, 5).snapshots()
    assert set(few.repetitions) == {5} and full.equals(dpcore.run(asked).assign(seconds=full.seconds))
    (known,) = TableQuestion(asked, 5).snapshots()
    assert known.equals(full), "a table that is there comes at once"


def test_a_cheap_table_is_full_at_once(monkeypatch):
    monkeypatch.setattr(tables, "AT_ONCE_SECONDS", 1e6)
    (full,) = TableQuestion(experiment(63), 5).snapshots()
    assert set(full.repetitions) == {20}


PAGE = """
import streamlit as st
import dpcore
from pages.background import asking, tables
from pages.background.tables import refined
from tests.pages.test_background import experiment

asking.begin()
table, progress = refined(experiment(st.session_state.get("n", 71)), first=5)
st.caption(f"n {table.n.iloc[0]}, {table.repetitions.iloc[0]} releases; {progress or 'full'}")
asking.end()
"""


@pytest.fixture
def gate(monkeypatch) -> Iterator[threading.Event]:
    """Further steps wait behind it."""
    opened = threading.Event()
    monkeypatch.setattr(tables, "AT_ONCE_SECONDS", 0.0)
    monkeypatch.setattr(slow, "hold", lambda: opened.wait(60))
    yield opened
    opened.set()


def told(page: AppTest) -> str:
    assert not page.exception
    return page.caption[-1].value


def job_of(page: AppTest) -> Job:
    ((job, _),) = page.session_state[asking.SHOWN].values()
    return job


def test_a_page_that_moves_on_lets_the_old_question_rest_and_finds_it_again(gate):
    page = open_source(PAGE.replace("71", "72"))
    old = job_of(page)
    page.session_state["n"] = 73
    page.run()
    assert told(page).startswith("n 73, 5 releases") and old.rests
    page.session_state["n"] = 72
    page.run()
    assert job_of(page) is old and not old.rests
    gate.set()
    assert told(finished(page)) == "n 72, 20 releases; full"


def test_after_an_error_the_coarse_picture_stays_and_says_so(gate, monkeypatch):
    page = open_source(PAGE.replace("71", "74"))
    monkeypatch.setattr(slow, "hold", lambda: 1 // 0)
    gate.set()
    page.run()
    wait_for(lambda: job_of(page).answer.finished)
    page.run()
    assert told(page) == (
        "n 74, 5 releases; 5 of 20 releases; an error, noted in the server's log, keeps the others away."
    )


def test_the_browser_asks_for_news_only_while_there_may_be_some(gate, monkeypatch):
    asks: list[None] = []
    monkeypatch.setattr(asking, "_poll", lambda: asks.append(None))
    page = open_source(PAGE.replace("71", "75"))
    assert len(asks) == 1
    gate.set()
    finished(page)
    assert len(asks) == 1


def test_a_page_waits_until_there_is_enough():
    asked = Counted("enough")
    asked.gate.release(3)
    assert asking.ask(asked, 60, lambda step: step == 3).complete
    nothing = Counted("nothing", steps=1)
    assert asking.ask(nothing, 0.01).snapshot is None
    nothing.gate.release()


def test_tables_and_pictures_of_an_upload_are_kept_with_it_alone():
    records = own_records()
    asked = dpcore.Experiment(dpcore.Problem(records.key, n=30), sweep=dpcore.Axis("epsilon", (1.0,)), repetitions=2)
    before = len(tables._TABLES), len(pictures._MADE)
    dpcore.run(asked)
    assert tables.of_cached_cells(asked) is not None
    assert pictures.made_once(records.key, "words", lambda: ["mine"]) == ["mine"]
    assert pictures.made_once(records.key, "words", lambda: ["again"]) == ["mine"]
    assert (len(tables._TABLES), len(pictures._MADE)) == before


def test_a_question_about_an_upload_is_kept_by_its_session_alone():
    records = own_records()
    asked = dpcore.Experiment(dpcore.Problem(records.key, n=30), sweep=dpcore.Axis("epsilon", (1.0,)), repetitions=2)
    assert asking.ask(TableQuestion(asked, 2), math.inf).snapshot is not None
    assert TableQuestion(asked) not in jobs.SHARED._known


def test_jobs_of_an_upload_go_with_it():
    records, known = own_records(), Jobs()
    known.job_of(TableQuestion(dpcore.Experiment(dpcore.Problem(records.key, n=30))))
    known.job_of(Counted("public"))
    known.forget_gone()
    assert len(known._known) == 2
    del records
    gc.collect()
    known.forget_gone()
    assert [asked.name for asked in known._known] == ["public"]
