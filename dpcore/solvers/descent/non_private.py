"""Projected gradient descent without privacy, by all records a step or by one: what noisy forms are compared with."""

from __future__ import annotations

import dataclasses as dc

import numpy as np

from ...core.arrays import Array
from ...core.losses import Loss
from ...core.records import Data
from .noisy_sgd import noisy_descent

_CHECKPOINTS = 40


@dc.dataclass(frozen=True)
class Progress:
    """How the risk fell: after `steps` [m] steps, for which `gradients` [m] of one record were computed, F of the last
    iterate was `risks` [m]."""

    steps: np.ndarray
    gradients: np.ndarray
    risks: Array


def checkpoints(steps: int) -> np.ndarray:
    """At most 40 step numbers from 1 to `steps`, both included, evenly spread on a logarithmic axis.

    >>> checkpoints(5).tolist()
    [1, 2, 3, 4, 5]
    """
    return np.unique(np.geomspace(1, steps, _CHECKPOINTS).round().astype(np.int64))


def projected_gd(loss: Loss, data: Data, radius: float, *, steps: int, G: float) -> Progress:
    """Algorithm 1 of the lecture: the gradient of F over all n records in each step, n gradients a step.

    theta_t = Proj(theta_{t-1} - eta_t grad F(theta_{t-1})) over the L2 ball of `radius`, with theta_0 = 0 and
    eta_t = 2 radius / (G sqrt(t)). G: the largest norm of one record's gradient in the ball. The risk after T steps is
    at most `bounds.last_iterate_bound(2 radius, G, T)` above the smallest in the ball.

    Source: Kamath, CS 860 (2020), Lecture 13, Algorithm 1 and Theorem 2, in averages.

    >>> from dpcore.core.losses import get_loss
    >>> progress = projected_gd(get_loss("hinge"), Data([[1.0], [1.0]], [1.0, 1.0]), 0.5, steps=3, G=1.0)
    >>> progress.gradients.tolist(), progress.risks.tolist()
    ([2, 4, 6], [0.5, 0.5, 0.5])
    """
    # A batch that holds every record draws nothing.
    return _progress(loss, data, radius, steps, G, rate=1.0, per_step=data.n, rng=np.random.default_rng(0))


def projected_sgd(loss: Loss, data: Data, radius: float, *, steps: int, G: float, rng: np.random.Generator) -> Progress:
    """Algorithm 2 of the lecture: as `projected_gd`, with the gradient of one record drawn uniformly in each step.

    Its mean risk meets the same bound, at 1 gradient a step. Randomness: one uniform index a step, from rng.

    Source: Kamath, CS 860 (2020), Lecture 13, Algorithm 2 and Theorem 2, in averages.

    >>> from dpcore.core.losses import get_loss
    >>> data, rng = Data([[1.0], [1.0]], [1.0, 1.0]), np.random.default_rng(0)
    >>> projected_sgd(get_loss("hinge"), data, 0.5, steps=3, G=1.0, rng=rng).gradients.tolist()
    [1, 2, 3]
    """
    return _progress(loss, data, radius, steps, G, rate=0.0, per_step=1, rng=rng)


def _progress(
    loss: Loss, data: Data, radius: float, steps: int, G: float, *, rate: float, per_step: int, rng: np.random.Generator
) -> Progress:
    seen = checkpoints(steps)
    run = noisy_descent(
        loss, data, steps=steps, step=2.0 * radius / G, decaying=True, sigma=0.0, radius=radius, rate=rate, rng=rng,
        keep=seen,
    )  # fmt: skip
    risks = [loss.value(z, data.y).mean() for z in loss.predictions(data, run.kept)]
    return Progress(seen, per_step * seen, np.array(risks))
