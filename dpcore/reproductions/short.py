"""Short runs in the background, for a page: few repetitions, once in a process for all who look at the same."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Hashable
from concurrent.futures import CancelledError

from ..refinement import Watched
from ..turns import BACKGROUND
from .base import Outcome, Reproduction

_MOST_KNOWN = 32

_KNOWN: OrderedDict[tuple[str, int], Short] = OrderedDict()
_LOCK = threading.Lock()


def join(reproduction: Reproduction, seed: int, watcher: Hashable) -> Short:
    """The short run of a reproduction, as far as it is, watched by `watcher` from now on.

    Raises ValueError for one of which even a short run takes too long.
    """
    if not reproduction.few:
        raise ValueError(f"reproduction must have a short run, got {reproduction.name}")
    asked = reproduction.name, seed
    with _LOCK:
        known = _KNOWN.get(asked)
        if known is None or known.given_up:
            known = _KNOWN[asked] = Short(reproduction, seed)
            known.watch(watcher)
            BACKGROUND.submit(watcher, known.compute)
        known.watch(watcher)
        _KNOWN.move_to_end(asked)
        while len(_KNOWN) > _MOST_KNOWN:
            _KNOWN.popitem(last=False)
    return known


class Short(Watched):
    """A run of few repetitions on drawn or bundled records, for all who watch it.

    outcome: what it gives, once it is there. failed: whether an error ended it (it is in the log). Neither, though
    finished, means that nobody watched: `join` again.
    """

    def __init__(self, reproduction: Reproduction, seed: int) -> None:
        super().__init__()
        self.reproduction, self.seed = reproduction, seed
        self.outcome: Outcome | None = None
        self.failed = False

    @property
    def given_up(self) -> bool:
        """Whether it will never have an outcome."""
        return self.outcome is None and not self.failed and (self.finished or self.abandoned())

    def compute(self) -> None:
        asked = self.reproduction
        try:
            self.outcome = asked.run(None, runs=asked.few, seed=self.seed, told=self._go_on)
        except CancelledError:
            pass  # nobody waits
        except Exception as error:
            self.failed = True
            logging.getLogger(__name__).error("no short run of %s at %d", asked.name, self.seed, exc_info=error)
        finally:
            self._finished.set()

    def _go_on(self, progress: str) -> None:
        """Where a run says how far it is, it can be left."""
        if self.abandoned():
            raise CancelledError
