"""Table 1 of private stochastic convex optimisation over l_p balls: orders of growth, shape only, constants 1.

All risks are in units of L0 D: Lipschitz constant times diameter, what every model has at most. Logarithms are natural;
those of the failure probability and powers of ln n are left out. "Hardest data": for every private mechanism there are
records on which it is no better, not yours.

Source: Bassily, Guzman and Nandi 2021, Table 1; at p = 1 also Asi, Feldman, Koren and Talwar 2021.
"""

from __future__ import annotations

import dataclasses as dc
import math
from typing import Literal

from ...core.privacy import Budget
from ...core.sets import dual_order, kappa_lq
from ...core.validation import check_real, integer, norm_order

TRIVIAL = 1.0
Term = Literal["sampling", "privacy", "trivial"]
_PAPER = "Bassily, Guzman and Nandi 2021"


@dc.dataclass(frozen=True)
class Rate:
    """One entry of the table, in units of L0 D. sampling: without privacy. privacy: what it adds; 0: nothing is proved.

    formula: of the sum, or of the larger of two lower bounds. source: whose. assumes: "smooth losses", "hardest data".
    """

    sampling: float
    privacy: float
    lower: bool
    formula: str
    source: str
    assumes: str

    @property
    def value(self) -> float:
        """The sum of an upper rate, the larger term of a lower one, at most 1."""
        whole = max(self.sampling, self.privacy) if self.lower else self.sampling + self.privacy
        return min(TRIVIAL, whole)

    @property
    def leads(self) -> Term:
        """The larger term, or "trivial" where the rate says nothing."""
        if self.sampling + self.privacy >= TRIVIAL and not self.lower:
            return "trivial"
        return "privacy" if self.privacy > self.sampling else "sampling"


@dc.dataclass(frozen=True)
class Row:
    """Table 1 at one setting. upper: best known. lower: on hardest data. free: the n at which both terms of `upper` are
    equal; privacy leads below it, sampling above.
    """

    p_norm: float
    upper: Rate
    lower: Rate
    free: float


def table_row(p_norm: float, d: int, n: float, epsilon: float, delta: float) -> Row:
    """Table 1 at p_norm from 1 to inf, d >= 1 columns, n >= 2 records, epsilon > 0, 0 < delta < 1.

    The dual norm is kappa-regular with `kappa_lq`, for 1 < p <= 2: 1/(p - 1), unless p is so close to 1 that about
    2 e ln d is smaller.

    >>> row = table_row(2.0, d=100, n=10_000, epsilon=1.0, delta=1e-6)
    >>> round(row.upper.sampling, 3), round(row.upper.privacy, 5), row.upper.leads, round(row.free)
    (0.01, 0.00372, 'sampling', 1382)
    """
    p_norm, d = norm_order("p_norm", p_norm), integer("d", d, at_least=1)
    n = check_real("n", n, "a finite number >= 2", lambda v: v >= 2)
    delta = check_real("delta", delta, "in (0, 1)", lambda v: 0 < v < 1)
    epsilon = Budget(epsilon, delta).epsilon
    if p_norm == 1.0:
        return _lasso(d, n, epsilon)
    if p_norm <= 2.0:
        return _up_to_euclid(p_norm, d, n, epsilon, math.log(1.0 / delta))
    return _up_to_box(p_norm, d, n, epsilon, math.log(1.0 / delta))


def _lasso(d: int, n: float, epsilon: float) -> Row:
    """ln d is that of the 2 d vertices. Equal terms: sqrt(l/n) = (l / (epsilon n))^(2/3) where n = l / epsilon^4.

    The rate is for epsilon <= 1: its sampling term, which no mechanism is below, is written out here.
    """
    ln = math.log(2.0 * d)
    sampling, known = math.sqrt(ln / n), (ln / (epsilon * n)) ** (2.0 / 3.0)
    asi = "Asi, Feldman, Koren and Talwar 2021"
    return Row(
        p_norm=1.0,
        upper=Rate(sampling, known, False, "sqrt(ln d / n) + (ln d / (ε n))^(2/3)", asi, "smooth losses"),
        lower=Rate(sampling, 0.0, True, "sqrt(ln d / n)", f"{_PAPER}, Table 1", "hardest data, even without privacy"),
        free=ln / epsilon**4,
    )


def _up_to_euclid(p_norm: float, d: int, n: float, epsilon: float, log: float) -> Row:
    """sqrt(kappa/n) = kappa sqrt(d log) / (epsilon n) where n = kappa d log / epsilon^2."""
    kappa = kappa_lq(dual_order(p_norm), d).kappa
    noise = math.sqrt(d * log) / (epsilon * n)
    formula, smooth = "sqrt(κ / n) + κ sqrt(d ln(1/δ)) / (ε n)", "smooth losses"
    upper = Rate(math.sqrt(kappa / n), kappa * noise, False, formula, f"{_PAPER}, Table 1", smooth)
    least = "max(1 / sqrt(n), (p − 1) min(1, sqrt(d ln(1/δ)) / (ε n)))"
    proved = Rate(
        1.0 / math.sqrt(n), (p_norm - 1.0) * min(1.0, noise), True, least, f"{_PAPER}, Table 1", "hardest data"
    )
    return Row(
        p_norm=p_norm,
        upper=upper,
        lower=proved,
        free=kappa * d * log / epsilon**2,
    )


def _up_to_box(p_norm: float, d: int, n: float, epsilon: float, log: float) -> Row:
    """Equal terms where n = d log / epsilon^2, whatever p is: the widening d^(1/2 - 1/p) is in both."""
    wider = d ** (0.5 - 1.0 / p_norm)
    sampling, privacy = wider / math.sqrt(n), wider * math.sqrt(d * log) / (epsilon * n)
    upper, least = (
        ("sqrt(d / n) + d sqrt(ln(1/δ)) / (ε n)", "min(sqrt(d / n), 1)")
        if p_norm == math.inf
        else (
            "d^(1/2 − 1/p) / sqrt(n) + d^(1 − 1/p) sqrt(ln(1/δ)) / (ε n)",
            "min(d^(1/2 − 1/p) / sqrt(n), n^(−1/p))",
        )
    )
    rate = Rate(sampling, privacy, False, upper, f"{_PAPER}, Table 1", "smooth losses")
    lower = min(sampling, n ** (-1.0 / p_norm))
    return Row(
        p_norm=p_norm,
        upper=rate,
        lower=Rate(lower, 0.0, True, least, f"{_PAPER}, Table 1", "hardest data, even without privacy"),
        free=d * log / epsilon**2,
    )
