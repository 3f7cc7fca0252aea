"""Trials in the background: they are the audits, whatever the portions, and stop when nobody watches."""

from __future__ import annotations

import logging
import math
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from dpcore import Budget, NotApplicable, run_audit, trials, turns
from dpcore.auditing import Audit
from dpcore.sabotages import SABOTAGES
from dpcore.trials import Asked, Trials, join, standing_of

from .portions import fixed

CLAIM = Budget(1.0, 1e-6)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def played(asked: Asked, wanted: str | None = None) -> Trials:
    held = join(asked, "me", wanted)

    def done() -> bool:
        held.watch("me")
        return held.finished

    wait_for(done)
    return held


@pytest.fixture
def seed(request) -> int:
    """Of trials that no other test has asked for."""
    return 1_000 + zlib.crc32(request.node.name.encode()) % 10**6


@pytest.fixture
def gate(monkeypatch) -> Iterator[threading.Semaphore]:
    """Each portion waits until it is let through."""
    passes, play = threading.Semaphore(0), Audit.play

    def held(audit: Audit, runs: int) -> None:
        assert passes.acquire(timeout=60)
        play(audit, runs)

    monkeypatch.setattr(Audit, "play", held)
    monkeypatch.setattr(trials, "Portions", fixed(500))  # and enough for a picture
    yield passes
    passes.release(10_000)
    wait_for(lambda: all(known.finished for known in trials._KNOWN.values()))


@pytest.mark.parametrize("portion", [137, 10_000])
@pytest.mark.parametrize("key", ["output_gaussian", "output_gamma"])
def test_trials_are_the_audits_whatever_the_portions(key, portion, monkeypatch):
    monkeypatch.setattr(trials, "Portions", fixed(portion))
    monkeypatch.setattr(trials, "_GROWTH", 1.0)
    monkeypatch.setattr(trials, "_FIRST_PICTURE", 1)
    held = Trials(Asked(key, CLAIM, 1_000, 3), "me")
    held.watch("me")
    portions = 0
    while held._playing:
        version = next(iter(held._playing))
        held._play(version)
        now, portions = held.standings[version], portions + 1
        assert (now.report is None) is (now.runs < 1_000)
    shown = len(held.versions)
    assert (portions > shown) is (portion < 1_000)
    assert set(held.versions) | set(held.refused) == {None, *SABOTAGES} and held.refused
    for version, now in held.standings.items():
        plan = held.plans[version]
        alone = run_audit(plan, runs=1_000, seed=3, sabotage=version, comparisons=2 * shown)
        assert now.report.facts() == alone.facts() and now.right == alone.right
        assert now.logs[0] == pytest.approx(-math.log(2 * shown)), "one error for all tests"


def test_a_missing_factor_2_jumps_over_the_claim_and_the_honest_code_does_not():
    """Seeds 0 to 4, 20,000 runs: a false "contradicted" of the honest code in at most 1% of them together."""
    for seed in range(5):
        held = played(Asked("output_gaussian", CLAIM, 20_000, seed), "missing_factor_2")
        assert held.complete and set(held.standings) == set(held.versions)
        broken, honest = held.standings["missing_factor_2"], held.standings[None]
        assert broken.report.certified_epsilon_999 > 1.5 and broken.verdict == "contradicted"
        assert honest.verdict != "contradicted" and honest.report.certified_epsilon_999 < 1.0


def test_pictures_of_a_standing_hold_all_runs():
    audit = Audit("output_gaussian", seed=5, sabotage="halved_noise")
    audit.play(3_000)
    now, scores = standing_of(audit, last=False), audit.scores
    assert (now.false[0], now.missed[0], now.false[-1], now.missed[-1]) == (0.0, 1.0, 1.0, 0.0)
    assert (np.diff(now.false) >= 0.0).all() and (np.diff(now.missed) <= 0.0).all()
    false, missed = np.mean(scores.zeros >= 0.0), np.mean(scores.ones < 0.0)
    assert np.interp(false, now.false, now.missed) == pytest.approx(missed, abs=0.02)
    assert now.zeros.sum() == pytest.approx(1.0) and now.ones.sum() == pytest.approx(1.0)
    upper = now.edges[1:] > 1e-12
    assert now.ones[upper].sum() == pytest.approx(np.mean(scores.ones >= 0.0), abs=0.05)
    assert np.isfinite(now.edges).all() and now.report is None


