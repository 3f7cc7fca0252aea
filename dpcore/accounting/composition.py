"""What many releases cost together where their noise is not all Gaussian: plain formulas, published and tight.

Gaussian noise composes exactly (`gaussian`: mu adds in squares); steps on random batches are in `subsampled_rdp`.
All functions take and return plain numbers. Where a root is sought, epsilon is rounded up, and rho and eta down.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc

from ..core.specification import Array, Budget, NotApplicable
from ..core.validation import check_real, integer, positive

# As in `gaussian`: formulas and root finding are good to about 1e-12 relative.
_SAFETY = 1e-9
_LARGEST_EXPONENT = 700.0
_MOST_STEPS = 60  # of Newton's method; half a dozen are usual


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The smallest epsilon that follows for rho-zCDP at `delta`, by any one Renyi divergence.

    inf over a > 1 of a rho + [ln(1/delta) + (a - 1) ln(1 - 1/a) - ln a] / (a - 1). In b = a - 1 its derivative is
    rho - (ln(1/delta) - ln(1 + b)) / b^2, which has one zero. Where delta covers the loss the answer is 1e-9.
    Raises NotApplicable for delta = 0.

    Source: Canonne, Kamath and Steinke 2020, Corollary 13 (constants explicit).

    >>> round(zcdp_epsilon(0.5, 1e-6), 4)
    5.2215
    """
    rho, surprise = positive("rho", rho), _surprise(delta)
    # ln(1 + b) is between 0 and b, which brackets the zero of rho b^2 - surprise + ln(1 + b).
    low, high = 2.0 * surprise / (1.0 + math.sqrt(1.0 + 4.0 * rho * surprise)), math.sqrt(surprise / rho)

    def slope(log_b: float) -> float:
        b = math.exp(log_b)
        return rho * b * b - surprise + math.log1p(b)

    b = math.exp(brentq(slope, math.log(low) - 1e-6, math.log(high) + 1e-6, xtol=1e-13))
    # At any b this is a valid epsilon: an error of the root costs tightness, not privacy.
    epsilon = (1.0 + b) * rho + (surprise - math.log1p(b)) / b - math.log1p(1.0 / b)
    return max(epsilon, 0.0) * (1 + _SAFETY) + _SAFETY


