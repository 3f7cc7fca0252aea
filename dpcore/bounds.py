"""Risk bounds with explicit constants, as plain formulas of public quantities.

F is the average loss, J adds (lam/2) ||theta||^2, theta_hat minimises J, and B = `theta_norm` is a public guess of
||theta_ref||. docs/formulas.md holds the derivations.
"""

from __future__ import annotations

import math
from typing import Any

from .checks import check_real
from .types import Array, Bound, Budget, NoiseLaw, NotApplicable


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


def sampling_excess(L: float, c: float, R: float, m: int) -> float:
    """E F(mean of m vertices drawn with probabilities w) - F(radius w) <= min{L R / sqrt(m), c R^2 / (2m)}.

    On the simplex of size `radius`; R: the largest |x_j| times radius. The mean has the expectation radius w, and a
    prediction the variance of one draw's, at most R^2, over m.

    Source: Jain and Thakurta 2014, Theorem 4; constants derived here (explicit).

    >>> sampling_excess(1.0, 2.0, 1.0, 4), sampling_excess(1.0, 2.0, 1.0, 1)
    (0.25, 1.0)
    """
    return min(L * R / math.sqrt(m), 0.5 * c * R**2 / m)


def entropy_bias(lam: float, p: int) -> float:
    """F(radius w) - F(theta_ref) <= lam ln p for the w that minimises F(radius w) + lam sum_j w_j ln w_j.

    theta_ref: anywhere on the simplex. The sum lies between -ln p and 0.

    >>> round(entropy_bias(0.01, 100), 6)
    0.046052
    """
    return lam * math.log(p)


def published_sampling_lam(n: int, p: int, epsilon: float) -> float:
    """lam of Theorem 4 of Jain and Thakurta 2014, n^(2/3) / (epsilon ln p)^(1/3), for the average loss; p >= 2.

    >>> round(published_sampling_lam(1000, 100, 1.0), 6)
    0.060106
    """
    return n ** (-1.0 / 3.0) * (epsilon * math.log(p)) ** (-1.0 / 3.0)


def published_sampling_rate(LR: float, c: float, n: int, p: int, budget: Budget) -> float:
    """Theorem 4 of Jain and Thakurta 2014 as printed, shape only.

    (L R)^3 (1 + c) ln n ln p ln(1/delta) / (n epsilon)^(1/3), or ln n ln p / (sqrt(epsilon) n^(1/4)) for delta = 0.
    """
    growth = math.log(n) * math.log(p)
    if budget.pure:
        return growth / (math.sqrt(budget.epsilon) * n**0.25)
    return LR**3 * (1.0 + c) * growth * -math.log(budget.delta) / (n * budget.epsilon) ** (1.0 / 3.0)


def regret_bound(lam_sum: float, p: int, R: float, T: int) -> float:
    """E sum_t x_t(a_t) - min_j sum_t x_t(j) <= min{lam_sum ln p + T R^2 / (2 lam_sum), 2 R T}.

    For a_t ~ w_t ~ exp(-S_{t-1} / lam_sum), S_t the sum of the first t costs, |x_t| <= R. The potential
    -lam_sum ln sum_j exp(-S_t(j) / lam_sum) rises in step t by -lam_sum ln E exp(-x_t(a_t) / lam_sum), at least
    <w_t, x_t> - R^2 / (2 lam_sum) (Hoeffding's lemma: x_t(a_t) lies in an interval of length 2 R). It begins at
    -lam_sum ln p and ends at most at min_j S_T(j). This holds on every path, so x_t may depend on earlier arms.

    Source: Shalev-Shwartz 2011, Corollary 2.14; constants derived here (explicit).

    >>> regret_bound(10.0, 1, 1.0, 100), round(regret_bound(10.0, 8, 1.0, 100), 4)
    (5.0, 25.7944)
    """
    return min(lam_sum * math.log(p) + T * R**2 / (2.0 * lam_sum), 2.0 * R * T)


def regret_band(R: float, T: int, miss: float) -> float:
    """By how much one run's regret exceeds the sum of its steps' means with probability at most `miss`.

    R sqrt(2 T ln(1/miss)) (Azuma and Hoeffding: each step's cost lies in an interval of length 2 R).

    >>> round(regret_band(1.0, 200, 0.1), 4)
    30.3485
    """
    return R * math.sqrt(2.0 * T * -math.log(miss))


def published_stream_lam(T: int, p: int, R: float, budget: Budget) -> float:
    """lam of a sum above equation (12) of Jain and Thakurta 2014: R sqrt(8 T ln p ln(1/delta)) / epsilon.

    Raises NotApplicable for delta = 0 and for p = 1, where it is infinite or 0.
    """
    if budget.pure or p == 1:
        raise NotApplicable(f"the published lam needs delta > 0 and p >= 2, got delta = {budget.delta:g} and p = {p}")
    return R * math.sqrt(8.0 * T * math.log(p) * -math.log(budget.delta)) / budget.epsilon


