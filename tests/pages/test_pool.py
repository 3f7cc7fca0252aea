"""Turns in the background: who asks for much does not hold up who asks for one thing. Orders are counted, no times."""

from __future__ import annotations

import threading
import time

import pytest

from pages.background.jobs import FairPool

WORKERS, HEAVY = 2, 50


class FirstComeFirstServed(FairPool):
    """What a plain pool does: the owner of the oldest work is next."""

    def submit(self, owner, work):
        return super().submit("everybody", work)


def begun_before(kind: type[FairPool], newcomers: int) -> list[int]:
    """How many works of a greedy session began after newcomers had asked for one each, until each had its turn."""
    pool, gate = kind(WORKERS, "test"), threading.Semaphore(0)
    order, lock, running = [], threading.Lock(), threading.Semaphore(0)

    def work(owner):
        with lock:
            order.append(owner)
        running.release()
        assert gate.acquire(timeout=60)

    futures = [pool.submit("greedy", lambda: work("greedy")) for _ in range(HEAVY)]
    for _ in range(WORKERS):  # all threads are taken before the others come
        assert running.acquire(timeout=60)
    futures += [pool.submit(k, lambda k=k: work(k)) for k in range(newcomers)]
    for _ in futures[WORKERS:]:  # one after the other, so that the order is that of the choices
        gate.release()
        assert running.acquire(timeout=60)
    gate.release(WORKERS)
    for future in futures:
        future.result(60)
    assert sorted(map(str, order)) == sorted(["greedy"] * HEAVY + [str(k) for k in range(newcomers)])
    return [order[WORKERS : order.index(k)].count("greedy") for k in range(newcomers)]


def test_a_greedy_session_delays_another_by_nothing_but_what_runs_already():
    assert begun_before(FairPool, 1) == [0]


def test_it_has_one_turn_while_several_wait():
    assert max(begun_before(FairPool, 4)) <= 1


def test_a_plain_queue_would_delay_them_by_everything():
    assert begun_before(FirstComeFirstServed, 1) == [HEAVY - WORKERS]


def test_alone_a_session_has_all_threads():
    pool, together = FairPool(WORKERS, "test"), threading.Barrier(WORKERS)
    for future in [pool.submit("alone", lambda: together.wait(60)) for _ in range(4 * WORKERS)]:
        future.result(60)


def test_while_others_wait_a_session_has_its_share_only():
    """Two threads, one session with much and one with a little: one thread each, until the little is done."""
    pool, gate = FairPool(WORKERS, "test"), threading.Semaphore(0)
    running, most, lock = {"much": 0, "little": 0}, [], threading.Lock()

    def work(owner):
        with lock:
            running[owner] += 1
            most.append(dict(running))
        assert gate.acquire(timeout=60)
        with lock:
            running[owner] -= 1

    both = threading.Barrier(WORKERS + 1)
    futures = [pool.submit("before", lambda: both.wait(60)) for _ in range(WORKERS)]
    futures += [pool.submit("much", lambda: work("much")) for _ in range(20)]
    futures += [pool.submit("little", lambda: work("little")) for _ in range(5)]
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
    pool = FairPool(1, "test")
    with pytest.raises(ZeroDivisionError):
        pool.submit("me", lambda: 1 // 0).result(60)
    pool.submit("me", lambda: None).result(60)
    assert not pool._running and not pool._waiting
