"""Peers whose packages clash with ours: each lives in a process with the Python of its own environment.

That Python has no dpcore and runs this file, with the package's name as its argument. The first line that it is sent
has the arguments of the package's function, as JSON; each line after it is answered by a line of JSON, [CPU seconds,
wall seconds, answer].
"""

from __future__ import annotations

import dataclasses as dc
import json
import os
import subprocess
import sys
import time
from typing import Any

PACKAGES = ("diffprivlib", "dp-accounting")


@dc.dataclass(frozen=True)
class Invitation:
    """Work for a package of `PACKAGES`: the arguments of its function, as JSON holds them."""

    package: str
    arguments: dict[str, Any]


class Guest:
    """A process that does its work once for each line it is sent, and says what that took and what came out."""

    def __init__(self, python: str, invitation: Invitation) -> None:
        self.process = subprocess.Popen(
            [python, __file__, invitation.package],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )
        self._say(json.dumps(invitation.arguments))

    def turn(self) -> tuple[float, float, Any]:
        """CPU seconds, wall seconds and the answer."""
        self._say("go")
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args!r} ended with code {self.process.wait()}")
        cpu, wall, answer = json.loads(line)
        return cpu, wall, answer

    def _say(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def __enter__(self) -> Guest:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()


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
