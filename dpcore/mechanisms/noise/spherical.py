"""Two spherical laws of noise: their draws, and their effect on predictions."""

import abc
import dataclasses as dc
import functools
import math

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.optimize import brentq
from scipy.special import (  # scipy.stats calls these too, after .4 s of imports
    gammainccinv,
    gammaincinv,
    gammaln,
    ndtr,
)

from ... import kernels
from ...core.arrays import Array
from ...core.privacy import NoiseLaw
from ...core.quadrature import gauss_legendre
from ...core.rng import Generators


@dc.dataclass(frozen=True)
class Noise(abc.ABC):
    """Spherically symmetric law on R^p, at scale 1. Every draw is S Z with Z ~ N(0, I_p) and S independent of Z."""

    @abc.abstractmethod
    def direction(self, p: int, stored: int, rng: np.random.Generator) -> Array:
        """Draw in R^p: its first `stored` coordinates, shape [stored], from their exact law."""

    def directions(self, p: int, stored: int, rngs: Generators) -> Array:
        """Draws of the generators in turn, [len(rngs), stored]; a generator that is listed twice continues."""
        return np.stack([self.direction(p, stored, rng) for rng in rngs])

    @abc.abstractmethod
    def spread(self, p: int) -> tuple[Array, Array]:
        """Quadrature nodes and weights for the law of S."""

    @abc.abstractmethod
    def reach(self, p: int) -> tuple[float, float]:
        """(E |<direction, x>|, E <direction, x>^2) for ||x|| = 1."""

    @abc.abstractmethod
    def length(self, p: int, miss: float) -> float:
        """Length that a draw exceeds with probability `miss`."""

    @abc.abstractmethod
    def log_density(self, draws: Array) -> Array:
        """Logarithm of the density at draws [..., p], up to a constant; shape [...]."""

    def mean_draw_band(self, p: int, miss: float) -> float:
        """Bound on (1/n) sum_i |<direction, x_i>| for any ||x_i|| <= 1 that fails with probability at most miss.

        The length that a draw exceeds so often; or the mean of |<direction, e>|, ||e|| = 1, over its largest values, of
        this probability, if that is less. A mean of copies of this variable has a smaller mean of every increasing
        convex function, so also of its own largest values, which are above its quantile.
        """
        nodes, weights = self.spread(p)

        def surplus(size: float) -> float:
            return 2.0 * float(weights @ ndtr(-size / nodes)) - miss

        exceeded = brentq(surplus, 0.0, 40.0 * nodes[-1])
        ratio = exceeded / nodes
        beyond = nodes * np.exp(-0.5 * ratio**2) / math.sqrt(2.0 * math.pi) - exceeded * ndtr(-ratio)
        return min(self.length(p, miss), exceeded + 2.0 * float(weights @ beyond) / miss)


@dc.dataclass(frozen=True)
class Gaussian(Noise):
    """N(0, I_p): one standard normal draw for each requested coordinate, in order."""

    def direction(self, p: int, stored: int, rng: np.random.Generator) -> Array:
        return scaled_normals(stored, 1.0, rng)

    def directions(self, p: int, stored: int, rngs: Generators) -> Array:
        if any(rng is not rngs[0] for rng in rngs):
            return super().directions(p, stored, rngs)
        return rngs[0].standard_normal((len(rngs), stored))  # the same numbers, at once

    def spread(self, p: int) -> tuple[Array, Array]:
        return np.ones(1), np.ones(1)

    def reach(self, p: int) -> tuple[float, float]:
        return math.sqrt(2.0 / math.pi), 1.0

    def length(self, p: int, miss: float) -> float:
        return math.sqrt(2.0 * float(gammainccinv(0.5 * p, miss)))

    def log_density(self, draws: Array) -> Array:
        return -0.5 * (draws**2).sum(axis=-1)