def zcdp_delta(rho: float, epsilon: Array) -> Array:
    """The smallest delta that follows for rho-zCDP at each epsilon >= 0, [e], by any one Renyi divergence.

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
    """The largest rho whose zCDP makes `budget`; the inverse of `zcdp_epsilon`.

    At the best order 1 + b: rho = (ln(1/delta) - ln(1 + b)) / b^2 and epsilon = (1 + 2 b) rho - ln(1 + 1/b), which
    falls in b. Raises NotApplicable for delta = 0.

    >>> round(zcdp_rho(Budget(1.0, 1e-6)), 6), round(zcdp_rho_by_hand(Budget(1.0, 1e-6)), 6)
    (0.024356, 0.017469)
    """
    surprise = _surprise(budget.delta)

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
    return rho(math.exp(brentq(above, low, high, xtol=1e-13))) * (1 - _SAFETY)


def zcdp_rho_by_hand(budget: Budget) -> float:
    """A rho that anyone can check on paper: (sqrt(L + epsilon) - sqrt(L))^2 with L = ln(1/delta).

    It solves rho + 2 sqrt(rho L) = epsilon, which `zcdp_epsilon` only improves on. Raises NotApplicable for delta = 0.

    Source: Bun and Steinke 2016, Proposition 1.3 (constants explicit).

    >>> round(zcdp_rho_by_hand(Budget(1.0, 1e-6)), 6)
    0.017469
    """
    surprise = _surprise(budget.delta)
    return (budget.epsilon / (math.sqrt(surprise + budget.epsilon) + math.sqrt(surprise))) ** 2


def zcdp_attack_limit(rho: float) -> float:
    """How often the best attacker at 50:50 tells neighbours apart under rho-zCDP: at most (1 + TV) / 2.

    At the order 1 the divergence is KL <= rho, and TV <= min{sqrt(KL / 2), sqrt(1 - exp(-KL))} by Pinsker and by
    Bretagnolle and Huber.

    >>> zcdp_attack_limit(0.02), round(zcdp_attack_limit(2.0), 6)
    (0.55, 0.964937)
    """
    rho = positive("rho", rho)
    return 0.5 + 0.5 * min(math.sqrt(rho / 2.0), math.sqrt(-math.expm1(-rho)))


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
    """The largest eta that `times` adaptive bounded-range choices may use: max(epsilon / k, sqrt(8 rho / k)).

    An eta-bounded-range choice is eta-DP, so basic composition holds beside zCDP and wins for few choices; for
    delta = 0 it is all there is.

    >>> round(bounded_range_eta(Budget(1.0, 1e-6), times=100), 5)
    0.04414
    """
    basic = budget.epsilon / integer("times", times, at_least=1)
    return basic if budget.pure else max(basic, math.sqrt(8.0 * zcdp_rho(budget) / times))


def bounded_range_attack_limit(eta: float, times: int = 1) -> float:
    """How often the best attacker at 50:50 tells neighbours apart by k = `times` such choices: at most (1 + TV) / 2.

    `varied_range_attack_limit` for ranges that are all eta.

    >>> round(bounded_range_attack_limit(1.0), 6), round(bounded_range_attack_limit(0.1, times=100), 6)
    (0.622459, 0.625)
    """
    times, eta = integer("times", times, at_least=1), positive("eta", eta)
    return varied_range_attack_limit(times * eta, math.sqrt(times) * eta)


def varied_range_attack_limit(total: float, root: float) -> float:
    """The same for adaptive choices whose ranges add up to s = `total`, and whose squares to r^2 = `root`^2.

    TV <= tanh(s / 4), attained for one choice: TV is the mean under Q of (P/Q - 1)_+, convex in a ratio of mean 1 in
    [u, u e^s], so two values make it largest, (1 - u) (u e^s - 1) / (u (e^s - 1)), and u = exp(-s/2) makes that
    tanh(s/4). Sums over independent choices have the range s. For adaptive ones that is not proved here: their exact
    optimum (`adaptive_bounded_range`) stayed below it in every case of a wide grid (docs/formulas.md). Besides, all are
    (r^2 / 8)-zCDP (`bounded_range_rho`).

    Source: derived here (constants explicit).

    >>> round(varied_range_attack_limit(1.0, 1.0), 6)
    0.622459
    """
    basic = math.tanh(positive("total", total) / 4.0)
    return min(0.5 + 0.5 * basic, zcdp_attack_limit(positive("root", root) ** 2 / 8.0))


def repeated_choice_delta(eta: float, times: int, epsilon: Array) -> Array:
    """The smallest delta at each epsilon >= 0 for k = `times` independent draws from one choice of range eta.

    Of all pairs whose log-ratios lie in [t - eta, t], the one with two outcomes, of probabilities p, 1 - p against
    q, 1 - q with p = e^t q and 1 - p = e^(t - eta) (1 - q), can be turned into any other (its ratio is largest in
    convex order), and so can its k-fold product. Events {at least j of k} are its best, so that delta is the largest of
        f_j(t) = P(Bin(k, p) >= j) - e^epsilon P(Bin(k, q) >= j)
    over j and over t in [0, eta]. As p' = e^(2t - eta) q' and q' < 0, f_j'(t) has the sign of
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
    # Beyond k eta nothing is left.
    odds = np.exp(np.minimum(e, min(k * eta, _LARGEST_EXPONENT)))
    excess = betainc(j, k - j + 1, p) - odds * betainc(j, k - j + 1, q)
    return np.where(e[..., 0] < k * eta, np.maximum(excess.max(axis=-1), 0.0), 0.0)


def basic_epsilon(epsilon: float, times: int) -> float:
    """epsilon of `times` releases of `epsilon` each: they add, and so do their deltas.

    >>> basic_epsilon(0.25, times=8)
    2.0
    """
    return integer("times", times, at_least=1) * positive("epsilon", epsilon)


