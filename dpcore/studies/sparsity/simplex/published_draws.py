"""Number of draws that the published theorems allow, beside what is proved here."""

import bisect
import dataclasses as dc
import functools

from .... import data as records
from ....core.privacy import Budget
from ....core.specification import Spec
from ....mechanisms.simplex.sampling import SimplexSampling
from ....mechanisms.simplex.weight_range import published_epsilon
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
    m = (epsilon / published_epsilon(theirs, delta)) ** (1 if budget.pure else 2)
    return m, SimplexSampling().calibrate(dc.replace(theirs, lam="auto"), budget).steps
