"""Private large-margin Gaussian classification as published by Pathak and Raj 2010: its noise, when it has an answer at
all, and what its theorems say. An exhibit of a proof that fails; none of it is private, for any epsilon.

One (d + 1) x (d + 1) matrix b is drawn with density ~ exp(-epsilon ||b||_F / 2) and shared by all C classes:
    J(Phi) = L(Phi) + lam sum_c tr_d Phi_c,    J_p(Phi) = J(Phi) + sum_c <b, Phi_c>,    all Phi_c with eigenvalues >= 0,
tr_d the trace without the last diagonal entry. L is the sum of losses; the published Huber loss has no lower bound
(`docs/errata.md`), so L is here the hinge of the published (4), rounded as in `dpcore/solvers/multiclass/objective.py`.
As the Phi_c are symmetric, only sym(b) = (b + b') / 2 acts. Throughout A = lam I_d + sym(b), I_d = diag(1, ..., 1, 0),
so that J_p = L + <A, sum_c Phi_c>, which has a minimiser with the probability of A > 0: at most 1/2, whatever epsilon
and lam are (docs/formulas.md, "As published").

Source: Pathak and Raj 2010, Large margin multiclass Gaussian classification with differential privacy.
"""

import dataclasses as dc
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...audit.certificates import lower_bound
from ...core.arrays import Array, float_array
from ...core.cache import shared
from ...core.rng import generator
from ...core.validation import check_real, integer, positive
from ...solvers.multiclass.objective import huber_hinge

_ERROR = 0.05
# Multipliers that are tried; each one gives a valid bound.
_MULTIPLIERS = np.concatenate([np.geomspace(1e-3, 1.0, 30), np.geomspace(1.0, 1e4, 121)[1:]])


def published_noise(d: int, epsilon: float, draws: int, rng: np.random.Generator) -> Array:
    """sym(b) of many draws, [draws, d + 1, d + 1].

    b has a direction at random and the norm ||b||_F ~ Gamma((d + 1)^2, 2 / epsilon). epsilon: that of the
    published density, > 0; it guarantees nothing.

    Source: Pathak and Raj 2010, (7).
    """
    p, draws = integer("d", d, at_least=1) + 1, integer("draws", draws, at_least=1)
    b = rng.standard_normal((draws, p, p))
    b *= (rng.gamma(p * p, 2.0 / positive("epsilon", epsilon), draws) / np.linalg.norm(b, axis=(1, 2)))[:, None, None]
    return 0.5 * (b + b.swapaxes(1, 2))


def linear_terms(noise: Array, lam: float) -> Array:
    """A = lam I_d + sym(b) for each draw, [draws, p, p].

    >>> linear_terms(np.zeros((1, 2, 2)), 3.0).tolist()
    [[[3.0, 0.0], [0.0, 0.0]]]
    """
    p = noise.shape[-1]
    return noise + positive("lam", lam) * np.diag([1.0] * (p - 1) + [0.0])


class Share(NamedTuple):
    """found of draws; low, high: Clopper and Pearson's interval for the probability, wrong with probability <= 0.05."""

    draws: int
    found: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.found / self.draws


@shared(16)
def existence(d: int, epsilon: float, lam: float, *, draws: int = 40_000, seed: int = 0) -> Share:
    """The share of draws for which J_p has a minimiser, A > 0; the records do not matter.

    >>> found = existence(1, 1.0, 1.0, draws=2_000)
    >>> found.low < 0.185 < found.high
    True
    """
    noise = published_noise(d, epsilon, draws, generator(seed, "as_printed", 0))
    found = int((np.linalg.eigvalsh(linear_terms(noise, lam))[:, 0] > 0.0).sum())
    low, high = (float(lower_bound(k, draws, _ERROR / 2)) for k in (found, draws - found))
    return Share(draws, found, low, 1.0 - high)


