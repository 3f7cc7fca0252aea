"""What a Gaussian mechanism promises at every epsilon at once: the trade-off curves that audits can refute.

Each family has one parameter mu, the sensitivity of what is noised over the scale of the noise. `needed` turns what an
attacker has shown into the smallest mu that allows it.
"""

from __future__ import annotations

import dataclasses as dc
from typing import Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from .accounting import gaussian_attack_limit, gaussian_epsilon, objective_epsilon, objective_vertices
from .types import Array, Budget

_BISECTIONS = 24
_LARGEST_LOG = 700.0
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


@dc.dataclass(frozen=True)
class ObjectiveCurve:
    """`accounting.objective_delta` at every epsilon, after a charge and beside another release's `rest`.

    sizes, weights: the noise is Gaussian of a random size with this quadrature rule; revealing the size to the attacker
    can only help him, so delta is the mean of the Gaussian ones.

    >>> curve = ObjectiveCurve(0.2, charge=0.0, rest=Budget(1e-9), one_sided=True)
    >>> round(curve.attack_limit(), 3), round(float(curve.needed(np.array([0.6]), np.array([0.5]))[0]), 3)
    (0.553, 0.181)
    """

    mu: float
    charge: float
    rest: Budget
    one_sided: bool
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
        own = objective_epsilon(mu, delta - self.rest.delta, self.charge, one_sided=self.one_sided)
        return own + self.rest.epsilon

    def _grid(self) -> Array:
        return np.concatenate([np.zeros(1), self.charge + self.rest.epsilon + _EPSILONS])

    def _delta(self, epsilon: Array, mu: Array) -> Array:
        """delta at each epsilon [e] for each mu [m], shape [m, e]; absolute error 1e-15."""
        e = epsilon - self.charge - self.rest.epsilon
        total = np.full((len(mu), len(e)), self.rest.delta)
        for size, weight in zip(self.sizes, self.weights, strict=True):
            for count, share in objective_vertices(one_sided=self.one_sided):
                m = np.maximum(share * mu[:, None] / size, 1e-12)
                total += weight * count * np.maximum(ndtr(0.5 * m - e / m) - np.exp(e) * ndtr(-0.5 * m - e / m), 0.0)
        return np.minimum(total, 1.0)
