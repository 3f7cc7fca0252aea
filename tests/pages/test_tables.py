"""Background tables: what comes at once, who shares, who stops, and what a page shows meanwhile."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from pages.background.polling import POLL_SECONDS
from streamlit.testing.v1 import AppTest

import dpcore
from dpcore.core.privacy import Unconverged
from pages.background import jobs, pictures, polling, tables
from pages.background.jobs import Job, join
from pages.background.tables import TableQuestion
from tests import slow

from ..briefings import own_records
from ..flat_fields import experiment_of

SWEEP = dpcore.Axis("epsilon", (0.1, 1.0, 10.0))


def experiment(name: str, **changes) -> dpcore.Experiment:
    """A small one that no other test has in the cache: three solves."""
    fields = {"source": "synthetic", "n": 60, "sweep": SWEEP, "repetitions": 20} | changes
    return experiment_of(mechanisms=(slow.Slow(name=name),), **fields)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


class Gate:
    """Holds every solve in the background until it is let through; counts those that have begun."""

    def __init__(self) -> None:
        self.begun = 0
        self.closed = True
        self._passes = threading.Semaphore(0)

    def hold(self) -> None:
        self.begun += 1
        if self.closed:
            assert self._passes.acquire(timeout=30)

    def let_through(self, solves: int) -> None:
        self._passes.release(solves)

    def open(self) -> None:
        self.closed = False
        self._passes.release(100)


@pytest.fixture
def gate(monkeypatch) -> Iterator[Gate]:
    """No table is cheap, and the background waits."""
    held = Gate()
    monkeypatch.setattr(slow, "hold", held.hold)
    monkeypatch.setattr(tables, "AT_ONCE_SECONDS", 0.0)
    monkeypatch.setattr(tables, "GAIN", 0.0)
    yield held
    held.open()
    wait_for(lambda: all(job.finished for job in jobs._KNOWN.values()))


def test_the_rule_for_cheap_is_the_time_of_few_repetitions_in_proportion(monkeypatch):
    asked = experiment("cheap")
    coarse = dpcore.run(experiment("cheap", repetitions=10))
    expected = 2 * coarse.seconds[coarse.metric == "accuracy"].sum()
    monkeypatch.setattr(tables, "AT_ONCE_SECONDS", 0.999 * expected)
    table, full = tables.first_table(asked, 10)
    assert not full and (table.repetitions == 10).all() and table.equals(coarse)
    monkeypatch.setattr(tables, "AT_ONCE_SECONDS", 1.001 * expected)
    table, full = tables.first_table(asked, 10)
    assert full and (table.repetitions == 20).all()


def test_the_next_of_a_shape_is_judged_by_what_the_last_full_one_took(gate, monkeypatch):
    def shape(repetitions: int) -> dpcore.Experiment:
        return tables._shape(experiment("shape", repetitions=repetitions))

    def is_full(seed: int, rule: str, threshold: float) -> bool:
        """With what was noted replaced by times that no table takes, so that only the notes decide."""
        tables._TOOK.update({shape(10): 1e-9, shape(20): 3e-9})
        asked = experiment("shape", seed=seed, lam=0.1, delta=1e-5)
        with monkeypatch.context() as patched:
            patched.setattr(tables, rule, threshold)
            table, full = tables.first_table(asked, 10)
        assert (table.repetitions == (20 if full else 10)).all()
        assert tables._TOOK[shape(20 if full else 10)] > 1e-6, "what it took is noted"
        return full

    gate.open()
    job = join(TableQuestion(experiment("shape")), "me")
    wait_for(lambda: job.finished)
    assert tables._TOOK[shape(20)] == pytest.approx(job.snapshot.seconds[job.snapshot.metric == "accuracy"].sum())
    assert not is_full(1, "AT_ONCE_SECONDS", 2.99e-9)
    assert is_full(2, "AT_ONCE_SECONDS", 3.01e-9)
    assert not is_full(3, "GAIN", 2.99)
    assert is_full(4, "GAIN", 3.01)


def test_what_is_known_of_shapes_is_bounded(gate, monkeypatch):
    monkeypatch.setattr(tables, "_MOST_SHAPES", len(tables._TOOK))
    tables.first_table(experiment("one too many"), 10)
    assert len(tables._TOOK) == 1


def test_a_cached_table_is_full_whatever_it_cost(gate):
    asked = experiment("cached")
    assert not tables.first_table(asked, 10)[1]
    full = dpcore.run(asked)
    table, is_full = tables.first_table(asked, 10)
    assert is_full and table.equals(full)
    half = experiment("cached", sweep=dpcore.Axis("n", (60, 70)))
    list(map(dpcore.experiments.cell.run_cell, [next(iter(half.cells()))]))
    assert not tables.first_table(half, 10)[1], "one of its two cells is missing"


def test_what_a_failing_solver_takes_is_not_taken_for_nothing(monkeypatch):
    def fail(*arguments):
        raise Unconverged("the minimiser is out of reach")

    monkeypatch.setattr(slow.Slow, "prepare", fail)
    table, full = tables.first_table(experiment("out of reach"), 10)
    assert not full and (table.status == "unconverged").all()


@pytest.mark.parametrize("first", [20, 21])
def test_no_more_repetitions_than_asked_for(gate, first):
    table, full = tables.first_table(experiment(f"few {first}"), first)
    assert full and (table.repetitions == 20).all()


def test_a_first_number_that_is_none_is_refused():
    with pytest.raises(ValueError, match="first must be an integer >= 2, got 1"):
        tables.first_table(experiment("refused"), 1)


def test_the_table_from_the_background_is_the_table(gate):
    asked = experiment("same")
    job = join(TableQuestion(asked), "me")
    assert not job.finished and job.snapshot is None
    gate.open()
    wait_for(lambda: job.finished)
    assert job.snapshot.drop(columns="seconds").equals(dpcore.run(asked).drop(columns="seconds"))
    assert gate.begun == 3, "the second run came from the cache"


def test_those_who_want_the_same_share_one_computation(gate):
    shared = {join(TableQuestion(experiment("shared")), who) for who in ("me", "you", "they")}
    assert len(shared) == 1
    assert join(TableQuestion(experiment("not shared")), "me") not in shared
    gate.open()
    (job,) = shared
    wait_for(lambda: job.finished)
    assert job.snapshot is not None


def test_who_leaves_does_not_stop_it_for_the_others_but_the_last_does(gate):
    job = join(TableQuestion(experiment("left")), "me")
    join(TableQuestion(experiment("left")), "you")
    wait_for(lambda: gate.begun == 1)
    job.leave("me")
    gate.let_through(1)
    wait_for(lambda: gate.begun == 2)
    assert not job.finished
    job.leave("you")
    gate.let_through(1)
    wait_for(lambda: job.finished)
    assert gate.begun == 2, "no solve begins after the last has left"
    assert job.snapshot is None and not job.failed


def test_silence_stops_it_and_a_word_now_and_then_keeps_it_alive(gate, monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(jobs, "time", SimpleNamespace(monotonic=lambda: clock.now))
    job = join(TableQuestion(experiment("silent")), "me")
    wait_for(lambda: gate.begun == 1)
    clock.now = 0.9 * jobs.PATIENCE_SECONDS
    job.watch("me")
    clock.now = 1.8 * jobs.PATIENCE_SECONDS
    gate.let_through(1)
    wait_for(lambda: gate.begun == 2)
    clock.now = 2.0 * jobs.PATIENCE_SECONDS
    gate.let_through(1)
    wait_for(lambda: job.finished)
    assert gate.begun == 2 and job.snapshot is None


def test_who_comes_after_it_was_given_up_starts_it_anew(gate):
    first = join(TableQuestion(experiment("anew")), "me")
    wait_for(lambda: gate.begun == 1)
    first.leave("me")
    second = join(TableQuestion(experiment("anew")), "you")  # the first has not noticed yet
    assert second is not first
    gate.open()
    wait_for(lambda: first.finished and second.finished)
    assert first.snapshot is None and second.snapshot is not None


def test_the_pool_is_bounded(gate):
    many = [join(TableQuestion(experiment(f"many {i}")), "me") for i in range(4)]
    wait_for(lambda: gate.begun == 2)
    for job in many:
        job.leave("me")
    gate.let_through(2)
    wait_for(lambda: all(job.finished for job in many))
    assert gate.begun == 2, "what waits in line for nobody is not begun"


def test_an_error_is_logged_and_said(gate, monkeypatch, caplog):
    def fail():
        raise RuntimeError("no memory for this")

    monkeypatch.setattr(slow, "hold", fail)
    with caplog.at_level(logging.ERROR):
        job = join(TableQuestion(experiment("broken")), "me")
        wait_for(lambda: job.finished)
    assert job.failed and job.snapshot is None
    assert "no memory for this" in caplog.text and "name='broken'" in caplog.text


def page() -> None:
    import streamlit as st

    import dpcore
    from pages.background.tables import refined
    from tests import slow

    n = st.select_slider("n", [60, 70, 80], key="n")
    name = st.session_state["name"]
    experiment = dpcore.Experiment(
        dpcore.Problem("synthetic", n=n),
        mechanisms=(slow.Slow(name=name),),
        sweep=dpcore.Axis("epsilon", (0.1, 1.0, 10.0)),
        repetitions=20,
    )
    table, progress = refined(experiment, first=10)
    st.write(f"n {table.n.iloc[0]}, {table.repetitions.iloc[0]} releases: {progress}")
    table["n"] = 0  # a page may change its table


def open_page(name: str) -> AppTest:
    opened = AppTest.from_function(page)
    opened.session_state["name"] = name
    return rerun(opened)


def rerun(app: AppTest) -> AppTest:
    app.run()
    assert not app.exception
    return app


def said(app: AppTest) -> str:
    return app.markdown[-1].value


def held(app: AppTest) -> Job:
    return app.session_state["refined in the background"]


def test_a_page_shows_few_releases_with_the_count_and_then_all(gate):
    app = open_page("page")
    assert said(app) == "n 60, 10 releases: 10 of 20 releases, refining …"
    job = held(app)
    assert said(rerun(app)) == "n 60, 10 releases: 10 of 20 releases, refining …"
    assert held(app) is job, "a run of the page in between changes nothing"
    gate.open()
    wait_for(lambda: job.finished)
    for _ in range(2):
        assert said(rerun(app)) == "n 60, 20 releases: None"


def test_moving_on_gives_the_old_work_up_and_coming_back_finds_what_is_done(gate):
    app = open_page("moves")
    old = held(app)
    wait_for(lambda: gate.begun == 1)
    app.select_slider(key="n").set_value(70).run()
    assert said(app) == "n 70, 10 releases: 10 of 20 releases, refining …"
    assert old.abandoned() and held(app) is not old
    gate.open()
    wait_for(lambda: old.finished and held(app).finished)
    assert old.snapshot is None
    assert said(rerun(app)) == "n 70, 20 releases: None"
    app.select_slider(key="n").set_value(60).run()
    assert said(app) == "n 60, 10 releases: 10 of 20 releases, refining …"
    wait_for(lambda: held(app).finished)
    app.select_slider(key="n").set_value(70).run()
    assert said(app) == "n 70, 20 releases: None", "from the cache, at once"
    app.select_slider(key="n").set_value(60).run()
    assert said(app) == "n 60, 20 releases: None"


def test_a_full_table_that_cannot_be_cached_is_full_all_the_same(gate, monkeypatch):
    def fail():
        raise Unconverged("the minimiser is out of reach")

    monkeypatch.setattr(slow, "hold", fail)
    app = open_page("out of reach in the background")
    wait_for(lambda: held(app).finished)
    assert said(rerun(app)) == "n 60, 20 releases: None"


def test_a_page_asks_several_times_before_patience_ends():
    assert 3 * POLL_SECONDS < jobs.PATIENCE_SECONDS


def test_two_sessions_share_and_one_may_go(gate):
    mine, yours = open_page("two"), open_page("two")
    assert held(mine) is held(yours)
    job = held(mine)
    mine.select_slider(key="n").set_value(70).run()
    assert not job.abandoned()
    gate.open()
    wait_for(lambda: job.finished)
    assert said(rerun(yours)) == "n 60, 20 releases: None"


def test_what_nobody_asked_for_in_time_is_begun_again(gate):
    app = open_page("again")
    old = held(app)
    wait_for(lambda: gate.begun == 1)
    old._heard.clear()  # as if the tab had slept
    gate.open()
    wait_for(lambda: old.finished)
    assert said(rerun(app)) == "n 60, 10 releases: 10 of 20 releases, refining …"
    assert held(app) is not old
    wait_for(lambda: held(app).finished)
    assert said(rerun(app)) == "n 60, 20 releases: None"


def test_after_an_error_the_coarse_picture_stays_and_says_so(gate, monkeypatch):
    def fail():
        raise RuntimeError("no memory for this")

    monkeypatch.setattr(slow, "hold", fail)
    app = open_page("fails")
    job = held(app)
    wait_for(lambda: job.finished)
    sentence = "10 of 20 releases; an error, noted in the server's log, keeps the others away."
    assert said(rerun(app)) == f"n 60, 10 releases: {sentence}"
    assert said(rerun(app)) == f"n 60, 10 releases: {sentence}" and held(app) is job, "it is not tried again and again"


def test_a_question_that_comes_late_calls_nothing_back(gate, monkeypatch):
    """What a move has given up stays given up, though the page's old question about it is still on its way."""
    session: dict[str, object] = {}
    monkeypatch.setattr(polling.st, "session_state", session)
    ask, watcher = polling._poll.__wrapped__, polling.watcher()
    old = join(TableQuestion(experiment("late")), watcher)
    session["name"] = old
    ask("name")
    assert not old.abandoned()
    old.leave(watcher)
    del session["name"]
    ask("name")
    assert old.abandoned()
    session["name"] = new = join(TableQuestion(experiment("later")), watcher)
    ask("name")
    assert old.abandoned() and not new.abandoned()


def test_the_page_runs_again_for_news_only(gate, monkeypatch):
    runs: list[int] = []
    monkeypatch.setattr(polling.st, "session_state", {})
    monkeypatch.setattr(polling.st, "rerun", lambda: runs.append(1))
    ask = polling._poll.__wrapped__
    polling.st.session_state["name"] = job = join(TableQuestion(experiment("news")), polling.watcher())
    ask("name")
    assert not runs
    gate.open()
    wait_for(lambda: job.finished)
    ask("name")
    assert len(runs) == 1
    ask("name", job.news)
    assert len(runs) == 1, "what has been seen is no news"


def test_tables_and_pictures_of_an_upload_are_kept_with_it_alone():
    records = own_records()
    asked = dpcore.Experiment(dpcore.Problem(records.key, n=30), sweep=dpcore.Axis("epsilon", (1.0,)), repetitions=2)
    before = len(tables._TABLES), len(pictures._MADE)
    dpcore.run(asked)
    assert tables.of_cached_cells(asked) is not None
    assert pictures.made_once(records.key, "words", lambda: ["mine"]) == ["mine"]
    assert pictures.made_once(records.key, "words", lambda: ["again"]) == ["mine"]
    assert (len(tables._TABLES), len(pictures._MADE)) == before
