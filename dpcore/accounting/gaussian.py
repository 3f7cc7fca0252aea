"""What noise costs, and what an attacker can still do.

A release with L2 sensitivity D and Gaussian noise of standard deviation s is exactly mu-GDP with mu = D / s:
its trade-off curve is that of telling N(0, 1) from N(mu, 1) (Dong, Roth and Su 2022). All functions take and
return plain floats; calibration rounds to the safe side (mu down, so noise up).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.optimize import brentq
from scipy.special import erfcx, gammainccinv, gammaincinv, log_ndtr, ndtr

from ..core.specification import Array, Budget, NotApplicable
from ..core.validation import positive

# Formulas and root finding are good to about 1e-12 relative; this margin puts every answer on the private side.
_SAFETY = 1e-9
# Below this, delta is no longer a normal number to compare with.
_SMALLEST_DELTA = 1e-300
# (at least so many degrees, nodes) for errors below 2e-8 in means of losses. Few degrees of freedom reach close to 0,
# where such a mean is least smooth in the size: 1e-6 for 2 degrees.
_CHI_NODES = (30, 6), (16, 8), (9, 12), (1, 60)


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


_nodes, _weights = np.polynomial.legendre.leggauss(12)
_UNIT_NODES, _UNIT_WEIGHTS = (1.0 + _nodes) / 2.0, _weights / 2.0


def gaussian_mu(budget: Budget) -> float:
    """The largest mu whose Gaussian noise is (epsilon, delta)-private; noise multiplier = 1 / mu.

    Source: Balle and Wang 2018 (analytic Gaussian mechanism), any epsilon > 0.
    Raises NotApplicable for delta = 0 (Gaussian noise is never pure) and for delta < 1e-300.

    >>> round(1 / gaussian_mu(Budget(1.0, 1e-5)), 3)
    3.731
    """
    _check_delta(budget.delta)
    # In logarithms: a plain difference would be blind to a tiny delta.
    target = math.log(budget.delta)

    def above(log_mu: float) -> float:
        return max(_log_hockey_stick(budget.epsilon, math.exp(log_mu)), -1e6) - target

    low = high = 0.0
    while above(high) < 0.0:
        high += 1.0
    while above(low) > 0.0:
        low -= 1.0
    return math.exp(brentq(above, low, high, xtol=1e-13, rtol=1e-13)) * (1 - _SAFETY)


def _check_delta(delta: float) -> None:
    if delta <= 0.0:
        raise NotApplicable("Gaussian noise needs delta > 0, got delta = 0")
    if delta < _SMALLEST_DELTA:
        raise NotApplicable(f"Gaussian noise needs delta >= {_SMALLEST_DELTA:g}, got delta = {delta:g}")


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon for which mu-GDP is (epsilon, delta)-private; the inverse of `gaussian_mu`.

    Where delta alone covers the noise the answer is 1e-9, the smallest budget that is told from none.
    Raises NotApplicable for delta = 0.

    >>> round(gaussian_epsilon(gaussian_mu(Budget(1.0, 1e-5)), 1e-5), 6)
    1.0
    """
    positive("mu", mu)
    if delta <= 0.0:
        raise NotApplicable(f"Gaussian noise needs delta > 0, got delta = {delta}")
    if hockey_stick(0.0, mu) <= delta:
        return _SAFETY
    high = 1.0
    while hockey_stick(high, mu) > delta:
        high *= 2.0
    root = brentq(lambda e: hockey_stick(e, mu) - delta, 0.0, high, xtol=1e-12, rtol=1e-12)
    return root * (1 + _SAFETY) + _SAFETY


def published_multiplier(budget: Budget) -> float:
    """s / Delta of Jain and Thakurta 2014, Theorem 1: 2 sqrt(ln(1/delta) + epsilon) / epsilon. Valid for every epsilon.

    >>> round(published_multiplier(Budget(1.0, 1e-5)), 3)
    7.075
    """
    _check_delta(budget.delta)
    return 2.0 * math.sqrt(-math.log(budget.delta) + budget.epsilon) / budget.epsilon


