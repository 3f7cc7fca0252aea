"""Bounds and rates of (noisy) gradient descent with every constant; last in phases."""

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

    Source: Shamir and Zhang 2013, Theorem 2 (Theorem 2 of Kamath's lecture); constants derived here (explicit).

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

    Source: Bassily, Smith and Thakurta 2014; Kamath's section "Private Stochastic Gradient Descent".

    >>> round(published_gradient_rate(1.0, 10_000, 4, 1.0, Budget(1.0, 1e-6)), 6)
    0.000743
    """
    return theta_norm * G * math.sqrt(p * -math.log(budget.delta)) / (n * budget.epsilon)


def fresh_records_gap(G: float, B: float, n: int) -> float:
    """2 G B / sqrt(n), an upper bound on E sup [F - F_n] over the models of ||theta||_2 <= B.

    F: risk on fresh records; F_n: that on n independent ones. A record's loss is slope-Lipschitz in z = <x, theta>, and
    G = slope R with ||x||_2 <= R. With independent signs s_i, symmetrisation and contraction bound the left side by
        2 slope E sup <theta, (1/n) sum_i s_i x_i> <= 2 slope B E ||(1/n) sum_i s_i x_i||_2 <= 2 slope B R / sqrt(n).
    A mean empirical excess over a fixed model plus this is its mean excess on fresh records.

    Source: Bartlett and Mendelson 2002; Ledoux and Talagrand 1991 for contraction (constants explicit).

    >>> fresh_records_gap(1.0, 2.0, 400)
    0.2
    """
    return 2.0 * G * B / math.sqrt(n)


def phase_sizes(n: int) -> tuple[int, ...]:
    """Records in each phase: floor(n / 2^i), i = 1, 2, ..., as long as there is one; together fewer than n.

    >>> phase_sizes(10), phase_sizes(2)
    ((5, 2, 1), (1,))
    """
    return tuple(n >> i for i in range(1, n.bit_length()))


def replaced_share(size: int) -> float:
    """Share of the largest move of an iterate that is left in the mean of the size + 1 iterates of a phase.

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
    """Propositions 7.1 and 7.3 of Bassily, Guzmán and Nandi 2021, shape only; for p_norm from 2 to inf, delta > 0.

    L D d^(1/2 - 1/p_norm) (1 / sqrt(n) + sqrt(d ln(1/delta)) / (n epsilon)): that of the Euclidean ball around the set.
    diameter: D, in the norm of order p_norm.

    >>> round(published_phased_rate(1.0, 2.0, 2.0, 100, 10_000, Budget(1.0, 1e-6)), 4)
    0.0274
    """
    private = math.sqrt(-d * math.log(budget.delta)) / (n * budget.epsilon)
    return L * diameter * d ** (0.5 - 1.0 / p_norm) * (1.0 / math.sqrt(n) + private)


def non_private_rate(L: float, diameter: float, p_norm: float, d: int, n: int) -> float:
    """Lower bound for every algorithm, private or not, shape only: L D d^(1/2 - 1/p_norm) / sqrt(n), for d <= n.

    L D sqrt(d / n) on the box. Beyond d = n it is L D n^(-1/p_norm), the order that mirror descent reaches; the
    smaller of the two is given.

    Source: Agarwal, Bartlett, Ravikumar and Wainwright 2012, as cited by Bassily, Guzmán and Nandi 2021, Section 7.

    >>> non_private_rate(1.0, 2.0, float("inf"), d=100, n=10_000)
    0.2
    """
    return L * diameter * min(d ** (0.5 - 1.0 / p_norm) / math.sqrt(n), n ** (-1.0 / p_norm))
