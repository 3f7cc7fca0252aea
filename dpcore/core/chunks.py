"""Division of a long computation into chunks of about the same time."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager


class ChunkSizer:
    """Number of runs in the next chunk of a long computation, chosen for a chunk of about `seconds`.

    seconds: processor time of the thread, beyond the fixed cost of a chunk. On a busy machine a chunk takes longer, but
    smaller chunks would only add fixed costs.

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
        """Context that measures one chunk of `runs`."""
        started = time.thread_time()
        yield
        self._learn(time.thread_time() - started)

    def _learn(self, took: float) -> None:
        # The shortest chunk gives the fixed cost, the others the time that each run adds.
        if self.runs > self._its_runs:
            self._a_run = max(0.0, (took - self._shortest) / (self.runs - self._its_runs))
        else:
            self._a_run /= 2.0  # the chunk may have been slow by chance
        if took < self._shortest:
            self._shortest, self._its_runs = took, self.runs
        self.runs = max(1, int(min(_GROWTH * self.runs, self._seconds / max(self._a_run, 1e-12))))


_GROWTH = 8  # largest growth from one chunk to the next: a chunk may have been fast by chance
