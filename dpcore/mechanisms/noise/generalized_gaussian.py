"""Noise for vectors whose sensitivity is known in l_q, q = `q_star` >= 2: generalised Gaussian, or scaled Gaussian.

Generalised Gaussian noise has a density proportional to exp(-||z||_r^2 / (2 sigma^2)), r = `Regularity.order`. For a
sensitivity s it is rho-zCDP with rho = kappa s^2 / (2 sigma^2): at sigma = sqrt(kappa) s M its cost by zCDP is that of
Gaussian noise with the multiplier M. Gaussian noise is the case r = 2, by ||x||_2 <= d^(1/2 - 1/q) ||x||_q, and its
accounting is exact. For r > 2 and the largest entry, q = inf, `accounting.vertex_shift` is exact, too: the worst shift
is (s, ..., s). For q < inf that is a bound, as ||v||_inf <= ||v||_q, and the smaller of the two M is taken.

Proof of zCDP for a shift v, kappa_+ = r - 1 and an order alpha > 1, in squares of ||.||_r: smoothness (`Regularity`)
at a with steps v and -(alpha - 1) v gives
    alpha ||a||^2 - (alpha - 1) ||a + v||^2 >= ||a - (alpha - 1) v||^2 - kappa_+ alpha (alpha - 1) ||v||^2,
and the integral of exp(-(left side) / (2 sigma^2)) is exp((alpha - 1) D_alpha) over the density's constant. So
D_alpha <= alpha kappa_+ ||v||_r^2 / (2 sigma^2), where kappa_+ ||v||_r^2 <= kappa ||v||_q^2.
"""

import dataclasses as dc
import math

import numpy as np
from scipy.special import gammaincc, gammaln

from ...accounting.gaussian import gaussian_mu
from ...accounting.tradeoff import GaussianCurve, TradeoffCurve, ZcdpCurve
from ...accounting.vertex_shift import information, same_gaussian, vertex_length
from ...accounting.zcdp import zcdp_rho
from ...core.arrays import Array
from ...core.privacy import Budget, NoiseLaw, NotApplicable
from ...core.rng import Generators
from ...core.sets import kappa_lq, kappa_of_order, length, quoted_kappa
from ...core.validation import integer, one_of, positive
from .rounding import ROUNDED_UP

LP_LAWS: tuple[NoiseLaw, ...] = ("generalized_gaussian", "gaussian")

_BATCH_NUMBERS = 1_000_000
# Largest d^(1/q) for which the exact delta of the cube is looked for; it gains less than this over zCDP.
_LONGER = 2.0
# `same_gaussian` is that of a small shift: for a shift of m <= 2 it is larger by at most this times m.
_LARGEST_MU, _GROWTH = 2.0, 9e-3


