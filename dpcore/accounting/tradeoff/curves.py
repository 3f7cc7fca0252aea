"""Guarantees at every epsilon at once: the trade-off curves that audits can refute.

Each family has one parameter mu: for Gaussian noise the sensitivity over the scale, for draws the range of one.
`TradeoffCurve.needed` is the smallest mu that allows what an attacker has shown. The neighbour relation is symmetric,
so a claim about an event is also one about its complement. Families that are sums of many losses are in
`dpcore.accounting.tradeoff.composed`.
"""

import abc
import dataclasses as dc
import functools
import math
from typing import Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, ndtri_exp

from ...core.arrays import Array
from ..attack_limits import gaussian_attack_limit
from ..common import SAFETY
from ..gaussian import gaussian_epsilon
from ..objective import Vertices, objective_epsilon

_SHARP = 1e-5  # relative accuracy of a family's mu
_DOUBLINGS = 40
_FARTHEST = 300.0
_LEAST = 1e-300
# Epsilons at which profiles are evaluated, from almost none to values at which every attack looks certain.
_EPSILONS = np.concatenate([np.zeros(1), np.geomspace(1e-4, 40.0, 160)])


@dc.dataclass(frozen=True)
class TradeoffCurve(abc.ABC):
    """Claim about every event: its probability on one data set against that on a neighbour. mu: of its family."""

    mu: float

    @property
    @abc.abstractmethod
    def words(self) -> str: ...

    @abc.abstractmethod
    def delta(self, epsilon: Array) -> Array:
        """Privacy profile: the smallest delta that the claim implies at each epsilon >= 0, [e], in [0, 1]."""

    def at(self, mu: float) -> Self:
        """The same family at another mu."""
        return dc.replace(self, mu=mu)

    @property
    def grid(self) -> Array:
        """Epsilons at which events are compared with the profile."""
        return _EPSILONS

    @property
    def gdp(self) -> float:
        """mu of the Gaussian guarantee that the claim implies, by which releases compose; inf for none known."""
        return math.inf

    @property
    def rho(self) -> float:
        """rho of the zCDP that the claim implies, by which releases compose; inf for none known."""
        return math.inf

    def attack_limit(self) -> float:
        """Largest attack success at 50:50, (1 + delta(0)) / 2."""
        return 0.5 + 0.5 * float(self.delta(np.zeros(1))[0])

    def missed(self, false: Array) -> Array:
        """Trade-off function: the smallest rate of misses at each rate of false alarms, [k] both.

        The largest over epsilon of 1 - delta - e^epsilon a, and of e^-epsilon (1 - delta - a) for the complement.

        >>> PureCurve(1.0).missed(np.array([0.0, 1.0 / (1.0 + math.e), 1.0])).round(6)
        array([1.      , 0.268941, 0.      ])
        """
        ratio, seen = np.exp(self.grid), 1.0 - self.delta(self.grid)
        a = np.asarray(false, float)[..., None]
        return np.maximum(np.maximum(seen - ratio * a, (seen - a) / ratio).max(axis=-1), 0.0)

    def needed(self, true: Array, false: Array) -> Array:
        """Smallest mu of this family that allows an event these probabilities, [k] events.

        Exact, rounded down, for the events that need the most; for all others 0, a lower bound.
        """
        ratio = np.exp(self.grid)
        t, f = np.asarray(true, float)[:, None], np.asarray(false, float)[:, None]
        shown = np.maximum(t - ratio * f, (1.0 - f) - ratio * (1.0 - t))

        def excess(log_mu: float) -> float:
            return float(np.max(shown - self.at(math.exp(log_mu)).delta(self.grid)))

        low = high = math.log(self.mu)
        for _ in range(_DOUBLINGS):
            if excess(low) > 0.0:
                break
            low, high = low - math.log(2.0), low
        else:
            return np.zeros(len(t))
        for _ in range(_DOUBLINGS):
            if excess(high) <= 0.0:
                root = brentq(excess, low, high, xtol=_SHARP, rtol=1e-15)
                break
            low, high = high, high + math.log(2.0)
        else:
            root = low
        found = math.exp(root - 1.01 * _SHARP)
        return np.where(np.any(shown > self.at(found).delta(self.grid), axis=1), found, 0.0)

    def epsilon(self, mu: float, delta: float) -> float:
        """Smallest epsilon at delta for this mu; inf if there is none."""
        if mu <= 0.0:
            return 0.0
        curve, high = self.at(mu), 1.0

        def above(epsilon: float) -> float:
            return float(curve.delta(np.array([epsilon]))[0]) - delta

        if above(0.0) <= 0.0:
            return 0.0
        while above(high) > 0.0:
            high *= 2.0
            if high > _FARTHEST:
                return math.inf
        return brentq(above, 0.0, high, xtol=1e-12)