def test_scores_without_end_are_drawn_too():
    audit = Audit("output_gaussian", sabotage="variance_as_deviation", seed=1)
    audit.play(1_000)
    audit._scores[0][:3] = np.inf, -np.inf, 0.0
    now = standing_of(audit, last=False)
    assert np.isfinite(now.false).all() and now.ones.sum() == pytest.approx(1.0)


def standing(logs: list[float], report=None) -> trials.Standing:
    nothing = np.empty(0)
    pairs = np.arange(len(logs))
    return trials.Standing(100, 0.5, nothing, nothing, nothing, nothing, nothing, pairs, np.array(logs), report)


def test_the_verdict_is_the_worse_of_report_and_bet():
    calm, warned, refuted = (standing([-2.0, math.log(won), 0.0]) for won in (19.9, 20.1, 1001.0))
    assert (calm.verdict, warned.verdict, refuted.verdict) == (None, "suspicious", "contradicted")
    assert calm.reached == (None, None) and warned.reached == (2, None) and refuted.reached == (2, 2)
    report = run_audit("output_gaussian", runs=1_000)
    assert standing([0.0], report).verdict == "no contradiction found"
    assert standing([math.log(21.0)], report).verdict == "suspicious"
    worse = run_audit("output_gaussian", runs=5_000, sabotage="halved_noise")
    assert standing([0.0], worse).verdict == "contradicted"


def test_what_is_wanted_plays_first(gate, seed):
    held = join(Asked("output_gaussian", CLAIM, 1_000, seed), "me", "noise_at_80_percent")
    gate.release()
    wait_for(lambda: bool(held.standings))
    assert set(held.standings) == {"noise_at_80_percent"}
    held.wanted = "fixed_seed"
    gate.release(2)  # the first of them, the honest code, had its turn already
    wait_for(lambda: len(held.standings) == 3)
    assert set(held.standings) == {"noise_at_80_percent", None, "fixed_seed"}


def test_first_runs_of_what_is_wanted_and_of_the_honest_code_come_before_all_others(gate, seed):
    held = join(Asked("output_gaussian", CLAIM, 1_000, seed), "me", "halved_noise")
    started = time.monotonic()
    held.wait_for_first("halved_noise", 0.05)
    assert not held.standings and time.monotonic() - started >= 0.05
    gate.release(2)
    held.wait_for_first("halved_noise", 60.0)
    assert {version: now.runs for version, now in held.standings.items()} == {None: 500, "halved_noise": 500}
    held.wait_for_first("one that cannot be played", 60.0)


def test_those_who_want_the_same_share_and_the_last_to_leave_stops_it(gate, seed):
    asked = Asked("output_gaussian", CLAIM, 1_000, seed)
    held = join(asked, "me")
    assert join(asked, "you") is held and join(Asked("output_gaussian", CLAIM, 1_000, seed + 1), "me") is not held
    trials._KNOWN[Asked("output_gaussian", CLAIM, 1_000, seed + 1)].leave("me")
    held.leave("me")
    assert not held.abandoned()
    held.leave("you")
    gate.release(100)
    wait_for(lambda: held.finished)
    assert not held.complete and not held.failed and len(held.standings) < len(held.versions)
    again = join(asked, "me")
    assert again is not held
    wait_for(lambda: (again.watch("me"), again.finished)[1])
    assert again.complete and join(asked, "they") is again, "what is complete is kept"


def test_who_comes_after_it_was_given_up_starts_it_anew(gate, seed):
    asked = Asked("output_gaussian", CLAIM, 1_000, seed)
    first = join(asked, "me")
    first.leave("me")
    second = join(asked, "you")  # the first has not noticed yet
    assert second is not first and not second.abandoned()
    gate.release(100)
    wait_for(lambda: (second.watch("you"), second.finished)[1])
    assert second.complete and not first.complete


