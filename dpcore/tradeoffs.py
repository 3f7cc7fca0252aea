"""What a mechanism promises at every epsilon at once: the trade-off curves that audits can refute.

Each family has one parameter mu: of Gaussian noise the sensitivity of what is noised over its scale, of repeated draws
the range of one. `needed` turns what an attacker has shown into the smallest mu that allows it.
"""

from __future__ import annotations

import dataclasses as dc
from typing import Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from .accounting import Vertices, gaussian_attack_limit, gaussian_epsilon, objective_epsilon
from .composition import repeated_choice_delta
from .types import Array, Budget

_BISECTIONS = 24
_LARGEST_LOG = 700.0
_SOUGHT = 16  # of many thresholds, those whose rates an exact curve is worth asking about
# Where curves are looked at: epsilon beyond the charges, from next to nothing to where every attack looks certain.
_EPSILONS = np.concatenate([np.zeros(1), np.geomspace(1e-3, 40.0, 40)])


class Curve(Protocol):
    """A claim about every event: its probability `true` on one data set and `false` on its neighbour."""

    @property
    def mu(self) -> float: ...

    @property
    def words(self) -> str: ...

    def attack_limit(self) -> float:
        """How often the best attacker is right at 50:50, at most."""
        ...

    def needed(self, true: Array, false: Array) -> Array:
        """The smallest mu of this family that allows these probabilities."""
        ...

    def epsilon(self, mu: float, delta: float) -> float:
        """The smallest epsilon at delta for this mu."""
        ...

    def delta(self, epsilon: Array) -> Array:
        """What this claim means at each epsilon >= 0, [k]."""
        ...


@dc.dataclass(frozen=True)
class GaussianCurve:
    """mu-GDP (Dong, Roth and Su 2022).

    >>> GaussianCurve(1.0).needed(np.array([0.5]), np.array([0.5]))
    array([0.])
    """

    mu: float

    @property
    def words(self) -> str:
        return f"{self.mu:.6g}-GDP"

    def attack_limit(self) -> float:
        return gaussian_attack_limit(self.mu)

    def needed(self, true: Array, false: Array) -> Array:
        return ndtri(true) - ndtri(false)

    def epsilon(self, mu: float, delta: float) -> float:
        return gaussian_epsilon(mu, delta) if mu > 0.0 else 0.0

    def delta(self, epsilon: Array) -> Array:
        return ndtr(0.5 * self.mu - epsilon / self.mu) - np.exp(epsilon) * ndtr(-0.5 * self.mu - epsilon / self.mu)


@dc.dataclass(frozen=True)
class PureCurve:
    """epsilon = mu, delta = 0: randomised response."""

    mu: float

    @property
    def words(self) -> str:
        return f"randomised response at epsilon = {self.mu:.6g}"

    def attack_limit(self) -> float:
        return 0.5 + 0.5 * float(np.tanh(0.5 * self.mu))

    def needed(self, true: Array, false: Array) -> Array:
        return np.maximum(
            np.log(np.maximum(true, 1e-300) / false), np.log((1.0 - false) / np.maximum(1.0 - true, 1e-300))
        )

    def epsilon(self, mu: float, delta: float) -> float:
        return max(mu, 0.0)

    def delta(self, epsilon: Array) -> Array:
        return np.maximum(np.exp(self.mu) - np.exp(epsilon), 0.0) / (1.0 + np.exp(self.mu))


