"""A mechanism whose solves can be held up in the background, and only there."""

from __future__ import annotations

import dataclasses as dc
import threading
from collections.abc import Callable

from dpcore.core.arrays import Array
from dpcore.core.records import Data
from dpcore.mechanisms.base import Prepared
from dpcore.mechanisms.output.gaussian import OutputGaussian
from dpcore.mechanisms.plan import Plan


def never_held() -> None:
    """No solve is held up."""


@dc.dataclass(frozen=True)
class Slow(OutputGaussian):
    """Output perturbation that calls `hold` before each solve in the background; a field tells tests apart."""

    key: str = dc.field(default="slow", init=False, repr=False)
    name: str = ""

    def prepare(self, plan: Plan, data: Data, start: Array | None = None) -> Prepared:
        if threading.current_thread().name.startswith("further steps"):
            hold()
        return super().prepare(plan, data, start)


hold: Callable[[], None] = never_held
