"""Cancelling of long computations, which ask often whether they are cancelled."""

from collections.abc import Callable
from concurrent.futures import CancelledError

Cancelled = Callable[[], bool]


def never() -> bool:
    """Nobody cancels; a function of the module, so that it reaches other processes."""
    return False


def go_on(cancelled: Cancelled) -> None:
    """Raise CancelledError where the work is cancelled."""
    if cancelled():
        raise CancelledError