@dc.dataclass(frozen=True)
class Gamma(Noise):
    """Density proportional to exp(-||b||): a length from Gamma(p) in a uniform direction.

    It is drawn as sqrt(V) Z with V ~ chi^2_{p+1}, the same law: integrating the Gaussian densities over V gives
    exp(-||b||). One chi-square draw, then one standard normal draw for each requested coordinate, in order.
    """

    def direction(self, p: int, stored: int, rng: np.random.Generator) -> Array:
        return scaled_normals(stored, math.sqrt(rng.chisquare(p + 1)), rng)

    def spread(self, p: int) -> tuple[Array, Array]:
        return chi_quadrature(p + 1)

    def reach(self, p: int) -> tuple[float, float]:
        """K_p = p Gamma(p/2) / (sqrt(pi) Gamma((p+1)/2)), of order sqrt(p), and p + 1."""
        K = math.exp(math.log(p) + gammaln(p / 2) - gammaln((p + 1) / 2)) / math.sqrt(math.pi)
        return K, p + 1.0

    def length(self, p: int, miss: float) -> float:
        return float(gammainccinv(p, miss))

    def log_density(self, draws: Array) -> Array:
        return -np.linalg.norm(draws, axis=-1)


def scaled_normals(size: int, scale: float, rng: np.random.Generator) -> Array:
    """`size` draws of N(0, scale^2), the numbers of scale * rng.standard_normal(size), without further memory.

    >>> rng, again = np.random.default_rng(0), np.random.default_rng(0)
    >>> bool((scaled_normals(2000, 3.0, rng) == 3.0 * again.standard_normal(2000)).all())
    True
    """
    # Few draws take less time than the call of a compiled function, which does not support subclasses of Generator.
    if size < _COMPILED_FROM or type(rng) is not np.random.Generator:
        return scale * rng.standard_normal(size)
    draws = np.empty(size)
    kernels.fill_normals(draws, float(scale), rng)
    return draws


NOISES: dict[NoiseLaw, Noise] = {"gaussian": Gaussian(), "gamma": Gamma()}

_COMPILED_FROM = 1_000


@functools.lru_cache(maxsize=256)
def chi_quadrature(degrees: int) -> tuple[Array, Array]:
    """Gauss nodes and weights for the law of sqrt(V), V ~ chi^2_degrees: E f(sqrt(V)) = weights @ f(nodes).

    The Gauss rule of the density, by Lanczos iteration on a fine discretisation. Gamma-norm noise is Gaussian noise of
    a random size sqrt(V) (docs/formulas.md), so its exact means and its attacker are Gaussian ones averaged over V.

    >>> nodes, weights = chi_quadrature(9)
    >>> round(float(weights @ nodes**2), 9)
    9.0
    """
    low, high = np.sqrt(2.0 * gammaincinv(0.5 * degrees, 1e-18)), np.sqrt(2.0 * gammainccinv(0.5 * degrees, 1e-18))
    x, w = gauss_legendre(600)
    s = low + (high - low) * (x + 1.0) / 2.0
    log_density = (degrees - 1) * np.log(s) - 0.5 * s**2
    w = w * np.exp(log_density - log_density.max())
    v = np.sqrt(w / w.sum())
    basis, diagonal, off = [v], [], []
    for _ in range(next(nodes for least, nodes in _CHI_NODES if degrees >= least)):
        u = s * basis[-1]
        diagonal.append(float(u @ basis[-1]))
        for b in basis + basis:  # twice: orthogonal to rounding
            u = u - (u @ b) * b
        off.append(float(np.linalg.norm(u)))
        basis.append(u / off[-1])
    nodes, vectors = eigh_tridiagonal(diagonal, off[:-1])
    return nodes, vectors[0] ** 2


# (at least so many degrees, nodes) for errors below 2e-8 in means of losses. Few degrees of freedom reach close to 0,
# where such a mean is least smooth in the size: 1e-6 for 2 degrees.
_CHI_NODES = (30, 6), (16, 8), (9, 12), (1, 60)
