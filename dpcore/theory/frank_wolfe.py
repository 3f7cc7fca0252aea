"""Bounds and rates of Frank-Wolfe: of many passes, private or not, on trees of gradients, and of one pass."""

import math
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.privacy import Budget


def frank_wolfe_bound(start: float, curvature: float, selection: Array | float, T: Array | float) -> Any:
    """E F(theta_T) - min F <= [2 h + 2 Gamma (T - 1)] / (T (T + 1)) + s (1 - 2 / (T (T + 1))).

    theta_{t+1} = (1 - mu_t) theta_t + mu_t s_t with mu_t = 2 / (t + 2), t = 1, ..., T - 1; s_t is a point of the set
    with E <grad F(theta_t), s_t> at most s = `selection` above the smallest. start: h >= F(theta_1) - min F. curvature:
    Gamma >= d' (Hessian) d for every difference d of two points of the set. By convexity and curvature
        h_{t+1} <= (1 - mu_t) h_t + mu_t s + (mu_t^2 / 2) Gamma.
    Times (t + 1) (t + 2) and summed, where (1 - mu_t) (t + 1) (t + 2) = t (t + 1) and mu_t^2 (t + 1) (t + 2) / 2 <= 2:
        T (T + 1) h_T <= 2 h_1 + 2 Gamma (T - 1) + s sum_{t<T} 2 (t + 1), and the last sum is T (T + 1) - 2.

    Source: Talwar, Thakurta and Zhang 2015, Theorem 2.3 and its proof; constants derived here (explicit).

    >>> round(frank_wolfe_bound(1.0, 8.0, 0.0, T=100), 4)
    0.157
    """
    ends = T * (T + 1.0)
    return (2.0 * start + 2.0 * curvature * (T - 1.0)) / ends + selection * (1.0 - 2.0 / ends)


def published_frank_wolfe_steps(curvature: float, extent: float, n: int, epsilon: float) -> float:
    """T of Theorem 2.5 of Talwar, Thakurta and Zhang 2015, (Gamma n epsilon / extent)^(2/3), as a real number.

    extent: L1 ||C||_1, the largest |<v, grad of a record's loss>| over the vertices v.

    >>> round(published_frank_wolfe_steps(8.0, 4.0, 10_000, 1.0), 1)
    736.8
    """
    return (curvature * n * epsilon / extent) ** (2.0 / 3.0)


def published_width_rate(curvature: float, extent: float, n: int, budget: Budget) -> float:
    """Theorem 2.6 of Talwar, Thakurta and Zhang 2015 as published, shape only; needs delta > 0.

    Gamma^(1/3) (L2 G)^(2/3) ln(n/delta)^2 / (n epsilon)^(2/3). extent: L2 G, the largest gradient of a record in L2
    times the Gaussian width of the set.

    >>> round(published_width_rate(8.0, 100.0, 10_000, Budget(1.0, 1e-8)), 2)
    70.87
    """
    return (
        curvature ** (1.0 / 3.0)
        * extent ** (2.0 / 3.0)
        * math.log(n / budget.delta) ** 2
        / (n * budget.epsilon) ** (2.0 / 3.0)
    )


def tuned_frank_wolfe_bound(curvature: float, A: float) -> float:
    """min over real T > 0 of 2 Gamma / T + A sqrt(T) = 3 (Gamma / 2)^(1/3) A^(2/3), about 2.381 Gamma^(1/3) A^(2/3).

    At each T >= 2 the sum is at least `frank_wolfe_bound` without its h, for s = A sqrt(T - 1): noise that composes by
    zCDP has A = (extent / n) ln|S| sqrt(2 / rho). The derivative -2 Gamma / T^2 + A / (2 sqrt(T)) vanishes at
    T* = (4 Gamma / A)^(2/3), where the second term is twice the first.

    Source: derived here for Talwar, Thakurta and Zhang 2015, Theorem 2.5 (constants explicit).

    >>> round(tuned_frank_wolfe_bound(8.0, 0.027), 4)
    0.4286
    """
    return 3.0 * (0.5 * curvature) ** (1.0 / 3.0) * A ** (2.0 / 3.0)


