"""The noise of a private mean for a norm: in two dimensions, on the unit ball with the models it leads to; its error.

In the plane few records z have the loss -<x, z>, ||z||_q* <= 1; their mean is released with noise for l_q*, and the
model is the point of the ball that is farthest in the direction of the noisy mean. On a polytope nearly all noise leads
to one of few vertices; on a round ball every bit of it moves the model.
"""

import dataclasses as dc
import math

import numpy as np

from ...core.arrays import Array
from ...core.cache import shared
from ...core.privacy import Budget, NoiseLaw
from ...core.rng import generator
from ...core.sets import dual_order, length, norm_ball
from ...core.specification import Domain, Spec
from ...mechanisms.mean.generalized_gaussian import GeneralizedGaussian
from ...mechanisms.noise.generalized_gaussian import lp_noise

RECORDS = 40
_MEAN = np.array([0.8, 0.45])  # a direction that points to no vertex and no middle of a side
_ANGLES, _DRAWS = 361, 200


@dc.dataclass(frozen=True)
class BallPicture:
    """Points of the plane: rows (x_1, x_2).

    ball: the boundary ||x||_p_norm = 1, [361, 2]. mean: the true mean, with ||mean||_q* = 1. noisy: noisy means,
    [K, 2]. models: [K, 2], of the noisy means; best: of the true one. records: whose mean it is.
    """

    records: int
    p_norm: float
    ball: Array
    mean: Array
    noisy: Array
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
        ball.extreme(-noisy),
        ball.extreme(-mean),
    )


@dc.dataclass(frozen=True)
class MeanErrors:
    """Mean ||error||_q* of a private mean of n records with ||x||_q* <= 1.

    generalized, gaussian: by the generalised Gaussian mechanism and by scaled Gaussian noise. bound: on the first,
    sqrt(kappa d) times the multiplier and the sensitivity 2 / n.
    """

    generalized: float
    gaussian: float
    bound: float


@shared(256)
def mean_errors(q_star: float, d: int, n: int, epsilon: float, delta: float, seed: int, draws: int = 20) -> MeanErrors:
    """q_star: from 2 to inf. The errors do not depend on the records.

    >>> found = mean_errors(math.inf, 16, 1_000, 1.0, 1e-6, seed=0)
    >>> found.generalized < min(found.gaussian, found.bound)
    True
    """

    def error(law: NoiseLaw) -> tuple[float, float]:
        plan = GeneralizedGaussian(noise=law).calibrate(
            Spec("mean", n, d, domain=Domain(q_star)), Budget(epsilon, delta)
        )
        drawn = lp_noise(law, q_star, d).draw([generator(seed, f"private mean, {law}", k) for k in range(draws)])
        return plan.scale * float(length(drawn, q_star).mean()), plan.scale * math.sqrt(d)

    (ours, bound), (scaled, _) = error("generalized_gaussian"), error("gaussian")
    return MeanErrors(ours, scaled, bound)
