"""delta between generalised Gaussian noise and itself shifted by a vertex of a cube, t (1, ..., 1), by integrals.

The density is proportional to exp(-||z||_r^2 / 2) in R^d, r >= 2. With z = R u, u on the sphere ||u||_r = 1, R is a chi
variable of d degrees and independent of u, and the privacy loss is R^2 (||u + (t/R) 1||_r^2 - 1) / 2. Put a = d/r,
tau = a^(1/r) t / R and D = sum_j |x_j + tau|^r - |x_j|^r with x = a^(1/r) u. Given R the loss is above l where
D > g(l) = a ((1 + 2 l / R^2)^(r/2) - 1), and
    delta(epsilon) = E_R int_epsilon^inf e^(epsilon - l) P(D > g(l)) dl,
    P(D > g) = (1/2 pi i) int E[e^(w D)] e^(-w g) / w dw over a line Re w = w0 > 0,
    E[e^(w D)] = Gamma(a) a^(1 - a) (1/2 pi i) int e^(k a) phi(k, w)^d dk,
    phi(k, w) = int exp(-k |x|^r + w (|x + tau|^r - |x|^r)) dx / (2 Gamma(1 + 1/r)),
the last because independent variables of density ~ exp(-|x|^r) have sum |x_j|^r ~ Gamma(a), independent of u. All
integrands are analytic, so that sums at equal steps converge fast. k runs over a parabola that opens to the left, along
which e^(k a) falls; where it has turned far, x runs over rays that are turned the other way. ln E[e^(w D)] is a
polynomial in tau. docs/formulas.md, "Noise in the geometry", has why this vertex is the worst shift of its cube.
"""

import dataclasses as dc
import functools
import math
from typing import Any

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.optimize import brentq
from scipy.special import gammaln

from ..core.arrays import Array
from ..core.privacy import Budget
from .gaussian import gaussian_mu, hockey_stick

# Budgets and columns for which other numbers of nodes give the same t up to 2e-4 of itself, and the margin for it.
_EPSILONS, _DELTAS, _COLUMNS = (0.01, 10.0), (1e-10, 0.01), (8, 100_000)
_MARGIN = 5e-4
# Part of delta that may come from the first or the last R; more means that too few of them were taken.
_ENDS = 0.01
_SEARCHES, _LEAST = 30, 1e-300
_NEAR = 0.1  # t is looked for within this share of a guess
# ln of what is left out at the end of the integral over k, and of the share of an R that is left out.
_FALL, _SMALL = 32.0, 14.0
_TURN = 2.0 * math.pi / 9.0  # of |x|^r, against the turn of k
_BENT = 22.0  # the parabola is k0 (1 + i y - y^2 / _BENT)
_STRAIGHT = 3.0  # largest |y| with x on the real line
_DEGREE = 4  # of the polynomial in tau
_RADIUS_STEP = 0.2
_STEEPEST, _LONGEST = 7.0, 20.0  # largest w0 and Im w, in units of 1 / the standard deviation of D / tau
# `same_gaussian`: mu of the small shift, epsilons over mu, how far it rises from 1/2 to 0 in units of the rise before,
# and the margin.
_SMALL_MU, _PLACES, _LAST_RISE, _PROFILE_MARGIN = 0.01, np.arange(0.5, 4.01, 0.5), 0.4, 3e-3
_LOSSES, _LOSS_WEIGHTS = np.polynomial.laguerre.laggauss(24)


@dc.dataclass(frozen=True)
class _Nodes:
    """Nodes of integrals over x: |x|^r, (|x + tau|^r - |x|^r) / tau and weights, complex [N] each."""

    power: Any
    change: Any
    weight: Any

    @property
    def mirrored(self) -> "_Nodes":
        return _Nodes(self.power.conj(), self.change.conj(), self.weight.conj())


