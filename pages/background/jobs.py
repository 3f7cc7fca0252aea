"""Jobs in the background: answers that become fuller, step by step, shared by all who ask the same question.

A job goes on while a session shows its question and rests while none does; what it has found stays, and the next
session that asks goes on from there. First steps, for which readers wait, have threads of their own.
"""

import dataclasses as dc
import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Protocol

from streamlit.runtime import Runtime

from dpcore import NotApplicable, Unconverged, data

# An answer is some thousand numbers, of an audit some ten thousand; a lecture asks for a hundred. A job that rests
# holds more: all scores of an audit.
_MOST_KNOWN, _MOST_RESTING = 128, 8

AHEAD = "pictures ahead"  # in the place of a session: what pages/server/prefetch.py asks for
# Two threads each: more of them slow each other and the pages down, since Python lets one run at a time but in compiled
# code. Each holds at most one step of a job, so that all jobs take turns.
FIRST_STEPS = ThreadPoolExecutor(2, "first steps")
FURTHER_STEPS = ThreadPoolExecutor(2, "further steps")


class Question(Protocol):
    """Question of a page: a hashable object, equal to another exactly if the answers are."""

    def __hash__(self) -> int: ...

    @property
    def source(self) -> str | None:
        """Name in `dpcore.data` of the records on which the answer depends; None if there are none."""

    def snapshots(self) -> Iterator[Any]:
        """Answers so far, one after each step, at most about a second apart; None while there is nothing to show.

        The last one is complete. NotApplicable and Unconverged are answers too: the reason why there is no other.
        """

    def share_done(self, snapshot: Any) -> float:
        """Share of the work that is behind a snapshot: above 0, and 1 exactly if the snapshot is complete."""


@dc.dataclass(frozen=True)
class Answer:
    """Answer to a question so far.

    snapshot: None if there is nothing to show yet. complete: it is the whole answer. reason: why there is no answer, if
    the mechanism has none. failed: an error, which is in the log, has ended the job. seconds_left: estimate, nan before
    the first snapshot. news: number of the changes so far.
    """

    question: Question
    snapshot: Any = None
    complete: bool = False
    reason: str | None = None
    failed: bool = False
    seconds_left: float = math.nan
    news: int = 0

    @property
    def finished(self) -> bool:
        """Whether nothing more will come."""
        return self.complete or self.failed


