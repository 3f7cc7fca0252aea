"""Number of draws that the published theorems allow, beside what is proved here: whole curves over n."""

import bisect
import dataclasses as dc
import functools

import numpy as np

from .... import data as records
from ....core.arrays import Array
from ....core.privacy import Budget
from ....core.specification import Spec
from ....mechanisms.simplex.sampling import SimplexSampling
from ....mechanisms.simplex.weight_range import published_epsilon
from ....theory import sampling_and_regret as theory
from .data import SOURCE

_SIZES = tuple(round(10.0 ** (k / 2)) for k in range(4, 21))
_LARGEST = 10**15


@dc.dataclass(frozen=True)
class PublishedDraws:
    """Draws against n, [K].

    published: m of Theorem 4 with its lam, a real number; from 1 on it can be released. ours: the automatic
    m. first: the fewest records for which Theorem 4 allows a draw, None beyond 10^15.
    """

    n: Array
    published: Array
    ours: Array
    first: int | None


@functools.lru_cache(maxsize=64)
def published_draws(*, p: int, epsilon: float, delta: float, loss: str) -> PublishedDraws:
    """Numbers of draws by both theorems for 100 to 10^10 records with the mixture's bounds on records, without data.

    p: >= 2 columns. From a cache; arrays must not be changed.

    Source: Jain and Thakurta 2014, Theorem 4.

    >>> made = published_draws(p=100, epsilon=1.0, delta=1e-5, loss="huber_hinge")
    >>> f"{made.first:.2e}"
    '1.33e+08'
    """

    def published(n: int) -> float:
        return draws_at(n, p=p, epsilon=epsilon, delta=delta, loss=loss)[0]

    first = bisect.bisect_left(range(_LARGEST + 1), 1.0, lo=2, key=published)
    both = [draws_at(n, p=p, epsilon=epsilon, delta=delta, loss=loss) for n in _SIZES]
    return PublishedDraws(
        n=np.array(_SIZES, float),
        published=np.array([theirs for theirs, _ in both]),
        ours=np.array([ours for _, ours in both], float),
        first=first if first <= _LARGEST else None,
    )


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