def classical_multiplier(budget: Budget) -> float:
    """s / Delta of the textbook Gaussian mechanism, sqrt(2 ln(1.25/delta)) / epsilon; a theorem for epsilon < 1 only.

    Source: Dwork and Roth 2014, Theorem A.1. Raises NotApplicable for epsilon >= 1 and for delta = 0.

    >>> round(classical_multiplier(Budget(0.5, 1e-5)), 3)
    9.69
    """
    _check_delta(budget.delta)
    if budget.epsilon >= 1.0:
        raise NotApplicable(
            f"the classical Gaussian mechanism is proved for epsilon < 1 only, got epsilon = {budget.epsilon:g}; "
            "the tight accounting has no such limit"
        )
    return math.sqrt(2.0 * (math.log(1.25) - math.log(budget.delta))) / budget.epsilon


@functools.lru_cache(maxsize=256)
def chi_quadrature(degrees: int) -> tuple[Array, Array]:
    """Gauss nodes and weights for the law of sqrt(V), V ~ chi^2_degrees: E f(sqrt(V)) = weights @ f(nodes).

    The Gauss rule of the density, by Lanczos iteration on a fine discretisation. Gamma-norm noise is Gaussian noise of
    a random size sqrt(V) (docs/formulas.md), so its exact means and its attacker are Gaussian ones averaged over V.

    >>> nodes, weights = chi_quadrature(9)
    >>> round(float(weights @ nodes**2), 9)
    9.0
    """
    low, high = np.sqrt(2.0 * gammaincinv(0.5 * degrees, 1e-18)), np.sqrt(2.0 * gammainccinv(0.5 * degrees, 1e-18))
    x, w = np.polynomial.legendre.leggauss(600)
    s = low + (high - low) * (x + 1.0) / 2.0
    log_density = (degrees - 1) * np.log(s) - 0.5 * s**2
    w = w * np.exp(log_density - log_density.max())
    v = np.sqrt(w / w.sum())
    basis, diagonal, off = [v], [], []
    for _ in range(next(nodes for least, nodes in _CHI_NODES if degrees >= least)):
        u = s * basis[-1]
        diagonal.append(float(u @ basis[-1]))
        for b in basis + basis:  # twice: orthogonal to rounding
            u = u - (u @ b) * b
        off.append(float(np.linalg.norm(u)))
        basis.append(u / off[-1])
    nodes, vectors = eigh_tridiagonal(diagonal, off[:-1])
    return nodes, vectors[0] ** 2


# Of a polytope that holds the difference v of two records' gradients: how many vertices, and their length as a share
# of the longest.
Vertices = tuple[tuple[int, float], ...]


def objective_delta(epsilon: float, mu: float, jacobian: float, vertices: Vertices) -> float:
    """delta of objective perturbation with Gaussian noise at any real epsilon: an upper bound, and a loose one.

    mu = D / s with s the noise of the sum of gradients and D the most that replacing a record moves it. jacobian: J,
    how far it moves the logarithm of the Hessian's determinant, charged once. vertices: of the polytope that holds
    every difference v of two records' gradients, whatever theta is; the longest has length D.

    With e = epsilon - J the privacy loss exceeds epsilon only where t = (2 <b, v> + ||v||^2) / 2 s^2 > e. t is convex
    in v and (1 - e^(e - t))_+ grows in t, so the mean is at most its sum over the vertices, H(e; ||v|| / s) each.

    Source: derived here for Jain and Thakurta 2014, section 4 (constants explicit, docs/formulas.md).

    >>> one_sided = linear_vertices(one_sided=True)
    >>> objective_delta(1.0, 0.2, 0.05, one_sided) < 1e-6 < objective_delta(1.0, 0.25, 0.05, one_sided)
    True
    """
    e = epsilon - jacobian
    return min(1.0, sum(n * hockey_stick(e, share * mu) for n, share in vertices))


def linear_vertices(*, one_sided: bool) -> Vertices:
    """For losses of a linear prediction: v = l'(z) x - l'(z') x' lies in a parallelogram, D = 2 L R.

    one_sided: l' <= 0 in the margin (classification losses), so that one record's gradient has one sign. Then the
    vertices are 0, two of length <= L R and one of length <= 2 L R. Else they are +-L (x - x') and +-L (x + x'), whose
    squared lengths add up to at most (2 L R)^2 in pairs: the shorter is at most D / sqrt(2).
    """
    if one_sided:
        return (1, 0.0), (2, 0.5), (1, 1.0)
    return (2, math.sqrt(0.5)), (2, 1.0)


