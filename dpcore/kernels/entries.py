"""Compiled functions looked up by a name, each loaded when it is first asked for: a page needs a few of many."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from numba import cfunc
from numba.core import config, types

from .elementary import CONTRACT
from .keeping import where_there_is_room

_LOCK = threading.Lock()


class Entry:
    """A C function for kernels to call, with its type, which numba would otherwise work out anew at each call."""

    def __init__(self, function: Any, signature: types.Type) -> None:
        self.function = function
        self._numba_type_ = types.FunctionType(signature)

    def __wrapper_address__(self) -> int:
        return int(self.function.address)


class Entries(Mapping[str, Any]):
    """Name -> C function of one signature. To be made while the kernels' cache folder is set; it is remembered."""

    def __init__(self, signature: types.Type, functions: Mapping[str, Callable[..., None]]) -> None:
        self._signature, self._functions, self._folder = signature, dict(functions), config.CACHE_DIR
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            function = self._functions[name]
            with _LOCK:
                if name not in self._loaded:
                    self._loaded[name] = self._load(function)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._functions

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def _load(self, function: Callable[..., None]) -> Any:
        options = {"fastmath": CONTRACT, "error_model": "numpy"}
        before = config.CACHE_DIR
        config.CACHE_DIR = self._folder  # numba reads it when it is given a function
        try:
            with where_there_is_room(self._folder):
                return Entry(cfunc(self._signature, cache=True, **options)(function), self._signature)
            return Entry(cfunc(self._signature, **options)(function), self._signature)
        finally:
            config.CACHE_DIR = before