def published_stream_rate(T: int, p: int, R: float, budget: Budget) -> float:
    """Equation (12) of Jain and Thakurta 2014 as printed, R sqrt(T ln p ln(1/delta)) / epsilon; shape only.

    With the lam above, costs (-R, R, ..., R) in every step have a regret of sqrt(8) ln p times that for large T.
    """
    return R * math.sqrt(T * math.log(p) * -math.log(budget.delta)) / budget.epsilon


def earlier_stream_rate(T: int, p: int, R: float, budget: Budget) -> float:
    """R sqrt(T p) / epsilon: private online learning before Jain and Thakurta 2014, as they cite it; shape only.

    Their poly(ln T) is left out. Source: Dwork, Naor, Pitassi and Rothblum 2010.
    """
    return R * math.sqrt(T * p) / budget.epsilon


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
    """Theorem 2.6 of Talwar, Thakurta and Zhang 2015 as printed, shape only; needs delta > 0.

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


def tuned_frank_wolfe_steps(curvature: float, A: float) -> float:
    """T* = (4 Gamma / A)^(2/3), which minimises 2 Gamma / T + A sqrt(T), as a real number.

    See `tuned_frank_wolfe_bound`.

    >>> round(tuned_frank_wolfe_steps(8.0, 0.027), 1)
    112.0
    """
    return (4.0 * curvature / A) ** (2.0 / 3.0)


def tuned_frank_wolfe_bound(curvature: float, A: float) -> float:
    """min over real T > 0 of 2 Gamma / T + A sqrt(T) = 3 (Gamma / 2)^(1/3) A^(2/3), about 2.381 Gamma^(1/3) A^(2/3).

    At each T >= 2 the sum is at least `frank_wolfe_bound` without its h, for s = A sqrt(T - 1): noise that composes by
    zCDP has A = (extent / n) ln|S| sqrt(2 / rho). The derivative -2 Gamma / T^2 + A / (2 sqrt(T)) vanishes at
    `tuned_frank_wolfe_steps`, where the second term is twice the first.

    Source: derived here for Talwar, Thakurta and Zhang 2015, Theorem 2.5 (constants explicit).

    >>> round(tuned_frank_wolfe_bound(8.0, 0.027), 4)
    0.4286
    """
    return 3.0 * (0.5 * curvature) ** (1.0 / 3.0) * A ** (2.0 / 3.0)


def published_frank_wolfe_rate(curvature: float, extent: float, n: int, corners: int, budget: Budget) -> float:
    """Theorem 2.5 of Talwar, Thakurta and Zhang 2015 as printed, shape only; for delta > 0.

    Gamma^(1/3) extent^(2/3) ln(n |S|) sqrt(ln(1/delta)) / (n epsilon)^(2/3). extent: as in
    `published_frank_wolfe_steps`. corners: |S|, how many vertices.

    >>> round(published_frank_wolfe_rate(8.0, 4.0, 10_000, 400, Budget(1.0, 1e-8)), 4)
    0.7084
    """
    scale = curvature ** (1.0 / 3.0) * (extent / (n * budget.epsilon)) ** (2.0 / 3.0)
    return scale * math.log(n * corners) * math.sqrt(-math.log(budget.delta))


def published_lasso_rate(n: int, p: int, budget: Budget) -> float:
    """Theorem 1.1 of Talwar, Thakurta and Zhang 2015 as printed, shape only; for delta > 0.

    ln(n p) sqrt(ln(1/delta)) / (n epsilon)^(2/3): Theorem 2.5 for squared loss on the unit L1 ball, ||x||_inf <= 1.

    >>> round(published_lasso_rate(10_000, 200, Budget(1.0, 1e-8)), 4)
    0.1342
    """
    return math.log(n * p) * math.sqrt(-math.log(budget.delta)) / (n * budget.epsilon) ** (2.0 / 3.0)


def published_lasso_corollary(n: int, p: int, budget: Budget) -> float:
    """Corollary 2.7 of Talwar, Thakurta and Zhang 2015 as printed, shape only; for delta > 0.

    ln(n p / delta) / (n epsilon)^(2/3). It does not follow from Theorem 2.5: ln(n p) sqrt(ln(1/delta)) exceeds every
    multiple of ln(n p) + ln(1/delta) where both are large. It does follow for T of `tuned_frank_wolfe_steps`, whose
    (ln|S|)^(2/3) ln(1/delta)^(1/3) is at most ln(|S| / delta).

    >>> round(published_lasso_corollary(10_000, 200, Budget(1.0, 1e-8)), 4)
    0.0709
    """
    return (math.log(n * p) - math.log(budget.delta)) / (n * budget.epsilon) ** (2.0 / 3.0)
