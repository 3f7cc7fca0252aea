"""Jobs in the background: answers that become fuller, snapshot by snapshot, shared by all who ask the same question.

The jobs of all sessions take turns in two bounded pools, so that a long job does not delay others: one for the first
snapshot of what a page cannot be drawn without, one for all the rest, which gives way to first pictures. A job stops
when its last watcher leaves or falls silent.
"""

import logging
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol

from dpcore import NotApplicable, Unconverged, data
from dpcore.core.cancel import Cancelled, go_on

# Longest silence of a watcher; a closed browser tab sends no message, a busy server delays its pages.
PATIENCE_SECONDS = 3.0
_MOST_KNOWN = 128  # an answer is some thousand numbers, of an audit some ten thousand; a lecture asks for a hundred


class FairPool:
    """Pool of `workers` threads with fair turns: an owner of many works cannot delay the others.

    A free thread takes the oldest work of the owner who has the fewest works running, among these the owner who has
    waited longest for a turn. An owner of one work waits at most for the works that are running then and for one turn
    of each other owner; alone, an owner has all threads.

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
        """Queue a work for a turn of its owner; the work must handle its own errors."""
        with self._lock:
            self._waiting.setdefault(owner, deque()).append(work)
        return self._pool.submit(self._take_one)  # one for each work; which it will be is decided when a thread is free

    def _take_one(self) -> None:
        with self._lock:
            owner = min(self._waiting, key=self._running.__getitem__)
            waiting = self._waiting.pop(owner)
            work = waiting.popleft()
            if waiting:
                self._waiting[owner] = waiting  # behind all others
            self._running[owner] += 1
        try:
            work()
        finally:
            with self._lock:
                self._running -= Counter([owner])  # which drops an owner with no work left


# What readers wait for, and all other work that goes on while pages are looked at. Two threads each: more of them slow
# each other and the pages down, since Python lets one run at a time but in compiled code.
FIRST, BACKGROUND = FairPool(2, "first"), FairPool(2, "background")


class FirstPictures:
    """Number of pages that are being drawn, and of first snapshots that are computed for others that wait for them.

    >>> due = FirstPictures()
    >>> with due.one():
    ...     with due.other_work():
    ...         due.give_way(0.01)
    ...     due.give_way(0.01)
    True
    False
    """

    def __init__(self) -> None:
        self._due = 0
        self._fewer = threading.Condition()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count one more while the block runs."""
        self._add(1)
        try:
            yield
        finally:
            self._add(-1)

    @contextmanager
    def other_work(self) -> Iterator[None]:
        """Count one less while the block runs: the page waits for what others do."""
        self._add(-1)
        try:
            yield
        finally:
            self._add(1)

    def give_way(self, seconds: float) -> bool:
        """Wait until none is left, at most so many seconds; True if so."""
        with self._fewer:
            return self._fewer.wait_for(lambda: self._due <= 0, seconds)

    def _add(self, change: int) -> None:
        with self._fewer:
            self._due += change
            self._fewer.notify_all()


FIRST_PICTURES = FirstPictures()
# What a piece of other work waits for first pictures at most: in a busy class it goes on slowly.
_GIVE_WAY_SECONDS = 3.0


class Question(Protocol):
    """Question of a page: a hashable object, equal to another exactly if the answers are."""

    def __hash__(self) -> int: ...

    @property
    def source(self) -> str | None:
        """Name in `dpcore.data` of the records on which the answer depends; None if there are none."""

    def snapshots(self, cancelled: Cancelled, /) -> Iterator[Any]:
        """Answers so far, one after the other; the last one is complete.

        cancelled: asked often; if it returns True, CancelledError is raised. NotApplicable and Unconverged are answers
        too: the reason why there is no other.
        """


_KNOWN: "OrderedDict[Question, Job]" = OrderedDict()
_LOCK = threading.Lock()


def join(question: Question, watcher: Hashable, *, first: bool = False) -> "Job":
    """Job that answers a question, watched by `watcher` from now on: a known one, or a new one.

    first: a page cannot be drawn without a snapshot of it. Equal questions have one answer, kept while the process
    lives; answers about private records are kept only by the sessions that ask.

    >>> from dpcore import Problem
    >>> from dpcore.studies.decide.loss_curve import Setting
    >>> job = join(Setting(Problem("synthetic", n=100), splits=3), "me")
    >>> job.wait(60)
    >>> job.complete, job.snapshot.splits
    (True, 3)
    """
    if is_private(question):
        return _begun(question, watcher, first)
    with _LOCK:
        known = _KNOWN.get(question)
        if known is None or known.given_up or known.failed:
            known = _KNOWN[question] = _begun(question, watcher, first)
        known.watch(watcher)
        _KNOWN.move_to_end(question)
        while len(_KNOWN) > _MOST_KNOWN:
            _KNOWN.popitem(last=False)
    return known


