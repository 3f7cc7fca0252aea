"""Seconds that a call takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence


def timed(function: Callable[[], object]) -> tuple[float, float]:
    """CPU seconds of the process and wall seconds of one call."""
    cpu, wall = time.process_time(), time.perf_counter()
    function()
    return time.process_time() - cpu, time.perf_counter() - wall


def median(times: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Of the CPU and of the wall seconds."""
    return statistics.median(c for c, _ in times), statistics.median(w for _, w in times)
