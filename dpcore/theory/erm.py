"""Bounds and rates of noise on, or in, a regularised minimiser: output and objective perturbation."""

import math

from ..core.privacy import Bound, Budget, NoiseLaw


def noise_excess(slope: float, c: float, R: float, mean: float, square: float) -> float:
    """E F(theta + b) - F(theta) <= min{L R E|b_1|, (c/2) R^2 E b_1^2}, at any theta, for spherically symmetric b.

    slope: L over all of R, inf where there is none. c: curvature bound, inf where there is none. mean, square: E |b_1|
    and E b_1^2 of one coordinate. The second form needs E <grad F(theta), b> = 0 only, so it holds at every theta.

    Source: Jain and Thakurta 2014, Theorem 1; constants derived in docs/formulas.md (explicit).

    >>> round(noise_excess(1.0, 0.25, 1.0, 0.1 * math.sqrt(2 / math.pi), 0.01), 6)
    0.00125
    """
    return min(slope * R * mean, 0.5 * c * R**2 * square)


def linear_term_excess(lam: float, square: float) -> float:
    """E J(theta_b) - J* <= E ||b||^2 / (2 lam), theta_b the minimiser of J + <b, theta>; in every draw with ||b||^2.

    grad J(theta_b) = -b, and a lam-strongly convex J has J - J* <= ||grad J||^2 / (2 lam). square: E ||b||^2.

    >>> linear_term_excess(0.5, 0.01)
    0.01
    """
    return square / (2.0 * lam)


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
    """Largest mean excess of F on fresh records over F on the training records, at theta_hat: 2 (L R)^2 / (n lam).

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
    """Theorem 1 of Jain and Thakurta 2014 as published, shape only.

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
    """Theorem 2 of Jain and Thakurta 2014 as published, shape only.

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
