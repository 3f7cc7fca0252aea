"""Privacy cost of Gaussian noise.

A release with L2 sensitivity D and Gaussian noise of standard deviation s is exactly mu-GDP with mu = D / s:
its trade-off curve is that of distinguishing N(0, 1) from N(mu, 1) (Dong, Roth and Su 2022). All functions take and
return plain floats; calibration rounds to the safe side (mu down, noise up).
"""

import functools
import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr

from ..core.arrays import Array
from ..core.privacy import Budget, NotApplicable
from ..core.validation import positive
from .common import SAFETY, check_delta, nearby_mu, smallest_epsilon


def hockey_stick(epsilon: float, mu: float) -> float:
    """delta(epsilon) of N(mu, 1) against N(0, 1): Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).

    epsilon: any real number. mu: >= 0.

    Source: Balle and Wang 2018, Theorem 8 (constants explicit).

    >>> round(hockey_stick(1.0, 1 / 3.730632), 9)
    1e-05
    """
    if mu <= 0.0:
        return -math.expm1(min(epsilon, 0.0))
    return math.exp(_log_hockey_stick(epsilon, mu))


def _log_hockey_stick(epsilon: float, mu: float) -> float:
    """ln of `hockey_stick`, with small relative error in delta however small delta, epsilon and mu are."""
    u, v = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if not math.isfinite(v):
        return -math.inf
    if epsilon >= 0.0 and mu < 1.0:
        # e^epsilon phi(v) = phi(u), so delta = phi(u) [M(u) - M(v)] with M = (1 - Phi) / phi. The two M nearly
        # cancel: integrate -M'(x) = 1 - x M(x) over [u, v] instead.
        x = u + (v - u) * _UNIT_NODES
        slope = float(_UNIT_WEIGHTS @ (1.0 - x * math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2.0)))) * mu
        return -0.5 * u * u - 0.5 * math.log(2 * math.pi) + math.log(slope) if slope > 0.0 else -math.inf
    a, b = log_ndtr(-u), epsilon + log_ndtr(-v)
    return a + math.log(-math.expm1(b - a)) if b < a else -math.inf


def hockey_sticks(epsilon: float, mus: Array) -> Array:
    """`hockey_stick` at each of mus [k] >= 0, at once where the same formula serves all; [k].

    >>> hockey_sticks(1.0, np.array([0.0, 1 / 3.730632])).round(9).tolist()
    [0.0, 1e-05]
    """
    if epsilon < 0.0 or mus.max() >= 1.0:
        return np.array([hockey_stick(epsilon, mu) for mu in mus.tolist()])
    found, seen = np.zeros(len(mus)), mus > epsilon / _FARTHEST
    mu = mus[seen]
    u = epsilon / mu - mu / 2
    x = u[:, None] + mu[:, None] * _UNIT_NODES  # as in `_log_hockey_stick`
    slopes = (1.0 - x * math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2.0))) @ _UNIT_WEIGHTS
    found[seen] = np.exp(-0.5 * u * u) / math.sqrt(2 * math.pi) * np.maximum(slopes, 0.0) * mu
    return found


_FARTHEST = 40.0  # standard deviations beyond which a normal density is less than any float
_nodes, _weights = np.polynomial.legendre.leggauss(12)
_UNIT_NODES, _UNIT_WEIGHTS = (1.0 + _nodes) / 2.0, _weights / 2.0


def gaussian_mu(budget: Budget) -> float:
    """Largest mu whose Gaussian noise is (epsilon, delta)-private; noise multiplier = 1 / mu.

    Source: Balle and Wang 2018 (analytic Gaussian mechanism), any epsilon > 0.
    Raises NotApplicable for delta = 0 (Gaussian noise is never pure) and for delta < 1e-300.

    >>> round(1 / gaussian_mu(Budget(1.0, 1e-5)), 3)
    3.731
    """
    check_delta(budget.delta)
    return _mu(budget)


@functools.lru_cache(maxsize=1_024)
def _mu(budget: Budget) -> float:
    # In logarithms: a plain difference would lose a tiny delta.
    target = math.log(budget.delta)

    def above(log_mu: float) -> float:
        return max(_log_hockey_stick(budget.epsilon, math.exp(log_mu)), -1e6) - target

    low = high = math.log(nearby_mu(budget.epsilon, budget.delta))
    while above(high) < 0.0:
        low, high = high, high + 0.2
    while above(low) > 0.0:
        low, high = low - 0.2, low
    return math.exp(brentq(above, low, high, xtol=1e-13, rtol=1e-13)) * (1 - SAFETY)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Smallest epsilon for which mu-GDP is (epsilon, delta)-private; the inverse of `gaussian_mu`.

    If delta alone suffices, the answer is 1e-9, the smallest budget that is distinguished from none. Raises
    NotApplicable for delta = 0.

    >>> round(gaussian_epsilon(gaussian_mu(Budget(1.0, 1e-5)), 1e-5), 6)
    1.0
    """
    positive("mu", mu)
    if delta <= 0.0:
        raise NotApplicable(f"Gaussian noise needs delta > 0, got delta = {delta}")
    return smallest_epsilon(lambda epsilon: hockey_stick(epsilon, mu), delta)


def published_multiplier(budget: Budget) -> float:
    """s / Delta of Jain and Thakurta 2014, Theorem 1: 2 sqrt(ln(1/delta) + epsilon) / epsilon. Valid for every epsilon.

    >>> round(published_multiplier(Budget(1.0, 1e-5)), 3)
    7.075
    """
    check_delta(budget.delta)
    return 2.0 * math.sqrt(-math.log(budget.delta) + budget.epsilon) / budget.epsilon


def classical_multiplier(budget: Budget) -> float:
    """s / Delta of the textbook Gaussian mechanism, sqrt(2 ln(1.25/delta)) / epsilon; a theorem for epsilon < 1 only.

    Source: Dwork and Roth 2014, Theorem A.1. Raises NotApplicable for epsilon >= 1 and for delta = 0.

    >>> round(classical_multiplier(Budget(0.5, 1e-5)), 3)
    9.69
    """
    check_delta(budget.delta)
    if budget.epsilon >= 1.0:
        raise NotApplicable(
            f"the classical Gaussian mechanism is proved for epsilon < 1 only, got epsilon = {budget.epsilon:g}; "
            "the tight accounting has no such limit"
        )
    return math.sqrt(2.0 * (math.log(1.25) - math.log(budget.delta))) / budget.epsilon
