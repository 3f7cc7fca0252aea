"""Sizes of chunks: by the clock of a machine that the test makes up."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dpcore.core import chunks
from dpcore.core.chunks import ChunkSizer


class Clock:
    """Of a machine on which a chunk costs so much, and each of its runs so much more."""

    def __init__(self, monkeypatch, any_chunk: float, a_run: float) -> None:
        self.any_chunk, self.a_run, self.now = any_chunk, a_run, 0.0
        monkeypatch.setattr(chunks, "time", SimpleNamespace(thread_time=lambda: self.now))

    def play(self, sizer: ChunkSizer, runs: int) -> list[int]:
        """The chunks of so many runs."""
        played = []
        while sum(played) < runs:
            played.append(min(sizer.runs, runs - sum(played)))
            with sizer.measured():
                self.now += self.any_chunk + self.a_run * sizer.runs
        return played


@pytest.mark.parametrize("any_chunk", [0.0, 0.001, 0.03, 0.3])
@pytest.mark.parametrize("a_run", [1e-6, 1e-4, 2e-3, 0.1])
def test_a_chunk_takes_what_it_may_beside_what_any_costs(any_chunk, a_run, monkeypatch):
    clock, runs = Clock(monkeypatch, any_chunk, a_run), 20_000 if a_run < 1e-3 else 2_000
    played = clock.play(ChunkSizer(0.025), runs)
    most = max(1.0, 0.025 / a_run)  # runs, if it were known beforehand
    assert max(played) <= 8 * most
    assert len(played) <= 2 * runs / most + 10


def test_what_any_chunk_costs_does_not_make_them_small(monkeypatch):
    """20,000 runs of a microsecond that have 30 ms of company: by runs a second they would be played one by one."""
    assert len(Clock(monkeypatch, 0.03, 1e-6).play(ChunkSizer(0.025), 20_000)) <= 10


@pytest.mark.parametrize("slow", range(8))
def test_one_slow_chunk_is_forgotten(slow, monkeypatch):
    """The collector of rubbish comes by in one of the first chunks."""
    clock, sizer = Clock(monkeypatch, 0.001, 1e-5), ChunkSizer(0.025)
    for k in range(60):
        clock.any_chunk = 0.3 if k == slow else 0.001
        with sizer.measured():
            clock.now += clock.any_chunk + clock.a_run * sizer.runs
    assert 1_000 < sizer.runs < 5_000