@functools.lru_cache(maxsize=32)
def class_vertices(classes: int) -> Vertices:
    """For the large-margin loss of C classes: v = g (x) X - g' (x) X', D = sqrt(2) C max ||X||.

    g = sum_{c != y} s_c (e_y - e_c) with slopes s_c in [0, 1], so a vertex is a set S of other classes for each of the
    two records, of j and k classes: ||g||^2 = j (j + 1). With y' in S or not (a = 1, 0), y in S' or not (b), and o
    other classes in both, <g, g'> = o - a k - b j. Since <X, X'> >= 0, ||v||^2 is at most
    j (j + 1) + k (k + 1) + 2 max(a k + b j - o, 0). Records with equal labels have <g, g'> >= 0 and shorter v.

    >>> class_vertices(2) == linear_vertices(one_sided=True)
    True
    >>> sum(count for count, _ in class_vertices(10)) == 2**18
    True
    """
    others, counts = classes - 2, Counter[int]()
    for a, b in itertools.product((0, 1), repeat=2):
        for left, right in itertools.product(range(others + 1), repeat=2):
            j, k = left + a, right + b
            for o in range(max(0, left + right - others), min(left, right) + 1):
                square = j * (j + 1) + k * (k + 1) + 2 * max(a * k + b * j - o, 0)
                counts[square] += math.comb(others, left) * math.comb(left, o) * math.comb(others - left, right - o)
    return tuple((count, math.sqrt(square / 2.0) / classes) for square, count in sorted(counts.items()))


@functools.lru_cache(maxsize=4096)
def objective_mu(budget: Budget, jacobian: float, vertices: Vertices) -> float:
    """The largest mu with `objective_delta` <= delta at epsilon > jacobian.

    Raises NotApplicable for delta = 0 and for delta < 1e-300.

    >>> round(objective_mu(Budget(1.0, 1e-6), 0.05, linear_vertices(one_sided=True)), 4)
    0.2257
    """
    _check_delta(budget.delta)

    def above(log_mu: float) -> float:
        delta = objective_delta(budget.epsilon, math.exp(log_mu), jacobian, vertices)
        return math.log(max(delta, _SMALLEST_DELTA / 10.0)) - math.log(budget.delta)

    # The bound is at least H(e; mu), so the mu of the Gaussian mechanism at e is too large.
    high = math.log(gaussian_mu(Budget(budget.epsilon - jacobian, budget.delta))) + 1e-6
    low = high - 0.1
    while above(low) > 0.0:
        low -= 1.0
    return math.exp(brentq(above, low, high, xtol=1e-12)) * (1 - _SAFETY)


def objective_epsilon(mu: float, delta: float, jacobian: float, vertices: Vertices) -> float:
    """The smallest epsilon >= jacobian with `objective_delta` <= delta; the inverse of `objective_mu`.

    >>> mu = objective_mu(Budget(1.0, 1e-6), 0.05, class_vertices(3))
    >>> round(objective_epsilon(mu, 1e-6, 0.05, class_vertices(3)), 6)
    1.0
    """

    def above(epsilon: float) -> float:
        return objective_delta(epsilon, mu, jacobian, vertices) - delta

    if above(jacobian) <= 0.0:
        return jacobian + _SAFETY
    high = jacobian + 1.0
    while above(high) > 0.0:
        high += high
    return brentq(above, jacobian, high, xtol=1e-12, rtol=1e-12) * (1 + _SAFETY) + _SAFETY


def attack_cap(budget: Budget) -> float:
    """How often any attacker can be right at 50:50 against *any* (epsilon, delta)-private mechanism.

    "Your record, or another in its place?": (e^epsilon + delta) / (1 + e^epsilon).

    >>> [round(100 * attack_cap(Budget(e)), 1) for e in (0.5, 1.0, 4.0)]
    [62.2, 73.1, 98.2]
    """
    return min(1.0, (1.0 + budget.delta * math.exp(-budget.epsilon)) / (1.0 + math.exp(-budget.epsilon)))


def gaussian_attack_limit(mu: float) -> float:
    """How often the best attacker is right at 50:50 against mu-GDP noise: Phi(mu / 2), attained by a threshold.

    >>> [round(100 * gaussian_attack_limit(gaussian_mu(Budget(e, 1e-5))), 1) for e in (0.5, 1.0, 2.0)]
    [52.8, 55.3, 59.9]
    """
    return float(ndtr(positive("mu", mu) / 2.0))
