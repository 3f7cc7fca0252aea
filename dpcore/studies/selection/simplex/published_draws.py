"""Number of draws that the published theorems allow, beside what is proved here."""

import bisect
import dataclasses as dc
import functools

import numpy as np

from .... import data as records
from ....core.privacy import Budget
from ....core.specification import Spec
from ....mechanisms.simplex.sampling import SimplexSampling
from ....mechanisms.simplex.weight_range import weight_range
from ....theory import sampling_and_regret as theory
from .data import SOURCE

_LARGEST = 10**15


@functools.lru_cache(maxsize=64)
def first_draw(*, p: int, epsilon: float, delta: float, loss: str) -> int | None:
    """The fewest records for which Theorem 4 allows a draw, None beyond 10^15. p: >= 2 columns.

    Source: Jain and Thakurta 2014, Theorem 4.

    >>> f"{first_draw(p=100, epsilon=1.0, delta=1e-5, loss='huber_hinge'):.2e}"
    '1.33e+08'
    """

    def published(n: int) -> float:
        return draws_at(n, p=p, epsilon=epsilon, delta=delta, loss=loss)[0]

    first = bisect.bisect_left(range(_LARGEST + 1), 1.0, lo=2, key=published)
    return first if first <= _LARGEST else None


@functools.lru_cache(maxsize=1024)
def draws_at(n: int, *, p: int, epsilon: float, delta: float, loss: str) -> tuple[float, int]:
    """m of Theorem 4 as a real number, and the automatic m, for n records.

    >>> theirs, ours = draws_at(1000, p=100, epsilon=1.0, delta=1e-5, loss="huber_hinge")
    >>> round(theirs, 4), ours
    (0.0003, 21)
    """
    budget, domain = Budget(epsilon, delta), records.load(SOURCE, 2, 8, seed=0).domain
    theirs = Spec(loss, n, p, theory.published_sampling_lam(n, p, epsilon), domain, set="simplex")
    return theorem_3_draws(theirs, budget), SimplexSampling().calibrate(dc.replace(theirs, lam="auto"), budget).steps


def theorem_3_draws(spec: Spec, budget: Budget) -> float:
    """m of Theorem 3 of Jain and Thakurta 2014 as published, a real number; lam of `spec` is a number.

    With W = n lam and x = c (R radius)^2 / lam: epsilon W / (L R radius (4 + 2x)) for delta = 0, else
    (epsilon W / (ln(1/delta) (32 + 16x)))^2.

    >>> from dpcore.core.specification import Domain
    >>> spec = Spec("linear", n=1000, p=2, lam=3.0, domain=Domain(q=np.inf), set="simplex")
    >>> [int(theorem_3_draws(spec, Budget(1.0, delta))) for delta in (1e-3, 1e-5)]
    [184, 66]
    """
    found, lam = weight_range(spec), float(spec.lam)
    W, x = spec.n * lam, found.bend / lam
    if budget.pure:
        return budget.epsilon * W / (found.slope * (4.0 + 2.0 * x))
    return float((budget.epsilon * W / (-np.log(budget.delta) * (32.0 + 16.0 * x))) ** 2)
