"""Privacy cost of many releases by advanced composition, and of repeated choices exactly.

Gaussian noise composes exactly (`gaussian`: mu adds in squares); zCDP is in `zcdp`, Kamath's formulas are in
`kamath`, steps on random batches in `subsampled_rdp`. All functions take and return plain numbers. An epsilon that is
found as a root is rounded up.
"""

import math

import numpy as np
from scipy.special import betainc

from ..core.arrays import Array
from ..core.privacy import Budget
from ..core.validation import check_real, integer, positive
from .common import SAFETY, log_inverse

_LARGEST_EXPONENT = 700.0
_MOST_STEPS = 60  # of Newton's method, which usually takes six


def repeated_choice_delta(eta: float, times: int, epsilon: Array) -> Array:
    """Smallest delta at each epsilon >= 0 for k = `times` independent draws from one choice of range eta.

    Of all pairs whose log-ratios lie in [t - eta, t], the one with two outcomes, of probabilities p, 1 - p against
    q, 1 - q with p = e^t q and 1 - p = e^(t - eta) (1 - q), dominates every other (its ratio is largest in convex
    order), and its k-fold product dominates theirs. Its best events are {at least j of k}: delta is the largest of
        f_j(t) = P(Bin(k, p) >= j) - e^epsilon P(Bin(k, q) >= j)
    over j and over t in [0, eta]. Since p' = e^(2t - eta) q' and q' < 0, f_j'(t) has the sign of
    e^epsilon - e^(t (k + 1) - eta (k - j + 1)): each f_j has one peak, at t = (epsilon + eta (k - j + 1)) / (k + 1).

    Source: Dong, Durfee and Rogers 2020 (constants explicit; derived above).

    >>> repeated_choice_delta(1.0, 3, np.array([0.5, 3.0])).round(6)
    array([0.206468, 0.      ])
    """
    k, e = integer("times", times, at_least=1), np.asarray(epsilon, float)[..., None]
    eta = positive("eta", eta)
    j = np.arange(1, k + 1)
    t = np.clip((e + eta * (k - j + 1)) / (k + 1), 0.0, eta)
    p = np.expm1(t - eta) / math.expm1(-eta)
    q = p * np.exp(-t)
    # delta is 0 beyond k eta.
    ratio = np.exp(np.minimum(e, min(k * eta, _LARGEST_EXPONENT)))
    excess = betainc(j, k - j + 1, p) - ratio * betainc(j, k - j + 1, q)
    return np.where(e[..., 0] < k * eta, np.maximum(excess.max(axis=-1), 0.0), 0.0)


def advanced_epsilon(epsilon: float, times: int, slack: float) -> float:
    """epsilon of k = `times` adaptive releases of `epsilon` each, with `slack` more delta than the sum of their deltas.

    epsilon sqrt(2 k ln(1/slack)) + k epsilon (e^epsilon - 1), as published; for few releases or large epsilon this is
    more than the plain sum k epsilon. epsilon: > 0, at most 700. slack: in (0, 1).

    Source: Dwork, Rothblum and Vadhan 2010, Theorem III.3 (constants explicit).

    >>> round(advanced_epsilon(0.01, times=1000, slack=1e-6), 4)
    1.7628
    """
    epsilon = positive("epsilon", epsilon)
    check_real("epsilon", epsilon, f"at most {_LARGEST_EXPONENT:g}", lambda v: v <= _LARGEST_EXPONENT)
    slack = check_real("slack", slack, "in (0, 1)", lambda v: 0 < v < 1)
    times = integer("times", times, at_least=1)
    return epsilon * math.sqrt(2.0 * times * -math.log(slack)) + times * epsilon * math.expm1(epsilon)


def advanced_step(budget: Budget, times: Array) -> Array:
    """Largest epsilon of one of `times` releases, [m], whose `advanced_epsilon` at slack delta is the budget's.

    The formula is convex and increasing, so Newton's steps from above never pass the root. Raises NotApplicable for
    delta = 0.

    >>> advanced_step(Budget(1.0, 1e-6), np.array([200.0])).round(5)
    array([0.01299])
    """
    total, k = budget.epsilon, np.asarray(times, float)
    spread = np.sqrt(2.0 * k * log_inverse(budget.delta))
    # Each term is at most the total, and e^each - 1 <= total / k where each >= 1.
    each = np.minimum(np.minimum(total / spread, np.sqrt(total / k)), np.maximum(1.0, np.log1p(total / k)))
    for _ in range(_MOST_STEPS):
        rise = spread + k * (np.expm1(each) + each * np.exp(each))
        step = (each * (spread + k * np.expm1(each)) - total) / rise
        each = each - step
        if np.all(np.abs(step) <= 1e-13 * each):
            break
    return each * (1 - SAFETY)
