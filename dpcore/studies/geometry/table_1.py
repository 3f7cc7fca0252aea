"""Table 1 of private stochastic convex optimisation over l_p balls: orders of growth, shape only, constants 1.

All risks are in units of L0 D: Lipschitz constant times diameter, what every model has at most. Logarithms are natural;
those of the failure probability and powers of ln n are left out. "Hardest data": for every private mechanism there are
records on which it is no better, not yours.

Source: Bassily, Guzmán and Nandi 2021, Table 1; at p = 1 also Asi, Feldman, Koren and Talwar 2021.
"""

import dataclasses as dc
import math
from typing import Literal

from ...core.privacy import Budget
from ...core.sets import dual_order, kappa_lq
from ...core.validation import check_real, integer, norm_order

_PAPER = "Bassily, Guzmán and Nandi 2021, Table 1"
_ASI = "Asi, Feldman, Koren and Talwar 2021"


@dc.dataclass(frozen=True)
class Row:
    """Table 1 at one setting, in units of L0 D.

    sampling, privacy: terms of the best known rate for smooth losses, without privacy and what it adds; source: whose.
    least: on hardest data none is below; least_formula: of it. free: the n at which both terms are equal; privacy leads
    below it, sampling above.
    """

    p_norm: float
    sampling: float
    privacy: float
    source: str
    least: float
    least_formula: str
    free: float

    @property
    def value(self) -> float:
        """The best known rate, at most 1."""
        return min(1.0, self.sampling + self.privacy)

    @property
    def leads(self) -> Literal["sampling", "privacy", "trivial"]:
        """The larger term, or "trivial" where the rate says nothing."""
        if self.sampling + self.privacy >= 1.0:
            return "trivial"
        return "privacy" if self.privacy > self.sampling else "sampling"


def table_row(p_norm: float, d: int, n: float, epsilon: float, delta: float) -> Row:
    """Table 1 at p_norm from 1 to inf, d >= 1 columns, n >= 2 records, epsilon > 0, 0 < delta < 1.

    The dual norm is kappa-regular with `kappa_lq`, for 1 < p <= 2: 1/(p - 1), unless p is so close to 1 that about
    2 e ln d is smaller.

    >>> row = table_row(2.0, d=100, n=10_000, epsilon=1.0, delta=1e-6)
    >>> round(row.sampling, 3), round(row.privacy, 5), row.leads, round(row.free)
    (0.01, 0.00372, 'sampling', 1382)
    """
    p_norm, d = norm_order("p_norm", p_norm), integer("d", d, at_least=1)
    n = check_real("n", n, "a finite number >= 2", lambda v: v >= 2)
    delta = check_real("delta", delta, "in (0, 1)", lambda v: 0 < v < 1)
    epsilon = Budget(epsilon, delta).epsilon
    if p_norm == 1.0:
        return _lasso(d, n, epsilon)
    if p_norm <= 2.0:
        return _up_to_l2(p_norm, d, n, epsilon, math.log(1.0 / delta))
    return _up_to_box(p_norm, d, n, epsilon, math.log(1.0 / delta))


def _lasso(d: int, n: float, epsilon: float) -> Row:
    """sqrt(l / n) + (l / (epsilon n))^(2/3) with l = ln(2 d), of the 2 d vertices; equal where n = l / epsilon^4.

    The rate is for epsilon <= 1: its sampling term, which no mechanism is below, is written out here.
    """
    ln = math.log(2.0 * d)
    sampling = math.sqrt(ln / n)
    privacy = (ln / (epsilon * n)) ** (2.0 / 3.0)
    return Row(1.0, sampling, privacy, _ASI, min(1.0, sampling), "sqrt(ln d / n)", ln / epsilon**4)


def _up_to_l2(p_norm: float, d: int, n: float, epsilon: float, log: float) -> Row:
    """sqrt(kappa/n) + kappa sqrt(d log) / (epsilon n); equal where n = kappa d log / epsilon^2."""
    kappa = kappa_lq(dual_order(p_norm), d).kappa
    noise = math.sqrt(d * log) / (epsilon * n)
    least = max(1.0 / math.sqrt(n), (p_norm - 1.0) * min(1.0, noise))
    formula = "max(1 / sqrt(n), (p − 1) min(1, sqrt(d ln(1/δ)) / (ε n)))"
    return Row(p_norm, math.sqrt(kappa / n), kappa * noise, _PAPER, least, formula, kappa * d * log / epsilon**2)


def _up_to_box(p_norm: float, d: int, n: float, epsilon: float, log: float) -> Row:
    """w / sqrt(n) + w sqrt(d log) / (epsilon n), w = d^(1/2 - 1/p); equal where n = d log / epsilon^2 for every p."""
    wider = d ** (0.5 - 1.0 / p_norm)
    sampling, privacy = wider / math.sqrt(n), wider * math.sqrt(d * log) / (epsilon * n)
    least = min(sampling, n ** (-1.0 / p_norm))
    formula = "min(sqrt(d / n), 1)" if p_norm == math.inf else "min(d^(1/2 − 1/p) / sqrt(n), n^(−1/p))"
    return Row(p_norm, sampling, privacy, _PAPER, least, formula, d * log / epsilon**2)
