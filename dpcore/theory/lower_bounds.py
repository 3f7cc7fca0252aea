"""Lower bounds on the excess risk of every private mechanism, on the data that are hardest for it."""

import functools
import math

import numpy as np

from ..core.arrays import Array
from ..core.hard_blocks import hard_blocks
from ..core.losses import Loss
from ..core.privacy import Bound, Budget
from ..core.sets import L1Ball, dual_order
from ..core.specification import Spec

_SWAPS = 400
_HALVINGS = 60
# Differences of risks of order 1 are rounding below this.
_SMALLEST = 1e-13
# Numbers of records that carry a signal, tried by `packing`: all of them up to about this many, then ever sparser.
_SIGNALS = 4_000
_LEVELS = 256  # of <x, v> in `linear_packing`
_FEWEST = 3  # blocks: with fewer, one line of records is harder


def hardest_data(loss: Loss, spec: Spec, budget: Budget) -> tuple[Bound, ...]:
    """A lower bound on the worst mean excess of every (epsilon, delta)-private mechanism; () where it says nothing.

    All records lie at x = R u. In D, (n + k) / 2 of them carry the label y_max and the others -y_max; in D' the shares
    are swapped. The larger of the two mean excesses is at least g (1 - cap), where g = F_D(0) - min F_D and cap is
    `attack_cap` of (k epsilon, delta_k); the proof is in docs/formulas.md. The best k is taken, among those whose
    minimum lies within ||theta|| <= theta_norm; only then is no excess negative.

    For location losses the records lie at R u and -R u instead, and z = <u, theta>: a model beside their line is
    farther from all of them than its projection.

    For classification losses that of `_on_blocks`, where it fits: of order 1/(n epsilon) also where there is curvature.

    Source: two-point method (Le Cam); constants derived here (explicit).

    >>> from dpcore.core.losses import get_loss
    >>> (bound,) = hardest_data(get_loss("hinge"), Spec("hinge", n=1000, p=3), Budget(0.1))
    >>> round(bound.value * 1000 * 0.1, 3)
    0.278
    """
    ball = min(spec.theta_norm, spec.radius or math.inf)
    if loss.linear and loss.classification and (found := _on_blocks(loss, spec, budget, ball)):
        return found
    if loss.linear:
        y = 1.0 if loss.classification else spec.domain.y_max
        k, gains = _gains(loss, spec.n, y, spec.domain.R * ball)
    else:
        k, gains = _gains(loss, spec.n, spec.domain.R, ball)
    best = float(np.max(gains * _missed(k, budget), initial=0.0)) - _SMALLEST
    if best <= _SMALLEST:
        return ()
    says = "hardest data: the worse of two data sets with all records on one line; any private mechanism"
    return (Bound("excess_empirical_risk", "lower", best, "expectation", "two-point method", says),)


def _on_blocks(loss: Loss, spec: Spec, budget: Budget, ball: float) -> tuple[Bound, ...]:
    """The bound for the 2^J data sets D_v of `hard_blocks`; () where they do not fit, or where it says nothing.

    In D_v, v a vector of signs, block j lies at R e_j: a_j of its records have the label v_j, b_j < a_j have -v_j. A
    wrong sign of theta_j costs g_j, and turning v_j takes k_j = a_j - b_j replacements, so that the mean excess is at
    least sum_j g_j (1 - `attack_cap` of (k_j epsilon, delta_k)) on average over v; on each D_v for mechanisms that
    treat an axis like its mirror image. Needs minima of all blocks that together are a model of the ball.

    Source: Assouad's lemma with group privacy; constants derived in docs/formulas.md (explicit).
    """
    if not _FEWEST <= len(hard_blocks(spec.n)) <= spec.p:
        return ()
    k, gains = _block_gains(loss, spec.n, spec.domain.R * ball)
    best = float(gains @ _missed(k, budget)) - _SMALLEST
    if best <= _SMALLEST:
        return ()
    says = f"hardest data: the worst of {2 ** len(k)} data sets of blocks of 4, 16, … records; any private mechanism"
    return (Bound("excess_empirical_risk", "lower", best, "expectation", "Assouad's lemma", says),)


def _missed(k: Array, budget: Budget) -> Array:
    """Smallest error probability of any test between two equally likely data sets that are k replacements apart."""
    group = np.minimum(k * budget.epsilon, 700.0)
    # delta_k e^(-k epsilon): delta_k itself may be too large for a float.
    grown = budget.delta * -np.expm1(-group) / math.expm1(min(budget.epsilon, 700.0))
    return 1.0 - np.minimum(1.0, (1.0 + grown) / (1.0 + np.exp(-group)))


