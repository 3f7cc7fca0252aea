"""Sizes as arguments: the fields of a benchmark's `Sizes` are its options."""

from __future__ import annotations

import argparse
import dataclasses as dc
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from benchmarks.guests import Interpreters
from benchmarks.report import heading, said
from benchmarks.rows import Row
from dpcore.core.blas import one_blas_thread

S = TypeVar("S")


class Benchmark(Protocol):
    """What each module of `SUITE` has: the sizes that targets are for, smaller ones, and what is done."""

    __doc__: str | None
    Sizes: Callable[[], Any]
    QUICK: Any
    rows: Callable[[Any, Interpreters], Iterator[Row]]


def changed(sizes: S, field: str, words: Sequence[str]) -> S:
    """`sizes` with a field from the command line, read as what it was: a number, or several.

    Raises ValueError for a field that is not there and for words that are no such numbers.
    """
    fields = [f.name for f in dc.fields(sizes)]  # type: ignore[arg-type]
    if field not in fields:
        raise ValueError(f"size must be one of {', '.join(fields)}, got {field}")
    before = getattr(sizes, field)
    kind = type(before[0] if isinstance(before, tuple) else before)
    try:
        numbers = tuple(kind(word) for word in words)
    except ValueError:
        raise ValueError(f"{field} must be {kind.__name__}, got {' '.join(words)}") from None
    if not isinstance(before, tuple) and len(numbers) != 1:
        raise ValueError(f"{field} must be one number, got {' '.join(words)}")
    return dc.replace(sizes, **{field: numbers if isinstance(before, tuple) else numbers[0]})  # type: ignore[type-var]


def add_interpreters(parser: argparse.ArgumentParser) -> None:
    for field in dc.fields(Interpreters):
        parser.add_argument(f"--{field.name.replace('_', '-')}", metavar="PYTHON", help="an interpreter that has it")


def interpreters_of(words: argparse.Namespace) -> Interpreters:
    return Interpreters(**{field.name: getattr(words, field.name) for field in dc.fields(Interpreters)})


def printed(rows: Iterator[Row]) -> list[Row]:
    """All rows, each printed as it comes below the words for its work."""
    kept: list[Row] = []
    for row in rows:
        if not kept or heading(row) != heading(kept[-1]):
            print(heading(row))
        print(said(row), flush=True)
        kept.append(row)
    return kept


def run_alone(benchmark: Benchmark) -> None:
    """`python -m benchmarks.NAME`: every size is an option."""
    parser = argparse.ArgumentParser(description=(benchmark.__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, which targets are not for")
    add_interpreters(parser)
    fields = dc.fields(benchmark.Sizes())
    for field in fields:
        parser.add_argument(f"--{field.name.replace('_', '-')}", nargs="+", metavar="NUMBER")
    words = parser.parse_args()
    sizes = benchmark.QUICK if words.quick else benchmark.Sizes()
    for field in fields:
        if getattr(words, field.name) is not None:
            sizes = changed(sizes, field.name, getattr(words, field.name))
    one_blas_thread()
    printed(benchmark.rows(sizes, interpreters_of(words)))
