"""Noise of Kamath's lecture on gradient perturbation, as published."""

import math

from ..core.privacy import Budget, NotApplicable
from ..core.validation import check_real, integer, positive
from .common import log_inverse


def kamath_multiplier(n: int, budget: Budget) -> float:
    """Noise of Kamath's Algorithm 3 over n L, one record's largest part of its gradient: n^2 steps on one record.

    sqrt(32 ln(n/delta) ln(1/delta)) / epsilon. Its proof subsamples a step of epsilon / (2 sqrt(ln(1/delta)))
    by Lemma 3, which is stated for losses below 1; larger ones are refused. The proof has gaps (docs/errata.md):
    `subsampled_rdp.subsampled_epsilon` is the privacy spent at this scale. Raises NotApplicable for delta = 0.

    Source: Kamath's lecture on private empirical risk minimisation, Algorithm 3 (constants explicit).

    >>> round(kamath_multiplier(2000, Budget(1.0, 1 / 2000**2)), 1)
    105.3
    """
    n, surprise = integer("n", n, at_least=2), log_inverse(budget.delta)
    largest = 2.0 * math.sqrt(surprise)
    if budget.epsilon >= largest:
        raise NotApplicable(
            f"Kamath's noise needs epsilon < 2 sqrt(ln(1/delta)) = {largest:.4g}, got epsilon = {budget.epsilon:g}"
        )
    return math.sqrt(32.0 * (math.log(n) + surprise) * surprise) / budget.epsilon


def kamath_subsampled_epsilon(epsilon: float, rate: float) -> float:
    """Privacy cost, as Kamath counts it, of an epsilon-DP step on a random share `rate` of the records: 2 rate epsilon.

    Stated for epsilon < 1 and for pure privacy only. Raises NotApplicable for epsilon >= 1.

    Source: Kamath's lecture on private empirical risk minimisation, Lemma 3 (constants explicit).

    >>> kamath_subsampled_epsilon(0.5, rate=0.01)
    0.01
    """
    epsilon = positive("epsilon", epsilon)
    rate = check_real("rate", rate, "in (0, 1]", lambda v: 0 < v <= 1)
    if epsilon >= 1.0:
        raise NotApplicable(f"Kamath's Lemma 3 needs epsilon < 1, got epsilon = {epsilon:g}")
    return 2.0 * rate * epsilon
