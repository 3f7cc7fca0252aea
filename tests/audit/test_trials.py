"""All versions on trial: they are the audits, whatever the chunks, and what is wanted plays first."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import CancelledError
from types import SimpleNamespace

import numpy as np
import pytest

from dpcore import Budget, NotApplicable, run_audit
from dpcore.audit import all_versions
from dpcore.audit.all_versions import AllVersions, TrialsQuestion, standing_of
from dpcore.audit.bugs import BUGS
from dpcore.audit.game import Audit
from dpcore.core import chunks
from dpcore.core.cancel import never

from ..chunks import fixed

CLAIM = Budget(1.0, 1e-6)


def asked(key: str, runs: int, seed: int = 0, wanted: str | None = None) -> TrialsQuestion:
    return TrialsQuestion(key, CLAIM, runs, seed, wanted)


def played(question: TrialsQuestion, cancelled: Callable[[], bool] = never) -> list[AllVersions]:
    """All snapshots, the first of which is before the first run."""
    return list(question.snapshots(cancelled))


@pytest.mark.parametrize("chunk", [137, 10_000])
@pytest.mark.parametrize("key", ["output_gaussian", "output_gamma"])
def test_trials_are_the_audits_whatever_the_chunks(key, chunk, monkeypatch):
    monkeypatch.setattr(all_versions, "ChunkSizer", fixed(chunk))
    monkeypatch.setattr(all_versions, "_GROWTH", 1.0)
    monkeypatch.setattr(all_versions, "_FIRST_PICTURE", 1)
    before, *pictures = played(asked(key, 1_000, 3))
    assert not before.standings
    for now in pictures:
        assert all((each.report is None) is (each.runs < 1_000) for each in now.standings.values())
    held = pictures[-1]
    shown = len(held.versions)
    assert (len(pictures) > shown) is (chunk < 1_000)
    assert set(held.versions) | set(held.refused) == {None, *BUGS} and held.refused
    for version, now in held.standings.items():
        plan = held.plans[version]
        alone = run_audit(plan, runs=1_000, seed=3, bug=version, comparisons=2 * shown)
        assert now.report.facts() == alone.facts() and now.attack_success == alone.attack_success
        assert now.logs[0] == pytest.approx(-math.log(2 * shown)), "one error for all tests"


@pytest.mark.parametrize("seeds", [1, pytest.param(5, marks=pytest.mark.nightly)])
def test_a_missing_factor_2_jumps_over_the_claim_and_the_correct_code_does_not(seeds):
    """20,000 runs: a false "contradicted" of the correct code in at most 1% of five seeds together."""
    for seed in range(seeds):
        held = played(asked("output_gaussian", 20_000, seed))[-1]
        assert set(held.standings) == set(held.versions)
        broken, correct = held.standings["missing_factor_2"], held.standings[None]
        assert broken.report.certified_epsilon_999 > 1.5 and broken.verdict == "contradicted"
        assert correct.verdict != "contradicted" and correct.report.certified_epsilon_999 < 1.0


def test_pictures_of_a_standing_hold_all_runs():
    audit = Audit("output_gaussian", seed=5, bug="halved_noise")
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
    audit = Audit("output_gaussian", bug="variance_as_deviation", seed=1)
    audit.play(1_000)
    audit._scores[0][:3] = np.inf, -np.inf, 0.0
    now = standing_of(audit, last=False)
    assert np.isfinite(now.false).all() and now.ones.sum() == pytest.approx(1.0)


def standing(logs: list[float], report=None) -> all_versions.Standing:
    nothing = np.empty(0)
    pairs = np.arange(len(logs))
    return all_versions.Standing(100, 0.5, nothing, nothing, nothing, nothing, nothing, pairs, np.array(logs), report)


def test_the_verdict_is_the_worse_of_report_and_bet():
    calm, warned, refuted = (standing([-2.0, math.log(won), 0.0]) for won in (19.9, 20.1, 1001.0))
    assert (calm.verdict, warned.verdict, refuted.verdict) == (None, "suspicious", "contradicted")
    assert calm.reached == (None, None) and warned.reached == (2, None) and refuted.reached == (2, 2)
    report = run_audit("output_gaussian", runs=1_000)
    assert standing([0.0], report).verdict == "no contradiction found"
    assert standing([math.log(21.0)], report).verdict == "suspicious"
    worse = run_audit("output_gaussian", runs=5_000, bug="halved_noise")
    assert standing([0.0], worse).verdict == "contradicted"


@pytest.fixture
def in_chunks(monkeypatch):
    """Chunks of 500 runs, which are enough for a picture."""
    monkeypatch.setattr(all_versions, "ChunkSizer", fixed(500))


def test_what_is_wanted_plays_first_and_the_correct_code_beside_it(in_chunks):
    question = asked("output_gaussian", 1_000, wanted="noise_at_80_percent")
    snapshots = question.snapshots()
    assert not next(snapshots).standings
    assert set(next(snapshots).standings) == {"noise_at_80_percent"}
    question.wanted = "fixed_seed"
    assert list(next(snapshots).standings) == ["noise_at_80_percent", "fixed_seed"]
    now = next(snapshots)
    assert {version: each.runs for version, each in now.standings.items()} == dict.fromkeys(
        ("noise_at_80_percent", "fixed_seed", None), 500
    )
    assert next(snapshots).standings["fixed_seed"].runs == 1_000, "to its end before the next"


def test_what_is_wanted_is_no_part_of_the_question():
    one, other = (asked("output_gaussian", 1_000, wanted=version) for version in (None, "fixed_seed"))
    assert one == other and hash(one) == hash(other) and one != asked("output_gaussian", 1_000, seed=1)


def test_what_cannot_be_asked_for_is_refused():
    with pytest.raises(ValueError, match="runs must be an integer >= 1000, got 999"):
        asked("output_gaussian", 999)
    with pytest.raises(ValueError, match="seed must be an integer >= 0, got -1"):
        asked("output_gaussian", 1_000, -1)
    with pytest.raises(NotApplicable):
        next(TrialsQuestion("output_gaussian", Budget(1.0), 1_000, 0).snapshots())


@pytest.mark.parametrize("milliseconds", [0.01, 0.2, 2.0])
def test_no_chunk_is_longer_than_a_reader_who_moves_on_may_wait(milliseconds, monkeypatch):
    """By the clock of a machine on which each run takes so long: 50 ms, the first chunk included."""
    begun, now, play = [], [0.0], Audit.play

    def timed(audit: Audit, runs: int) -> None:
        begun.append(runs)
        now[0] += runs * milliseconds / 1e3
        play(audit, runs)

    monkeypatch.setattr(Audit, "play", timed)
    monkeypatch.setattr(chunks, "time", SimpleNamespace(thread_time=lambda: now[0]))
    held = played(asked("output_gamma", 2_000))[-1]
    assert sum(begun) == 2_000 * len(held.versions)
    assert max(begun) * milliseconds <= 50.0


def test_what_is_given_up_within_a_chunk_plays_no_other_and_is_not_measured(monkeypatch):
    begun, measured, play = [], [], Audit.play

    def counted(audit: Audit, runs: int) -> None:
        begun.append(runs)
        play(audit, runs)

    monkeypatch.setattr(Audit, "play", counted)
    monkeypatch.setattr(all_versions, "standing_of", lambda *_, **__: measured.append(1))
    monkeypatch.setattr(all_versions, "ChunkSizer", fixed(1_000))  # with which there would be something to show
    with pytest.raises(CancelledError):
        played(asked("output_gamma", 1_000), lambda: bool(begun))
    assert len(begun) == 1 and not measured
