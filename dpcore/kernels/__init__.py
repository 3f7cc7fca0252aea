"""Compiled inner loops: arrays, scalars, first-class functions and Generators in, arrays out.

They are loaded when the first of them is asked for: importing numba takes longer than all that a plan needs. With
NUMBA_DISABLE_JIT=1 all of it runs as plain Python.

Arrays are copied element by element: numba compiles for `a[i] = b` the text of the error of a shape mismatch, strings,
joins and all, which takes seconds. Reductions like `a.min()` cost a large part of a second, so loops stand for them.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    offered = vars(import_module(f"{__name__}.compiled"))
    if name not in offered:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = offered[name]
    return offered[name]
