"""Synthetic records for a norm: the best model over the l_p ball, and the least risk, are known exactly.

A record has a fair label y = +-1 and x = y a. Logistic loss sees y <x, theta> alone, which is <a, theta>. p > 1,
"dense": all entries of a are +-d^(-1/q*), plus with probability 3/4. p = 1, "sparse": entries +-1, only the first of
which is plus with probability 3/4, the others with 1/2. Either way ||x||_q* = 1, for 1/p + 1/q* = 1.

The best model is d^(-1/p) (1, ..., 1) for dense records and (1, 0, ..., 0) for sparse ones, with margins (2 K - m) / m,
K ~ Bin(m, 3/4), m = d or 1 (docs/formulas.md, "Geometry experiments").
"""

import dataclasses as dc

import numpy as np
from scipy.stats import binom

from ...core.arrays import Array
from ...core.losses import get_loss
from ...core.records import Data
from ...core.rng import generator
from ...core.sets import dual_order
from ...core.validation import integer, norm_order

LOSS, CHANCE = "logistic", 0.75
_COINS = 256  # coins are bytes, so that 3/4 is exact
_BLOCK = 6_000_000  # numbers at hand at a time, 8 bytes each
_NEGLIGIBLE = 1e-30


@dc.dataclass(frozen=True)
class Optimum:
    """The best model of the ball. risk: F*, its population risk. nothing: F(0) - F*. theta: [d]."""

    risk: float
    nothing: float
    theta: Array


def synthetic_records(p_norm: float, n: int, d: int, seed: int) -> Data:
    """n >= 2 records with d >= 1 columns for the norm of order p_norm, from 1 to inf; ||x||_q* = 1, y = +-1.

    The first records do not change when n grows.

    >>> data = synthetic_records(1.5, n=4, d=8, seed=0)
    >>> data.norms(3.0).round(12), np.unique(np.abs(data.X)).round(12)
    (array([1., 1., 1., 1.]), array([0.5]))
    """
    p_norm, d = _checked(p_norm, d)
    n = integer("n", n, at_least=2)
    coins = generator(seed, "geometry people", 0).integers(0, _COINS, (n, d), dtype=np.uint8)
    y = np.asarray(2.0 * generator(seed, "geometry labels", 0).integers(0, 2, n) - 1.0, float)
    X = np.where(coins < _thresholds(p_norm, d), _entry(p_norm, d), -_entry(p_norm, d))
    X *= y[:, None]
    return Data(X, y)


def optimum(p_norm: float, d: int) -> Optimum:
    """The best model of the unit l_p ball for `synthetic_records`, to about 1e-12 in the risk.

    >>> optimum(1.0, d=3).theta
    array([1., 0., 0.])
    """
    p_norm, d = _checked(p_norm, d)
    coins = 1 if p_norm == 1.0 else d
    counts = np.arange(coins + 1.0)
    chances = binom.pmf(counts, coins, CHANCE)
    kept = chances > _NEGLIGIBLE
    chances, margins = chances[kept] / chances[kept].sum(), (2.0 * counts[kept] - coins) / coins
    risk = float(chances @ get_loss(LOSS).value(margins, np.ones_like(margins)))
    nothing = float(get_loss(LOSS).value(np.zeros(1), np.ones(1))[0]) - risk
    theta = np.zeros(d)
    theta[: 1 if p_norm == 1.0 else d] = d ** (-1.0 / p_norm) if p_norm > 1.0 else 1.0
    return Optimum(risk, nothing, theta)


def population_excess(thetas: Array, p_norm: float, *, count: int, seed: int) -> Array:
    """F(theta_k) - F* of models [K, d], on `count` >= 2 fresh records that all models share; [K].

    F* over the unit l_p ball. What is averaged is the loss of theta_k less that of the best model on the same
    record, so that the error is that of the difference. The records come in blocks: beside the models about 100 MB.

    >>> at = population_excess(np.zeros((1, 4)), 2.0, count=10_000, seed=0)
    >>> bool(abs(at[0] - optimum(2.0, 4).nothing) < 0.02)
    True
    """
    K, d = thetas.shape
    p_norm, d = _checked(p_norm, d)
    count, law = integer("count", count, at_least=2), get_loss(LOSS)
    models = np.vstack([thetas, optimum(p_norm, d).theta])
    sums, entry, thresholds = models.sum(axis=1), _entry(p_norm, d), _thresholds(p_norm, d)
    rng = generator(seed, "geometry fresh people", 0)
    total = np.zeros(K)
    rows = max(4, _BLOCK // (d + 4 * (K + 1)) // 4 * 4)  # random bytes come in fours
    plus = np.empty((min(rows, count), d))
    for start in range(0, count, rows):
        here = plus[: count - start]
        here[:] = rng.integers(0, _COINS, here.shape, dtype=np.uint8) < thresholds
        margins = entry * (2.0 * (here @ models.T) - sums)
        losses = law.value(margins.ravel(), np.ones(margins.size)).reshape(margins.shape)
        total += (losses[:, :-1] - losses[:, -1:]).sum(axis=0)
    return total / count


def _checked(p_norm: float, d: int) -> tuple[float, int]:
    return norm_order("p_norm", p_norm), integer("d", d, at_least=1)


def _entry(p_norm: float, d: int) -> float:
    return float(d ** (-1.0 / dual_order(p_norm)))


def _thresholds(p_norm: float, d: int) -> np.ndarray:
    """[d]: an entry of a is positive where its byte is below."""
    found = np.full(d, _COINS // 2 if p_norm == 1.0 else int(CHANCE * _COINS), np.uint8)
    found[0] = int(CHANCE * _COINS)
    return found
