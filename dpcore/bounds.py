"""Risk bounds with explicit constants, as plain formulas of public quantities.

F is the average loss, J adds (lam/2) ||theta||^2, theta_hat minimises J, and B = `theta_norm` is a public guess of
||theta_ref||. docs/formulas.md holds the derivations.
"""

from __future__ import annotations

import math

from .checks import check_real
from .types import Bound, Budget, NoiseLaw


def noise_excess(slope: float, c: float, R: float, mean: float, square: float) -> float:
    """E F(theta + b) - F(theta) <= min{L R E|b_1|, (c/2) R^2 E b_1^2}, at any theta, for spherically symmetric b.

    slope: L over all of R, inf where there is none. c: curvature bound, inf where there is none. mean, square: E |b_1|
    and E b_1^2 of one coordinate. The second form needs E <grad F(theta), b> = 0 only, so it holds at every theta.

    Source: Jain and Thakurta 2014, Theorem 1; constants derived in docs/formulas.md (explicit).

    >>> round(noise_excess(1.0, 0.25, 1.0, 0.1 * math.sqrt(2 / math.pi), 0.01), 6)
    0.00125
    """
    return min(slope * R * mean, 0.5 * c * R**2 * square)


def regularisation_bias(lam: float, theta_norm: float, at_zero: float) -> float:
    """F(theta_hat) - F(theta_ref) <= min{(lam/2) B^2, l_0} for ||theta_ref|| <= B and losses >= 0.

    J(theta_hat) <= J(theta_ref) gives the first, F(theta_hat) <= J(theta_hat) <= J(0) the second. at_zero: l_0, the
    largest loss of the prediction 0.

    >>> regularisation_bias(0.01, 10.0, math.log(2)), round(regularisation_bias(1.0, 10.0, math.log(2)), 4)
    (0.5, 0.6931)
    """
    return min(0.5 * lam * theta_norm**2, at_zero)


def inexactness(slope: float, L: float, c: float, R: float, tol: float) -> float:
    """F(theta) - F(theta_hat) <= L R tol for ||theta - theta_hat|| <= tol.

    Where L holds at theta_hat only (slope = inf), (c/2) R^2 tol^2 more.
    """
    return L * R * tol + (0.0 if math.isfinite(slope) else 0.5 * c * (R * tol) ** 2)


def stability(L: float, R: float, n: int, lam: float) -> float:
    """How much F on fresh records may exceed F on the training records, on average, at theta_hat: 2 (L R)^2 / (n lam).

    Replacing one record moves theta_hat by at most 2 L R / (n lam), and the loss by L R times that (Bousquet and
    Elisseeff 2002).
    """
    return 2.0 * (L * R) ** 2 / (n * lam)


def published_lam(L: float, R: float, n: int, theta_norm: float) -> float:
    """lam of Theorem 1 of Jain and Thakurta 2014, L R / (B sqrt(n))."""
    return L * R / (theta_norm * math.sqrt(n))


def population_lam(L: float, R: float, n: int, theta_norm: float, mean: float) -> float:
    """The lam that minimises the population bound in its Lipschitz form, with scale E |b_1| = mean Delta.

    (2 mean + 2) (L R)^2 / (n lam) + (lam/2) B^2 is smallest at lam = L R sqrt(4 (mean + 1)) / (B sqrt(n)), where it is
    (2 L R B / sqrt(n)) sqrt(mean + 1).
    """
    return published_lam(L, R, n, theta_norm) * math.sqrt(4.0 * (mean + 1.0))


def rate(value: float, source: str, assumes: str) -> Bound:
    """An order of growth of the excess population risk: a shape without constants."""
    return Bound("excess_population_risk", "rate", value, "probability", source, assumes)


def published_output_rate(L: float, R: float, n: int, theta_norm: float, budget: Budget) -> float:
    """Theorem 1 of Jain and Thakurta 2014 as printed, shape only.

    L R B sqrt(ln(1/delta) + epsilon) / (epsilon sqrt(n)).

    >>> round(published_output_rate(1.0, 1.0, 10_000, 1.0, Budget(1.0, 1e-6)), 4)
    0.0385
    """
    root = math.sqrt(-math.log(budget.delta) + budget.epsilon)
    return L * R * theta_norm * root / (budget.epsilon * math.sqrt(n))