def theorem_2_bound(d: int, classes: int, epsilon: float, lam: float, delta: float) -> float:
    """8 (d + 1)^4 C ln(d / delta)^2 / (epsilon^2 lam).

    J(Phi^p) - J(Phi*) is said to exceed it with probability at most delta, Phi^p and Phi* the minimisers of J_p and J.
    The error: Lemma 2 takes J as lam-strongly convex. But tr_d is linear, and L does not change where all Phi_c move
    alike; so J is linear along such a move, and Phi^p may be as far away as the set allows (`theorem_2_violations`).

    Source: Pathak and Raj 2010, Theorem 2.

    >>> round(theorem_2_bound(2, 3, 1.0, 1.0, 0.1))
    17446
    """
    d, classes = integer("d", d, at_least=1), integer("classes", classes, at_least=2)
    epsilon, lam, log = positive("epsilon", epsilon), positive("lam", lam), math.log(d / _probability(delta))
    return 8.0 * (d + 1) ** 4 * classes * log**2 / (epsilon**2 * lam)


@dc.dataclass(frozen=True)
class Excess:
    """Bounds on J(Phi^p) - J(Phi*) over matrices with tr Phi_c <= cap. caps: [K]. low, high: [K, draws]. bound: what
    Theorem 2 says, but for a share `delta` of draws.
    """

    caps: Array
    low: Array
    high: Array
    bound: float
    delta: float

    @property
    def violated(self) -> Array:
        """Share of draws that exceed the bound for certain, [K]."""
        return (self.low > self.bound).mean(1)

    @property
    def kept(self) -> Array:
        """Share of draws that keep it for certain, [K]."""
        return (self.high <= self.bound).mean(1)


def theorem_2_violations(caps: Sequence[float] = (1e2, 1e3, 1e4, 1e5), draws: int = 400, seed: int = 0) -> Excess:
    """Theorem 2 where a minimiser exists because traces are capped, which changes no step of its proof.

    Here d = 2, C = 3, epsilon = lam = 1, delta = 0.1, and the hinge is rounded within 1/2. Holds for any n = 40
    records, as nothing of them enters. Bounds on the excess from both sides: docs/formulas.md, "As published", with the
    best of many multipliers t.

    caps: each > 0.

    >>> found = theorem_2_violations()
    >>> found.violated[:2].tolist(), found.kept[:2].tolist(), bool(found.violated[3] > 0.8)
    ([0.0, 0.0], [1.0, 1.0], True)
    """
    levels = float_array("caps", caps)
    if levels.ndim != 1 or not len(levels) or levels.min() <= 0.0:
        raise ValueError(f"caps must be at least one number > 0, got {caps!r}")
    d, classes, epsilon, lam, delta, n, half_width = 2, 3, 1.0, 1.0, 0.1, 40, 0.5
    bound = theorem_2_bound(d, classes, epsilon, lam, delta)
    noise = published_noise(d, epsilon, draws, generator(seed, "as_printed", 0))
    traced, A = linear_terms(np.zeros_like(noise[:1]), lam), linear_terms(noise, lam)
    t = _MULTIPLIERS[:, None, None, None]
    least = np.linalg.eigvalsh(traced + t * A)[..., 0]
    largest = np.linalg.eigvalsh(traced - t * A)[..., -1]
    start = n * (classes - 1) * float(huber_hinge(np.zeros(1), half_width)[0])
    total = classes * levels[:, None, None]
    reached = start + total * np.minimum(np.linalg.eigvalsh(A)[:, 0], 0.0)
    t = _MULTIPLIERS[:, None]
    low = (total * np.minimum(least, 0.0) - t * reached).max(1)
    high = (total * np.maximum(largest, 0.0) + t * reached)[:, _MULTIPLIERS >= 1.0].min(1)
    return Excess(levels, np.maximum(low, 0.0) - start, high, bound, delta)


def _probability(delta: float) -> float:
    return check_real("delta", delta, "in (0, 1)", lambda v: 0.0 < v < 1.0)
