"""The noise of a private mean for a norm: in two dimensions, on the unit ball with the models it leads to; its length.

In the plane few records have a gradient each, ||z||_q* <= 1; their mean is released with noise for l_q*, and the model
is the point of the ball at which the noisy mean is smallest. On a polytope nearly all noise leads to one of few
vertices; on a round ball every bit of it moves the model.
"""

import dataclasses as dc
import math
from collections.abc import Sequence

import numpy as np

from ...core.arrays import Array
from ...core.privacy import Budget, NoiseLaw
from ...core.rng import generator
from ...core.sets import dual_order, kappa_lq, length, norm_ball
from ...core.specification import Domain, Spec
from ...mechanisms.mean.generalized_gaussian import GeneralizedGaussian
from ...mechanisms.noise.generalized_gaussian import lp_noise

RECORDS = 40
_MEAN = np.array([-0.8, -0.45])  # a direction that points to no vertex and no middle of a side
_ANGLES, _DRAWS = 361, 200


@dc.dataclass(frozen=True)
class BallPicture:
    """Points of the plane: rows (x_1, x_2).

    ball: the boundary ||x||_p_norm = 1, [361, 2]. mean: the true mean, with ||mean||_q* = 1. noisy: noisy means,
    [K, 2]. level: where their density is exp(-1/2) of its peak, [361, 2]. models: [K, 2], of the noisy means; best: of
    the true one. records: whose mean it is.
    """

    records: int
    p_norm: float
    ball: Array
    mean: Array
    noisy: Array
    level: Array
    models: Array
    best: Array


def ball_picture(p_norm: float, *, epsilon: float, delta: float, seed: int = 0) -> BallPicture:
    """`RECORDS` records in the plane, p_norm from 1 to inf; noise for q* >= 2, and for smaller q* that of L2.

    >>> found = ball_picture(1.0, epsilon=1.0, delta=1e-6)
    >>> len(np.unique(found.models, axis=0)) <= 4, found.best.tolist()
    (True, [1.0, 0.0])
    """
    ball, q_star = norm_ball(p_norm), dual_order(p_norm)
    noise = lp_noise("gaussian", max(q_star, 2.0), 2)
    scale = noise.multiplier(Budget(epsilon, delta)) * noise.widening * 2.0 / RECORDS
    mean = _MEAN / length(_MEAN, q_star)
    noisy = mean + scale * noise.draw([generator(seed, "ball picture", k) for k in range(_DRAWS)])
    turn = np.linspace(0.0, 2.0 * math.pi, _ANGLES)
    round_ = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return BallPicture(
        RECORDS,
        p_norm,
        round_ / length(round_, p_norm),
        mean,
        noisy,
        mean + scale * round_ / length(round_, noise.order),
        ball.extreme(noisy),
        ball.extreme(mean),
    )


@dc.dataclass(frozen=True)
class NoiseLengths:
    """Length of noise for a sensitivity of 1 in l_q*, arrays [K] over the norm orders, 1 <= p <= 2.

    gaussian, generalized: mean ||noise||_q*. order: r of the generalised law.
    """

    p_norm: Array
    gaussian: Array
    generalized: Array
    order: Array


def noise_lengths(
    p_norms: Sequence[float], *, d: int, epsilon: float, delta: float, seed: int, draws: int = 40
) -> NoiseLengths:
    """Each law at its own `LpNoise.multiplier`.

    >>> found = noise_lengths((1.0, 2.0), d=100, epsilon=1.0, delta=1e-5, seed=0)
    >>> bool(found.generalized[0] < found.gaussian[0]), found.order.round(2).tolist()
    (True, [8.07, 2.0])
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


@dc.dataclass(frozen=True)
class PrivateMean:
    """The error of a private mean in l_q*, of n records with ||x||_q* <= 1; arrays [K] over the numbers of columns d.

    generalized, gaussian: mean ||error||_q* of the generalised Gaussian mechanism and of scaled Gaussian noise. bound:
    on the first, sqrt(kappa d) times the multiplier and the sensitivity 2 / n. order: r of the generalised law.
    """

    d: Array
    generalized: Array
    gaussian: Array
    bound: Array
    order: Array
    q_star: float
    n: int


def private_mean(
    q_star: float, columns: Sequence[int], *, n: int, epsilon: float, delta: float, seed: int, draws: int = 20
) -> PrivateMean:
    """q_star: from 2 to inf. The error does not depend on the records.

    >>> found = private_mean(math.inf, (16, 256), n=1_000, epsilon=1.0, delta=1e-6, seed=0)
    >>> bool((found.generalized < found.bound).all()), found.order.round(1).tolist()
    (True, [4.2, 10.0])
    """

    def error(law: NoiseLaw, d: int) -> tuple[float, float]:
        spec = Spec("mean", n, d, domain=Domain(q_star))
        plan = GeneralizedGaussian(noise=law).calibrate(spec, Budget(epsilon, delta))
        drawn = lp_noise(law, q_star, d).draw([generator(seed, f"private mean, {law}", k) for k in range(draws)])
        return plan.scale * float(length(drawn, q_star).mean()), plan.scale * math.sqrt(d)

    generalized = np.array([error("generalized_gaussian", d) for d in columns])
    gaussian = np.array([error("gaussian", d)[0] for d in columns])
    orders = np.array([kappa_lq(q_star, d).order for d in columns])
    return PrivateMean(np.array(columns, float), generalized[:, 0], gaussian, generalized[:, 1], orders, q_star, n)