def earlier_output_rate(
    noise: NoiseLaw, L: float, c: float, R: float, n: int, p: int, theta_norm: float, budget: Budget
) -> tuple[Bound, ...]:
    """The rates that Jain and Thakurta 2014 improve on, as they print them; smooth losses only, shape only.

    gamma: L c^(1/3) p ln p (R B)^(4/3) / (epsilon sqrt(n)) (Chaudhuri, Monteleoni and Sarwate 2011).
    gaussian: L c^(1/3) sqrt(p (ln(1/delta) + epsilon)) (R B)^(4/3) / (epsilon sqrt(n)) (Kifer and others 2012).
    """
    if not math.isfinite(c):
        return ()
    shared = L * c ** (1 / 3) * (R * theta_norm) ** (4 / 3) / (budget.epsilon * math.sqrt(n))
    cited = "as cited by Jain and Thakurta 2014"
    if noise == "gamma":
        growth, source = p * math.log(p), f"Chaudhuri, Monteleoni and Sarwate 2011, {cited}"
    else:
        growth = math.sqrt(p * (-math.log(budget.delta) + budget.epsilon))
        source = f"Kifer, Smith and Thakurta 2012, {cited}"
    return (rate(shared * growth, source, f"a smooth loss, a population minimiser of norm {theta_norm:g}"),)


def published_objective_lam(L: float, R: float, n: int, theta_norm: float) -> float:
    """lam of Theorem 2 of Jain and Thakurta 2014 as stated, L R / sqrt(n (B^2 + 1))."""
    return L * R / math.sqrt(n * (theta_norm**2 + 1.0))


def published_objective_rate(L: float, R: float, n: int, theta_norm: float, budget: Budget) -> float:
    """Theorem 2 of Jain and Thakurta 2014 as printed, shape only.

    (ln n)^2 (L R)^2 B sqrt(ln(1/delta) + epsilon) / (epsilon sqrt(n)).
    """
    root = math.sqrt(-math.log(budget.delta) + budget.epsilon)
    return math.log(n) ** 2 * (L * R) ** 2 * theta_norm * root / (budget.epsilon * math.sqrt(n))


def earlier_objective_rate(
    noise: NoiseLaw, L: float, R: float, n: int, p: int, theta_norm: float, budget: Budget
) -> Bound:
    """The rates of objective perturbation that Jain and Thakurta 2014 improve on, as they print them; shape only.

    gamma: L R B p ln p / (epsilon sqrt(n)) (Chaudhuri, Monteleoni and Sarwate 2011).
    gaussian: L R B sqrt(p ln(1/delta)) / (epsilon sqrt(n)) (Kifer, Smith and Thakurta 2012).
    """
    if noise == "gamma":
        growth, source = p * math.log(p), "Chaudhuri, Monteleoni and Sarwate 2011"
    else:
        growth, source = math.sqrt(-p * math.log(budget.delta)), "Kifer, Smith and Thakurta 2012"
    value = L * R * theta_norm * growth / (budget.epsilon * math.sqrt(n))
    says = f"a population minimiser of norm {theta_norm:g}"
    return rate(value, f"{source}, as cited by Jain and Thakurta 2014", says)