def packing(spec: Spec, budget: Budget) -> tuple[Bound, ...]:
    """A lower bound for squared loss on the L1 ball that grows with ln p; () elsewhere and where it says nothing.

    In D_{j,s}, one of 2p data sets, k records are (rho e_j, s y_max), s = +1 or -1, rho = min{R, y_max / r}, r the size
    of the ball; all others are (0, 0). The mean over all (j, s) of the mean excess is at least
        (k/n) sum_{M=1}^{p} (E_M - E_{M-1}) [1 - delta_k - M e^{k epsilon} / (2p)]_+,
    E_0 = 0, E_M = E(1/(M+1)), E_p = E(0), (k/n) E(c) the excess where s theta_j = c r, and delta_k = delta
    (1 + e^epsilon + ... + e^{(k-1) epsilon}). The best k is taken. The proof is in docs/formulas.md.

    Source: packing of Hardt and Talwar 2010 with group privacy; constants derived there (explicit). Talwar, Thakurta
    and Zhang 2015, Theorem 3.1, is of order 1/n^(2/3) but has no constant for small n.

    >>> from dpcore.core.specification import Domain
    >>> spec = Spec("squared", n=10_000, p=200, domain=Domain(q=math.inf), radius=1.0, set="l1_ball")
    >>> (bound,) = packing(spec, Budget(0.1))
    >>> f"{bound.value:.2e}"
    '2.18e-03'
    """
    best, _ = _packed(spec, budget)
    if not best > 0.0:
        return ()
    says = (
        f"hardest data: the worst of {2 * spec.p:,} data sets, all of zeros but for a few records on one axis; "
        "any private mechanism with models in the L1 ball"
    )
    return (Bound("excess_empirical_risk", "lower", best, "expectation", "packing", says),)


def packing_signal(spec: Spec, budget: Budget) -> int:
    """k of the data sets D_{j,s} on which `packing` is largest; 1 where it says nothing."""
    return int(_packed(spec, budget)[1])


@functools.lru_cache(maxsize=64)
def _packed(spec: Spec, budget: Budget) -> tuple[float, float]:
    """The largest value of `packing`, and its k; (0, 1) where there is none."""
    if spec.loss != "squared" or not isinstance(spec.unit_set, L1Ball) or spec.size is None:
        return 0.0, 1.0
    k = _signals(spec.n)
    k = k[k * budget.epsilon < math.log(2.0 * spec.p)]  # for all others the bracket is 0 already at M = 1
    if not len(k):
        return 0.0, 1.0
    each = np.exp(k * budget.epsilon) / (2.0 * spec.p)
    kept = 1.0 - budget.delta * np.expm1(k * budget.epsilon) / math.expm1(budget.epsilon)
    gains = _layers(spec)
    before = np.concatenate([[0.0], np.cumsum(gains)[:-1]])  # [M]: E_0 + ... + E_{M-1}
    # Summed by parts up to m, the last M whose bracket is not negative.
    m = np.clip(np.floor(kept / each), 0, spec.p).astype(np.int64)
    means = (k / spec.n) * ((kept - each * m) * gains[m] + each * before[m])
    most = int(means.argmax())
    return float(means[most]) * (1.0 - _SMALLEST * spec.p), float(k[most])


@functools.lru_cache(maxsize=64)
def _signals(n: int) -> Array:
    """k of `packing`, ever sparser."""
    return np.unique(np.geomspace(1.0, n, _SIGNALS).astype(np.int64)).astype(float)


def _layers(spec: Spec) -> Array:
    """E_0, ..., E_p of `packing`."""
    y, places = spec.domain.y_max, 1.0 / np.arange(1.0, spec.p + 2.0)
    places[-1] = 0.0
    u = min(spec.domain.R * (spec.size or 0.0), y)
    return u * (1.0 - places) * (2.0 * y - u * (1.0 + places))


def linear_packing(p_norm: float, d: int, n: int, budget: Budget) -> float:
    """A lower bound on the worst mean excess over the l_p ball for f(x, z) = -<x, z>, ||z||_q* <= 1; 0 where none.

    Data sets differ from all zeros in k records v, which are d^(-1/q*) times signs or +-e_j; the integral over <x, v>
    is a sum from below. The proof is in docs/formulas.md.

    Source: packing of Hardt and Talwar 2010 with group privacy; constants derived there (explicit).

    >>> f"{linear_packing(2.0, 1_024, 2_000, Budget(1.0, 1e-6)):.2e}"
    '4.55e-03'
    """
    return _linearly_packed(p_norm, d, n, budget)[0]


def linear_packing_records(p_norm: float, d: int, n: int, budget: Budget) -> tuple[int, bool]:
    """k of the data sets on which `linear_packing` is largest, and whether v is signs; (1, True) where it is 0.

    >>> linear_packing_records(1.0, 128, 2_000, Budget(1.0)), linear_packing_records(2.0, 128, 2_000, Budget(1.0))
    ((3, False), (28, True))
    """
    return _linearly_packed(p_norm, d, n, budget)[1:]


