"""Privacy cost of Gaussian steps on random batches: Renyi divergence of a step, its sum over steps, and the inverse.

A step releases a sum over a random batch plus Gaussian noise; z = sigma / C is its standard deviation over the largest
length of ONE record's part, so that replacing a record moves the sum by up to 2 C. Neighbours differ by replacing one
record, and the batch is secret. Proofs: docs/formulas.md, "Composition", Random batches.

"poisson": every record enters with probability q = `rate` on its own. The pair (1 - q) N(0) + q N(h) against
(1 - q) N(0) + q N(-h), h = 1 / z, dominates all others, also under adaptive composition.

"uniform": a subset of q n records, drawn uniformly (one index: q = 1 / n). A bound; no neighbours are known to attain
it.

The integrals are Gauss-Legendre sums of positive terms without cancellation: accurate to about 1e-10, not rigorous to
the last digit, which the margin on every answer covers.
"""

import functools
import math
from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr

from ..core.arrays import Array
from ..core.privacy import Budget, NotApplicable
from ..core.quadrature import gauss_legendre
from ..core.roots import illinois
from ..core.validation import check_real, integer, one_of, positive, shown
from .common import SAFETY, nearby_mu

Sampling = Literal["poisson", "uniform"]
SAMPLINGS: tuple[Sampling, ...] = get_args(Sampling)

# Logarithms of noise multipliers this close count as equal; the margin covers it.
_SAME = 1e-10
# The search ends when epsilon is below the budget by at most this share.
_NEAR = 0.05
# Orders so close that the best epsilon is missed by at most 0.03%.
_ORDERS: Array = np.asarray(1.0 + 0.05 * 1.05 ** np.arange(440), dtype=np.float64)
_STRIDES = (16, 4, 1)
# End of the normal tail beyond the integrand's peak.
_TAIL = 12.0
# Nodes and weights, by the shortest and the longest interval that they are used for.
_RULES = (0.0, 30.0, *gauss_legendre(160)), (30.0, 400.0, *gauss_legendre(600))
_LOG_ROOT_TAU = 0.5 * math.log(2.0 * math.pi)


def renyi(alpha: ArrayLike, z: float, rate: float, sampling: Sampling) -> Array:
    """Upper bound on the Renyi divergence of one step at orders `alpha` [...]; attained for "poisson".

    alpha: > 1. z: noise over one record's largest part. rate: share of the records in a batch, in (0, 1].
    At rate 1, and for alpha / z > 194 where the integral overflows, it is that of a full batch, 2 alpha / z^2.

    Source: derived in docs/formulas.md, "Composition" (Zhu, Dong and Wang 2022; Balle, Barthe and Gaboardi 2018).

    >>> renyi([2.0, 8.0], z=1.0, rate=1.0, sampling="poisson").round(9).tolist()
    [4.0, 16.0]
    >>> renyi(2.0, z=1.0, rate=0.01, sampling="poisson") < renyi(2.0, z=1.0, rate=0.01, sampling="uniform")
    np.True_
    """
    orders = np.asarray(alpha, dtype=np.float64)
    if not np.all(np.isfinite(orders) & (orders > 1.0)):
        raise ValueError(f"alpha must be finite numbers > 1, got {shown(alpha)}")
    z, rate, sampling = _checked(z, rate, sampling)
    h, integrand = 1.0 / z, _poisson if sampling == "poisson" else _uniform
    divergence = np.array(2.0 * orders * h * h)
    # Both integrands rise at most like exp(2 a h u) against the normal density.
    ends = 2.0 * orders * h + _TAIL
    for shortest, longest, nodes, weights in _RULES:
        mine = (shortest < ends) & (ends <= longest)
        if not mine.any():
            continue
        a, end = orders[mine][:, None], ends[mine][:, None]
        exponent, factor = integrand(a, 0.5 * end * (1.0 + nodes), h, rate)
        top = np.max(exponent, axis=-1)
        total = np.sum(np.exp(exponent - top[:, None]) * factor * weights, axis=-1) * 0.5 * end[:, 0]
        found = np.logaddexp(0.0, top + np.log(total)) / (a[:, 0] - 1.0)
        divergence[mine] = np.minimum(found, divergence[mine])
    return divergence


def _poisson(a: Array, u: Array, h: float, q: float) -> tuple[Array, Array]:
    """E_Q (P/Q)^a - 1 = int_0^inf e^exponent factor du: the log-ratio r is odd in u, which leaves positive factors."""
    absent = math.log1p(-q) if q < 1.0 else -math.inf
    log_q = _log_sum(absent, math.log(q) - h * u - 0.5 * h * h)  # over phi(u)
    r = _log_sum(0.0, math.log(q) - 0.5 * h * h + h * u + np.log(-np.expm1(-2.0 * h * u)) - log_q)
    return a * r + log_q - 0.5 * u * u - _LOG_ROOT_TAU, np.expm1(-a * r) * np.expm1((1.0 - a) * r)


