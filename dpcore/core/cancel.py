"""Cancellation of long computations, which ask at short intervals whether they are cancelled."""

from collections.abc import Callable
from concurrent.futures import CancelledError

Cancelled = Callable[[], bool]


def never() -> bool:
    """False: the default that never cancels. A function of the module, so that it can be sent to other processes."""
    return False


def go_on(cancelled: Cancelled) -> None:
    """Raise CancelledError if the work is cancelled."""
    if cancelled():
        raise CancelledError