def published_frank_wolfe_rate(curvature: float, extent: float, n: int, vertices: int, budget: Budget) -> float:
    """Theorem 2.5 of Talwar, Thakurta and Zhang 2015 as published, shape only; for delta > 0.

    Gamma^(1/3) extent^(2/3) ln(n |S|) sqrt(ln(1/delta)) / (n epsilon)^(2/3). extent: as in
    `published_frank_wolfe_steps`. vertices: |S|, how many.

    >>> round(published_frank_wolfe_rate(8.0, 4.0, 10_000, 400, Budget(1.0, 1e-8)), 4)
    0.7084
    """
    scale = curvature ** (1.0 / 3.0) * (extent / (n * budget.epsilon)) ** (2.0 / 3.0)
    return scale * math.log(n * vertices) * math.sqrt(-math.log(budget.delta))


def published_lasso_rate(n: int, p: int, budget: Budget) -> float:
    """Theorem 1.1 of Talwar, Thakurta and Zhang 2015 as published, shape only; for delta > 0.

    ln(n p) sqrt(ln(1/delta)) / (n epsilon)^(2/3): Theorem 2.5 for squared loss on the unit L1 ball, ||x||_inf <= 1.

    >>> round(published_lasso_rate(10_000, 200, Budget(1.0, 1e-8)), 4)
    0.1342
    """
    return math.log(n * p) * math.sqrt(-math.log(budget.delta)) / (n * budget.epsilon) ** (2.0 / 3.0)


def published_lasso_corollary(n: int, p: int, budget: Budget) -> float:
    """Corollary 2.7 of Talwar, Thakurta and Zhang 2015 as published, shape only; for delta > 0.

    ln(n p / delta) / (n epsilon)^(2/3). It does not follow from Theorem 2.5: ln(n p) sqrt(ln(1/delta)) exceeds every
    multiple of ln(n p) + ln(1/delta) where both are large. It does follow for T* of `tuned_frank_wolfe_bound`, whose
    (ln|S|)^(2/3) ln(1/delta)^(1/3) is at most ln(|S| / delta).

    >>> round(published_lasso_corollary(10_000, 200, Budget(1.0, 1e-8)), 4)
    0.0709
    """
    return (math.log(n * p) - math.log(budget.delta)) / (n * budget.epsilon) ** (2.0 / 3.0)


def tree_frank_wolfe_bound(
    diameter: float, L0: float, L1: float, between: float, *, T: int, b: int, kappa: float, noise: float,
    smooth: float = 1.0,
) -> float:  # fmt: skip
    """E F(x) - min F for Frank-Wolfe on trees of gradients (`solvers.frank_wolfe.tree`), K = 2^(T + 1) - 2 steps.

    2 L1 D^2 / (K + 1) + D sqrt(kappa (4 L0^2 + 16 B^2 D^2) / b)
        + D A / b min{sqrt(smooth (4 L0^2 + 16 T B^2 D^2)), 2 L0 + 4 T B D},  A = `noise`, B = `between`.

    diameter: D. L0, L1: a record's gradient is at most L0 in the dual norm and moves by at most L1 ||x - x'||. between:
    two records' gradients move at most 2 B ||x - x'|| apart, B <= L1. b: records of a root. kappa: the dual norm is
    kappa-regular. noise: A, where a release of sensitivity s carries noise N with E ||N||_*^2 <= (A s)^2; smooth:
    E ||N_1 + ... + N_m||_*^2 <= smooth A^2 (s_1^2 + ... + s_m^2) for those of a path, 1 for Gaussian noise and kappa_+
    for generalised Gaussian noise.

    Steps: with e the error of an estimate at its leaf, g_{tau+1} <= (1 - eta) g_tau + eta D E ||e||_* + eta^2 L1 D^2/2.
    Times (tau + 1) (tau + 2) and summed, for eta = 2 / (tau + 2):
        K (K + 1) g_K <= D max E ||e||_* sum 2 (tau + 1) + 2 L1 D^2 K, and the sum is K (K + 1).
    Records: e is a sum of martingale differences along the path to the leaf. Each of b records of the root adds at most
    2 L0 / b. A node at depth j is at most 2 D 2^-j from its parent, so each of its b 2^-j records adds at most
    4 B D / b: these are b 2^-j (4 B D / b)^2 together, and 16 B^2 D^2 / b over all depths. kappa-regularity sums
    such squares.
    Noise: sensitivities are 2 L0 / b at a root and at most 4 B D / b at each of at most T nodes below it. A triangle
    inequality gives the second form. First form: if noise of a size that depends on the past is smaller, so is every
    convex function's mean (for Gaussian noise, the rest of the variance is further noise of mean 0); for generalised
    Gaussian noise ||.||_+^2 adds up along martingale differences, up to kappa_+.

    Source: derived here for Bassily, Guzmán and Nandi 2021, Algorithm 1 (constants explicit).

    >>> round(tree_frank_wolfe_bound(2.0, 1.0, 0.25, 0.25, T=3, b=4_160, kappa=1.0, noise=0.0), 4)
    0.221
    """
    D = diameter
    records = math.sqrt(kappa / b) * math.hypot(2.0 * L0, 4.0 * between * D)
    along = math.sqrt(smooth) * math.hypot(2.0 * L0, 4.0 * math.sqrt(T) * between * D)
    private = noise / b * min(along, 2.0 * L0 + 4.0 * T * between * D)
    return 2.0 * L1 * D * (D / (2.0 ** (T + 1) - 1.0)) + D * (records + private)