def _nodes(order: float, tau: float, reach: float, turn: float = 0.0) -> _Nodes:
    """Two rays from -tau and 0 outwards, up to |x|^r = reach, with |x|^r turned by -turn; and what is between them."""
    u = np.arange(-math.log(36.0 * order), math.log(reach), 0.11)
    x = np.exp((u - np.exp(-u)) / order - 1j * turn / order)
    ray = x * 0.11 * (1.0 + np.exp(-u)) / order
    near, far = x**order, (x + tau) ** order
    change = np.where(np.abs(x) > tau, near * np.expm1(order * np.log1p(tau / x)), far - near)
    v = math.pi * np.sinh(np.arange(-3.2, 3.2001, 0.16))
    left, right = tau / (1.0 + np.exp(-v)), tau / (1.0 + np.exp(v))
    between = 0.16 * np.hypot(math.pi, v) * left * right / tau
    power = np.concatenate([near, far, left**order])
    changes = np.concatenate([change, -change, right**order - left**order]) / tau
    return _Nodes(power, changes, np.concatenate([ray, ray, between]))


def information(d: int, order: float) -> float:
    """Fisher information of t at t = 0, the limit of (2 KL divergence) / t^2; for order 2 it is d.

    >>> round(information(7, 2.0), 9)
    7.0
    """
    r = order
    inner = gammaln(2.0 - 1.0 / r) - gammaln(1.0 / r) + gammaln(d / r) - gammaln((d - 2.0) / r + 2.0)
    return d * d * math.exp(float(inner))


