"""A bounded, thread-safe cache that computes each missing value once, however many sessions ask for it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

Value = TypeVar("Value")


class BoundedCache(Generic[Value]):
    """Least recently used values up to `size`; values must not be changed by their readers.

    >>> cache = BoundedCache(2)
    >>> cache.get("a", lambda: 1), cache.get("a", lambda: 2), len(cache)
    (1, 1, 1)
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.misses = 0
        self._lock = threading.Lock()
        self._futures: OrderedDict[Hashable, Future[Value]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._futures)

    def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """The value of `key`, from `compute()` if nobody has computed it; its errors are raised and not kept."""
        with self._lock:
            future = self._futures.get(key)
            mine = future is None
            if future is None:
                future = self._futures[key] = Future()
                self.misses += 1
                while len(self._futures) > self.size:
                    self._futures.popitem(last=False)
            self._futures.move_to_end(key)
        if mine:
            try:
                future.set_result(compute())
            except BaseException as error:
                with self._lock:
                    if self._futures.get(key) is future:
                        del self._futures[key]
                future.set_exception(error)
        return future.result()

    def clear(self) -> None:
        """Forget everything; values being computed still reach those who wait for them."""
        with self._lock:
            self._futures.clear()
