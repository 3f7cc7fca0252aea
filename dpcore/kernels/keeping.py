"""Where compiled functions cannot be kept on disk, they are used all the same, and compiled anew by each process."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from numba.core.dispatcher import Dispatcher

# What the disk said, for those who were to fill the cache and nothing else.
unkept: list[OSError] = []


@contextlib.contextmanager
def where_there_is_room(folder: object) -> Iterator[None]:
    """A full disk ends what is inside, but nothing else; the log says so once."""
    try:
        yield
    except OSError as error:
        if not unkept:
            logging.getLogger(__name__).warning(
                "compiled functions cannot be kept in %s (%s): each process compiles them again", folder, error.strerror
            )
        error.filename = str(folder)
        unkept.append(error)


class _Kept:
    """numba's cache of one function; numba itself lets a full disk end the call that was to be compiled."""

    def __init__(self, cache: Any, folder: object) -> None:
        self._cache, self._folder = cache, folder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def save_overload(self, signature: Any, data: Any) -> None:
        with where_there_is_room(self._folder):
            self._cache.save_overload(signature, data)


def keep_where_there_is_room(module: ModuleType, folder: object) -> None:
    """Give the module's compiled functions such a cache, before any of them is compiled."""
    functions: list[Any] = [each for each in vars(module).values() if isinstance(each, Dispatcher)]
    for function in functions:
        if not isinstance(function._cache, _Kept):  # several modules know the same function
            function._cache = _Kept(function._cache, folder)
