"""Zero-concentrated differential privacy, and exponential mechanisms under it by their bounded range.

Epsilon is rounded up, and rho and eta down.
"""

import math

import numpy as np
from scipy.optimize import brentq

from ..core.arrays import Array
from ..core.privacy import Budget
from ..core.validation import integer, positive
from .common import SAFETY, log_inverse


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Smallest epsilon that follows from rho-zCDP at `delta`, by any one Renyi divergence.

    inf over a > 1 of a rho + [ln(1/delta) + (a - 1) ln(1 - 1/a) - ln a] / (a - 1). In b = a - 1 its derivative is
    rho - (ln(1/delta) - ln(1 + b)) / b^2, which has one zero. If delta covers the loss, the answer is 1e-9.
    Raises NotApplicable for delta = 0.

    Source: Canonne, Kamath and Steinke 2020, Corollary 13 (constants explicit).

    >>> round(zcdp_epsilon(0.5, 1e-6), 4)
    5.2215
    """
    rho, surprise = positive("rho", rho), log_inverse(delta)
    # ln(1 + b) is between 0 and b, which brackets the zero of rho b^2 - surprise + ln(1 + b).
    low, high = 2.0 * surprise / (1.0 + math.sqrt(1.0 + 4.0 * rho * surprise)), math.sqrt(surprise / rho)

    def slope(log_b: float) -> float:
        b = math.exp(log_b)
        return rho * b * b - surprise + math.log1p(b)

    b = math.exp(brentq(slope, math.log(low) - 1e-6, math.log(high) + 1e-6, xtol=1e-13))
    # At any b this is a valid epsilon: an error of the root costs tightness, not privacy.
    epsilon = (1.0 + b) * rho + (surprise - math.log1p(b)) / b - math.log1p(1.0 / b)
    return max(epsilon, 0.0) * (1 + SAFETY) + SAFETY


def zcdp_delta(rho: float, epsilon: Array) -> Array:
    """Smallest delta that follows from rho-zCDP at each epsilon >= 0, [e], by any one Renyi divergence.

    exp(b ((1 + b) rho - epsilon) + b ln b - (1 + b) ln(1 + b)) at its best b > 0, where its logarithm's derivative
    (1 + 2 b) rho - epsilon - ln(1 + 1/b), which rises, is 0. The inverse of `zcdp_epsilon`.

    Source: Canonne, Kamath and Steinke 2020, Corollary 13 (constants explicit).

    >>> zcdp_delta(0.5, np.array([zcdp_epsilon(0.5, 1e-6)])).round(12)
    array([1.e-06])
    """
    rho, epsilon = positive("rho", rho), np.asarray(epsilon, float)
    low, high = np.full(epsilon.shape, -50.0), np.log((1.0 + epsilon / rho) + 1.0 / math.sqrt(rho))
    for _ in range(50):
        middle = 0.5 * (low + high)
        b = np.exp(middle)
        rising = (1.0 + 2.0 * b) * rho - epsilon - np.log1p(1.0 / b) > 0.0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    # At any b this is a valid delta: an error of the root costs tightness, not privacy.
    b = np.exp(high)
    return np.minimum(np.exp(b * ((1.0 + b) * rho - epsilon) - b * np.log1p(1.0 / b) - np.log1p(b)), 1.0)


def zcdp_rho(budget: Budget) -> float:
    """Largest rho whose zCDP implies `budget`; the inverse of `zcdp_epsilon`.

    At the best order 1 + b: rho = (ln(1/delta) - ln(1 + b)) / b^2 and epsilon = (1 + 2 b) rho - ln(1 + 1/b), which
    falls in b. Raises NotApplicable for delta = 0.

    >>> round(zcdp_rho(Budget(1.0, 1e-6)), 6), round(zcdp_rho_by_hand(Budget(1.0, 1e-6)), 6)
    (0.024356, 0.017469)
    """
    surprise = log_inverse(budget.delta)

    def rho(b: float) -> float:
        return (surprise - math.log1p(b)) / (b * b)

    def above(log_b: float) -> float:
        b = math.exp(log_b)
        return (1.0 + 2.0 * b) * rho(b) - math.log1p(1.0 / b) - budget.epsilon

    low = high = 0.5 * math.log(surprise / zcdp_rho_by_hand(budget))
    while above(low) < 0.0:
        low -= 1.0
    while above(high) > 0.0:
        high += 1.0
    return rho(math.exp(brentq(above, low, high, xtol=1e-13))) * (1 - SAFETY)


def zcdp_rho_by_hand(budget: Budget) -> float:
    """Value of rho that anyone can check on paper: (sqrt(L + epsilon) - sqrt(L))^2 with L = ln(1/delta).

    It solves rho + 2 sqrt(rho L) = epsilon; `zcdp_epsilon` is never larger. Raises NotApplicable for delta = 0.

    Source: Bun and Steinke 2016, Proposition 1.3 (constants explicit).

    >>> round(zcdp_rho_by_hand(Budget(1.0, 1e-6)), 6)
    0.017469
    """
    surprise = log_inverse(budget.delta)
    return (budget.epsilon / (math.sqrt(surprise + budget.epsilon) + math.sqrt(surprise))) ** 2


def bounded_range_rho(eta: float, times: int = 1) -> float:
    """rho of `times` adaptive choices whose log-ratios of probabilities each lie in an interval of length eta.

    times * eta^2 / 8, against times * eta^2 / 2 for eta-DP. With K(a) = ln E_Q (P/Q)^a, K'' <= eta^2 / 4 (a variance on
    an interval of length eta) and K(0) = K(1) = 0, so K(a) <= a (a - 1) eta^2 / 8 for a > 1. The exponential mechanism
    with probabilities ~ exp(-u / b) and scores u that one record moves by at most D has eta = 2 D / b.

    Source: Cesar and Rogers 2021 (constants explicit; derived above).

    >>> bounded_range_rho(0.25, times=128)
    1.0
    """
    return integer("times", times, at_least=1) * positive("eta", eta) ** 2 / 8.0


def bounded_range_eta(budget: Budget, times: int) -> float:
    """Largest eta that `times` adaptive bounded-range choices may use: max(epsilon / k, sqrt(8 rho / k)).

    An eta-bounded-range choice is eta-DP, so basic composition holds too. It is better than zCDP for few choices; for
    delta = 0 it alone applies.

    >>> round(bounded_range_eta(Budget(1.0, 1e-6), times=100), 5)
    0.04414
    """
    basic = budget.epsilon / integer("times", times, at_least=1)
    return basic if budget.pure else max(basic, math.sqrt(8.0 * zcdp_rho(budget) / times))
