"""Risk bounds with explicit constants, as plain formulas of public quantities.

F is the average loss, J adds (lam/2) ||theta||^2, theta_hat minimises J, and B = `theta_norm` is a public guess of
||theta_ref||. docs/formulas.md holds the derivations.
"""

from __future__ import annotations

import math

from .types import Budget


def gaussian_noise_excess(L: float, smoothness: float, R: float, scale: float) -> float:
    """E F(theta + b) - F(theta) for b ~ N(0, scale^2 I) and any theta: min{L s R sqrt(2/pi), (c/2) s^2 R^2}.

    The second form needs the zero-mean linear term of b only, so it holds at every theta, not just at a minimiser.
    smoothness: c >= 0, inf where the loss is not smooth.

    Source: Jain and Thakurta 2014, Theorem 1; constants derived in docs/formulas.md (explicit).

    >>> round(gaussian_noise_excess(1.0, 0.25, 1.0, 0.1), 6)
    0.00125
    """
    lipschitz_form = L * scale * R * math.sqrt(2.0 / math.pi)
    return min(lipschitz_form, 0.5 * smoothness * (scale * R) ** 2)


def regularisation_bias(lam: float, theta_norm: float, tol: float = 0.0) -> float:
    """F(theta) - F(theta_ref) <= (lam/2) B^2 + tol^2 / (2 lam) for ||grad J(theta)|| <= tol and ||theta_ref|| <= B.

    >>> regularisation_bias(0.02, 10.0)
    1.0
    """
    return 0.5 * lam * theta_norm**2 + 0.5 * tol**2 / lam


def published_output_rate(L: float, R: float, n: int, theta_norm: float, budget: Budget) -> float:
    """Theorem 1 of Jain and Thakurta 2014 as printed, shape only.

    L R B sqrt(ln(1/delta) + epsilon) / (epsilon sqrt(n)).

    >>> round(published_output_rate(1.0, 1.0, 10_000, 1.0, Budget(1.0, 1e-6)), 4)
    0.0385
    """
    root = math.sqrt(math.log(1.0 / budget.delta) + budget.epsilon)
    return L * R * theta_norm * root / (budget.epsilon * math.sqrt(n))
