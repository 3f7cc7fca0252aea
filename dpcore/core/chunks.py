"""Chunks of a long work that take about the same time each."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager


class ChunkSizer:
    """Number of runs in the next chunk of a long computation, so that one turn takes about so many seconds.

    seconds: of a chunk, beside what any chunk costs however few runs it has. They are the thread's own processor
    time: on a busy machine a chunk takes longer, and smaller ones would only add to what they cost.

    >>> chunks, played = ChunkSizer(0.025), 0
    >>> while played < 1000:
    ...     with chunks.measured():
    ...         played += chunks.runs
    >>> chunks.runs >= 1000
    True
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._a_run = 0.0
        self._shortest, self._its_runs = math.inf, 1
        self.runs = 1

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Around a chunk of `runs`."""
        started = time.thread_time()
        yield
        self._learn(time.thread_time() - started)

    def _learn(self, took: float) -> None:
        # The shortest chunk tells what any chunk costs, and the others by how much runs make one longer.
        if self.runs > self._its_runs:
            self._a_run = max(0.0, (took - self._shortest) / (self.runs - self._its_runs))
        else:
            self._a_run /= 2.0  # perhaps it was slow by chance
        if took < self._shortest:
            self._shortest, self._its_runs = took, self.runs
        self.runs = max(1, int(min(_GROWTH * self.runs, self._seconds / max(self._a_run, 1e-12))))


_GROWTH = 8  # one that was short by chance makes the next one so much longer at most
