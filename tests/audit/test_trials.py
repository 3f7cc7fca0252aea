"""All versions on trial: they are the audits, whatever the chunks, and what is wanted plays first."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from dpcore import Budget, run_audit
from dpcore.audit import all_versions
from dpcore.audit.all_versions import AllVersions, TrialsQuestion
from dpcore.audit.bugs import BUGS
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