@dc.dataclass(frozen=True)
class LpNoise:
    """Law of noise in R^d, at scale 1, for sensitivities in l_q.

    law: "gaussian" or "generalized_gaussian". order: r of the density, 2 for Gaussian noise. widening: factor from a
    sensitivity in l_q to one in the norm that calibrates the noise: d^(1/2 - 1/q), or sqrt(kappa).
    """

    law: NoiseLaw
    d: int
    order: float
    widening: float

    def draw(self, rngs: Generators) -> Array:
        """Draws, one of each generator, [len(rngs), d].

        Randomness: Gaussian: d normals. Generalised Gaussian: d Gamma(1/r) variables, d bits for their signs, and one
        chi-square: the direction follows the cone measure of the l_r sphere, the length is a chi variable of d degrees.
        """
        if self.law == "gaussian":
            return np.stack([rng.standard_normal(self.d) for rng in rngs])
        found, signs = np.empty((len(rngs), self.d)), np.empty((len(rngs), self.d), dtype=np.int8)
        squares = np.empty((len(rngs), 1))
        for i, rng in enumerate(rngs):
            rng.standard_gamma(1.0 / self.order, out=found[i])
            signs[i] = rng.integers(0, 2, self.d, dtype=np.int8)
            squares[i] = rng.chisquare(self.d)
        # The variables are the |y_j|^r of a direction y / ||y||_r.
        sizes = found.sum(axis=1, keepdims=True)
        found /= sizes
        found **= 1.0 / self.order
        found *= np.sqrt(squares)
        return np.where(signs, found, -found)

    def log_density(self, draws: Array) -> Array:
        """ln of the density at draws [..., d], up to a constant; shape [...]."""
        return -0.5 * length(draws, self.order)[..., 0] ** 2

    def distance(self, shift: Array) -> float:
        """Length of a shift [d] in the norm that calibrates the noise: sqrt(r - 1) ||shift||_r, r = `order`.

        At most widening ||shift||_q, with equality if all entries are equal and widening is kappa's of this order.

        >>> round(lp_noise("generalized_gaussian", 4.0, 100).distance(np.full(100, 0.1)), 9), round(0.3**0.5, 9)
        (0.547722558, 0.547722558)
        """
        return math.sqrt(self.order - 1.0) * float(length(shift, self.order)[0])

    def multiplier(self, budget: Budget) -> float:
        """Multiplier M: noise of scale M widening s makes a release of sensitivity s in l_q private at `budget`.

        1/mu of exact Gaussian accounting for order 2; else that of `zcdp_multiplier`, or 1 / (widening t) where t is
        `vertex_length` and this is smaller. Rounded up. Raises NotApplicable for delta = 0.

        >>> law, budget = lp_noise("generalized_gaussian", math.inf, 30), Budget(1.0, 1e-5)
        >>> round(law.multiplier(budget), 2), round(law.zcdp_multiplier(budget), 2)
        (2.3, 4.05)
        """
        if self.order == 2.0:
            return ROUNDED_UP / gaussian_mu(budget)
        by_zcdp = self.zcdp_multiplier(budget)
        # sqrt(kappa) of q = inf over that of this q is d^(1/q).
        if math.sqrt(self.order - 1.0) * self.d ** (1.0 / self.order) > _LONGER * self.widening:
            return by_zcdp
        t = vertex_length(self.d, self.order, budget)
        return min(by_zcdp, ROUNDED_UP / (self.widening * t)) if t else by_zcdp

    def zcdp_multiplier(self, budget: Budget) -> float:
        """1 / sqrt(2 rho) of zCDP, rounded up; NotApplicable for delta = 0."""
        return ROUNDED_UP / math.sqrt(2.0 * zcdp_rho(budget))

    def tail(self, size: float) -> float:
        """P(||z||_r > size), exactly: ||z||_r^2 is a chi-square of d degrees. It bounds P(||z||_q > size) for q >= r.

        Source: Bassily, Guzmán and Nandi 2021, Proposition 3.2(b), there as a bound.

        >>> round(LpNoise("gaussian", 1, 2.0, 1.0).tail(1.959964), 6)
        0.05
        """
        return float(gammaincc(0.5 * self.d, 0.5 * positive("size", size) ** 2))

    def curve(self, budget: Budget) -> TradeoffCurve:
        """Trade-off curve of a release with the noise that `budget` requires; exact for order 2."""
        if self.order == 2.0:
            return GaussianCurve(gaussian_mu(budget))
        mu = 1.0 / self.multiplier(budget)
        return LpNoiseCurve(mu, law=self, budget=budget, kept=mu)

    @property
    def mean_square(self) -> float:
        """E ||z||_2^2, exactly; d for Gaussian noise.

        z = L u: L^2 is a chi-square of d degrees, and u = y / ||y||_r for y with independent |y_j|^r ~ Gamma(1/r).
        ||y||_r^r ~ Gamma(d/r) does not depend on u, so that E u_1^2 = E y_1^2 / E ||y||_r^2, and
        E ||z||_2^2 = d^2 Gamma(3/r) Gamma(d/r) / (Gamma(1/r) Gamma((d + 2)/r)).

        >>> round(LpNoise("generalized_gaussian", 50, 2.0, 1.0).mean_square, 9)
        50.0
        """
        if self.law == "gaussian":
            return float(self.d)
        r, d = self.order, self.d
        parts = gammaln(3.0 / r) + gammaln(d / r) - gammaln(1.0 / r) - gammaln((d + 2.0) / r)
        return d * d * math.exp(float(parts))