def published_tree_rate(diameter: float, L0: float, kappa: float, d: int, n: int, budget: Budget) -> float:
    """Theorem 5.2 of Bassily, Guzmán and Nandi 2021, shape only; for delta > 0.

    L0 D [sqrt(kappa / n) + kappa sqrt(d ln(1/delta)) / (n epsilon)], without the logarithms of n and of the failure
    probability, and without L1 D in place of L0 where it is larger.

    >>> round(published_tree_rate(2.0, 1.0, 2.0, 100, 10_000, Budget(1.0, 1e-6)), 4)
    0.0432
    """
    private = kappa * math.sqrt(-d * math.log(budget.delta)) / (n * budget.epsilon)
    return L0 * diameter * (math.sqrt(kappa / n) + private)


def constant_steps_bound(start: float, curvature: float, step: Any, choices: Any, worse: Any) -> Any:
    """(1 - eta)^k h + (1 - (1 - eta)^k) [s + eta Gamma / 2] after k = `choices` steps of length eta = `step`.

    theta_{t+1} = (1 - eta) theta_t + eta v_t in a set over which d' (Hessian) d <= Gamma = `curvature` for every
    difference d of two points; v_t is a point of the set with E <grad F(theta_t), v_t> at most s_t above the smallest.
    By convexity and curvature h_{t+1} <= (1 - eta) h_t + eta s_t + (eta^2 / 2) Gamma. start: h >= F(theta_0) - min F.
    worse: s, the mean of the s_t with weights in proportion to (1 - eta)^(k - 1 - t). Arrays go through.

    Source: derived here for Bassily, Guzmán and Nandi 2021, Algorithm 2 (constants explicit).

    >>> round(constant_steps_bound(1.0, 1.0, 0.1, 20, 0.05), 4)
    0.2094
    """
    left = (1.0 - step) ** choices
    return left * start + (1.0 - left) * (worse + 0.5 * step * curvature)


def estimate_range(variance: Any, vertices: float) -> Any:
    """E [max_v e_v - min_v e_v] <= 2 sqrt(2 sigma^2 ln J) over J = `vertices` scores with proxy sigma^2 = `variance`.

    E exp(u e_v) <= exp(u^2 sigma^2 / 2) for all u, which Hoeffding's lemma gives for sums of martingale differences
    that lie in intervals of length 2 c_i each, with sigma^2 = sum c_i^2. Then E max_v e_v <= ln J / u + u sigma^2 / 2
    for every u > 0, and the same for -e_v.

    With J / beta in the place of J it is exceeded with a probability of at most beta. So is a mean of such ranges with
    weights w: Z = 2 S (mean of e_v / sigma and of -e_v / sigma with weights w sigma / S), S = sum w sigma, has
    E exp(u Z) <= J exp(2 u^2 S^2), since exp is convex, and P(Z > a) <= J exp(-a^2 / (8 S^2)).

    Source: Hoeffding 1963 and the maximal inequality derived above (constants explicit).

    >>> float(round(estimate_range(0.01, 200), 4))
    0.651
    """
    return 2.0 * np.sqrt(2.0 * variance * math.log(vertices))


def published_polyhedral_rate(extent: float, curvature: float, n: int, vertices: int, budget: Budget) -> float:
    """Theorem 6.3 of Bassily, Guzmán and Nandi 2021, shape only; for delta > 0.

    (L0 D + L1 D^2) ln J ln n sqrt(ln(1/delta)) / (epsilon sqrt(n)). The theorem's own formulas are not at hand: the
    logarithms are those that the algorithm's noise leads to. extent: L0 D. curvature: L1 D^2.

    >>> round(published_polyhedral_rate(1.0, 1.0, 10_000, 200, Budget(1.0, 1e-6)), 3)
    3.628
    """
    logs = math.log(vertices) * math.log(n) * math.sqrt(-math.log(budget.delta))
    return (extent + curvature) * logs / (budget.epsilon * math.sqrt(n))