def is_private(question: Question) -> bool:
    """True if the answer depends on records that one session has uploaded."""
    return question.source is not None and data.is_private(question.source)


def _begun(question: Question, watcher: Hashable, first: bool) -> "Job":
    job = Job(question, watcher)
    job.watch(watcher)
    if first:
        FIRST.submit(watcher, job.begin)
    else:
        BACKGROUND.submit(watcher, job.advance)
    return job


class Job:
    """Answer to one question, for all its watchers.

    snapshot: the answer so far, None at first. news: number of its changes, the end included. complete: the snapshot is
    the whole answer. reason: why there is no answer, if the mechanism has none. failed: an error, which is in the log,
    has ended the job. finished: nothing more will come.
    """

    def __init__(self, question: Question, owner: Hashable) -> None:
        self.question, self._owner = question, owner
        self.snapshot: Any = None
        self.reason: str | None = None
        self.failed = self.complete = False
        self.news = 0
        self._snapshots = question.snapshots(self.abandoned)
        self._shown, self._finished = threading.Event(), threading.Event()
        self._heard: dict[Hashable, float] = {}

    @property
    def finished(self) -> bool:
        return self._finished.is_set()

    @property
    def given_up(self) -> bool:
        """True if it will never be complete because it had no watcher: `join` again."""
        return not self.complete and not self.failed and (self.finished or self.abandoned())

    def watch(self, watcher: Hashable, longer: float = 0.0) -> None:
        """Note that `watcher` still waits; to be repeated within PATIENCE_SECONDS, or `longer` seconds more."""
        self._heard[watcher] = time.monotonic() + longer

    def leave(self, watcher: Hashable) -> None:
        """Note that `watcher` no longer waits."""
        self._heard.pop(watcher, None)

    def abandoned(self) -> bool:
        """True if no watcher waits any more."""
        return all(time.monotonic() - heard > PATIENCE_SECONDS for heard in list(self._heard.values()))

    def wait(self, seconds: float) -> None:
        """Wait until nothing more will come, at most so many seconds."""
        self._finished.wait(seconds)

    def wait_for_first(self, seconds: float) -> None:
        """Wait until there is something to show or nothing more will come, at most so many seconds."""
        self._shown.wait(max(0.0, seconds))

    def begin(self) -> None:
        """Take snapshots until there is something to show, as readers wait for it; the next ones are for `advance`."""
        with FIRST_PICTURES.one():
            while not self._shown.is_set():
                self._take()
        if not self.finished:
            BACKGROUND.submit(self._owner, self.advance)

    def advance(self) -> None:
        """Take one more snapshot once no reader waits for a picture; the next one is queued behind those of others."""
        if not self.abandoned():
            FIRST_PICTURES.give_way(_GIVE_WAY_SECONDS)
        self._take()
        if not self.finished:
            BACKGROUND.submit(self._owner, self.advance)

    def _take(self) -> None:
        """Take one more snapshot, or end if there is none or no watcher waits."""
        try:
            go_on(self.abandoned)
            snapshot = next(self._snapshots)
            if snapshot is not self.snapshot:
                self.snapshot = snapshot
                self.news += 1
                self._shown.set()
            return
        except StopIteration:
            self.complete = True
        except CancelledError:
            pass  # no watcher waits
        except (NotApplicable, Unconverged) as reason:
            self.reason, self.complete = str(reason), True
        except Exception as error:
            self._log(error)  # first, because the page then says that it is in the log
            self.failed = True
        self.news += 1
        self._snapshots = iter(())  # frees what the iterator holds
        self._finished.set()
        self._shown.set()

    def _log(self, error: Exception) -> None:
        """Log an error; for private records only its kind, since its words may quote them, and nothing once freed."""
        log = logging.getLogger(__name__)
        if not is_private(self.question):
            log.error("no answer to %s", self.question, exc_info=error)
        elif self.question.source is not None and not data.is_gone(self.question.source):
            log.error("no answer about private records: %s", type(error).__name__)
