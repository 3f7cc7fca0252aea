"""A bounded, thread-safe cache that computes each missing value once, however many sessions ask for it."""

import functools
import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from typing import Any, Generic, ParamSpec, TypeVar

from .cancel import go_on, never

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")


class SharedCache(Generic[Value]):
    """Cache of the most recently used values up to a total weight of `size`; readers must not change the values.

    weigh: the weight of a value, by default 1. The newest value is kept even if it alone weighs more than `size`.

    >>> cache = SharedCache(2)
    >>> cache.get("a", lambda: 1), cache.get("a", lambda: 2), len(cache)
    (1, 1, 1)
    """

    def __init__(self, size: int, weigh: Callable[[Value], int] = lambda value: 1) -> None:
        self.size = size
        self._weigh = weigh
        self.misses = 0
        self._lock = threading.Lock()
        self._futures: OrderedDict[Hashable, Future[Value]] = OrderedDict()
        self._weights: dict[Hashable, int] = {}  # of the values that are complete

    def __len__(self) -> int:
        return len(self._futures)

    def __contains__(self, key: Hashable) -> bool:
        """True if the value is complete, not merely being computed."""
        return key in self._weights

    def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """The value of `key`, from `compute()` if nobody has computed it; its errors are raised and not kept."""
        with self._lock:
            future = self._futures.get(key)
            mine = future is None
            if future is None:
                future = self._futures[key] = Future()
                self.misses += 1
            self._futures.move_to_end(key)
        if mine:
            try:
                value = compute()
            except BaseException as error:
                with self._lock:
                    if self._futures.get(key) is future:
                        del self._futures[key]
                future.set_exception(error)
            else:
                future.set_result(value)
                self._keep(key, future, self._weigh(value))
        return future.result()

    def get_unless(self, cancelled: Callable[[], bool], key: Hashable, compute: Callable[[], Value]) -> Value:
        """Like `get`, for a `compute` that may raise CancelledError; so does this once it is `cancelled`."""
        while True:
            go_on(cancelled)
            try:
                return self.get(key, compute)
            except CancelledError:
                continue  # another caller, who was computing this value, was cancelled; this caller was not

    def like(self) -> "SharedCache[Value]":
        """An empty cache with the same bounds."""
        return SharedCache(self.size, self._weigh)

    def clear(self) -> None:
        """Forget everything; values being computed still reach those who wait for them."""
        with self._lock:
            self._futures.clear()
            self._weights.clear()

    def _keep(self, key: Hashable, future: Future[Value], weight: int) -> None:
        """Note the weight of a new value and forget the least recently used ones that no longer fit beside it."""
        with self._lock:
            if self._futures.get(key) is not future:
                return  # forgotten meanwhile
            self._weights[key] = weight
            while sum(self._weights.values()) > self.size and len(self._weights) > 1:
                oldest = next(known for known in self._futures if known in self._weights and known != key)
                del self._futures[oldest], self._weights[oldest]


def shared(size: int) -> Callable[[Callable[Arguments, Value]], Callable[Arguments, Value]]:
    """Keep a function's last `size` values by its arguments in a `SharedCache`; callers must not change them.

    An argument `cancelled` is not part of the key: the function may raise CancelledError once it returns True.

    >>> @shared(2)
    ... def twice(x): return [x, x]
    >>> twice(1) is twice(x=1)
    True
    """

    def decorated(function: Callable[Arguments, Value]) -> Callable[Arguments, Value]:
        signature, cache = inspect.signature(function), SharedCache[Value](size)

        @functools.wraps(function)
        def kept(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Value:
            asked = signature.bind(*args, **kwargs)
            asked.apply_defaults()
            cancelled = asked.arguments.pop("cancelled", never)
            key = tuple(map(_hashable, asked.arguments.values()))
            return cache.get_unless(cancelled, key, lambda: function(*args, **kwargs))

        kept.cache = cache  # type: ignore[attr-defined]
        return kept

    return decorated


def _hashable(value: Any) -> Hashable:
    if isinstance(value, dict):
        return tuple(sorted(value.items()))
    return tuple(value) if isinstance(value, list) else value
