"""High-probability bounds of learners that read each record once: an excess risk that few runs exceed.

Every function takes t > 0, and what it returns is exceeded with a probability of at most e^-t for each event that it
names. Proofs: docs/formulas.md, "Bounds that hold in most runs".
"""

import math

from scipy.special import chdtri

from ..core.arrays import Array

BETA = 0.05  # share of runs that may exceed a high-probability bound
MOST_RUNS = f"in {1.0 - BETA:.0%} of runs; "


def martingale_tail(kappa: float, order: float, squares: float, t: float) -> float:
    """Bound on ||xi_1 + ... + xi_m||_*: sqrt(squares) [sqrt(kappa) + sqrt(2 t kappa / kappa_+)], kappa_+ = order - 1.

    xi_i: martingale differences with ||xi_i||_* <= B_i. squares: the sum of the B_i^2. kappa, order: as in
    `core.sets.Regularity` of the norm ||.||_*. Also for a weighted mean of the lengths of several such sums.

    Source: derived here for Bassily, Guzmán and Nandi 2021, Lemma 4.1 (constants explicit); the paper quotes Juditsky
    and Nemirovski 2008.

    >>> martingale_tail(1.0, 2.0, 4.0, 0.5)
    4.0
    """
    return math.sqrt(squares) * (math.sqrt(kappa) + math.sqrt(2.0 * t * kappa / (order - 1.0)))


def tree_frank_wolfe_tail(
    diameter: float, L0: float, L1: float, between: float, *, T: int, b: int, kappa: float, order: float,
    length: float, slope: float, gaussian: bool, t: float,
) -> float:  # fmt: skip
    """Bound on F(x) - min F where `tree_frank_wolfe_bound` bounds the mean; two events, of the records and the noise.

    length: sqrt(E ||N||_*^2) of the noise N for a sensitivity of 1, or a bound on it. slope: such noise has a length of
    at most length + slope sqrt(2 t); for `gaussian` noise in all, else node by node.

    Source: derived here for Bassily, Guzmán and Nandi 2021, Theorem 5.2 (constants explicit).

    >>> shape = {"T": 3, "b": 4_160, "kappa": 1.0, "order": 2.0, "length": 0.0, "slope": 0.0, "gaussian": True}
    >>> round(tree_frank_wolfe_tail(2.0, 1.0, 0.25, 0.25, **shape, t=3.0), 4)
    0.4359
    """
    D = diameter
    records = martingale_tail(kappa, order, (4.0 * L0**2 + 16.0 * (between * D) ** 2) / b, t)
    along = math.hypot(2.0 * L0, 4.0 * math.sqrt(T) * between * D)
    mean = length * (along if gaussian else 2.0 * L0 + 4.0 * T * between * D)
    noise = (mean + slope * along * math.sqrt(2.0 * t)) / b
    return 2.0 * L1 * D * (D / (2.0 ** (T + 1) - 1.0)) + D * (records + noise)


def exponential_tail(shares: Array, t: float) -> float:
    """Bound on c_1 E_1 + ... + c_m E_m for standard exponential E_i: sum c + sqrt(2 t sum c^2) + t max c, c = `shares`.

    Also for E_i that are at most so large given the earlier ones, such as what a choice by the exponential mechanism
    with scale 1 among J vertices loses beyond ln J.

    >>> import numpy as np
    >>> exponential_tail(np.array([0.5, 0.5]), 1.0)
    2.5
    """
    return float(shares.sum() + math.sqrt(2.0 * t * float(shares @ shares)) + t * shares.max())


def phased_tail(
    L: float,
    distance: float,
    d: int,
    multiplier: float,
    sizes: tuple[int, ...],
    eta: float,
    *,
    jump: float,
    beta: float,
) -> float:
    """Bound on F(x_k) - min F that at most `beta` of the runs exceed where `phased_bound` bounds the mean.

    With u_i = L eta / 4^i, N_i, s_i and the jump as there, t = ln(2 / beta), w_0 = D, w_i the length that
    N(0, s_i^2 I_d) exceeds with probability beta / 2^(i+1), and
    r_i^2 = min{4 D^2, w_{i-1}^2 + w_{i-1} u_i N_i + (u_i N_i)^2 / 3}, it is L times
        sum_i [w_{i-1}^2 / (2 u_i N_i) + u_i / 2] + sqrt(2 t sum_i r_i^2 / N_i) + w_k + jump^2 L eta / 64.

    Source: derived here for Bassily, Guzmán and Nandi 2021, Proposition 7.1 (constants explicit).

    >>> round(phased_tail(1.0, 1.0, 10, 4.0, (2048, 1024, 512, 256), eta=0.0352, jump=0.0, beta=0.05), 4)
    0.2685
    """
    away, squares, total = distance, 0.0, jump**2 * L * eta / 64.0
    for i, size in enumerate(sizes, start=1):
        u, N = L * eta / 4.0**i, size + 1.0
        total += away**2 / (2.0 * u * N) + 0.5 * u
        squares += min(4.0 * distance**2, away**2 + away * u * N + (u * N) ** 2 / 3.0) / N
        away = 2.0 * multiplier * size / N * u * math.sqrt(chdtri(d, beta / 2.0 ** (i + 1)))
    return L * (total + math.sqrt(2.0 * math.log(2.0 / beta) * squares) + away)
