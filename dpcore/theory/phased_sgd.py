"""Phased stochastic gradient descent: its phases, its bound with every constant, and published rates."""

from __future__ import annotations

import math

from ..core.privacy import Budget


def phase_sizes(n: int) -> tuple[int, ...]:
    """Records in each phase: floor(n / 2^i), i = 1, 2, ..., as long as there is one; together fewer than n.

    >>> phase_sizes(10), phase_sizes(2)
    ((5, 2, 1), (1,))
    """
    return tuple(n >> i for i in range(1, n.bit_length()))


def replaced_share(size: int) -> float:
    """How much of the largest move of an iterate is left in the mean of the size + 1 iterates of a phase.

    The first iterate has seen no record, so that a record moves at most `size` of them.

    >>> replaced_share(4)
    0.8
    """
    return size / (size + 1.0)


def phased_terms(distance: float, d: int, multiplier: float, sizes: tuple[int, ...]) -> tuple[float, float]:
    """A and b in E F(x_k) - min F <= L (A / u + b u), u = L eta, for independent records.

    Phase i = 1, ..., k starts at x_{i-1} and takes m_i = sizes[i - 1] steps of eta_i = eta / 4^i on fresh records;
    xbar_i is the mean of its N_i = m_i + 1 iterates and x_i = Proj(xbar_i + N(0, s_i^2 I_d)), with
    s_i = L eta_i c_i and c_i = 2 `multiplier` m_i / N_i. L: a bound on the L2 norm of gradients. distance: D, a bound
    on ||x_0 - x*||_2.

    For a point y that does not depend on the records of phase i, projected stochastic gradient descent has
    E F(xbar_i) - F(y) <= E ||x_{i-1} - y||^2 / (2 eta_i N_i) + eta_i L^2 / 2: the proof takes a record for the last
    iterate too, but the iterates do not. Take y = x* in phase 1 and y = xbar_{i-1} later, which is at most
    sqrt(d) s_{i-1} from x_{i-1} in root mean square, projections bringing points together. Then sum:
        F(x_k) - F(x*) = [F(x_k) - F(xbar_k)] + sum_i [F(xbar_i) - F(xbar_{i-1})],  xbar_0 = x*.
    The first bracket is at most L sqrt(d) s_k on average. Divided by L, with eta_{i-1}^2 / eta_i = 16 eta / 4^i:
        A = 2 D^2 / N_1,
        b = (1/2) sum_i 4^-i + 8 d sum_{i>1} c_{i-1}^2 / (4^i N_i) + sqrt(d) c_k / 4^k.
    Nothing asks for a power of two: rounding n / 2^i down only changes N_i.

    Source: Feldman, Koren and Talwar 2020, Theorem 4.4 and its proof; constants derived here (explicit).

    >>> A, b = phased_terms(1.0, d=1, multiplier=0.0, sizes=phase_sizes(1024))
    >>> round(A * 1024, 2), round(b, 4)
    (3.99, 0.1667)
    """
    c = [2.0 * multiplier * replaced_share(size) for size in sizes]
    b = 0.0
    for i, size in enumerate(sizes, start=1):
        before = 16.0 * c[i - 2] ** 2 / (size + 1.0) if i > 1 else 0.0
        b += 0.5 * (1.0 + d * before) / 4.0**i
    return 2.0 * distance**2 / (sizes[0] + 1.0), b + math.sqrt(d) * c[-1] / 4.0 ** len(sizes)


def phased_bound(
    L: float, distance: float, d: int, multiplier: float, sizes: tuple[int, ...], eta: float, *, jump: float = 0.0
) -> float:
    """L (A / u + b u) of `phased_terms` at u = L eta.

    jump: by how much the slope of the loss in the prediction z jumps at its kink, on records of norm at most R = L: 1
    for hinge loss, 2 for absolute loss. Such a loss l is run on its mean over predictions that move uniformly within
    w = jump eta R^2 / 16. That mean is l + [0, jump w / 4], as steep as l, and its second derivative is at most
    jump / (2 w), so that gradients are 8 / eta smooth: no step is too long, and jump^2 L u / 64 comes on top.

    >>> round(phased_bound(1.0, 1.0, 10, 4.0, phase_sizes(4096), eta=0.0352), 4)
    0.0554
    """
    A, b = phased_terms(distance, d, multiplier, sizes)
    u = L * eta
    return L * (A / u + (b + jump**2 / 64.0) * u)


def longest_phased_step(smoothness: float) -> float:
    """8 / smoothness: the largest eta of which no step, eta / 4 and less, brings two models further apart.

    >>> longest_phased_step(0.25)
    32.0
    """
    return 8.0 / smoothness


def kink_width(eta: float, reach: float, jump: float) -> float:
    """w = jump eta R^2 / 16 of `phased_bound`, in the prediction; reach: R, a bound on ||x||_2.

    >>> kink_width(0.5, reach=2.0, jump=1.0)
    0.125
    """
    return jump * eta * reach**2 / 16.0


def best_phased_step(
    L: float,
    smoothness: float,
    distance: float,
    d: int,
    multiplier: float,
    sizes: tuple[int, ...],
    *,
    jump: float = 0.0,
) -> float:
    """The eta that minimises `phased_bound`, or 8 / smoothness where that is less; with a jump no step is too long.

    >>> round(best_phased_step(1.0, 0.25, 1.0, 10, 4.0, phase_sizes(4096)), 4)
    0.0352
    """
    A, b = phased_terms(distance, d, multiplier, sizes)
    best = math.sqrt(A / (b + jump**2 / 64.0)) / L
    return best if jump else min(best, longest_phased_step(smoothness))


def published_phased_rate(L: float, diameter: float, p_norm: float, d: int, n: int, budget: Budget) -> float:
    """Propositions 7.1 and 7.3 of Bassily, Guzman and Nandi 2021, shape only; for p_norm from 2 to inf, delta > 0.

    L D d^(1/2 - 1/p_norm) (1 / sqrt(n) + sqrt(d ln(1/delta)) / (n epsilon)): that of the Euclidean ball around the set.
    diameter: D, in the norm of order p_norm.

    >>> round(published_phased_rate(1.0, 2.0, 2.0, 100, 10_000, Budget(1.0, 1e-6)), 4)
    0.0274
    """
    private = math.sqrt(-d * math.log(budget.delta)) / (n * budget.epsilon)
    return L * diameter * d ** (0.5 - 1.0 / p_norm) * (1.0 / math.sqrt(n) + private)


def non_private_rate(L: float, diameter: float, p_norm: float, d: int, n: int) -> float:
    """What no algorithm beats, private or not, shape only: L D d^(1/2 - 1/p_norm) / sqrt(n), for d <= n.

    L D sqrt(d / n) on the box. Beyond d = n it is L D n^(-1/p_norm), the order that mirror descent reaches; the
    smaller of the two is given.

    Source: Agarwal, Bartlett, Ravikumar and Wainwright 2012, as cited by Bassily, Guzman and Nandi 2021, Section 7.

    >>> non_private_rate(1.0, 2.0, float("inf"), d=100, n=10_000)
    0.2
    """
    return L * diameter * min(d ** (0.5 - 1.0 / p_norm) / math.sqrt(n), n ** (-1.0 / p_norm))
