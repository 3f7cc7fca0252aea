"""Privacy cost of Gaussian noise in the objective, with the determinant of its change of variables."""

import functools
import itertools
import math
from collections import Counter

import numpy as np
from scipy.optimize import brentq

from ..core.arrays import Array
from ..core.privacy import Budget
from .common import SAFETY, SMALLEST_DELTA, check_delta, nearby_mu, smallest_epsilon
from .gaussian import hockey_stick, hockey_sticks

# Vertices of a polytope that holds the difference v of two records' gradients: number, and length as a share of the
# longest.
Vertices = tuple[tuple[int, float], ...]

_MANY = 6  # vertices that are faster at once than one by one


def objective_delta(epsilon: float, mu: float, jacobian: float, vertices: Vertices) -> float:
    """delta of objective perturbation with Gaussian noise at any real epsilon: an upper bound, and a loose one.

    mu = D / s, with s the noise of the sum of gradients and D the largest change of that sum when a record is replaced.
    jacobian: omega, the largest change of ln det(Hessian), charged once. vertices: of a polytope that holds every
    difference v of two records' gradients at any theta; the longest has length D.

    It is the sum over the vertices of H(epsilon - omega; ||v|| / s), H as in `gaussian.hockey_stick`.

    Source: derived here for Jain and Thakurta 2014, section 4 (constants explicit, docs/formulas.md).

    >>> one_sided = linear_vertices(one_sided=True)
    >>> objective_delta(1.0, 0.2, 0.05, one_sided) < 1e-6 < objective_delta(1.0, 0.25, 0.05, one_sided)
    True
    """
    e = epsilon - jacobian
    if len(vertices) < _MANY:
        return min(1.0, sum(n * hockey_stick(e, share * mu) for n, share in vertices))
    counts, shares = _columns(vertices)
    return min(1.0, float(counts @ hockey_sticks(e, mu * shares)))


@functools.lru_cache(maxsize=64)
def _columns(vertices: Vertices) -> tuple[Array, Array]:
    """Numbers of the vertices and their lengths, [k] each."""
    counts, shares = np.array(vertices, float).T
    return counts, shares


def linear_vertices(*, one_sided: bool) -> Vertices:
    """Vertices for losses of a linear prediction: v = l'(z) x - l'(z') x' lies in a parallelogram, D = 2 L R.

    one_sided: l' <= 0 in the margin (classification losses), so that one record's gradient has one sign. Then the
    vertices are 0, two of length <= L R and one of length <= 2 L R. Else they are +-L (x - x') and +-L (x + x'), whose
    squared lengths add up to at most (2 L R)^2 in pairs: the shorter is at most D / sqrt(2).
    """
    if one_sided:
        return (1, 0.0), (2, 0.5), (1, 1.0)
    return (2, math.sqrt(0.5)), (2, 1.0)


@functools.lru_cache(maxsize=32)
def class_vertices(classes: int) -> Vertices:
    """Vertices for the large-margin loss of C classes: v = g (x) X - g' (x) X', D = sqrt(2) C max ||X||.

    A vertex is a set of other classes for each of the two records (docs/formulas.md, "The repaired mechanism"): of j
    and of k classes, the other record's class among them or not (a, b = 1, 0), with o further classes in both.

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
    """Largest mu with `objective_delta` <= delta at epsilon > jacobian.

    Raises NotApplicable for delta = 0 and for delta < 1e-300.

    >>> round(objective_mu(Budget(1.0, 1e-6), 0.05, linear_vertices(one_sided=True)), 4)
    0.2257
    """
    check_delta(budget.delta)

    @functools.cache
    def above(log_mu: float) -> float:
        delta = objective_delta(budget.epsilon, math.exp(log_mu), jacobian, vertices)
        return math.log(max(delta, SMALLEST_DELTA / 10.0)) - math.log(budget.delta)

    low = high = math.log(nearby_mu(budget.epsilon - jacobian, budget.delta))
    while above(low) > 0.0:
        low, high = low - 0.2, low
    while above(high) < 0.0:
        low, high = high, high + 0.2
    return math.exp(brentq(above, low, high, xtol=1e-12)) * (1 - SAFETY)


def objective_epsilon(mu: float, delta: float, jacobian: float, vertices: Vertices) -> float:
    """Smallest epsilon >= jacobian with `objective_delta` <= delta; the inverse of `objective_mu`.

    >>> mu = objective_mu(Budget(1.0, 1e-6), 0.05, class_vertices(3))
    >>> round(objective_epsilon(mu, 1e-6, 0.05, class_vertices(3)), 6)
    1.0
    """
    return smallest_epsilon(lambda epsilon: objective_delta(epsilon, mu, jacobian, vertices), delta, jacobian)