def _log_sum(a: float, b: Array) -> Array:
    """ln(e^a + e^b), where a may be -inf; much faster than np.logaddexp, which would dominate a calibration."""
    return np.maximum(a, b) + np.log1p(np.exp(-np.abs(a - b)))


def _uniform(a: Array, u: Array, h: float, q: float) -> tuple[Array, Array]:
    """Like `_poisson` for a (a - 1) int_1^inf (t^(a-2) + t^(-a-1)) H dt by parts, t = 1 + q (e^x - 1), u = x / 2h."""
    s = 2.0 * h
    log_t = _log_sum(0.0, math.log(q) + s * u + np.log(-np.expm1(-s * u)))
    forth, back = -np.expm1((1.0 - a) * log_t), -np.expm1(-a * log_t)
    exponent = (a - 1.0) * log_t + s * u + log_ndtr(-u - 0.5 * s)
    return exponent, q * s * (a * forth + (a - 1.0) * (1.0 - forth) * back)


def subsampled_epsilon(z: float, rate: float, times: int, delta: float, sampling: Sampling) -> float:
    """epsilon of `times` adaptive steps at `delta`, by the best of many Renyi orders.

    If delta covers the loss, the answer is 1e-9. Raises NotApplicable for delta = 0.

    Source: Canonne, Kamath and Steinke 2020, Proposition 12, for the conversion (constants explicit).

    >>> round(subsampled_epsilon(z=9.61, rate=1 / 2000, times=2000**2, delta=1 / 2000**2, sampling="poisson"), 3)
    1.0
    """
    z, rate, sampling = _checked(z, rate, sampling)
    times, delta = integer("times", times, at_least=1), _positive_delta(delta)
    return _rounded_up(_best_order(z, rate, times, delta, sampling)[1])


def subsampled_delta(z: float, rate: float, times: int, epsilon: Array, sampling: Sampling) -> Array:
    """delta of `times` adaptive steps at each epsilon >= 0, [e], by the best of many Renyi orders.

    The inverse of `subsampled_epsilon`: exp((a - 1) (times D_a + ln(1 - 1/a) - epsilon) - ln a) at its least over a.

    Source: Canonne, Kamath and Steinke 2020, Proposition 12, for the conversion (constants explicit).

    >>> epsilon = subsampled_epsilon(z=10.0, rate=0.05, times=400, delta=1e-10, sampling="poisson")
    >>> round(float(subsampled_delta(10.0, 0.05, 400, np.array([epsilon]), "poisson")[0]) / 1e-10, 6)
    1.0
    """
    z, rate, sampling = _checked(z, rate, sampling)
    times, at = integer("times", times, at_least=1), np.asarray(epsilon, float)

    def exponents(orders: Array, divergences: Array) -> Array:
        offset = (orders - 1.0) * (times * divergences + np.log1p(-1.0 / orders)) - np.log(orders)
        return offset - at[..., None] * (orders - 1.0)

    if at.size == 1:
        least = np.full(at.shape, _best(z, rate, sampling, exponents)[1])
    else:
        least = np.min(exponents(_ORDERS, _divergences(z, rate, sampling, 0, len(_ORDERS), 1)), axis=-1)
    return np.asarray(np.exp(np.minimum(least, 0.0)) * (1 + SAFETY))


