"""How many records the fingerprinting lower bound on private LASSO needs."""

import bisect
import math
import sys
from typing import NamedTuple

# Theorem 3.1's: the smallest loss that a private model can have, over tau w, and tau.
_KAPPA, _TAU = 1.1, 0.001


class Size(NamedTuple):
    """Sizes in Theorem 3.1: a code of m / ln m users, columns p, records n, and the excess risk that it proves."""

    m: int
    p: int
    n: int
    excess: float


def literal_size() -> Size:
    """The smallest size at which Theorem 3.1 can be built, and what it then proves; real numbers rounded up.

    Source: Talwar, Thakurta and Zhang 2015, Section 3; docs/formulas.md, "Fingerprints".

    >>> size = literal_size()
    >>> size.m, f"{size.p:.2g} columns", f"{size.n:.2g} records"
    (9119, '8.3e+10 columns', '8.3e+10 records')
    """
    # m / ln m rises from m = e.
    m = bisect.bisect_left(range(sys.maxsize), 0.0, lo=3, key=lambda m: m - math.log(m) / _TAU)
    w, p = m / math.log(m), math.ceil(m**2 / _TAU)
    n = math.ceil(w + _TAU * w * p)
    return Size(m, p, n, (_KAPPA - 1.0 - 4.0 * _TAU) * _TAU / 3.0 * w / n)
