"""Private Frank-Wolfe on a table as wide as lists of web addresses: seconds, and the memory of the process.

    python -m benchmarks.frank_wolfe_large

Logistic loss, about 100 entries a row, columns drawn uniformly or by Zipf's law; no peer finishes. The first release
builds the table by columns, the second finds it. "gigabytes" is the most that the process has held so far.
"""

from __future__ import annotations

import dataclasses as dc
import resource
import sys
from collections.abc import Iterator

import numpy as np

from benchmarks.frank_wolfe import planned, released, sparse_records
from benchmarks.guests import Interpreters
from benchmarks.rows import Accuracy, Rival, Row, Work, compete
from benchmarks.sizes import run_alone
from dpcore import Data
from dpcore.core.arrays import Array


@dc.dataclass(frozen=True)
class Sizes:
    n: int = 100_000
    p: int = 20_000_000
    steps: int = 1_001
    epsilon: float = 1.0
    rounds: int = 1


QUICK = Sizes(n=200, p=1_000, steps=11)


def gigabytes(_: Array) -> Accuracy:
    unit = 1 if sys.platform == "darwin" else 1_024
    return {"gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9}


def rows(sizes: Sizes, interpreters: Interpreters) -> Iterator[Row]:
    for zipf in (False, True):
        data = sparse_records(sizes.n, sizes.p, zipf=zipf)
        plan = planned("logistic", data, sizes.epsilon, sizes.steps)
        facts: dict[str, float] = {
            "n": sizes.n,
            "p": sizes.p,
            "entries": float(np.count_nonzero(data.X.data)),
            "steps": plan.steps,
        }
        words = f"logistic, {'Zipf' if zipf else 'uniform'} columns"
        work = Work("frank_wolfe_large", words, facts, sizes.rounds, sizes == Sizes())
        first = Rival("ours, first release", lambda: released(plan, Data(data.X, data.y), 0), gigabytes, once=True)  # noqa: B023
        second = Rival("ours, second release", lambda: released(plan, data, 0), gigabytes, once=True)  # noqa: B023
        yield from compete(work, first, [second])


if __name__ == "__main__":
    run_alone(sys.modules[__name__])
