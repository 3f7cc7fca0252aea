"""Peers whose packages conflict with ours: each runs in a process with the Python of its own environment.

That Python has no dpcore and runs this file, with the package's name as its argument. The first line that it is sent
has the arguments of the package's function, as JSON; each line after it is answered by a line of JSON, [CPU seconds,
wall seconds, answer].
"""

import contextlib
import dataclasses as dc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

PACKAGES = ("diffprivlib", "dp-accounting")


@dc.dataclass(frozen=True)
class Invitation:
    """Work for a package of `PACKAGES`: the arguments of its function, as JSON holds them."""

    package: str
    arguments: dict[str, Any]


@contextlib.contextmanager
def guest(python: str, invitation: Invitation) -> Iterator[Callable[[], tuple[float, float, Any]]]:
    """A process that does its work whenever what is given here is called: CPU seconds, wall seconds and the answer."""
    command = [python, __file__, invitation.package]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin and process.stdout
        asked, answers = process.stdin, process.stdout

        def turn() -> tuple[float, float, Any]:
            print("go", file=asked, flush=True)
            line = answers.readline()
            if not line:
                raise RuntimeError(f"{command!r} ended with code {process.wait()}")
            cpu, wall, answer = json.loads(line)
            return cpu, wall, answer

        print(json.dumps(invitation.arguments), file=asked, flush=True)
        yield turn


def diffprivlib(X, y, C, epsilons, repetitions):
    """The mean score, on their own records, of one model for each epsilon and repetition."""
    import numpy as np
    from diffprivlib.models import LogisticRegression

    X, y = np.array(X), np.array(y)
    scores = []
    for epsilon in epsilons:
        for seed in range(repetitions):
            model = LogisticRegression(
                epsilon=epsilon, data_norm=1.0, C=C, fit_intercept=False, random_state=seed, max_iter=10_000
            )
            scores.append(model.fit(X, y).score(X, y))
    return float(np.mean(scores))


def dp_accounting(rate, times, epsilon, delta):
    """The smallest noise multiplier whose `times` steps, each on a random share `rate` of the records, cost epsilon."""
    from dp_accounting import NeighboringRelation, calibrate_dp_mechanism, dp_event, rdp

    def accountant():
        if rate == 1.0:  # its Gaussian event ignores the relation
            return rdp.RdpAccountant()
        return rdp.RdpAccountant(neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE)

    def event(z):
        if rate == 1.0:  # a replacement moves the sum twice as far (tests/oracles)
            return dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(z / 2.0), times)
        return dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(z)), times)

    return calibrate_dp_mechanism(accountant, event, epsilon, delta)


def main():
    work = diffprivlib if sys.argv[1] == "diffprivlib" else dp_accounting
    arguments = json.loads(sys.stdin.readline())
    for _ in sys.stdin:
        cpu, wall = time.process_time(), time.perf_counter()
        answer = work(**arguments)
        print(json.dumps([time.process_time() - cpu, time.perf_counter() - wall, answer]), flush=True)


if __name__ == "__main__":
    main()
