"""How fast we want to be: one entry for each target, named by the benchmarks that meet it or miss it."""

from __future__ import annotations

import dataclasses as dc


@dc.dataclass(frozen=True)
class Target:
    """A bound on one figure of a row: `ratio`, `cpu`, `wall`, or one of the accuracies it reports."""

    figure: str
    bound: float
    at_least: bool

    def met(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f"{self.figure} {'>=' if self.at_least else '<='} {self.bound:g}"


def _ratio(bound: float) -> Target:
    return Target("ratio", bound, at_least=True)


def _at_most(figure: str, bound: float) -> Target:
    return Target(figure, bound, at_least=False)


# Ratios of CPU time against whoever is named in the row. Seconds are seconds.
TARGETS = {
    "dense, p = 50": _ratio(2.5),
    "dense, p = 8 and 120": _ratio(3.5),
    "dense, cached": _ratio(5.0),
    "n = p, well-conditioned": _ratio(1.1),
    "n = p, lam 1e-5": _ratio(3.0),
    "sparse": _ratio(2.0),
    "sparse, easy": _ratio(0.9),
    "slider, display": _ratio(15.0),
    "slider, display error": _at_most("excess error", 0.005),
    "slider, 1e-8": _ratio(4.0),
    "slider, wall": _at_most("wall", 0.15),
    "Frank-Wolfe, dense": _ratio(15.0),
    "Frank-Wolfe, p = 10^6": _ratio(50.0),
    "Frank-Wolfe, p = 10^5": _ratio(2.5),
    "Frank-Wolfe, p = 10^4": _ratio(0.9),
    "noisy SGD, double": _ratio(25.0),
    "noisy SGD, single": _ratio(80.0),
    "noise vector": _ratio(3.0),
    "noise vector, memory": _at_most("peak / output", 1.01),
    "calibration": _at_most("cpu", 0.005),
}