@functools.lru_cache(maxsize=4096)
def subsampled_multiplier(budget: Budget, rate: float, times: int, sampling: Sampling) -> float:
    """Smallest z whose `times` steps cost at most `budget`; the inverse of `subsampled_epsilon`.

    Raises NotApplicable for delta = 0, and for an epsilon so small that no order reaches it.

    >>> round(subsampled_multiplier(Budget(1.0, 1 / 2000**2), 1 / 2000, 2000**2, "uniform"), 2)
    10.41
    """
    _, rate, sampling = _checked(1.0, rate, sampling)
    times, delta = integer("times", times, at_least=1), _positive_delta(budget.delta)
    least = _rounded_up(float(np.min(_conversion(_ORDERS, delta))))
    if budget.epsilon <= least:
        raise NotApplicable(
            f"subsampled accounting at delta = {delta:g} needs epsilon > {least:.3g}, got epsilon = {budget.epsilon:g}"
        )

    def over(cost: float) -> float:
        return math.log(_rounded_up(cost) / budget.epsilon)

    def at_best(log_z: float) -> float:
        return over(_best_order(math.exp(log_z), rate, times, delta, sampling)[1])

    # The central limit of the Poisson pair, mu = q sqrt(T) sqrt(4 sinh(1 / z^2)), is near; mu here by zCDP.
    mu = nearby_mu(budget.epsilon, delta) / (rate * math.sqrt(times))
    log_z = _crossing(at_best, -0.5 * math.log(math.asinh(0.25 * mu * mu)), _NEAR)
    # One order alone is cheap to try, and the best one here meets the budget at a smaller z. Another order may be best
    # there, but hardly better: near the answer all orders near the best are nearly as good.
    before = None
    while (best := _best_order(math.exp(log_z), rate, times, delta, sampling, before)[0]) != before:
        alpha = _ORDERS[best]

        def by_order(log_z: float, alpha: float = alpha) -> float:
            divergence = float(renyi(alpha, math.exp(log_z), rate, sampling))
            return over(times * divergence + float(_conversion(np.asarray(alpha), delta)))

        met = _crossing(by_order, log_z, _SAME)
        if before is not None and met > log_z - _SAME:
            break
        log_z, before = met, best
        # For a smaller z this order has no integral, but another order may still meet the budget.
        if by_order(met) < -2.0 * _SAME and at_best(met - 2.0 * _SAME) <= 0.0:
            log_z, before = met - 2.0 * _SAME, None
    return math.exp(log_z) * (1 + SAFETY)


def _crossing(falling: Callable[[float], float], start: float, enough: float) -> float:
    """Point at which a function that falls at about the rate 1 or faster is between -`enough` and 0.

    If the function jumps over these values, as where an integral overflows, the point is just behind the jump.
    """
    low = high = start
    at_low = at_high = falling(start)
    step = abs(at_low) + enough
    while at_low < 0.0:
        low, high, step = low - step, low, 2.0 * step
        at_low, at_high = falling(low), at_low
    while at_high > 0.0:
        low, high, step = high, high + step, 2.0 * step
        at_low, at_high = at_high, falling(high)
    nearer = illinois(lambda x: -falling(x), low, -at_low, high, -at_high)
    while at_high < -enough and high - low > _SAME:
        x, risen = next(nearer)
        if risen < 0.0:
            low = x
        else:
            high, at_high = x, -risen
    return high


def _best_order(
    z: float, rate: float, times: int, delta: float, sampling: Sampling, near: int | None = None
) -> tuple[int, float]:
    """Order with the smallest epsilon, and this epsilon; near: as in `_best`."""
    return _best(z, rate, sampling, lambda orders, spent: times * spent + _conversion(orders, delta), near)


def _best(
    z: float, rate: float, sampling: Sampling, value: Callable[[Array, Array], Array], near: int | None = None
) -> tuple[int, float]:
    """Order with the smallest value, and this value: among every 16th order, then among closer ones around it.

    value: given orders and the Renyi divergences of one step. near: the best order for a nearby z, which saves the
    search among all.
    """
    low, high, best, least = 0, len(_ORDERS), 0, math.inf
    if near is not None:
        low, high = max(0, near - _STRIDES[0]), near + _STRIDES[0] + 1
    for stride in _STRIDES if near is None else _STRIDES[1:]:
        values = value(_ORDERS[low:high:stride], _divergences(z, rate, sampling, low, high, stride))
        best, least = low + stride * int(np.argmin(values)), float(np.min(values))
        low, high = max(0, best - stride), best + stride + 1
    return best, least


@functools.lru_cache(maxsize=8192)
def _divergences(z: float, rate: float, sampling: Sampling, low: int, high: int, stride: int) -> Array:
    return renyi(_ORDERS[low:high:stride], z, rate, sampling)


def _conversion(orders: Array, delta: float) -> Array:
    """Term that an order adds to its Renyi divergence in the conversion to epsilon."""
    return np.log1p(-1.0 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1.0)


def _rounded_up(epsilon: float) -> float:
    return max(epsilon, 0.0) * (1 + SAFETY) + SAFETY


def _checked(z: float, rate: float, sampling: Sampling) -> tuple[float, float, Sampling]:
    rate = check_real("rate", rate, "in (0, 1]", lambda v: 0 < v <= 1)
    return positive("z", z), rate, one_of("sampling", sampling, SAMPLINGS)


def _positive_delta(delta: float) -> float:
    delta = check_real("delta", delta, "in [0, 1)", lambda v: 0 <= v < 1)
    if delta == 0.0:
        raise NotApplicable("subsampled Gaussian noise needs delta > 0, got delta = 0")
    return delta
