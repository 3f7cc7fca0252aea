"""Bounds and rates of (noisy) gradient descent: the third door."""

from __future__ import annotations

import math

from ..core.privacy import Budget
from ..core.validation import check_real


def last_iterate_bound(diameter: float, G: float, steps: int) -> float:
    """E F(theta_T) - min F <= D G (2.1 + 0.75 ln T) / sqrt(T) after T = `steps` steps of eta_t = D / (G sqrt(t)).

    theta_t = Proj(theta_{t-1} - eta_t g_t) in a convex set of diameter D, from any theta_0; F is convex, E g_t is a
    subgradient and E ||g_t||^2 <= G^2. With any w in the set that is known before step s + 1, for t >= s
        E ||theta_{t+1} - w||^2 <= E ||theta_t - w||^2 - 2 eta_{t+1} E[F(theta_t) - F(w)] + eta_{t+1}^2 G^2.
    Let N be the steps taken, S_k the mean of the last k + 1 of E F(theta_0), ..., E F(theta_{N-1}) and s = N - 1 - k.
    Divided by 2 eta_{t+1} and summed over t = s, ..., N - 1 with w = theta_s,
        (k + 1) [S_k - E F(theta_s)] <= D G [(1/2) (sqrt(N) - sqrt(N - k)) + sqrt(N) - sqrt(N - k - 1)].
    The left side is k (k + 1) (S_{k-1} - S_k). As sqrt(N) - sqrt(N - j) = (j / sqrt(N)) f(j / N) with
    f(x) = 1 / (1 + sqrt(1 - x)),
        S_{k-1} - S_k <= (D G / sqrt(N)) [f(k/N) / (2 (k + 1)) + f((k + 1)/N) / k];
    and S_{N-1} - F* <= (3/2) D G / sqrt(N), with w = theta*. Now sum over k = 1, ..., N - 1. f(x) = 1/2 + x g(x), where
    g rises from 1/8 to 1/2 and int_0^1 g = ln 2 - 1/2, so that sum_{j=2}^N g(j/N) / N <= ln 2 - 1/2 + 1/(4N). With
    H = sum_{j<N} 1/j <= ln N + gamma the two sums are at most
        (1/2) [(H + 1/N - 1) / 2 + ln 2 - 1/2 + 1/(4N)]  and  H / 2 + ln 2 - 1/2 + 1/(4N) + H / (2N).
    Altogether E F(theta_{N-1}) - F* <= D G [1.973 + 0.75 ln N + (0.914 + 0.5 ln N) / N] / sqrt(N). For N >= 20 the last
    term is below 0.127; with N = T + 1, and since the value above falls in T, it holds from T = 19 on. Before, it is
    above D G, which no excess exceeds.

    Source: Shamir and Zhang 2013, Theorem 2 (Theorem 2 of the lecture); constants derived here (explicit).

    >>> last_iterate_bound(2.0, 1.0, 1), round(last_iterate_bound(2.0, 1.0, 10_000), 4)
    (4.2, 0.1802)
    """
    return diameter * G * (2.1 + 0.75 * math.log(steps)) / math.sqrt(steps)


def averaged_bound(R0: float, eta: float, steps: int, G: float, first: int = 1) -> float:
    """E F(mean of theta_first, ..., theta_T) - min F <= (R0^2 + f (eta G)^2) / (2 eta N) + eta G^2 / 2, T = `steps`.

    As `last_iterate_bound`, with a constant step eta > 0, ||theta_0 - theta*|| <= R0, f = first and N = T - f + 1. The
    sum over t = f, ..., T with w = theta* gives E ||theta_f - theta*||^2 / (2 eta N) + eta G^2 / 2, and each of the
    first f steps adds at most (eta G)^2 to R0^2. For the mean of all, eta = R0 / (G sqrt(T)) makes it
    (R0 G / sqrt(T)) (1 + 1 / (2T)).

    Source: Nemirovski and others 2009; constants derived here (explicit).

    >>> round(averaged_bound(1.0, 0.1, 100, G=1.0), 6)
    0.1005
    """
    counted, moved = steps - first + 1, eta * G
    return (R0**2 + first * moved**2) / (2.0 * eta * counted) + 0.5 * eta * G**2


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