def test_silence_stops_it(gate, seed, monkeypatch):
    held = join(Asked("output_gaussian", CLAIM, 1_000, seed), "me")
    monkeypatch.setattr("dpcore.refinement.PATIENCE_SECONDS", -1.0)
    gate.release(100)
    wait_for(lambda: held.finished)
    assert not held.complete


def test_a_long_trial_holds_nobody_up(gate, seed):
    """Two that wait for many portions, in a pool of two, and a third one that has its turn all the same."""
    long = [join(Asked("output_gaussian", CLAIM, 10**6, seed + k), "me") for k in range(2)]
    short = join(Asked("output_gaussian", CLAIM, 1_000, seed + 9), "me")
    for _ in range(6):
        gate.release()
        time.sleep(0.02)
    wait_for(lambda: bool(short.standings))
    assert not any(held.finished for held in long)
    for held in (*long, short):
        held.leave("me")


def test_what_is_kept_is_bounded(monkeypatch, seed):
    monkeypatch.setattr(trials, "_MOST_KNOWN", 2)
    monkeypatch.setattr(trials, "_KNOWN", trials.OrderedDict())
    for k in range(4):
        played(Asked("output_gaussian", CLAIM, 1_000, seed + k))
    assert [asked.seed for asked in trials._KNOWN] == [seed + 2, seed + 3]


def test_an_error_is_logged_and_said(monkeypatch, caplog, seed):
    def fail(audit, runs):
        raise RuntimeError("no memory for this")

    monkeypatch.setattr(Audit, "play", fail)
    with caplog.at_level(logging.ERROR):
        held = played(Asked("output_gaussian", CLAIM, 1_000, seed))
    assert held.failed and not held.complete and "no memory for this" in caplog.text


def test_what_cannot_be_asked_for_is_refused():
    with pytest.raises(ValueError, match="runs must be an integer >= 1000, got 999"):
        Asked("output_gaussian", CLAIM, 999, 0)
    with pytest.raises(ValueError, match="seed must be an integer >= 0, got -1"):
        Asked("output_gaussian", CLAIM, 1_000, -1)
    with pytest.raises(NotApplicable):
        join(Asked("output_gaussian", Budget(1.0), 1_000, 0), "me")
    assert Asked("output_gaussian", Budget(1.0), 1_000, 0) not in trials._KNOWN


@pytest.mark.parametrize("milliseconds", [0.01, 0.2, 2.0])
def test_no_portion_is_longer_than_a_reader_who_moves_on_may_wait(milliseconds, monkeypatch, seed):
    """By the clock of a machine on which each run takes so long: 50 ms, the first portion included."""
    portions, now = [], [0.0]

    def play(audit: Audit, runs: int) -> None:
        portions.append(runs)
        now[0] += runs * milliseconds / 1e3
        original(audit, runs)

    original = Audit.play
    monkeypatch.setattr(Audit, "play", play)
    monkeypatch.setattr(turns, "time", SimpleNamespace(thread_time=lambda: now[0]))
    held = played(Asked("output_gamma", CLAIM, 2_000, seed))
    assert held.complete and sum(portions) == 2_000 * len(held.versions)
    assert max(portions) * milliseconds <= 50.0


def test_what_is_given_up_plays_no_other_portion_and_is_not_measured(gate, seed, monkeypatch):
    """Left within a portion: it ends, nothing follows, not even the picture of what it has found."""
    measured, begun, play = [], [], Audit.play

    def counted(audit: Audit, runs: int) -> None:
        begun.append(runs)
        play(audit, runs)

    monkeypatch.setattr(Audit, "play", counted)
    monkeypatch.setattr(trials, "standing_of", lambda *_, **__: measured.append(1))
    monkeypatch.setattr(trials, "Portions", fixed(1_000))  # with which there would be something to show
    held = join(Asked("output_gamma", CLAIM, 1_000, seed), "me")
    wait_for(lambda: len(begun) == 1)
    held.leave("me")
    gate.release(100)
    wait_for(lambda: held.finished)
    assert len(begun) == 1 and not measured and not held.complete and not held.failed
