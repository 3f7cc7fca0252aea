"""Jobs in the background: answers that become fuller, snapshot by snapshot, shared by all who ask the same question.

The jobs of all sessions take turns in one bounded pool, so that a long one holds nobody up. A job stops when the last
of those who wait for it leaves or falls silent.
"""

import logging
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any, Protocol

from dpcore import NotApplicable, Unconverged, data
from dpcore.core.cancel import Cancelled, go_on

# How long a watcher may be silent; a closed browser tab says no goodbye, a busy server delays its pages.
PATIENCE_SECONDS = 3.0
_MOST_KNOWN = 128  # an answer is some thousand numbers, of an audit some ten thousand; a lecture asks for a hundred


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


class Question(Protocol):
    """What can be asked: a hashable object, equal to another exactly if the answers are."""

    def __hash__(self) -> int: ...

    @property
    def source(self) -> str | None:
        """The records that the answer depends on, by their name in `dpcore.data`; None where there are none."""

    def snapshots(self, cancelled: Cancelled, /) -> Iterator[Any]:
        """The answer as far as it is known, again and again; the last one is the whole.

        cancelled: asked often; when it says yes, CancelledError is raised. NotApplicable and Unconverged are answers
        too: why there is no other.
        """


_KNOWN: "OrderedDict[Question, Job]" = OrderedDict()
_LOCK = threading.Lock()


def join(question: Question, watcher: Hashable) -> "Job":
    """The job that answers a question, watched by `watcher` from now on: a known one, or a new one.

    Equal questions have one answer, kept while the process lives; but what is asked of private records is kept by
    those who ask, and by nobody else.

    >>> from dpcore import Problem
    >>> from dpcore.studies.decide.loss_curve import Setting
    >>> job = join(Setting(Problem("synthetic", n=100), splits=3), "me")
    >>> job.wait(60)
    >>> job.complete, job.snapshot.splits
    (True, 3)
    """
    if is_private(question):
        return _begun(question, watcher)
    with _LOCK:
        known = _KNOWN.get(question)
        if known is None or known.given_up or known.failed:
            known = _KNOWN[question] = _begun(question, watcher)
        known.watch(watcher)
        _KNOWN.move_to_end(question)
        while len(_KNOWN) > _MOST_KNOWN:
            _KNOWN.popitem(last=False)
    return known


def is_private(question: Question) -> bool:
    """Whether an answer depends on records that one session has brought along."""
    return question.source is not None and data.is_private(question.source)


def _begun(question: Question, watcher: Hashable) -> "Job":
    job = Job(question, watcher)
    job.watch(watcher)
    BACKGROUND.submit(watcher, job.advance)
    return job


class Job:
    """The answer to one question, for all who watch it.

    snapshot: what is known by now, None before anything is; news: how often it has changed, the end included.
    complete: whether that is all. reason: why there is no answer, where the mechanism has none. failed: whether an
    error, which is in the log, has ended it. finished: whether nothing more will come.
    """

    def __init__(self, question: Question, owner: Hashable) -> None:
        self.question, self._owner = question, owner
        self.snapshot: Any = None
        self.reason: str | None = None
        self.failed = self.complete = False
        self.news = 0
        self._snapshots = question.snapshots(self.abandoned)
        self._finished = threading.Event()
        self._heard: dict[Hashable, float] = {}

    @property
    def finished(self) -> bool:
        return self._finished.is_set()

    @property
    def given_up(self) -> bool:
        """Whether it will never be complete because nobody watched: `join` again."""
        return not self.complete and not self.failed and (self.finished or self.abandoned())

    def watch(self, watcher: Hashable, longer: float = 0.0) -> None:
        """Say that `watcher` still waits; to be repeated within PATIENCE_SECONDS, or so many seconds longer."""
        self._heard[watcher] = time.monotonic() + longer

    def leave(self, watcher: Hashable) -> None:
        """Say that `watcher` no longer waits."""
        self._heard.pop(watcher, None)

    def abandoned(self) -> bool:
        """Whether nobody waits any more."""
        return all(time.monotonic() - heard > PATIENCE_SECONDS for heard in list(self._heard.values()))

    def wait(self, seconds: float) -> None:
        """Until nothing more will come, so many seconds at most."""
        self._finished.wait(seconds)

    def advance(self) -> None:
        """One more snapshot, unless nobody waits; the next one stands in line after those of others."""
        try:
            go_on(self.abandoned)
            snapshot = next(self._snapshots)
            if snapshot is not self.snapshot:
                self.snapshot = snapshot
                self.news += 1
            BACKGROUND.submit(self._owner, self.advance)
            return
        except StopIteration:
            self.complete = True
        except CancelledError:
            pass  # nobody waits
        except (NotApplicable, Unconverged) as reason:
            self.reason, self.complete = str(reason), True
        except Exception as error:
            self.failed = True
            self._log(error)
        self.news += 1
        self._snapshots = iter(())  # what it holds is let go
        self._finished.set()

    def _log(self, error: Exception) -> None:
        """Of private records only the kind of error, since its words may quote them; nothing when they are gone."""
        log = logging.getLogger(__name__)
        if not is_private(self.question):
            log.error("no answer to %s", self.question, exc_info=error)
        elif self.question.source is not None and not data.is_gone(self.question.source):
            log.error("no answer about private records: %s", type(error).__name__)
