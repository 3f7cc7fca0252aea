"""Smoothness of the square of a dual norm, which calibrates generalised Gaussian noise."""

import dataclasses as dc
import math

from ..validation import check_real, integer, norm_order


@dc.dataclass(frozen=True)
class Regularity:
    """Norm of order r that replaces the norm of order q_star on R^d.

    kappa: ||.||_q_star is kappa-regular. order: r, from 2 to q_star. With kappa_+ = r - 1,
    ||x + y||_r^2 <= ||x||_r^2 + <grad ||x||_r^2, y> + kappa_+ ||y||_r^2 and
    ||x||_q_star^2 <= ||x||_r^2 <= (kappa / kappa_+) ||x||_q_star^2.
    """

    kappa: float
    order: float


def kappa_of_order(order: float, q_star: float, d: int) -> Regularity:
    """Constant proved with one order: kappa = (order - 1) d^(2/order - 2/q_star), 2 <= order <= q_star; d >= 1.

    The second inequality is attained where all entries are equal (docs/formulas.md, "Noise in the geometry").

    >>> kappa_of_order(3.0, 3.0, 100).kappa, round(kappa_of_order(4.0, math.inf, 100).kappa, 9)
    (2.0, 30.0)
    """
    q_star, d = norm_order("q_star", q_star, at_least=2.0), integer("d", d, at_least=1)
    order = check_real("order", order, f"a number from 2 to q_star = {q_star:g}", lambda v: 2.0 <= v <= q_star)
    return Regularity((order - 1.0) * math.exp(2.0 * math.log(d) * (1.0 / order - 1.0 / q_star)), order)


def quoted_kappa(q_star: float, d: int) -> Regularity:
    """Constant min{q_star - 1, 2 ln d} as the paper quotes it, with an order of one more; d >= 2. Not a theorem.

    If q_star - 1 <= 2 ln d, this is `kappa_of_order`. Otherwise it omits the factor d^(2/r - 2/q_star), up to e: noise
    calibrated by it gives less privacy than claimed (docs/errata.md). ValueError for d = 1, where 2 ln d is 0.

    >>> round(quoted_kappa(math.inf, 100).kappa, 2), round(quoted_kappa(math.inf, 100).order, 2)
    (9.21, 10.21)
    """
    q_star = norm_order("q_star", q_star, at_least=2.0)
    kappa = min(q_star - 1.0, 2.0 * math.log(integer("d", d, at_least=2)))
    return Regularity(kappa, min(kappa + 1.0, q_star))


def kappa_lq(q_star: float, d: int) -> Regularity:
    """Smallest kappa over orders r in [2, q_star]: min_r (r - 1) d^(2/r - 2/q_star).

    q_star: the dual order, from 2 to inf. d: the dimension, >= 1. In r the logarithm has the derivative
    1/(r - 1) - 2 ln d / r^2, which is 0 where r^2 = 2 ln d (r - 1): the smallest value is at the larger root, or at an
    end of the range.

    Source: Bassily, Guzmán and Nandi 2021, section 2; they quote min{1/(p - 1), 2 ln d}, which is too small
    (docs/errata.md).

    >>> [round(kappa_lq(math.inf, d).kappa, 2) for d in (10, 100, 1000, 10_000)]
    [9.28, 22.14, 34.72, 47.27]
    """
    q_star = norm_order("q_star", q_star, at_least=2.0)
    log_d = math.log(integer("d", d, at_least=1))
    orders = [2.0] + ([q_star] if math.isfinite(q_star) else [])
    inside = log_d**2 - 2.0 * log_d
    if inside >= 0.0:
        orders += [r for r in (log_d - math.sqrt(inside), log_d + math.sqrt(inside)) if 2.0 <= r <= q_star]
    return min((kappa_of_order(r, q_star, d) for r in orders), key=lambda found: found.kappa)
