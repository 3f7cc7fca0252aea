"""Curves, prices and numbers of people in the background, split by split, shared by all who ask the same question.

A question is a `Setting`, a `PriceQuestion` or a `PeopleQuestion`; its snapshots are shown as they come. Snapshots of
all questions take turns in one bounded pool, so that a long one holds nobody up.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor

from ..refinement import Watched
from ..types import NotApplicable, Unconverged
from .curves import LostCurve, Setting
from .people import LostByPeople, PeopleQuestion
from .price import Price, PriceQuestion

Question = Setting | PriceQuestion | PeopleQuestion
Snapshot = LostCurve | Price | LostByPeople

_MOST_KNOWN = 64  # an answer is some thousand numbers

_POOL = ThreadPoolExecutor(max_workers=2, thread_name_prefix="decisions")
_KNOWN: OrderedDict[Question, Decision] = OrderedDict()
_LOCK = threading.Lock()


def join(question: Question, watcher: Hashable) -> Decision:
    """The answer to a question as far as it is known, watched by `watcher` from now on.

    >>> held = join(Setting("synthetic", n=100, splits=3), "me")
    >>> held.wait(60)
    >>> held.complete, held.snapshot.splits
    (True, 3)
    """
    # Who shares what is decided by this key alone: equal questions have one answer, kept while the process lives.
    # Questions about records of one session would have to carry that session in `Setting.source`, and leave with it.
    key = question
    with _LOCK:
        known = _KNOWN.get(key)
        if known is None or (not known.complete and (known.finished or known.abandoned())):
            known = _KNOWN[key] = Decision(question)
            known.watch(watcher)
            _POOL.submit(known.advance)
        known.watch(watcher)
        _KNOWN.move_to_end(key)
        while len(_KNOWN) > _MOST_KNOWN:
            _KNOWN.popitem(last=False)
    return known


class Decision(Watched):
    """The answer to one question, for all who watch it.

    snapshot: what is known by now, None before anything is. complete: whether that is all. reason: why there is no
    answer, where the mechanism has none. Finished and not complete: an error has `failed` it (it is in the log), or
    nobody watched, so `join` again.
    """

    def __init__(self, question: Question) -> None:
        super().__init__()
        self.question = question
        self.snapshot: Snapshot | None = None
        self.reason: str | None = None
        self.failed = self.complete = False
        self._news = 0
        self._snapshots: Iterator[Snapshot] = question.snapshots(self.abandoned)

    @property
    def news(self) -> int:
        return self._news

    def wait(self, seconds: float) -> None:
        """Until all is there, so many seconds at most."""
        self._finished.wait(seconds)

    def advance(self) -> None:
        """One more snapshot, unless nobody waits; the next one stands in line after those of others."""
        try:
            self.snapshot = next(self._snapshots)
            self._news += 1
            _POOL.submit(self.advance)
            return
        except StopIteration:
            self.complete = True
        except CancelledError:
            pass  # nobody waits
        except (NotApplicable, Unconverged) as reason:
            self.reason, self.complete = str(reason), True
        except Exception:
            self.failed = True
            logging.getLogger(__name__).exception("no answer to %s", self.question)
        self._news += 1
        self._finished.set()
