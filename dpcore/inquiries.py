"""Answers in the background that become fuller, snapshot by snapshot, shared by all who ask the same question.

Snapshots are shown as they come. Those of all sessions take turns in one bounded pool, so that a long answer holds
nobody up.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import CancelledError
from typing import Any, Protocol

from . import data as records
from .refinement import Watched
from .turns import BACKGROUND
from .types import NotApplicable, Unconverged

_MOST_KNOWN = 256  # an answer is some thousand numbers; a lecture asks for some hundred


class Question(Protocol):
    """What can be asked: a frozen object, equal to another exactly if the answers are."""

    def __hash__(self) -> int: ...

    @property
    def source(self) -> str | None:
        """The records that the answer depends on, by their name in `dpcore.data`; None where there are none."""

    def snapshots(self, cancelled: Callable[[], bool], /) -> Iterator[Any]:
        """The answer as far as it is known, again and again; the last one is the whole.

        cancelled: asked often; when it says yes, CancelledError is raised. NotApplicable and Unconverged are answers
        too: why there is no other.
        """


_KNOWN: OrderedDict[Question, Inquiry] = OrderedDict()
_LOCK = threading.Lock()


def join(question: Question, watcher: Hashable) -> Inquiry:
    """The answer to a question as far as it is known, watched by `watcher` from now on.

    Equal questions have one answer, kept while the process lives; but what is asked of private records is kept by
    those who ask, and by nobody else.

    >>> from dpcore.decisions.curves import Setting
    >>> held = join(Setting("synthetic", n=100, splits=3), "me")
    >>> held.wait(60)
    >>> held.complete, held.snapshot.splits
    (True, 3)
    """
    if is_private(question):
        return _begun(question, watcher)
    with _LOCK:
        known = _KNOWN.get(question)
        if known is None or known.given_up:
            known = _KNOWN[question] = _begun(question, watcher)
        known.watch(watcher)
        _KNOWN.move_to_end(question)
        while len(_KNOWN) > _MOST_KNOWN:
            _KNOWN.popitem(last=False)
    return known


def is_private(question: Question) -> bool:
    """Whether an answer depends on records that one session has brought along."""
    return question.source is not None and records.is_private(question.source)


def _begun(question: Question, watcher: Hashable) -> Inquiry:
    inquiry = Inquiry(question, watcher)
    inquiry.watch(watcher)
    BACKGROUND.submit(watcher, inquiry.advance)
    return inquiry


class Inquiry(Watched):
    """The answer to one question, for all who watch it.

    snapshot: what is known by now, None before anything is. complete: whether that is all. reason: why there is no
    answer, where the mechanism has none. Finished and not complete: an error has `failed` it (it is in the log), or
    nobody watched, so `join` again.
    """

    def __init__(self, question: Question, owner: Hashable) -> None:
        super().__init__()
        self.question, self._owner = question, owner
        self.snapshot: Any = None
        self.reason: str | None = None
        self.failed = self.complete = False
        self._news = 0
        self._snapshots = question.snapshots(self.abandoned)

    @property
    def news(self) -> int:
        return self._news

    @property
    def given_up(self) -> bool:
        """Whether it will never be complete."""
        return not self.complete and (self.finished or self.abandoned())

    def advance(self) -> None:
        """One more snapshot, unless nobody waits; the next one stands in line after those of others."""
        try:
            self.snapshot = next(self._snapshots)
            self._news += 1
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
        self._news += 1
        self._finished.set()

    def _log(self, error: Exception) -> None:
        """Of private records only the kind of error, since its words may quote them; nothing when they are gone."""
        log = logging.getLogger(__name__)
        if not is_private(self.question):
            log.error("no answer to %s", self.question, exc_info=error)
        elif self.question.source is not None and not records.is_gone(self.question.source):
            log.error("no answer about private records: %s", type(error).__name__)
