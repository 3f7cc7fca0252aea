"""Bounds and rates of Frank-Wolfe, private or not."""

from __future__ import annotations

import math
from typing import Any

from ..core.arrays import Array
from ..core.privacy import Budget


def frank_wolfe_bound(start: float, curvature: float, selection: Array | float, T: Array | float) -> Any:
    """E F(theta_T) - min F <= [2 h + 2 Gamma (T - 1)] / (T (T + 1)) + s (1 - 2 / (T (T + 1))).

    theta_{t+1} = (1 - mu_t) theta_t + mu_t s_t with mu_t = 2 / (t + 2), t = 1, ..., T - 1; s_t is a point of the set
    with E <grad F(theta_t), s_t> at most s = `selection` above the smallest. start: h >= F(theta_1) - min F. curvature:
    Gamma >= d' (Hessian) d for every difference d of two points of the set. By convexity and curvature
        h_{t+1} <= (1 - mu_t) h_t + mu_t s + (mu_t^2 / 2) Gamma.
    Times (t + 1) (t + 2) and summed, where (1 - mu_t) (t + 1) (t + 2) = t (t + 1) and mu_t^2 (t + 1) (t + 2) / 2 <= 2:
        T (T + 1) h_T <= 2 h_1 + 2 Gamma (T - 1) + s sum_{t<T} 2 (t + 1), and the last sum is T (T + 1) - 2.

    Source: Talwar, Thakurta and Zhang 2015, Theorem 2.3 and its proof; constants derived here (explicit).

    >>> round(frank_wolfe_bound(1.0, 8.0, 0.0, T=100), 4)
    0.157
    """
    ends = T * (T + 1.0)
    return (2.0 * start + 2.0 * curvature * (T - 1.0)) / ends + selection * (1.0 - 2.0 / ends)


def published_frank_wolfe_steps(curvature: float, extent: float, n: int, epsilon: float) -> float:
    """T of Theorem 2.5 of Talwar, Thakurta and Zhang 2015, (Gamma n epsilon / extent)^(2/3), as a real number.

    extent: L1 ||C||_1, the largest |<v, grad of a record's loss>| over the vertices v.

    >>> round(published_frank_wolfe_steps(8.0, 4.0, 10_000, 1.0), 1)
    736.8
    """
    return (curvature * n * epsilon / extent) ** (2.0 / 3.0)


def published_width_rate(curvature: float, extent: float, n: int, budget: Budget) -> float:
    """Theorem 2.6 of Talwar, Thakurta and Zhang 2015 as printed, shape only; needs delta > 0.

    Gamma^(1/3) (L2 G)^(2/3) ln(n/delta)^2 / (n epsilon)^(2/3). extent: L2 G, the largest gradient of a record in L2
    times the Gaussian width of the set.

    >>> round(published_width_rate(8.0, 100.0, 10_000, Budget(1.0, 1e-8)), 2)
    70.87
    """
    return (
        curvature ** (1.0 / 3.0)
        * extent ** (2.0 / 3.0)
        * math.log(n / budget.delta) ** 2
        / (n * budget.epsilon) ** (2.0 / 3.0)
    )


def tuned_frank_wolfe_bound(curvature: float, A: float) -> float:
    """min over real T > 0 of 2 Gamma / T + A sqrt(T) = 3 (Gamma / 2)^(1/3) A^(2/3), about 2.381 Gamma^(1/3) A^(2/3).

    At each T >= 2 the sum is at least `frank_wolfe_bound` without its h, for s = A sqrt(T - 1): noise that composes by
    zCDP has A = (extent / n) ln|S| sqrt(2 / rho). The derivative -2 Gamma / T^2 + A / (2 sqrt(T)) vanishes at
    T* = (4 Gamma / A)^(2/3), where the second term is twice the first.

    Source: derived here for Talwar, Thakurta and Zhang 2015, Theorem 2.5 (constants explicit).

    >>> round(tuned_frank_wolfe_bound(8.0, 0.027), 4)
    0.4286
    """
    return 3.0 * (0.5 * curvature) ** (1.0 / 3.0) * A ** (2.0 / 3.0)


def published_frank_wolfe_rate(curvature: float, extent: float, n: int, corners: int, budget: Budget) -> float:
    """Theorem 2.5 of Talwar, Thakurta and Zhang 2015 as printed, shape only; for delta > 0.

    Gamma^(1/3) extent^(2/3) ln(n |S|) sqrt(ln(1/delta)) / (n epsilon)^(2/3). extent: as in
    `published_frank_wolfe_steps`. corners: |S|, how many vertices.

    >>> round(published_frank_wolfe_rate(8.0, 4.0, 10_000, 400, Budget(1.0, 1e-8)), 4)
    0.7084
    """
    scale = curvature ** (1.0 / 3.0) * (extent / (n * budget.epsilon)) ** (2.0 / 3.0)
    return scale * math.log(n * corners) * math.sqrt(-math.log(budget.delta))


def published_lasso_rate(n: int, p: int, budget: Budget) -> float:
    """Theorem 1.1 of Talwar, Thakurta and Zhang 2015 as printed, shape only; for delta > 0.

    ln(n p) sqrt(ln(1/delta)) / (n epsilon)^(2/3): Theorem 2.5 for squared loss on the unit L1 ball, ||x||_inf <= 1.

    >>> round(published_lasso_rate(10_000, 200, Budget(1.0, 1e-8)), 4)
    0.1342
    """
    return math.log(n * p) * math.sqrt(-math.log(budget.delta)) / (n * budget.epsilon) ** (2.0 / 3.0)


def published_lasso_corollary(n: int, p: int, budget: Budget) -> float:
    """Corollary 2.7 of Talwar, Thakurta and Zhang 2015 as printed, shape only; for delta > 0.

    ln(n p / delta) / (n epsilon)^(2/3). It does not follow from Theorem 2.5: ln(n p) sqrt(ln(1/delta)) exceeds every
    multiple of ln(n p) + ln(1/delta) where both are large. It does follow for T* of `tuned_frank_wolfe_bound`, whose
    (ln|S|)^(2/3) ln(1/delta)^(1/3) is at most ln(|S| / delta).

    >>> round(published_lasso_corollary(10_000, 200, Budget(1.0, 1e-8)), 4)
    0.0709
    """
    return (math.log(n * p) - math.log(budget.delta)) / (n * budget.epsilon) ** (2.0 / 3.0)
