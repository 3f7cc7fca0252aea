"""Calls in new processes, and the memory that one takes."""

import multiprocessing
import resource
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any


def in_new_process(run: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
    """Result of a call in a new process. This one should stay small: a new one counts what it is forked from."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(run, *arguments, **more).result()


def peak() -> int:
    """The largest resident memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
