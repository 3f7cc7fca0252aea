"""Streams of cost vectors for T steps, chosen beforehand or from the learner's weights.

Every cost is -1 or 1. An adversary may know everything but the arms that are drawn.
"""

import dataclasses as dc
import math
import zlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ....core.arrays import Array
from ....core.facts import facts_beside
from ....core.validation import integer, one_of, positive

_LARGEST_TABLE = 50_000_000
# Out of 256: a fair coin, and how often the better arm costs -1.
_FAIR, _GOOD = 128, 192

Lucky = NDArray[np.bool_]


@dc.dataclass(frozen=True)
class Adversary:
    """Adversary of a learner. label: for pickers. sentence: its rule. lucky: True where costs are -1, shape [T, p].

    `lucky` is given T, p, the learner's lam of a sum and a generator.
    """

    label: str
    sentence: str
    lucky: Callable[[int, int, float, np.random.Generator], Lucky]


def stream(key: str, *, steps: int, p: int, seed: int = 0, lam: float = 1.0) -> Array:
    """The costs of `steps` steps, shape [steps, p], each -1 or 1.

    key: of `ADVERSARIES`. lam: the learner's, of the average over the steps (the adaptive one plays against it; the
    others do not look). p: with steps p <= 5e7. Costs are a prefix of those of more steps, of "adaptive" for the same
    steps lam.

    Randomness: from (seed, key); "adaptive" and "counterexample" use none.

    >>> stream("counterexample", steps=2, p=3).tolist()
    [[-1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]]
    """
    adversary = ADVERSARIES[one_of("adversary", key, ADVERSARIES)]
    steps, p = integer("steps", steps, at_least=1), integer("p", p, at_least=1)
    seed, lam = integer("seed", seed, at_least=0), positive("lam", lam)
    if steps * p > _LARGEST_TABLE:
        raise ValueError(f"steps * p must be at most {_LARGEST_TABLE:,} in a stream, got {steps * p:,}")
    rng = np.random.default_rng([seed, zlib.crc32(key.encode())])
    costs: Array = np.multiply(adversary.lucky(steps, p, steps * lam, rng), -2.0)
    costs += 1.0  # exact, and several times as fast as a choice between the two
    return costs


def counterexample_regret(steps: int, p: int, lam_sum: float) -> float:
    """The learner's expected regret on (-1, 1, ..., 1) in every step; no table, so p may be a million and more.

    2 sum_{t < steps} (1 - w_t) with the first arm's weight w_t = 1 / (1 + (p - 1) e^{-2 t / lam_sum}). It tends to
    lam_sum ln p + 1 - 1/p for many steps and small 1 / lam_sum. steps: at most 5e7. lam_sum: lam of the sum.

    >>> round(counterexample_regret(100_000, 10, 1000.0) / (1000.0 * math.log(10)), 3)
    1.0
    """
    steps, p = integer("steps", steps, at_least=1), integer("p", p, at_least=1)
    lam_sum = positive("lam_sum", lam_sum)
    if steps > _LARGEST_TABLE:
        raise ValueError(f"steps must be at most {_LARGEST_TABLE:,}, got {steps:,}")
    if p == 1:
        return 0.0
    others = math.log(p - 1) - (2.0 / lam_sum) * np.arange(steps)
    return float(2.0 * np.exp(-np.logaddexp(0.0, -others)).sum())


def _random(T: int, p: int, lam_sum: float, rng: np.random.Generator) -> Lucky:
    chances = np.full(p, _FAIR, np.uint8)
    chances[rng.integers(p)] = _GOOD
    return _bytes(T, p, rng) < chances


def _fair(T: int, p: int, lam_sum: float, rng: np.random.Generator) -> Lucky:
    return _bytes(T, p, rng) < _FAIR


def _adaptive(T: int, p: int, lam_sum: float, rng: np.random.Generator) -> Lucky:
    # All other arms cost the same, so one difference of sums decides the first arm's weight.
    spared, ahead = np.empty(T, bool), 0
    for t in range(T):
        # Its weight is at most 1/2 while e^(ahead / lam_sum) <= p - 1.
        spared[t] = p > 1 and ahead <= lam_sum * math.log(p - 1)
        ahead += 2 if spared[t] else -2
    return np.column_stack([spared, np.repeat(~spared[:, None], p - 1, axis=1)])


def _counterexample(T: int, p: int, lam_sum: float, rng: np.random.Generator) -> Lucky:
    return np.tile(np.arange(p) == 0, (T, 1))


def _bytes(T: int, p: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    return rng.integers(0, 256, (T, p), np.uint8)


_LUCKY = {
    "random": _random,
    "fair": _fair,
    "adaptive": _adaptive,
    "counterexample": _counterexample,
}
ADVERSARIES = {
    row["key"]: Adversary(row["label"], row["sentence"], _LUCKY[row["key"]])
    for row in facts_beside(__file__, "adversaries.csv")
}
