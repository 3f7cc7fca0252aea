"""Registry of compiled functions by name, each loaded on first use: a page needs few of them."""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from numba.core import cgutils, config, types
from numba.core.ccallback import CFunc
from numba.core.sigutils import normalize_signature
from numba.experimental.function_type import FunctionModel
from numba.extending import NativeValue, register_model, unbox

from .disk_cache import DiskCache
from .vector_math import CONTRACT

_LOCK = threading.Lock()


class EntryType(types.FunctionType):
    """numba's type of a function passed as an argument, with a shorter way into compiled code (`_address_of`)."""


register_model(EntryType)(FunctionModel)


@unbox(EntryType)
def _address_of(kind: EntryType, entry: Any, code: Any) -> NativeValue:
    """Read the address. numba itself runs Python for it at each call, where an interrupt becomes a TypeError."""
    function = cgutils.create_struct_proxy(kind)(code.context, code.builder)
    address = code.pyapi.object_getattr_string(entry, "address")
    function.c_addr = code.pyapi.long_as_voidptr(address)
    code.pyapi.decref(address)
    function.py_addr = code.builder.ptrtoint(entry, code.context.get_value_type(types.voidptr))
    function.jit_addr = function.jit_addr.type(None)
    return NativeValue(function._getvalue())


class Entry:
    """C function that kernels call, with its type, which numba would otherwise infer anew at each call."""

    def __init__(self, function: Any, signature: types.Type) -> None:
        self.function = function
        self.address = int(function.address)
        self._numba_type_ = EntryType(signature)


class Entries(Mapping[str, Any]):
    """Map from a name to a C function of one signature, or to the Python function if NUMBA_DISABLE_JIT is set.

    kind: ending of the functions' names in their module, "value" in `huber_value` for "huber".
    """

    def __init__(self, signature: types.Type, kind: str, module: Mapping[str, Any]) -> None:
        self._signature, end = signature, f"_{kind}"
        self._functions = {name.removesuffix(end): each for name, each in module.items() if name.endswith(end)}
        self._loaded: dict[str, Any] = dict(self._functions) if config.DISABLE_JIT else {}

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
        compiled: Any = CFunc(function, normalize_signature(self._signature), locals={}, options=options)
        compiled._cache = DiskCache(function)
        compiled.compile()
        return Entry(compiled, self._signature)
