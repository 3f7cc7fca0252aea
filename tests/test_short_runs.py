"""Short runs of reproductions: one for all who look, given up when nobody does."""

import dataclasses as dc
import threading

import pytest

import pages.sources.words  # noqa: F401 (before a test puts another function in the place of one that it imports)
from dpcore import refinement
from dpcore.reproductions import REPRODUCTIONS, Outcome, get_reproduction, short

from .pages import open_script

NOTHING = Outcome("nothing", None, None, ())


@pytest.fixture
def held(monkeypatch):
    """A reproduction that waits, what lets it go on, and the list of its runs."""
    go_on, started = threading.Event(), []

    def run(data, *, runs: int, seed: int, told):
        started.append((data, runs, seed))
        go_on.wait(10)
        told("half of it")
        return NOTHING

    monkeypatch.setattr(short, "_KNOWN", type(short._KNOWN)())
    yield dc.replace(get_reproduction("iyengar"), run=run), go_on, started
    go_on.set()


def wait(run: short.Short) -> None:
    run.wait(10)
    assert run.finished


def test_all_who_look_share_one_run(held):
    slow, go_on, runs = held
    first, second = (short.join(slow, 5, watcher) for watcher in "ab")
    assert first is second and first.outcome is None
    other = short.join(slow, 6, "a")
    go_on.set()
    wait(first), wait(other)
    assert first.outcome is NOTHING and sorted(runs) == [(None, 4, 5), (None, 4, 6)]
    assert short.join(slow, 5, "c") is first


def test_a_run_ends_where_it_says_how_far_it_is_when_nobody_waits(held):
    slow, go_on, runs = held
    left = short.join(slow, 5, "a")
    left.leave("a")
    go_on.set()
    wait(left)
    assert left.outcome is None and not left.failed and left.given_up
    again = short.join(slow, 5, "a")
    wait(again)
    assert again is not left and again.outcome is NOTHING and len(runs) == 2


def test_a_silent_watcher_is_gone(held, monkeypatch):
    slow, go_on, _ = held
    left = short.join(slow, 5, "a")
    monkeypatch.setattr(refinement, "PATIENCE_SECONDS", -1.0)
    go_on.set()
    wait(left)
    assert left.outcome is None


def test_runs_that_are_remembered_are_bounded(held, monkeypatch):
    slow, go_on, _ = held
    go_on.set()
    monkeypatch.setattr(short, "_MOST_KNOWN", 3)
    for seed in range(5):
        wait(short.join(slow, seed, "a"))
    assert [seed for _, seed in short._KNOWN] == [2, 3, 4]


def test_a_reproduction_without_a_short_run_is_refused():
    with pytest.raises(ValueError, match="reproduction must have a short run, got jain-thakurta-1a"):
        short.join(get_reproduction("jain-thakurta-1a"), 0, "me")
    assert [name for name in REPRODUCTIONS if not get_reproduction(name).few] == ["jain-thakurta-1a"]


def test_choosing_another_figure_leaves_the_one_before(held, monkeypatch):
    slow, *_ = held
    monkeypatch.setattr(
        "dpcore.reproductions.get_reproduction", lambda name: dc.replace(get_reproduction(name), run=slow.run)
    )
    page = open_script("sources/sources.py", about="reproductions", reproduced="iyengar")
    (left,) = short._KNOWN.values()
    assert not left.abandoned()
    page.session_state["reproduced"] = "talwar-rate"
    page.run()
    assert not page.exception and left.abandoned() and len(short._KNOWN) == 2