@functools.lru_cache(maxsize=256)
def _linearly_packed(p_norm: float, d: int, n: int, budget: Budget) -> tuple[float, int, bool]:
    """The largest value of `linear_packing`, its k, and whether v is signs."""
    k, kept, grown = _swaps(n, budget)
    best = 0.0, 1, True
    for signs, (shares, sums) in zip((True, False), _agreeing(p_norm, d), strict=True):
        m = np.searchsorted(shares, kept / grown)  # of so many levels the bracket is positive
        values = k * (m * kept - grown * sums[m]) / (n * _LEVELS)
        most = int(values.argmax())
        best = max(best, (float(values[most]), int(k[most]), signs))
    return best


@functools.lru_cache(maxsize=64)
def _swaps(n: int, budget: Budget) -> tuple[Array, Array, Array]:
    """k, 1 - delta_k and e^(k epsilon) of `linear_packing`."""
    k = np.unique(np.geomspace(1.0, n, _SWAPS).astype(np.int64)).astype(float)
    group = np.minimum(k * budget.epsilon, 700.0)
    return k, 1.0 - budget.delta * (np.expm1(group) / math.expm1(min(budget.epsilon, 700.0))), np.exp(group)


@functools.lru_cache(maxsize=256)
def _agreeing(p_norm: float, d: int) -> tuple[tuple[Array, Array], ...]:
    """Of signs and of axes, at each level the largest share of records v with more than that <x, v>, in increasing
    order; and the sums of the first 0, 1, 2, ... of them."""
    c = np.arange(_LEVELS)[::-1] / _LEVELS
    signs = np.exp(-0.5 * c**2 * d ** min(2.0 / dual_order(p_norm), 1.0))
    axes = np.minimum(np.maximum(c, 1.0 / d) ** -p_norm, d) / (2.0 * d)
    both = [np.minimum(0.5, shares) for shares in (signs, axes)]
    return tuple((shares, np.append(0.0, np.cumsum(shares))) for shares in both)


@functools.lru_cache(maxsize=64)
def _gains(loss: Loss, n: int, end: float, reach: float) -> tuple[Array, Array]:
    """k, with the parity of n, ever sparser; and F_D(0) - min F_D for each, 0 where the minimum is beyond `reach`.

    end: the label of the larger group or, for location, its place; the smaller group has -end.
    """
    k = np.unique(np.geomspace(1.0, n - 1.0, _SWAPS).astype(np.int64))
    k = np.unique(k + (n - k) % 2)
    k = k[k < n]
    return k.astype(float), _least(loss, (n + k) / (2.0 * n), (n - k) / (2.0 * n), end, reach)[1]


@functools.lru_cache(maxsize=64)
def _block_gains(loss: Loss, n: int, reach: float) -> tuple[Array, Array]:
    """k_j and g_j of `_on_blocks`; all g_j are 0 where the c_j lie beyond `reach`."""
    own, other = hard_blocks(n).T
    places, gains = _least(loss, own / n, other / n, 1.0, reach)
    within = gains.all() and np.linalg.norm(places) <= reach
    return own - other, gains if within else np.zeros(len(gains))


def _least(loss: Loss, up: Array, down: Array, end: float, reach: float) -> tuple[Array, Array]:
    """The z of the least up l(z; end) + down l(z; -end), and the fall to it from 0, taken as 0 where that z is beyond
    `reach`. up > down: of several at once."""
    ups, downs = np.full(len(up), end), np.full(len(up), -end)

    def slope(z: Array) -> Array:
        return up * _slope(loss, z, ups) + down * _slope(loss, z, downs)

    def risk(z: Array) -> Array:
        return up * _value(loss, z, ups) + down * _value(loss, z, downs)

    # The risks are convex: bisection on their slopes.
    low, high = np.zeros(len(up)), np.full(len(up), reach)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        falling = slope(middle) < 0.0
        low, high = np.where(falling, middle, low), np.where(falling, high, middle)
    inside = slope(np.full(len(up), reach)) >= 0.0
    return high, np.where(inside, risk(np.zeros(len(up))) - risk(high), 0.0)


def _value(loss: Loss, z: Array, ends: Array) -> Array:
    return loss.value(z, ends) if loss.linear else loss.value(np.abs(z - ends), ends)


def _slope(loss: Loss, z: Array, ends: Array) -> Array:
    """Slope in z; 0, a subgradient, for the distance to a point that equals z."""
    if loss.linear:
        return loss.derivative(z, ends)
    return np.sign(z - ends) * loss.derivative(np.abs(z - ends), ends)