@dc.dataclass(frozen=True)
class GaussianCurve(TradeoffCurve):
    """mu-GDP (Dong, Roth and Su 2022).

    >>> GaussianCurve(1.0).needed(np.array([0.5]), np.array([0.5]))
    array([0.])
    """

    @property
    def words(self) -> str:
        return f"{self.mu:.6g}-GDP"

    @property
    def gdp(self) -> float:
        return self.mu

    @property
    def rho(self) -> float:
        return 0.5 * self.mu**2

    def delta(self, epsilon: Array) -> Array:
        m = self.mu
        return np.maximum(ndtr(0.5 * m - epsilon / m) - np.exp(epsilon) * ndtr(-0.5 * m - epsilon / m), 0.0)

    def attack_limit(self) -> float:
        return gaussian_attack_limit(self.mu)

    def missed(self, false: Array) -> Array:
        return ndtr(-ndtri(false) - self.mu)

    def needed(self, true: Array, false: Array) -> Array:
        return ndtri(true) - ndtri(false)

    def epsilon(self, mu: float, delta: float) -> float:
        return gaussian_epsilon(mu, delta) if mu > 0.0 else 0.0


@dc.dataclass(frozen=True)
class PureCurve(TradeoffCurve):
    """Curve of (epsilon, delta): randomised response at epsilon = mu that reveals all with probability `failure`.

    >>> PureCurve(1.0, failure=0.1).delta(np.array([0.0, 1.0])).round(6)
    array([0.515905, 0.1     ])
    """

    failure: float = 0.0

    @property
    def words(self) -> str:
        also = f", delta = {self.failure:g}" if self.failure else ""
        return f"randomised response at epsilon = {self.mu:.6g}{also}"

    @property
    def gdp(self) -> float:
        """2 Phi^-1(e^mu / (1 + e^mu)): randomised response, at the corner of its trade-off function."""
        if self.failure:
            return math.inf
        return float(-2.0 * ndtri_exp(-np.logaddexp(0.0, self.mu))) * (1 + SAFETY)

    @property
    def rho(self) -> float:
        return math.inf if self.failure else 0.5 * self.mu**2

    @property
    def grid(self) -> Array:
        """Epsilons of every curve and the one corner of this profile."""
        return np.append(_EPSILONS, min(self.mu, _FARTHEST))

    def delta(self, epsilon: Array) -> Array:
        # (e^mu - e^epsilon) / (1 + e^mu), with numbers that never overflow.
        left = np.maximum(-np.expm1(epsilon - self.mu), 0.0) / (1.0 + math.exp(-self.mu))
        return self.failure + (1.0 - self.failure) * left

    def needed(self, true: Array, false: Array) -> Array:
        """Smallest mu for each event; below 0 where nothing has leaked."""
        ahead = np.log(np.maximum(true - self.failure, _LEAST) / np.maximum(false, _LEAST))
        return np.maximum(
            ahead, np.log(np.maximum(1.0 - false - self.failure, _LEAST) / np.maximum(1.0 - true, _LEAST))
        )

    def epsilon(self, mu: float, delta: float) -> float:
        """Smallest epsilon at delta; at delta = `failure`, mu itself."""
        return max(mu, 0.0) if delta == self.failure else super().epsilon(mu, delta)


