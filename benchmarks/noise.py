"""One vector of Gamma-norm noise for a model with p columns, against numpy, and what it allocates.

    python -m benchmarks noise

Density proportional to exp(-||b||): Gamma(p) for the length, in a uniform direction. numpy as one would write it draws
a normal vector, scales it to norm 1 and multiplies by the length. The peak is of what numpy allocates while the vector
is made, over the bytes of the vector; it is taken in a run that is not timed.
"""

import dataclasses as dc
import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.runner import Accuracy, Rival, Work
from dpcore.core.arrays import Array
from dpcore.mechanisms.noise.spherical import NOISES


@dc.dataclass(frozen=True)
class Sizes:
    p: int = 20_000_000
    rounds: int = 5


QUICK = Sizes(p=100_000, rounds=1)


def ours(p: int) -> Array:
    return NOISES["gamma"].direction(p, p, np.random.default_rng(0))


def plain(p: int) -> Array:
    rng = np.random.default_rng(0)
    direction = rng.standard_normal(p)
    return direction / np.linalg.norm(direction) * rng.gamma(p)


def peak(make: Callable[[], Array]) -> float:
    """The most that was allocated while `make` ran, over what it returned."""
    tracemalloc.start()
    try:
        made = make().nbytes
        return tracemalloc.get_traced_memory()[1] / made
    finally:
        tracemalloc.stop()


def works(sizes: Sizes) -> Iterator[Work]:
    p = sizes.p

    def rival(who: str, make: Callable[[int], Array]) -> Rival:
        def judge(vector: Array) -> Accuracy:
            return {"length / p": float(np.linalg.norm(vector)) / p, "peak / output": peak(lambda: make(p))}

        return Rival(who, lambda: make(p), judge)

    yield Work("a Gamma-norm vector", {"p": p}, [rival("ours", ours), rival("numpy", plain)])
