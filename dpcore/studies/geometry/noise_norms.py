"""How long noise is in the norm that counts, ||.||_q*: generalised Gaussian noise beside Gaussian noise."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence

import numpy as np

from ...core.arrays import Array
from ...core.privacy import Budget, NoiseLaw
from ...core.rng import generator
from ...core.sets import dual_order, kappa_lq, length
from ...mechanisms.noise.generalized_gaussian import lp_noise


@dc.dataclass(frozen=True)
class NoiseLengths:
    """For a sensitivity of 1 in l_q*, arrays [K] over the norm orders, 1 <= p <= 2.

    gaussian, generalized: mean ||noise||_q*. order: r of the generalised law.
    """

    p_norm: Array
    gaussian: Array
    generalized: Array
    order: Array


def noise_lengths(
    p_norms: Sequence[float], *, d: int, epsilon: float, delta: float, seed: int, draws: int = 40
) -> NoiseLengths:
    """Each law at its own multiplier: exact for Gaussian noise, zCDP for the generalised.

    >>> found = noise_lengths((1.0, 2.0), d=100, epsilon=1.0, delta=1e-5, seed=0)
    >>> (found.gaussian < found.generalized).tolist(), found.order.round(2).tolist()
    ([True, True], [8.07, 2.0])
    """
    budget = Budget(epsilon, delta)
    rngs = [generator(seed, "noise lengths", k) for k in range(draws)]
    streams = [rng.integers(1 << 63, size=2) for rng in rngs]

    def mean_length(law: NoiseLaw, which: int, q_star: float) -> float:
        noise = lp_noise(law, q_star, d)
        drawn = noise.draw([np.random.default_rng(stream[which]) for stream in streams])
        return noise.multiplier(budget) * noise.widening * float(length(drawn, q_star).mean())

    duals = [dual_order(p) for p in p_norms]
    return NoiseLengths(
        np.array(p_norms, float),
        np.array([mean_length("gaussian", 0, q) for q in duals]),
        np.array([mean_length("generalized_gaussian", 1, q) for q in duals]),
        np.array([kappa_lq(q, d).order for q in duals]),
    )
