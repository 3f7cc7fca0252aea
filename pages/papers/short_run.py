"""A reproduction with few repetitions, as a question for the background."""

import dataclasses as dc
from collections.abc import Iterator
from typing import ClassVar

from dpcore.studies.papers.reproductions import Outcome, get_reproduction


@dc.dataclass(frozen=True)
class ShortRun:
    """What does a reproduction give with as many repetitions as some seconds allow, on drawn or bundled records?"""

    name: str
    seed: int
    source: ClassVar[None] = None  # no session's records are in it

    def snapshots(self) -> Iterator[Outcome]:
        """The outcome."""
        chosen = get_reproduction(self.name)
        yield chosen.run(None, runs=chosen.few, seed=self.seed, told=lambda progress: None)

    def share_done(self, outcome: Outcome) -> float:
        return 1.0
