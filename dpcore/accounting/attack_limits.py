"""Limits on attack success at 50:50, from a mechanism's guarantee."""

import math

from scipy.special import ndtr

from ..core.privacy import Budget
from ..core.validation import integer, positive


def attack_cap(budget: Budget) -> float:
    """Largest attack success at 50:50 against *any* (epsilon, delta)-private mechanism.

    The attacker guesses whether your record or a substitute was used: (e^epsilon + delta) / (1 + e^epsilon).

    >>> [round(100 * attack_cap(Budget(e)), 1) for e in (0.5, 1.0, 4.0)]
    [62.2, 73.1, 98.2]
    """
    return min(1.0, (1.0 + budget.delta * math.exp(-budget.epsilon)) / (1.0 + math.exp(-budget.epsilon)))


def gaussian_attack_limit(mu: float) -> float:
    """Attack success at 50:50 of the best attacker against mu-GDP noise: Phi(mu / 2), attained by a threshold.

    >>> from dpcore.accounting.gaussian import gaussian_mu
    >>> [round(100 * gaussian_attack_limit(gaussian_mu(Budget(e, 1e-5))), 1) for e in (0.5, 1.0, 2.0)]
    [52.8, 55.3, 59.9]
    """
    return float(ndtr(positive("mu", mu) / 2.0))


def zcdp_attack_limit(rho: float) -> float:
    """Upper bound on attack success at 50:50 under rho-zCDP: (1 + TV) / 2.

    At the order 1 the divergence is KL <= rho, and TV <= min{sqrt(KL / 2), sqrt(1 - exp(-KL))} by Pinsker and by
    Bretagnolle and Huber.

    >>> zcdp_attack_limit(0.02), round(zcdp_attack_limit(2.0), 6)
    (0.55, 0.964937)
    """
    rho = positive("rho", rho)
    return 0.5 + 0.5 * min(math.sqrt(rho / 2.0), math.sqrt(-math.expm1(-rho)))


def bounded_range_attack_limit(eta: float, times: int = 1) -> float:
    """Upper bound on attack success at 50:50 from `times` choices of range eta: (1 + TV) / 2.

    `varied_range_attack_limit` for equal ranges.

    >>> round(bounded_range_attack_limit(1.0), 6), round(bounded_range_attack_limit(0.1, times=100), 6)
    (0.622459, 0.625)
    """
    times, eta = integer("times", times, at_least=1), positive("eta", eta)
    return varied_range_attack_limit(times * eta, math.sqrt(times) * eta)


def varied_range_attack_limit(total: float, root: float) -> float:
    """Upper bound on attack success at 50:50 from adaptive choices whose ranges have the given sum and L2 norm.

    It is (1 + TV) / 2. With s = `total`, the sum, and r = `root`, the L2 norm: TV <= tanh(s / 4) is
    attained for one choice and proved for independent ones; the exact optimum of adaptive ones stayed below it in every
    case tried. All choices are also (r^2 / 8)-zCDP (`bounded_range_rho`).

    Source: derived in docs/formulas.md, "Mixtures: the simplex" (constants explicit).

    >>> round(varied_range_attack_limit(1.0, 1.0), 6)
    0.622459
    """
    basic = math.tanh(positive("total", total) / 4.0)
    return min(0.5 + 0.5 * basic, zcdp_attack_limit(positive("root", root) ** 2 / 8.0))


def joint_attack_limit(*limits: float) -> float:
    """Upper bound on attack success at 50:50 after several adaptive releases, of each of which it has this one.

    1 - prod 2 (1 - limit) / 2: the two data sets give the same outputs with probability prod (1 - TV) at least.

    >>> round(joint_attack_limit(0.55, 0.6), 6), joint_attack_limit(0.75, 0.5), joint_attack_limit()
    (0.64, 0.75, 0.5)
    """
    return 1.0 - 0.5 * math.prod(2.0 * (1.0 - limit) for limit in limits)
