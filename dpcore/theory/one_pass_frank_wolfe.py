"""Bounds and rates of one-pass Frank-Wolfe on a polytope whose vertices are chosen with noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.privacy import Budget


def falling_steps_bound(curvature: float, worse: Array) -> float:
    """E F(theta_K) - min F <= 2 Gamma / (K + 1) + sum_tau 2 (tau + 1) s_tau / (K (K + 1)), K = len(worse) >= 1.

    theta_{tau+1} = (1 - eta) theta_tau + eta v_tau with eta = 2 / (tau + 2), tau = 0, ..., K - 1, in a set over which
    d' (Hessian) d <= Gamma = `curvature` for every difference d of two points; v_tau is a point of the set with
    E <grad F(theta_tau), v_tau> at most s_tau = `worse` above the smallest. By convexity and curvature
        h_{tau+1} <= (1 - eta) h_tau + eta s_tau + (eta^2 / 2) Gamma.
    Times (tau + 1) (tau + 2), where (1 - eta) (tau + 1) (tau + 2) = tau (tau + 1), and summed:
        K (K + 1) h_K <= sum_tau 2 (tau + 1) s_tau + 2 Gamma sum_tau (tau + 1) / (tau + 2), and the last is below K.
    The first step forgets theta_0.

    Source: derived here for Bassily, Guzman and Nandi 2021, section 5 (constants explicit).

    >>> round(falling_steps_bound(1.0, np.full(9, 0.25)), 4)
    0.45
    """
    K = len(worse)
    return 2.0 * curvature / (K + 1.0) + float(np.arange(1.0, K + 1.0) @ worse) * 2.0 / (K * (K + 1.0))


def constant_steps_bound(start: float, curvature: float, step: Any, choices: Any, worse: Any) -> Any:
    """(1 - eta)^k h + (1 - (1 - eta)^k) [s + eta Gamma / 2] after k = `choices` steps of length eta = `step`.

    The recursion of `falling_steps_bound` for one eta: start h >= F(theta_0) - min F, and worse s is the mean of the
    s_t with weights in proportion to (1 - eta)^(k - 1 - t). Arrays go through, entry by entry.

    Source: derived here for Bassily, Guzman and Nandi 2021, Algorithm 2 (constants explicit).

    >>> round(constant_steps_bound(1.0, 1.0, 0.1, 20, 0.05), 4)
    0.2094
    """
    left = (1.0 - step) ** choices
    return left * start + (1.0 - left) * (worse + 0.5 * step * curvature)


def estimate_range(variance: Any, corners: int) -> Any:
    """E [max_v e_v - min_v e_v] <= 2 sqrt(2 sigma^2 ln J) over J = `corners` scores with proxy sigma^2 = `variance`.

    E exp(u e_v) <= exp(u^2 sigma^2 / 2) for all u, which Hoeffding's lemma gives for sums of martingale differences
    that lie in intervals of length 2 c_i each, with sigma^2 = sum c_i^2. Then E max_v e_v <= ln J / u + u sigma^2 / 2
    for every u > 0, and the same for -e_v.

    Source: Hoeffding 1963 and the maximal inequality derived above (constants explicit).

    >>> float(round(estimate_range(0.01, 200), 4))
    0.651
    """
    return 2.0 * np.sqrt(2.0 * variance * math.log(corners))


def published_polyhedral_rate(extent: float, curvature: float, n: int, corners: int, budget: Budget) -> float:
    """Theorem 6.3 of Bassily, Guzman and Nandi 2021, shape only; for delta > 0.

    (L0 D + L1 D^2) ln J ln n sqrt(ln(1/delta)) / (epsilon sqrt(n)). The theorem's own formulas are not at hand: the
    logarithms are those that the algorithm's noise leads to. extent: L0 D. curvature: L1 D^2.

    >>> round(published_polyhedral_rate(1.0, 1.0, 10_000, 200, Budget(1.0, 1e-6)), 3)
    3.628
    """
    logs = math.log(corners) * math.log(n) * math.sqrt(-math.log(budget.delta))
    return (extent + curvature) * logs / (budget.epsilon * math.sqrt(n))


def tree_choices_rate(extent: float, curvature: float, n: int, corners: int, budget: Budget) -> float:
    """sqrt(ln J / n) + (ln J / (epsilon n))^(2/3), times L0 D + L1 D^2; shape only.

    Source: Asi, Feldman, Koren and Talwar 2021, abstract, for the L1 ball.

    >>> round(tree_choices_rate(1.0, 1.0, 10_000, 200, Budget(1.0, 1e-6)), 4)
    0.0591
    """
    log_corners = math.log(corners)
    return (extent + curvature) * (math.sqrt(log_corners / n) + (log_corners / (budget.epsilon * n)) ** (2.0 / 3.0))