@dc.dataclass(frozen=True)
class LpNoiseCurve(ZcdpCurve):
    """Generalised Gaussian noise of the multiplier 1/mu: by the worst shift of a cube, or zCDP if that gives less.

    law: of the noise. budget, kept: what the multiplier 1/kept of `LpNoise.curve` keeps to.

    >>> law, budget = lp_noise("generalized_gaussian", math.inf, 30), Budget(1.0, 1e-5)
    >>> curve = law.curve(budget)
    >>> round(curve.epsilon(curve.mu, 1e-5), 9), round(curve.attack_limit(), 3)
    (1.0, 0.57)
    """

    law: LpNoise = dc.field(kw_only=True)
    budget: Budget = dc.field(kw_only=True)
    kept: float = dc.field(kw_only=True)

    @property
    def words(self) -> str:
        return f"generalised Gaussian noise of multiplier {1.0 / self.mu:.6g}"

    def epsilon(self, mu: float, delta: float) -> float:
        """Smallest epsilon at delta for this mu: at most that of the budget where it is kept."""
        found = super().epsilon(mu, delta)
        return min(found, self.budget.epsilon) if mu <= self.kept and delta >= self.budget.delta else found

    def bound(self, epsilon: Array) -> Array:
        """The smallest of what zCDP gives, the delta of the cube (by `same_gaussian`), and the budget kept."""
        found, law = super().bound(epsilon), self.law
        mu, share = self.mu / law.widening * math.sqrt(information(law.d, law.order)), same_gaussian(law.d, law.order)
        if share is not None and mu <= _LARGEST_MU:
            m = mu * share(np.minimum(epsilon / mu, share.x[-1])) * (1.0 + _GROWTH * mu)
            found = np.minimum(found, GaussianCurve(m).delta(epsilon))
        return np.where(
            (epsilon >= self.budget.epsilon) & (self.mu <= self.kept), np.minimum(found, self.budget.delta), found
        )


def lp_noise(law: NoiseLaw, q_star: float, d: int) -> LpNoise:
    """Law of this name for l_q, q_star from 2 to inf; ValueError for another name or order.

    >>> lp_noise("gaussian", 4.0, 16).widening, lp_noise("generalized_gaussian", 3.0, 100).order
    (2.0, 3.0)
    """
    order = 2.0 if one_of("law", law, LP_LAWS) == "gaussian" else kappa_lq(q_star, d).order
    return LpNoise(law, d, order, math.sqrt(kappa_of_order(order, q_star, d).kappa))


def quoted_noise(q_star: float, d: int) -> tuple[LpNoise, float]:
    """Generalised Gaussian noise of the quoted order, and kappa of this order over the quoted one (`quoted_kappa`).

    The widening is the one proved for the order; noise as quoted is smaller by the root of the second number, which is
    1 if the quoted kappa is correct and up to e otherwise. For exhibits; ValueError for d = 1.

    >>> round(quoted_noise(math.inf, 1000)[1], 3), quoted_noise(3.0, 1000)[1]
    (2.541, 1.0)
    """
    quoted = quoted_kappa(q_star, d)
    proved = kappa_of_order(quoted.order, q_star, d).kappa
    return LpNoise("generalized_gaussian", d, quoted.order, math.sqrt(proved)), proved / quoted.kappa


def reconstructed_multiplier(budget: Budget) -> float:
    """Multiplier sqrt(2 ln(1/delta)) / epsilon: that of Corollary 3.3 of the paper, whose formula is reconstructed.

    sigma^2 = 2 kappa ln(1/delta) s^2 / epsilon^2. It is larger than `LpNoise.multiplier` where epsilon is small. Raises
    NotApplicable for delta = 0.

    Source: Bassily, Guzmán and Nandi 2021, Corollary 3.3.

    >>> round(reconstructed_multiplier(Budget(1.0, 1e-2)), 3)
    3.035
    """
    if budget.pure:
        raise NotApplicable(f"this noise needs delta > 0, got delta = {budget.delta:g}")
    return math.sqrt(-2.0 * math.log(budget.delta)) / budget.epsilon


def shift_shares(
    noise: LpNoise, shift: Array, scale: float, epsilon: float, *, draws: int, rng: np.random.Generator
) -> Array:
    """(1 - e^(epsilon - L))_+ for draws of scale z, L the privacy loss against shift + scale z, z of the law `noise`.

    Shape [draws]. Their mean is delta at epsilon of the two, and by z -> -z the same with the roles exchanged.
    shift: [d].

    >>> shares = shift_shares(lp_noise("gaussian", 2.0, 1), np.ones(1), 1.0, 1.0, draws=9, rng=np.random.default_rng(0))
    >>> shares.shape, bool(shares.min() == 0.0 < shares.max() < 1.0)
    ((9,), True)
    """
    positive("scale", scale)
    seen, step = np.empty(integer("draws", draws, at_least=2)), max(1, _BATCH_NUMBERS // noise.d)
    for start in range(0, draws, step):
        z = noise.draw([rng] * min(step, draws - start))
        loss = noise.log_density(z) - noise.log_density(z + shift / scale)
        seen[start : start + step] = np.maximum(-np.expm1(np.minimum(epsilon - loss, 0.0)), 0.0)
    return seen
