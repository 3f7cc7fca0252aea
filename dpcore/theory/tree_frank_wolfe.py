"""Bounds and rates of methods for l_p balls that read each record once."""

from __future__ import annotations

import math

from ..core.privacy import Budget


def tree_frank_wolfe_bound(
    diameter: float,
    L0: float,
    L1: float,
    *,
    T: int,
    b: int,
    kappa: float,
    noise: float,
    smooth: float = 1.0,
) -> float:
    """E F(x) - min F for Frank-Wolfe on trees of gradients (`solvers.frank_wolfe.tree`), K = 2^(T + 1) - 2 steps.

    2 L1 D^2 / (K + 1) + D sqrt(kappa (4 L0^2 + 16 L1^2 D^2) / b)
        + D A / b min{sqrt(smooth (4 L0^2 + 16 T L1^2 D^2)), 2 L0 + 4 T L1 D},  A = `noise`.

    diameter: D. L0, L1: a record's gradient is at most L0 in the dual norm and moves by at most L1 ||x - x'||. b:
    records of a root. kappa: the dual norm is kappa-regular. noise: A, where a release of sensitivity s carries noise N
    with E ||N||_*^2 <= (A s)^2; smooth: E ||N_1 + ... + N_m||_*^2 <= smooth A^2 (s_1^2 + ... + s_m^2) for those of a
    path, 1 for Gaussian noise and kappa_+ for generalised Gaussian noise.

    Steps: with e the error of an estimate at its leaf, g_{tau+1} <= (1 - eta) g_tau + eta D E ||e||_* + eta^2 L1 D^2/2.
    Times (tau + 1) (tau + 2) and summed, for eta = 2 / (tau + 2):
        K (K + 1) g_K <= D max E ||e||_* sum 2 (tau + 1) + 2 L1 D^2 K, and the sum is K (K + 1).
    Records: e is a sum of martingale differences along the path to the leaf. Each of b records of the root adds at most
    2 L0 / b. A node at depth j is at most 2 D 2^-j from its parent, so each of its b 2^-j records adds at most
    4 L1 D / b: these are b 2^-j (4 L1 D / b)^2 together, and 16 L1^2 D^2 / b over all depths. kappa-regularity sums
    such squares.
    Noise: sensitivities are 2 L0 / b at a root and at most 4 L1 D / b at each of at most T nodes below it. A triangle
    inequality gives the second form. First form: if noise of a size that depends on the past is smaller, so is every
    convex function's mean (for Gaussian noise, the rest of the variance is further noise of mean 0); for generalised
    Gaussian noise ||.||_+^2 adds up along martingale differences, up to kappa_+.

    Source: derived here for Bassily, Guzman and Nandi 2021, Algorithm 1 (constants explicit).

    >>> round(tree_frank_wolfe_bound(2.0, 1.0, 0.25, T=3, b=4_160, kappa=1.0, noise=0.0), 4)
    0.221
    """
    D = diameter
    records = math.sqrt(kappa / b) * math.hypot(2.0 * L0, 4.0 * L1 * D)
    along = math.sqrt(smooth) * math.hypot(2.0 * L0, 4.0 * math.sqrt(T) * L1 * D)
    private = noise / b * min(along, 2.0 * L0 + 4.0 * T * L1 * D)
    return 2.0 * L1 * D * (D / (2.0 ** (T + 1) - 1.0)) + D * (records + private)


def published_tree_rate(diameter: float, L0: float, kappa: float, d: int, n: int, budget: Budget) -> float:
    """Theorem 5.2 of Bassily, Guzman and Nandi 2021, shape only; for delta > 0.

    L0 D [sqrt(kappa / n) + kappa sqrt(d ln(1/delta)) / (n epsilon)], without the logarithms of n and of the failure
    probability, and without L1 D in place of L0 where it is larger.

    >>> round(published_tree_rate(2.0, 1.0, 2.0, 100, 10_000, Budget(1.0, 1e-6)), 4)
    0.0432
    """
    private = kappa * math.sqrt(-d * math.log(budget.delta)) / (n * budget.epsilon)
    return L0 * diameter * (math.sqrt(kappa / n) + private)
