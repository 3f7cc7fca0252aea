"""Every comparison with peers, in one run: the time of each for the same work, and the missed targets.

    python -m benchmarks [NAME ...] [--quick] [--size NAME.FIELD=VALUE[,VALUE...] ...] [-o DIR]
                         [--diffprivlib PYTHON] [--dp-accounting PYTHON]

A NAME is that of a module of this folder: its docstring says what is compared, `Sizes` has the fields, by default the
sizes that targets are for, `QUICK` smaller ones, and `works` says what is done.
Rivals take turns in one process on one BLAS thread, after a warm-up; medians count, and ratios are of CPU time. With
-o, results.json (rows and machine), results.md (a table) and chart.html are written. diffprivlib 0.6.6 needs
scikit-learn < 1.7 and dp-accounting an older attrs, so each runs in a separate interpreter; without it its rows say
"not run".
"""

import argparse
import dataclasses as dc
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.guests import PACKAGES
from benchmarks.runner import Row, compete
from dpcore.core.blas import one_blas_thread

NAMES = (
    "solvers",
    "slider_move",
    "frank_wolfe",
    "noisy_sgd",
    "noise",
    "calibration",
    "gaussian_classifier",
    "simplex",
    "lp",
    "ftrl",
)


def changed(sizes: Any, field: str, words: Sequence[str]) -> Any:
    """`sizes` with a field from the command line, read as what it was: a number, or several.

    Raises ValueError for a field that is not there and for words that are no such numbers.
    """
    fields = [each.name for each in dc.fields(sizes)]
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
    return dc.replace(sizes, **{field: numbers if isinstance(before, tuple) else numbers[0]})


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(NAMES)}; default: all")
    parser.add_argument("--quick", action="store_true", help="small sizes, which targets are not for: a minute")
    parser.add_argument("--size", nargs="+", default=[], metavar="NAME.FIELD=VALUE", help="change a size")
    parser.add_argument("-o", dest="folder", type=Path, metavar="DIR", help="write results.json and chart.html there")
    for package in PACKAGES:
        parser.add_argument(f"--{package}", dest=package, metavar="PYTHON", help="an interpreter that has it")
    words = parser.parse_args(arguments)
    if unknown := set(words.names).difference(NAMES):
        parser.error(f"NAME must be one of {', '.join(NAMES)}, got {', '.join(sorted(unknown))}")
    benchmarks = {name: importlib.import_module(f"benchmarks.{name}") for name in words.names or NAMES}
    sizes = {name: each.QUICK if words.quick else each.Sizes() for name, each in benchmarks.items()}
    try:
        for word in words.size:
            place, _, values = word.partition("=")
            name, _, field = place.partition(".")
            if not values or name not in sizes:
                raise ValueError(f"size must be NAME.FIELD=VALUE with NAME one of {', '.join(sizes)}, got {word}")
            sizes[name] = changed(sizes[name], field, values.split(","))
    except ValueError as error:
        parser.error(str(error))
    one_blas_thread()
    rows: list[Row] = []
    print(report.HEAD)
    for name, each in benchmarks.items():
        judged, interpreters = sizes[name] == each.Sizes(), {package: vars(words)[package] for package in PACKAGES}
        for work in each.works(sizes[name]):
            rows += (found := compete(name, work, sizes[name].rounds, judged=judged, interpreters=interpreters))
            print(report.lines(found), flush=True)
    print(report.summary(rows))
    if words.folder:
        report.write(rows, words.folder)


if __name__ == "__main__":
    main()