class VertexShift:
    """delta at one epsilon as a function of t, for t near a guess: within `range`."""

    def __init__(self, d: int, order: float, epsilon: float, guess: float) -> None:
        self.d, self.order, self.epsilon = d, order, epsilon
        self.range = ((1.0 - _NEAR) * guess, (1.0 + _NEAR) * guess)
        self._a = d / order
        self._root = self._a ** (1.0 / order)
        # Standard deviation of D / tau for small tau.
        self._spread = order * math.sqrt(d * math.exp(float(gammaln(2.0 - 1.0 / order) - gammaln(1.0 / order))))
        self._w0, self._radius, self._lowest = self._saddle(guess)
        mu = guess * math.sqrt(information(d, order))
        self._rate = 1.0 + max(epsilon / mu**2 - 0.5, 2.0 / mu)  # about that of delta's fall in the loss

    @functools.cached_property
    def _radii(self) -> Array:
        """Values of R, at steps of `_RADIUS_STEP`; below epsilon / reach - reach / 2 no loss is above epsilon."""
        reach = self.range[1] * self.d ** (1.0 / self.order)
        lowest = max(self._radius - 4.0, self._lowest, self.epsilon / reach - 0.5 * reach)
        return np.arange(lowest, self._radius + 4.6, _RADIUS_STEP)

    @functools.cached_property
    def _w(self) -> Any:
        """Nodes of w, complex [W]."""
        w0 = min(self._w0, _STEEPEST / self._spread)
        step = min(0.3 / self._spread, w0 / 5.0)
        return w0 + 1j * step * np.arange(int(_LONGEST / self._spread / step) + 1)

    @functools.cached_property
    def _taus(self) -> tuple[float, float]:
        radii = self._radii
        return self.range[0] * self._root / float(radii[-1]), self.range[1] * self._root / float(radii[0])

    @functools.cached_property
    def _polynomial(self) -> Any:
        """Chebyshev coefficients of ln E[e^(w D / tau)] over `_taus`, [degree + 1, w]."""
        places = np.cos(math.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
        low, high = self._taus
        logs = [self._log_transform(low + (high - low) * (place + 1.0) / 2.0) for place in places]
        return np.polynomial.chebyshev.chebfit(places, np.array(logs), _DEGREE)

    def _saddle(self, t: float) -> tuple[float, float, float]:
        """w0 and R at which most of delta arises."""
        d, order, a = self.d, self.order, self._a
        mu = t * math.sqrt(information(d, order))
        tau = t * self._root / math.hypot(math.sqrt(d), self.epsilon / mu - 0.5 * mu)
        nodes = _nodes(order, tau, 250.0)
        best, near, lowest = 2.0 / self._spread, 64.0, 0.0
        for _ in range(4):
            w = best * np.geomspace(1.0 / near, near, 32)
            k, mean, log_phi = self._tilted(w, nodes)
            # The R with g(epsilon) / tau = mean; the left side falls in R.
            low, high = np.full(len(w), math.log(0.2)), np.full(len(w), math.log(1e3 * d))
            for _ in range(40):
                middle = 0.5 * (low + high)
                above = self._threshold(self.epsilon, np.exp(middle)) * np.exp(middle) / (t * self._root) > mean
                low, high = np.where(above, middle, low), np.where(above, high, middle)
            logs = (d - 1.0) * low - 0.5 * np.exp(2.0 * low) + k * a + d * log_phi - w * mean
            most = int(np.argmax(logs))
            best, near = float(w[most]), near**0.2
            beyond = logs[most:] < logs[most] - _SMALL
            lowest = max(lowest, float(np.exp(low[most:][beyond]).max(initial=0.0)))
        return best, math.exp(float(low[most])), lowest

    def _tilted(self, w: Array, nodes: _Nodes) -> tuple[Array, Array, Array]:
        """k with mean sum |x_j|^r = a under the density tilted by real w, [K]; then the mean of D / tau; ln phi."""
        power, change, weight = nodes.power.real, nodes.change.real, nodes.weight.real
        moved = np.outer(w, change)
        low, high = np.full(len(w), -6.0), np.full(len(w), 8.0)
        for _ in range(20):
            middle = 0.5 * (low + high)
            logs = moved - np.exp(middle)[:, None] * power
            most = logs.max(axis=1, keepdims=True)
            shares = np.exp(logs - most) * weight
            total = shares.sum(axis=1)
            above = self.d * (shares @ power) > self._a * total
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        log_phi = most[:, 0] + np.log(total) - math.log(2.0) - gammaln(1.0 + 1.0 / self.order)
        return np.exp(middle), self.d * (shares @ change) / total, log_phi

    def _threshold(self, loss: Array | float, radius: Array) -> Array:
        """g of a loss at a radius."""
        return self._a * np.expm1(0.5 * self.order * np.log1p(2.0 * loss / radius**2))

    def _log_transform(self, tau: float) -> Any:
        """ln E[e^(w D / tau)] at the w's."""
        d, order, a = self.d, self.order, self._a
        straight = _nodes(order, tau, 250.0)
        k0 = float(self._tilted(self._w[:1].real, straight)[0][0])
        width = math.sqrt(order / d)
        step, far = min(0.25, 0.4 * width), math.sqrt(_BENT * _FALL / (a * k0))
        if a > 12.0:
            far = min(far, 8.5 * width)
        y = step * np.arange(-int(far / step), int(far / step) + 1)
        k = k0 * (1.0 + 1j * y - y * y / _BENT)
        logs = k * a - a + np.log((1.0 + 2j * y / _BENT) * (k0 * step / (2.0 * math.pi)))
        turned = _nodes(order, tau, 120.0 / k0, _TURN)
        found = np.zeros(len(self._w), dtype=complex)
        parts = ((np.abs(y) <= _STRAIGHT, straight), (y > _STRAIGHT, turned), (y < -_STRAIGHT, turned.mirrored))
        for part, nodes in parts:
            left = np.exp(np.outer(-k[part], nodes.power))
            phi = left @ (np.exp(np.outer(nodes.change, self._w)) * nodes.weight[:, None])
            phi /= 2.0 * math.exp(float(gammaln(1.0 + 1.0 / order)))
            found += np.exp(logs[part][:, None] + d * np.log(phi)).sum(axis=0)
        moved = np.log(found) + (a + gammaln(a) - (a - 1.0) * math.log(a))
        return moved.real + 1j * np.unwrap(moved.imag)

    def delta(self, t: float) -> float:
        """delta at the epsilon for a shift by t."""
        return float(self.shares(t).sum())

    def settled(self, t: float) -> bool:
        """Whether all R with a part in delta were taken."""
        shares = np.abs(self.shares(t))
        return bool(max(shares[0], shares[-1]) <= _ENDS * shares.sum())

    def shares(self, t: float) -> Array:
        """Parts of delta from each R, [R]."""
        tau = t * self._root / self._radii
        low, high = self._taus
        logs = np.polynomial.chebyshev.chebval(2.0 * (tau - low) / (high - low) - 1.0, self._polynomial).T
        d, radii, w = self.d, self._radii, self._w
        log_chi = (d - 1.0) * np.log(radii) - 0.5 * radii**2 + (1.0 - 0.5 * d) * math.log(2.0) - gammaln(0.5 * d)
        beyond = _LOSSES / self._rate
        g = self._threshold(self.epsilon + beyond, radii[:, None]) / tau[:, None]
        weights = np.log(_LOSS_WEIGHTS) + _LOSSES - beyond - math.log(self._rate)
        logs = (logs + log_chi[:, None])[:, None, :] - w * g[:, :, None] + weights[None, :, None]
        terms = np.exp(logs).sum(axis=1) / w
        terms[:, 0] *= 0.5
        return terms.real.sum(axis=1) * (_RADIUS_STEP * float((w[1] - w[0]).imag) / math.pi)


@functools.lru_cache(maxsize=4096)
def vertex_length(d: int, order: float, budget: Budget) -> float:
    """Largest t for which noise of scale 1 hides the shift t (1, ..., 1) at the budget, rounded down by 5e-4.

    order: r of the density, > 2. Above epsilon = 10 and delta = 0.01 the answer is that for these; where the sums do
    not settle, that for half the epsilon. 0, which promises nothing, for fewer than 8 or more than 100,000 columns,
    epsilon below 0.01 or delta below 1e-10.

    >>> round(vertex_length(30, 5.584, Budget(1.0, 1e-5)), 3)
    0.11
    """
    if not (_COLUMNS[0] <= d <= _COLUMNS[1] and budget.epsilon >= _EPSILONS[0] and budget.delta >= _DELTAS[0]):
        return 0.0
    if budget.epsilon > _EPSILONS[1] or budget.delta > _DELTAS[1]:
        return vertex_length(d, order, Budget(min(budget.epsilon, _EPSILONS[1]), min(budget.delta, _DELTAS[1])))
    mu, target = gaussian_mu(budget), math.log(budget.delta)
    t = mu / math.sqrt(information(d, order))
    slope = 2.0 + (budget.epsilon / mu) ** 2 - 0.25 * mu**2  # of ln delta in ln t for Gaussian noise, about
    for _ in range(_SEARCHES):
        shift = VertexShift(d, order, budget.epsilon, t)

        def above(t: float, shift: VertexShift = shift) -> float:
            return math.log(max(shift.delta(t), _LEAST)) - target

        with np.errstate(all="ignore"):  # a bad guess may overflow
            low, middle, high = (above(each) for each in (shift.range[0], t, shift.range[1]))
        if low < 0.0 < high:
            found = float(brentq(above, *shift.range, xtol=1e-9 * t))
            if shift.settled(found):
                return found * (1.0 - _MARGIN)
            break
        if not math.isfinite(middle):
            break
        t *= math.exp(min(max(-middle / slope, -0.2), 0.2))
    return vertex_length(d, order, Budget(0.5 * budget.epsilon, budget.delta))


@functools.lru_cache(maxsize=64)
def same_gaussian(d: int, order: float) -> PchipInterpolator | None:
    """Ratio of mu of Gaussian noise with at least the delta of a shift by t to m = sqrt(`information`) t.

    A function of epsilon / m from 0 to 4; beyond, the ratio is smaller. Found for a small shift, where the losses
    nearly are t times one law, with a margin for its sums; it bounds the curves of larger shifts too (docs/formulas.md,
    "The whole curve"). None for fewer than 8 or more than 100,000 columns.

    >>> same_gaussian(30, 5.584)(np.array([0.0, 3.0])).round(2)
    array([1.03, 0.79])
    """
    if not _COLUMNS[0] <= d <= _COLUMNS[1]:
        return None
    t, found = _SMALL_MU / math.sqrt(information(d, order)), []
    for epsilon in (_SMALL_MU * _PLACES).tolist():
        delta = VertexShift(d, order, epsilon, t).delta(t)

        def above(ratio: float, epsilon: float = epsilon, delta: float = delta) -> float:
            return hockey_stick(epsilon, ratio * _SMALL_MU) - delta

        found.append(float(brentq(above, 0.25, 4.0, rtol=1e-9)))
    # That law is symmetric, so that the ratio is even in epsilon and rises by a third of the rise before, about.
    at_zero = found[0] + _LAST_RISE * (found[0] - found[1])
    places = np.concatenate([np.zeros(1), _PLACES])
    return PchipInterpolator(places, (1.0 + _PROFILE_MARGIN) * np.array([at_zero, *found]))
