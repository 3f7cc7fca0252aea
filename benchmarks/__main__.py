"""Every comparison with peers, in one run: who does the same work in how much time, and which targets are missed.

    python -m benchmarks [--only NAME ...] [--quick] [--size NAME.FIELD=VALUE[,VALUE...] ...] [-o DIR]
                         [--diffprivlib PYTHON] [--dp-accounting PYTHON]

Rivals take turns in one process on one BLAS thread, after a warm-up; medians count, and ratios are of CPU time. With
-o, results.json (rows and machine), results.md (a table) and chart.html are written. diffprivlib 0.6.6 needs
scikit-learn < 1.7 and dp-accounting an older attrs, so each runs by an interpreter of its own; without it its rows say
"not run". `python -m benchmarks.NAME` runs one of them, with its sizes as options.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from benchmarks import report
from benchmarks.rows import Row
from benchmarks.sizes import Benchmark, add_interpreters, changed, interpreters_of, printed
from benchmarks.suite import SUITE
from dpcore.core.blas import one_blas_thread


def resized(benchmarks: dict[str, Benchmark], words: Sequence[str], *, quick: bool) -> dict[str, Any]:
    """The sizes of each benchmark; ValueError for words that name none."""
    sizes = {name: benchmark.QUICK if quick else benchmark.Sizes() for name, benchmark in benchmarks.items()}
    for word in words:
        place, _, values = word.partition("=")
        name, _, field = place.partition(".")
        if not values or name not in sizes:
            raise ValueError(f"size must be NAME.FIELD=VALUE with NAME one of {', '.join(sizes)}, got {word}")
        sizes[name] = changed(sizes[name], field, values.split(","))
    return sizes


def summary(rows: Sequence[Row]) -> str:
    """How many rows meet their targets, and in full those that do not or that did not run."""
    judged = [row for row in rows if row.met is not None]
    missed = [row for row in judged if not row.met]
    lines = [f"{len(judged) - len(missed)} of {len(judged)} rows with a target meet it"]
    for words, chosen in (("missed", missed), ("not run", [row for row in rows if row.cpu is None])):
        lines += [f"{words}:"] * bool(chosen)
        lines += [f"  {report.heading(row)}\n  {report.said(row)}" for row in chosen]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", nargs="+", default=SUITE, choices=SUITE, metavar="NAME", help=", ".join(SUITE))
    parser.add_argument("--quick", action="store_true", help="small sizes, which targets are not for: a minute")
    parser.add_argument("--size", nargs="+", default=[], metavar="NAME.FIELD=VALUE", help="change a size")
    parser.add_argument("-o", dest="folder", type=Path, metavar="DIR", help="write results.json and chart.html there")
    add_interpreters(parser)
    words = parser.parse_args(arguments)
    benchmarks = {name: cast(Benchmark, importlib.import_module(f"benchmarks.{name}")) for name in words.only}
    try:
        sizes = resized(benchmarks, words.size, quick=words.quick)
    except ValueError as error:
        parser.error(str(error))
    one_blas_thread()
    rows: list[Row] = []
    for name, benchmark in benchmarks.items():
        rows += printed(benchmark.rows(sizes[name], interpreters_of(words)))
    print(summary(rows))
    if words.folder:
        report.write(rows, words.folder)


if __name__ == "__main__":
    main()