@dc.dataclass(frozen=True)
class BoundedCurve(TradeoffCurve):
    """Family for which only bounds on delta at each epsilon are known; some of them imply better ones elsewhere.

    The largest P1(S) - x P0(S) over S is convex in x = e^epsilon, 1 at x = 0, and 1 - 1/x + 1/x times that of x at 1/x:
    the chords of the known bounds lie above it.
    """

    @abc.abstractmethod
    def bound(self, epsilon: Array) -> Array:
        """Bound on delta at each epsilon >= 0."""

    def delta(self, epsilon: Array) -> Array:
        chords = _chords_of(self)
        return np.clip(np.minimum(self.bound(epsilon), np.interp(np.exp(epsilon), *chords)), 0.0, 1.0)


@functools.lru_cache(maxsize=64)
def _chords_of(curve: BoundedCurve) -> tuple[Array, Array]:
    """Chords of the curve's bounds, cached because the search for an epsilon evaluates one curve many times."""
    return lowest_profile(curve.grid, curve.bound(curve.grid))


def lowest_profile(grid: Array, known: Array) -> tuple[Array, Array]:
    """Corners (e^epsilon, delta) of the largest profile below the bounds `known` at each epsilon of `grid`, [k].

    grid: rises from 0.
    """
    x = np.exp(grid)
    ahead = (1.0 - (1.0 - known) / x)[:0:-1]
    return _lowest_chords(np.concatenate([[0.0], 1.0 / x[:0:-1], x]), np.concatenate([[1.0], ahead, known]))


def _lowest_chords(x: Array, y: Array) -> tuple[Array, Array]:
    """Corners of the largest convex function below points in order of x."""
    kept: list[int] = []
    across, up = x.tolist(), y.tolist()  # plain numbers, which a loop reads several times as fast
    for i in range(len(across)):
        while len(kept) > 1 and (up[kept[-1]] - up[kept[-2]]) * (across[i] - across[kept[-1]]) >= (
            up[i] - up[kept[-1]]
        ) * (across[kept[-1]] - across[kept[-2]]):
            kept.pop()
        kept.append(i)
    return x[kept], y[kept]


@dc.dataclass(frozen=True)
class ObjectiveCurve(BoundedCurve):
    """`objective.objective_delta` at every epsilon, after a charge.

    vertices: as there. sizes, weights: quadrature rule for the random size of the Gaussian noise; revealing the size
    can only help the attacker, so the mean of the Gaussian deltas is an upper bound.

    >>> curve = ObjectiveCurve(0.2, charge=0.0, vertices=((1, 0.0), (2, 0.5), (1, 1.0)))
    >>> round(curve.attack_limit(), 3), round(float(curve.needed(np.array([0.6]), np.array([0.5]))[0]), 3)
    (0.552, 0.203)
    """

    charge: float
    vertices: Vertices
    sizes: tuple[float, ...] = (1.0,)
    weights: tuple[float, ...] = (1.0,)

    @property
    def words(self) -> str:
        return f"objective perturbation's curve at mu = {self.mu:.6g}"

    @property
    def grid(self) -> Array:
        return np.unique(np.minimum(np.append(_EPSILONS, self.charge + _EPSILONS), _FARTHEST))

    def epsilon(self, mu: float, delta: float) -> float:
        return objective_epsilon(mu, delta, self.charge, self.vertices) if mu > 0.0 else 0.0

    def bound(self, epsilon: Array) -> Array:
        """Bound on delta, with an absolute error of 1e-15."""
        e = epsilon - self.charge
        total = np.zeros(len(e))
        for size, weight in zip(self.sizes, self.weights, strict=True):
            for count, share in self.vertices:
                m = max(share * self.mu / size, 1e-12)
                total += weight * count * np.maximum(ndtr(0.5 * m - e / m) - np.exp(e) * ndtr(-0.5 * m - e / m), 0.0)
        return np.minimum(total, 1.0)
