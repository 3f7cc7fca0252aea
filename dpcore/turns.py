"""Work in the background for many at once: a bounded pool of threads in which those who wait take turns."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager


class Turns:
    """A pool of `workers` threads that belongs to everybody alike, however much somebody asks for.

    A free thread takes the oldest work of the owner who has the fewest works running, among these the owner who has
    waited longest for a turn. So whoever asks for one thing waits at most for what is running then and for one turn of
    each of the others; alone, an owner has all threads.

    >>> turns, done = Turns(1, "example"), []
    >>> futures = [turns.submit(owner, lambda owner=owner: done.append(owner)) for owner in ("a", "a", "b")]
    >>> _ = [future.result() for future in futures]
    >>> sorted(done)
    ['a', 'a', 'b']
    """

    def __init__(self, workers: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._waiting: dict[Hashable, deque[Callable[[], object]]] = {}  # in the order of the owners' next turns
        self._running: Counter[Hashable] = Counter()

    def submit(self, owner: Hashable, work: Callable[[], object]) -> Future[None]:
        """Have some work done in a turn of its owner's; it must take care of its own errors."""
        with self._lock:
            self._waiting.setdefault(owner, deque()).append(work)
        return self._pool.submit(self._take_one)  # one for each work; which it will be is decided when a thread is free

    def _take_one(self) -> None:
        with self._lock:
            owner = self._next_owner()
            waiting = self._waiting.pop(owner)
            work = waiting.popleft()
            if waiting:
                self._waiting[owner] = waiting  # behind all others
            self._running[owner] += 1
        try:
            work()
        finally:
            with self._lock:
                self._running -= Counter([owner])  # which forgets an owner with nothing left

    def _next_owner(self) -> Hashable:
        return min(self._waiting, key=self._running.__getitem__)


class Portions:
    """How many runs the next portion of a long work has, so that one turn takes about so many seconds.

    seconds: of a portion, beside what any portion costs however few runs it has. They are the thread's own processor
    time: on a busy machine a portion takes longer, and smaller ones would only add to what they cost.

    >>> portions, played = Portions(0.025), 0
    >>> while played < 1000:
    ...     with portions.measured():
    ...         played += portions.runs
    >>> portions.runs >= 1000
    True
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._a_run = 0.0
        self._shortest, self._its_runs = math.inf, 1
        self.runs = 1

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Around a portion of `runs`."""
        started = time.thread_time()
        yield
        self._learn(time.thread_time() - started)

    def _learn(self, took: float) -> None:
        # The shortest portion tells what any portion costs, and the others by how much runs make one longer.
        if self.runs > self._its_runs:
            self._a_run = max(0.0, (took - self._shortest) / (self.runs - self._its_runs))
        else:
            self._a_run /= 2.0  # perhaps it was slow by chance
        if took < self._shortest:
            self._shortest, self._its_runs = took, self.runs
        self.runs = max(1, int(min(_GROWTH * self.runs, self._seconds / max(self._a_run, 1e-12))))


_GROWTH = 8  # one that was short by chance makes the next one so much longer at most


# All work that goes on while pages are looked at. Two threads: more of them slow each other and the pages down, since
# Python lets one run at a time but in compiled code.
BACKGROUND = Turns(2, "background")
