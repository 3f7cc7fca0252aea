"""Work in the background for many at once: a bounded pool of threads in which those who wait take turns."""

import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor


class FairPool:
    """A pool of `workers` threads that belongs to everybody alike, however much somebody asks for.

    A free thread takes the oldest work of the owner who has the fewest works running, among these the owner who has
    waited longest for a turn. So whoever asks for one thing waits at most for what is running then and for one turn of
    each of the others; alone, an owner has all threads.

    >>> pool, done = FairPool(1, "example"), []
    >>> futures = [pool.submit(owner, lambda owner=owner: done.append(owner)) for owner in ("a", "a", "b")]
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


# All work that goes on while pages are looked at. Two threads: more of them slow each other and the pages down, since
# Python lets one run at a time but in compiled code.
BACKGROUND = FairPool(2, "background")
