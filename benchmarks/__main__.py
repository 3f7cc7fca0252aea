"""Comparisons with peers on the same work, in one run; and the dashboard's own measurements.

    python -m benchmarks [NAME ...] [--quick] [--diffprivlib PYTHON] [--dp-accounting PYTHON]
    python -m benchmarks classroom | live_slider | cold_start [ARGUMENTS]

A NAME is that of a module of this folder: its docstring says what is compared, `Sizes` has the sizes, `QUICK` smaller
ones, and `works` says what is done. Rivals take turns in one process on one BLAS thread, after a warm-up; medians
count, and ratios are of CPU time. The table is Markdown.
diffprivlib 0.6.6 needs scikit-learn < 1.7 and dp-accounting an older attrs, so each runs in an interpreter of its own;
without one its rows say "not run".
"""

import argparse
import importlib
import sys
from collections.abc import Sequence

from benchmarks.guests import PACKAGES
from benchmarks.runner import HEAD, compete
from dpcore.core.blas import one_blas_thread

NAMES = ("solvers", "slider_move", "frank_wolfe", "calibration")
DASHBOARD = ("classroom", "live_slider", "cold_start")


def main(arguments: Sequence[str]) -> None:
    if arguments and arguments[0] in DASHBOARD:
        importlib.import_module(f"benchmarks.{arguments[0]}").main(arguments[1:])
        return
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(NAMES)}; default: all")
    parser.add_argument("--quick", action="store_true", help="small sizes: a minute")
    for package in PACKAGES:
        parser.add_argument(f"--{package}", dest=package, metavar="PYTHON", help="an interpreter that has it")
    words = parser.parse_args(arguments)
    if unknown := set(words.names).difference(NAMES):
        parser.error(f"NAME must be one of {', '.join(NAMES + DASHBOARD)}, got {', '.join(sorted(unknown))}")
    one_blas_thread()
    interpreters = {package: vars(words)[package] for package in PACKAGES}
    print(HEAD)
    for name in words.names or NAMES:
        module = importlib.import_module(f"benchmarks.{name}")
        sizes = module.QUICK if words.quick else module.Sizes()
        for work in module.works(sizes):
            for row in compete(name, work, sizes.rounds, interpreters=interpreters):
                print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