class Job:
    """Work on one question, for all sessions that show it."""

    def __init__(self, question: Question) -> None:
        self.answer = Answer(question)
        self._snapshots = question.snapshots()
        self._changed = threading.Condition()
        self._sessions: set[str] = set()
        self._awaited = False  # whether a page has waited for the first snapshot
        self._queued_at: float | None = None  # while a step is queued or under way
        self._seconds = 0.0  # of all steps so far, the times in the queue included

    def show(self, session: str, *, first: bool) -> None:
        """Go on while this session shows the question. first: its page waits for the first snapshot."""
        with self._changed:
            self._sessions.add(session)
            self._awaited |= first
            if self._queued_at is None and not self.answer.finished:
                self._queue()

    def hide(self, session: str) -> None:
        """Note that this session shows the question no longer."""
        with self._changed:
            self._sessions.discard(session)

    @property
    def rests(self) -> bool:
        """Whether nobody shows the question of a job that is not finished."""
        return not self._sessions and not self.answer.finished

    def wait(self, seconds: float, enough: Callable[[Any], bool] = lambda snapshot: True) -> None:
        """Wait until there is a snapshot that is enough or nothing more will come, at most so many seconds."""

        def settled() -> bool:
            snapshot = self.answer.snapshot
            return self.answer.finished or (snapshot is not None and enough(snapshot))

        with self._changed:
            self._changed.wait_for(settled, None if math.isinf(seconds) else seconds)

    def _queue(self) -> None:
        threads = FIRST_STEPS if self._awaited and self.answer.snapshot is None else FURTHER_STEPS
        self._queued_at = time.monotonic()
        with suppress(RuntimeError):  # the process is about to end
            threads.submit(self._step).add_done_callback(Future.result)  # a fault of ours is logged

    def _step(self) -> None:
        """Take one step, unless nobody shows the question any more, and queue the next one behind those of others."""
        with self._changed:
            if not self._is_shown():
                self._queued_at = None
                return
        found = self._next()
        with self._changed:
            assert self._queued_at is not None
            self._seconds += time.monotonic() - self._queued_at
            self._queued_at = None
            if found.snapshot is not self.answer.snapshot or found.finished:
                self.answer = dc.replace(found, seconds_left=self._left(found), news=self.answer.news + 1)
                self._changed.notify_all()
            if not found.finished and self._is_shown():
                self._queue()

    def _is_shown(self) -> bool:
        """Whether a session that the server still knows shows the question."""
        self._sessions = {session for session in self._sessions if is_known(session)}
        return bool(self._sessions)

    def _next(self) -> Answer:
        """The answer after one more step."""
        last = self.answer
        try:
            snapshot = next(self._snapshots)
            whole = snapshot is not None and last.question.share_done(snapshot) >= 1.0
            return dc.replace(last, snapshot=snapshot, complete=whole)
        except StopIteration:
            return dc.replace(last, complete=True)
        except (NotApplicable, Unconverged) as reason:
            return dc.replace(last, complete=True, reason=str(reason))
        except Exception as error:
            self._log(error)
            return dc.replace(last, failed=True)

    def _left(self, found: Answer) -> float:
        if found.finished or found.snapshot is None:
            return 0.0 if found.finished else math.nan
        share = found.question.share_done(found.snapshot)
        return self._seconds * (1.0 - share) / share if share > 0.0 else math.nan

    def _log(self, error: Exception) -> None:
        """Log an error; for private records only its kind, since its words may quote them, and nothing once freed."""
        log, question = logging.getLogger(__name__), self.answer.question
        if not is_private(question):
            log.error("no answer to %s", question, exc_info=error)
        elif question.source is not None and not data.is_gone(question.source):
            log.error("no answer about private records: %s", type(error).__name__)


def is_known(session: str) -> bool:
    """Whether the server keeps this session: its page is open, or may still come back after a lost connection."""
    sessions = getattr(Runtime._instance, "_session_mgr", None)  # None: a page by itself, without a server
    return session == AHEAD or sessions is None or sessions.get_session_info(session) is not None


def is_private(question: Question) -> bool:
    """True if the answer depends on records that one session has uploaded."""
    return question.source is not None and data.is_private(question.source)


class Jobs:
    """The most recent jobs by their questions.

    >>> from dpcore import Problem
    >>> from dpcore.studies.decide.loss_curve import Setting
    >>> job = Jobs().job_of(Setting(Problem("synthetic", n=100), splits=3))
    >>> job.show("a session", first=True)
    >>> job.wait(60, lambda curve: curve.splits == 3)
    >>> job.answer.snapshot.splits
    3
    """

    def __init__(self) -> None:
        self._known: OrderedDict[Question, Job] = OrderedDict()
        self._lock = threading.Lock()

    def job_of(self, question: Question) -> Job:
        """The job that answers a question: the known one, or a new one, also where an error has ended the last."""
        with self._lock:
            known = self._known.get(question)
            if known is None or known.answer.failed:
                known = self._known[question] = Job(question)
            self._known.move_to_end(question)
            resting = [asked for asked, job in self._known.items() if job.rests]
            for asked in [*resting[:-_MOST_RESTING], *list(self._known)[:-_MOST_KNOWN]]:
                self._known.pop(asked, None)
        return known

    def known(self, question: Question) -> Answer | None:
        """The answer so far to a question that was asked already; no job is made."""
        with self._lock:
            job = self._known.get(question)
        return job.answer if job else None

    def forget_gone(self) -> None:
        """Drop the jobs about records that their session has taken away."""
        with self._lock:
            for question in list(self._known):
                if question.source is not None and data.is_gone(question.source):
                    del self._known[question]


# Of all sessions, but for the jobs about private records, which each session keeps for itself.
SHARED = Jobs()