def advanced_epsilon(epsilon: float, times: int, slack: float) -> float:
    """epsilon of `times` adaptive releases of `epsilon` each, beside the sum of their deltas and a further `slack`.

    epsilon sqrt(2 k ln(1/slack)) + k epsilon (e^epsilon - 1), as published: more than `basic_epsilon` for few releases
    or large epsilon. epsilon: > 0, at most 700. slack: in (0, 1).

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
    """The largest epsilon of each of `times` releases, [m], whose `advanced_epsilon` at slack delta is the budget's.

    The formula is convex and rises, so that Newton's steps from above never pass the root. Raises NotApplicable for
    delta = 0.

    >>> advanced_step(Budget(1.0, 1e-6), np.array([200.0])).round(5)
    array([0.01299])
    """
    total, k = budget.epsilon, np.asarray(times, float)
    spread = np.sqrt(2.0 * k * _surprise(budget.delta))
    # Each term alone is at most the total; and e^each - 1 <= total / k where each >= 1.
    each = np.minimum(np.minimum(total / spread, np.sqrt(total / k)), np.maximum(1.0, np.log1p(total / k)))
    for _ in range(_MOST_STEPS):
        rise = spread + k * (np.expm1(each) + each * np.exp(each))
        step = (each * (spread + k * np.expm1(each)) - total) / rise
        each = each - step
        if np.all(np.abs(step) <= 1e-13 * each):
            break
    return each * (1 - _SAFETY)


def lecture_multiplier(n: int, budget: Budget) -> float:
    """Noise of the lecture's Algorithm 3 over n L, one record's largest part of its gradient: n^2 steps on one record.

    sqrt(32 ln(n/delta) ln(1/delta)) / epsilon. Its argument subsamples a step of epsilon / (2 sqrt(ln(1/delta))) by
    Lemma 3, which is stated for losses below 1: refused beyond. The argument has gaps (docs/errata.md); what the scale
    really costs is `subsampled_rdp.subsampled_epsilon`. Raises NotApplicable for delta = 0.

    Source: Kamath's lecture on private empirical risk minimisation, Algorithm 3 (constants explicit).

    >>> round(lecture_multiplier(2000, Budget(1.0, 1 / 2000**2)), 1)
    105.3
    """
    n, surprise = integer("n", n, at_least=2), _surprise(budget.delta)
    largest = 2.0 * math.sqrt(surprise)
    if budget.epsilon >= largest:
        raise NotApplicable(
            f"the lecture's noise needs epsilon < 2 sqrt(ln(1/delta)) = {largest:.4g}, got epsilon = {budget.epsilon:g}"
        )
    return math.sqrt(32.0 * (math.log(n) + surprise) * surprise) / budget.epsilon


def lecture_subsampled_epsilon(epsilon: float, rate: float) -> float:
    """The lecture's price of an epsilon-DP step that sees a random share `rate` of the records: 2 rate epsilon.

    Stated for epsilon < 1 and for pure privacy only. Raises NotApplicable for epsilon >= 1.

    Source: Kamath's lecture on private empirical risk minimisation, Lemma 3 (constants explicit).

    >>> lecture_subsampled_epsilon(0.5, rate=0.01)
    0.01
    """
    epsilon = positive("epsilon", epsilon)
    rate = check_real("rate", rate, "in (0, 1]", lambda v: 0 < v <= 1)
    if epsilon >= 1.0:
        raise NotApplicable(f"the lecture's Lemma 3 needs epsilon < 1, got epsilon = {epsilon:g}")
    return 2.0 * rate * epsilon


def _surprise(delta: float) -> float:
    """ln(1/delta)."""
    delta = check_real("delta", delta, "in [0, 1)", lambda v: 0 <= v < 1)
    if delta == 0.0:
        raise NotApplicable("this composition needs delta > 0, got delta = 0")
    return -math.log(delta)
