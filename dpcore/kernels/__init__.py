"""Compiled inner loops: arrays, scalars, first-class functions and Generators in, arrays out.

They are loaded on first use: importing numba takes longer than everything that a plan needs. With NUMBA_DISABLE_JIT=1
they run as plain Python.

Arrays are copied element by element: for `a[i] = b` numba also compiles the error message of a shape mismatch, which
takes seconds. Loops replace reductions like `a.min()`, which take a large part of a second to compile.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    offered = vars(import_module(f"{__name__}.compiled"))
    if name not in offered:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = offered[name]
    return offered[name]
