"""Bounds and rates of draws from weights: models mixed from columns, and streams."""

import math

import numpy as np
from scipy.special import bdtr

from ..core.privacy import Budget, NotApplicable


def sampling_excess(L: float, c: float, R: float, m: int) -> float:
    """E F(mean of m vertices drawn with probabilities w) - F(radius w) <= min{L R / sqrt(m), c R^2 / (2m)}.

    On the simplex of size `radius`; R: the largest |x_j| times radius. The mean has the expectation radius w, and a
    prediction the variance of one draw's, at most R^2, over m.

    Source: Jain and Thakurta 2014, Theorem 4; constants derived here (explicit).

    >>> sampling_excess(1.0, 2.0, 1.0, 4), sampling_excess(1.0, 2.0, 1.0, 1)
    (0.25, 1.0)
    """
    return min(L * R / math.sqrt(m), 0.5 * c * R**2 / m)


def entropy_bias(lam: float, p: int) -> float:
    """F(radius w) - F(theta_ref) <= lam ln p for the w that minimises F(radius w) + lam sum_j w_j ln w_j.

    theta_ref: anywhere on the simplex. The sum lies between -ln p and 0.

    >>> round(entropy_bias(0.01, 100), 6)
    0.046052
    """
    return lam * math.log(p)


def published_sampling_lam(n: int, p: int, epsilon: float) -> float:
    """lam of Theorem 4 of Jain and Thakurta 2014, n^(2/3) / (epsilon ln p)^(1/3), for the average loss; p >= 2.

    >>> round(published_sampling_lam(1000, 100, 1.0), 6)
    0.060106
    """
    return n ** (-1.0 / 3.0) * (epsilon * math.log(p)) ** (-1.0 / 3.0)


def published_sampling_rate(LR: float, c: float, n: int, p: int, budget: Budget) -> float:
    """Theorem 4 of Jain and Thakurta 2014 as published, shape only.

    (L R)^3 (1 + c) ln n ln p ln(1/delta) / (n epsilon)^(1/3), or ln n ln p / (sqrt(epsilon) n^(1/4)) for delta = 0.
    """
    growth = math.log(n) * math.log(p)
    if budget.pure:
        return growth / (math.sqrt(budget.epsilon) * n**0.25)
    return LR**3 * (1.0 + c) * growth * -math.log(budget.delta) / (n * budget.epsilon) ** (1.0 / 3.0)


def regret_bound(lam_sum: float, p: int, R: float, T: int) -> float:
    """E sum_t x_t(a_t) - min_j sum_t x_t(j) <= min{lam_sum ln p + T R^2 / (2 lam_sum), 2 R T}.

    For a_t ~ w_t ~ exp(-S_{t-1} / lam_sum), S_t the sum of the first t costs, |x_t| <= R. The potential
    -lam_sum ln sum_j exp(-S_t(j) / lam_sum) rises in step t by -lam_sum ln E exp(-x_t(a_t) / lam_sum), at least
    <w_t, x_t> - R^2 / (2 lam_sum) (Hoeffding's lemma: x_t(a_t) lies in an interval of length 2 R). It begins at
    -lam_sum ln p and ends at most at min_j S_T(j). This holds on every path, so x_t may depend on earlier arms.

    Source: Shalev-Shwartz 2011, Corollary 2.14; constants derived here (explicit).

    >>> regret_bound(10.0, 1, 1.0, 100), round(regret_bound(10.0, 8, 1.0, 100), 4)
    (5.0, 25.7944)
    """
    return min(lam_sum * math.log(p) + T * R**2 / (2.0 * lam_sum), 2.0 * R * T)


def regret_band(R: float, T: int, miss: float) -> float:
    """Excess of one run's regret over the sum of its steps' means, exceeded with probability at most `miss`.

    R sqrt(2 T ln(1/miss)) (Azuma and Hoeffding: each step's cost lies in an interval of length 2 R).

    >>> round(regret_band(1.0, 200, 0.1), 4)
    30.3485
    """
    return R * math.sqrt(2.0 * T * -math.log(miss))


def least_regret(p: int, R: float, T: int, budget: Budget) -> float:
    """On some costs |x_t| <= R every (epsilon, delta)-private learner's mean regret is at least this.

    The larger of the mean of the largest of p sums of fair coins, which no learner beats, private or not, and of about
    2 R ln p / epsilon, which one of p arms that is always best costs by group privacy; proof in docs/formulas.md.

    Source: Cesa-Bianchi and Lugosi 2006, Theorem 3.7, and packing with group privacy; constants derived there.

    >>> round(least_regret(8, 1.0, 2_000, Budget(1.0, 1e-6)), 1), round(least_regret(8, 1.0, 50, Budget(0.1)), 1)
    (63.7, 25.0)
    """
    coins = R * (2.0 * float((1.0 - bdtr(np.arange(T), T, 0.5) ** p).sum()) - T)
    group = np.minimum(np.arange(T) * budget.epsilon, 700.0)
    grown = budget.delta * np.expm1(group) / math.expm1(min(budget.epsilon, 700.0))
    return max(coins, 2.0 * R * float(np.maximum(1.0 - np.exp(group) / p - grown, 0.0).sum()))


def published_stream_lam(T: int, p: int, R: float, budget: Budget) -> float:
    """lam of a sum above equation (12) of Jain and Thakurta 2014: R sqrt(8 T ln p ln(1/delta)) / epsilon.

    Raises NotApplicable for delta = 0 and for p = 1, where it is infinite or 0.
    """
    if budget.pure or p == 1:
        raise NotApplicable(f"the published lam needs delta > 0 and p >= 2, got delta = {budget.delta:g} and p = {p}")
    return R * math.sqrt(8.0 * T * math.log(p) * -math.log(budget.delta)) / budget.epsilon


def published_stream_rate(T: int, p: int, R: float, budget: Budget) -> float:
    """Equation (12) of Jain and Thakurta 2014 as published, R sqrt(T ln p ln(1/delta)) / epsilon; shape only.

    With the lam above, costs (-R, R, ..., R) in every step have a regret of sqrt(8) ln p times that for large T.
    """
    return R * math.sqrt(T * math.log(p) * -math.log(budget.delta)) / budget.epsilon


def earlier_stream_rate(T: int, p: int, R: float, budget: Budget) -> float:
    """R sqrt(T p) / epsilon: private online learning before Jain and Thakurta 2014, as they cite it; shape only.

    Their poly(ln T) is left out. Source: Dwork, Naor, Pitassi and Rothblum 2010.
    """
    return R * math.sqrt(T * p) / budget.epsilon