def last_iterate_bound(diameter: float, G: float, steps: int) -> float:
    """E F(theta_T) - min F <= D G (2.5 + 1.5 ln T) / sqrt(T) after T = `steps` steps of eta_t = D / (G sqrt(t)).

    theta_t = Proj(theta_{t-1} - eta_t g_t) in a convex set of diameter D, from any theta_0; F is convex, E g_t is a
    subgradient and E ||g_t||^2 <= G^2. With c = D / G and any w in the set that is known before step s + 1, for t >= s
        E ||theta_{t+1} - w||^2 <= E ||theta_t - w||^2 - 2 eta_{t+1} E[F(theta_t) - F(w)] + eta_{t+1}^2 G^2.
    Divided by 2 eta_{t+1} and summed over t = s, ..., T - 1 with w = theta_s: for the mean S_k of the last k + 1 of
    E F(theta_0), ..., E F(theta_{T-1}), s = T - 1 - k,
        S_k - E F(theta_s) <= [D^2 / (2c) k / (k + 1) + c G^2] / sqrt(T),
    since sqrt(T) - sqrt(T - k) <= k / sqrt(T). As k S_{k-1} = (k + 1) S_k - E F(theta_s), each S_{k-1} - S_k is at most
    1/k of that. Summed over k = 1, ..., T - 1, with S_{T-1} - F* <= [D^2 / (2c) + c G^2] / sqrt(T):
        E F(theta_{T-1}) - F* <= [D^2 / (2c) (1 + ln T) + c G^2 (2 + ln T)] / sqrt(T),
    which is the value above, for one step less than T. It falls in T from T = 2 on and no excess exceeds D G, so it
    holds after T steps too. It is above D G, and says nothing, below T = 84.

    Source: Shamir and Zhang 2013, Theorem 2 (Theorem 2 of the lecture); constants derived here (explicit).

    >>> last_iterate_bound(2.0, 1.0, 1), round(last_iterate_bound(2.0, 1.0, 10_000), 4)
    (5.0, 0.3263)
    """
    return diameter * G * (2.5 + 1.5 * math.log(steps)) / math.sqrt(steps)


def averaged_bound(R0: float, G: float, steps: int) -> float:
    """E F(average) - min F <= (R0 G / sqrt(T)) (1 + 1 / (2T)) with T = `steps` steps of eta = R0 / (G sqrt(T)).

    As `last_iterate_bound`, with ||theta_0 - theta*|| <= R0. The sum over t = 0, ..., T - 1 with w = theta* gives
    R0^2 / (2 eta T) + eta G^2 / 2 = R0 G / sqrt(T) for the mean of theta_0, ..., theta_{T-1}. The mean of
    theta_1, ..., theta_T starts one step later, where E ||theta_1 - theta*||^2 <= R0^2 + eta^2 G^2 = R0^2 (1 + 1/T);
    the value holds for both.

    Source: Nemirovski and others 2009; constants derived here (explicit).

    >>> round(averaged_bound(1.0, 1.0, 100), 6)
    0.1005
    """
    return R0 * G / math.sqrt(steps) * (1.0 + 0.5 / steps)


def smooth_bound(R0: float, eta: float, steps: int, V: float, beta: float) -> float:
    """E F(mean of theta_1, ..., theta_T) - min F <= R0^2 / (2 eta T) + eta V / (2 (1 - eta beta)), T = `steps`.

    For a beta-smooth convex F, a constant step eta in (0, 1/beta), an unbiased estimate g = grad F(theta) + xi with
    E ||xi||^2 <= V (sampling and noise) and ||theta_0 - theta*|| <= R0. With theta' = Proj(theta - eta g) and
    d = theta' - theta, smoothness and convexity give
        F(theta') - F* <= <grad F(theta), theta' - theta*> + (beta/2) ||d||^2,
    the projection <g, theta' - theta*> <= [||theta - theta*||^2 - ||theta' - theta*||^2 - ||d||^2] / (2 eta), and
    -<xi, theta' - theta*> has the mean of
        -<xi, d> <= eta ||xi||^2 / (2 (1 - eta beta)) + (1 - eta beta) ||d||^2 / (2 eta):
    the terms in ||d||^2 cancel and the distances telescope.

    Source: derived here (explicit).

    >>> smooth_bound(1.0, 0.5, 100, V=0.02, beta=1.0)
    0.02
    """
    rule = f"in (0, 1/beta = {1.0 / beta:g})"
    eta = check_real("eta", eta, rule, lambda v: 0 < v < 1.0 / beta)
    return R0**2 / (2.0 * eta * steps) + eta * V / (2.0 * (1.0 - eta * beta))


def published_gradient_rate(G: float, n: int, p: int, theta_norm: float, budget: Budget) -> float:
    """B G sqrt(p ln(1/delta)) / (n epsilon), the order of private SGD without its logarithms; shape only.

    Source: Bassily, Smith and Thakurta 2014; the lecture's section "Private Stochastic Gradient Descent".

    >>> round(published_gradient_rate(1.0, 10_000, 4, 1.0, Budget(1.0, 1e-6)), 6)
    0.000743
    """
    return theta_norm * G * math.sqrt(p * -math.log(budget.delta)) / (n * budget.epsilon)