@dc.dataclass(frozen=True)
class ObjectiveCurve:
    """`accounting.objective_delta` at every epsilon, after a charge and beside another release's `rest`.

    vertices: as there. sizes, weights: the noise is Gaussian of a random size with this quadrature rule; revealing the
    size to the attacker can only help him, so delta is the mean of the Gaussian ones.

    >>> curve = ObjectiveCurve(0.2, charge=0.0, rest=Budget(1e-9), vertices=((1, 0.0), (2, 0.5), (1, 1.0)))
    >>> round(curve.attack_limit(), 3), round(float(curve.needed(np.array([0.6]), np.array([0.5]))[0]), 3)
    (0.553, 0.181)
    """

    mu: float
    charge: float
    rest: Budget
    vertices: Vertices
    sizes: tuple[float, ...] = (1.0,)
    weights: tuple[float, ...] = (1.0,)

    @property
    def words(self) -> str:
        return f"objective perturbation's curve at mu = {self.mu:.6g}"

    def attack_limit(self) -> float:
        """The cap of any mechanism, (e^epsilon + delta) / (1 + e^epsilon), where it is smallest along the curve."""
        epsilon = self._grid()
        spread = np.exp(-epsilon)
        return float(np.min((1.0 + self._delta(epsilon, np.full(1, self.mu)) * spread) / (1.0 + spread)))

    def needed(self, true: Array, false: Array) -> Array:
        """By bisection on mu, which Gaussian noise alone would need at most."""
        epsilon = self._grid()
        odds = np.exp(np.minimum(epsilon, _LARGEST_LOG))
        low, high = np.zeros(len(true)), np.maximum(GaussianCurve(self.mu).needed(true, false), 0.0)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            allowed = np.all(true[:, None] - odds * false[:, None] <= self._delta(epsilon, middle), axis=1)
            low, high = np.where(allowed, low, middle), np.where(allowed, middle, high)
        return low

    def epsilon(self, mu: float, delta: float) -> float:
        if mu <= 0.0:
            return 0.0
        own = objective_epsilon(mu, delta - self.rest.delta, self.charge, self.vertices)
        return own + self.rest.epsilon

    def delta(self, epsilon: Array) -> Array:
        return self._delta(epsilon, np.full(1, self.mu))[0]

    def _grid(self) -> Array:
        return np.concatenate([np.zeros(1), self.charge + self.rest.epsilon + _EPSILONS])

    def _delta(self, epsilon: Array, mu: Array) -> Array:
        """delta at each epsilon [e] for each mu [m], shape [m, e]; absolute error 1e-15."""
        e = epsilon - self.charge - self.rest.epsilon
        total = np.full((len(mu), len(e)), self.rest.delta)
        for size, weight in zip(self.sizes, self.weights, strict=True):
            for count, share in self.vertices:
                m = np.maximum(share * mu[:, None] / size, 1e-12)
                total += weight * count * np.maximum(ndtr(0.5 * m - e / m) - np.exp(e) * ndtr(-0.5 * m - e / m), 0.0)
        return np.minimum(total, 1.0)


@dc.dataclass(frozen=True)
class RepeatedChoiceCurve:
    """`composition.repeated_choice_delta` at every epsilon: `times` independent draws from one choice of range mu.

    >>> curve = RepeatedChoiceCurve(0.1, times=100)
    >>> round(curve.attack_limit(), 4), round(float(curve.needed(np.array([0.6]), np.array([0.4]))[0]), 4)
    (0.5989, 0.1011)
    """

    mu: float
    times: int

    @property
    def words(self) -> str:
        return f"{self.times} draws of range {self.mu:.6g}"

    def attack_limit(self) -> float:
        return 0.5 + 0.5 * float(self._delta(self.mu, np.zeros(1))[0])

    def needed(self, true: Array, false: Array) -> Array:
        """Exact for the rates that would need most under Gaussian noise; 0, which is not too much, for all others."""
        found = np.zeros(len(true))
        for i in np.argsort(GaussianCurve(1.0).needed(true, false))[-_SOUGHT:]:
            found[i] = self._needed(true[i], false[i])
        return found

    def _needed(self, true: float, false: float) -> float:
        """By bisection. Neighbours may change places: the event's complement must be allowed too."""
        odds = np.exp(_EPSILONS)
        shown = np.maximum(true - odds * false, (1.0 - false) - odds * (1.0 - true))

        def allowed(mu: float) -> bool:
            return bool(np.all(shown <= self._delta(mu, _EPSILONS)))

        if true <= false:
            return 0.0
        low, high = 0.0, max(float(GaussianCurve(1.0).needed(np.array(true), np.array(false))), 1e-6)
        while not allowed(high):
            low, high = high, 2.0 * high
            if high > _LARGEST_LOG:
                return high
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if allowed(middle) else (middle, high)
        return low

    def epsilon(self, mu: float, delta: float) -> float:
        if mu <= 0.0:
            return 0.0

        def above(epsilon: float) -> float:
            return float(self._delta(mu, np.array([epsilon]))[0]) - delta

        return brentq(above, 0.0, mu * self.times * (1.0 + 1e-9), xtol=1e-12) if above(0.0) > 0.0 else 0.0

    def delta(self, epsilon: Array) -> Array:
        return self._delta(self.mu, epsilon)

    def _delta(self, mu: float, epsilon: Array) -> Array:
        return repeated_choice_delta(mu, self.times, epsilon)
