"""Turns in the background: who asks for much does not hold up who asks for one thing. Orders are counted, no times."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest

from dpcore import turns
from dpcore.turns import Portions, Turns

WORKERS, HEAVY = 2, 50


class FirstComeFirstServed(Turns):
    """What a plain pool does: the owner of the oldest work is next."""

    def submit(self, owner, work):
        return super().submit("everybody", work)


def begun_before(kind: type[Turns], newcomers: int) -> list[int]:
    """How many works of a greedy session began after newcomers had asked for one each, until each had its turn."""
    turns, gate = kind(WORKERS, "test"), threading.Semaphore(0)
    order, lock, running = [], threading.Lock(), threading.Semaphore(0)

    def work(owner):
        with lock:
            order.append(owner)
        running.release()
        assert gate.acquire(timeout=60)

    futures = [turns.submit("greedy", lambda: work("greedy")) for _ in range(HEAVY)]
    for _ in range(WORKERS):  # all threads are taken before the others come
        assert running.acquire(timeout=60)
    futures += [turns.submit(k, lambda k=k: work(k)) for k in range(newcomers)]
    for _ in futures:  # one after the other, so that the order is that of the choices
        gate.release()
        running.acquire(timeout=0.2)
    for future in futures:
        future.result(60)
    assert sorted(map(str, order)) == sorted(["greedy"] * HEAVY + [str(k) for k in range(newcomers)])
    return [order[WORKERS : order.index(k)].count("greedy") for k in range(newcomers)]


def test_a_greedy_session_delays_another_by_nothing_but_what_runs_already():
    assert begun_before(Turns, 1) == [0]


def test_it_has_one_turn_while_several_wait():
    assert max(begun_before(Turns, 4)) <= 1


def test_a_plain_queue_would_delay_them_by_everything():
    assert begun_before(FirstComeFirstServed, 1) == [HEAVY - WORKERS]


def test_alone_a_session_has_all_threads():
    turns, together = Turns(WORKERS, "test"), threading.Barrier(WORKERS)
    for future in [turns.submit("alone", lambda: together.wait(60)) for _ in range(4 * WORKERS)]:
        future.result(60)


def test_while_others_wait_a_session_has_its_share_only():
    """Two threads, one session with much and one with a little: one thread each, until the little is done."""
    turns, gate = Turns(WORKERS, "test"), threading.Semaphore(0)
    running, most, lock = {"much": 0, "little": 0}, [], threading.Lock()

    def work(owner):
        with lock:
            running[owner] += 1
            most.append(dict(running))
        assert gate.acquire(timeout=60)
        with lock:
            running[owner] -= 1

    both = threading.Barrier(WORKERS + 1)
    futures = [turns.submit("before", lambda: both.wait(60)) for _ in range(WORKERS)]
    futures += [turns.submit("much", lambda: work("much")) for _ in range(20)]
    futures += [turns.submit("little", lambda: work("little")) for _ in range(5)]
    both.wait(60)
    deadline = time.monotonic() + 60
    while len(most) < WORKERS:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert most[-1] == {"much": 1, "little": 1}
    for _ in futures:
        gate.release()
    for future in futures:
        future.result(60)


def test_an_error_ends_one_turn_only():
    turns = Turns(1, "test")
    with pytest.raises(ZeroDivisionError):
        turns.submit("me", lambda: 1 // 0).result(60)
    turns.submit("me", lambda: None).result(60)
    assert not turns._running and not turns._waiting


class Clock:
    """Of a machine on which a portion costs so much, and each of its runs so much more."""

    def __init__(self, monkeypatch, any_portion: float, a_run: float) -> None:
        self.any_portion, self.a_run, self.now = any_portion, a_run, 0.0
        monkeypatch.setattr(turns, "time", SimpleNamespace(thread_time=lambda: self.now))

    def play(self, portions: Portions, runs: int) -> list[int]:
        """The portions of so many runs."""
        played = []
        while sum(played) < runs:
            played.append(min(portions.runs, runs - sum(played)))
            with portions.measured():
                self.now += self.any_portion + self.a_run * portions.runs
        return played


@pytest.mark.parametrize("any_portion", [0.0, 0.001, 0.03, 0.3])
@pytest.mark.parametrize("a_run", [1e-6, 1e-4, 2e-3, 0.1])
def test_a_portion_takes_what_it_may_beside_what_any_costs(any_portion, a_run, monkeypatch):
    clock = Clock(monkeypatch, any_portion, a_run)
    played = clock.play(Portions(0.025), 20_000)
    most = max(1.0, 0.025 / a_run)  # runs, if it were known beforehand
    assert max(played) <= 8 * most
    assert len(played) <= 2 * 20_000 / most + 10


def test_what_any_portion_costs_does_not_make_them_small(monkeypatch):
    """20,000 runs of a microsecond that have 30 ms of company: by runs a second they would be played one by one."""
    assert len(Clock(monkeypatch, 0.03, 1e-6).play(Portions(0.025), 20_000)) <= 10


@pytest.mark.parametrize("slow", range(8))
def test_one_slow_portion_is_forgotten(slow, monkeypatch):
    """The collector of rubbish comes by in one of the first portions."""
    clock, portions = Clock(monkeypatch, 0.001, 1e-5), Portions(0.025)
    for k in range(60):
        clock.any_portion = 0.3 if k == slow else 0.001
        with portions.measured():
            clock.now += clock.any_portion + clock.a_run * portions.runs
    assert 1_000 < portions.runs < 5_000
