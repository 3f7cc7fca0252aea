"""Projected stochastic gradient descent with Gaussian noise: the loop that private and non-private runs share."""

from __future__ import annotations

import dataclasses as dc
import math

import numpy as np

from ..losses import Loss
from ..types import Array, Data


@dc.dataclass(frozen=True)
class Iterates:
    """What a run leaves: the stored coordinates of its iterates; theta_t is the one after step t.

    last: theta_T, [r]. average: mean of theta_t over t = skipped + 1, ..., T, [r]. kept: theta_t at the t asked for,
    [m, r].
    """

    last: Array
    average: Array
    kept: Array


def noisy_descent(
    loss: Loss,
    data: Data,
    *,
    steps: int,
    step: float,
    decaying: bool,
    sigma: float,
    rng: np.random.Generator,
    radius: float = math.inf,
    rate: float = 0.0,
    lam: float = 0.0,
    skipped: int = 0,
    keep: np.ndarray | None = None,
) -> Iterates:
    """T = `steps` times theta <- Proj(theta - eta_t (estimate + lam theta + sigma g)), from theta_0 = 0.

    eta_t = step / sqrt(t) where `decaying`, else step. Proj: onto the L2 ball of `radius` in R^p. The estimate of the
    gradient of F is that of one record drawn uniformly (rate 0), or the sum over a batch that holds each record with
    probability `rate`, independently, divided by rate n (0 < rate <= 1; at 1 no batch is drawn). These are averages: n
    times the estimate and the noise with step / n is the same run.

    sigma: standard deviation of the noise in each coordinate; with -sigma the same rng draws the opposite noise.
    skipped: < steps, iterates left out of the average. keep: ascending steps whose iterates are kept, integers [m].
    Dense or CSR records. Columns that are not stored (data.p > r) enter through their norm, whose law is exact.
    Nothing is validated here.

    Randomness: see `dpcore.kernels.descent`; all of it from rng. Source: Kamath, CS 860 (2020), Lecture 13,
    Algorithms 2 and 3, in averages.

    >>> from dpcore.losses import get_loss
    >>> data, rng = Data([[1.0], [1.0]], [0.5, 0.5]), np.random.default_rng(0)
    >>> run = noisy_descent(get_loss("squared"), data, steps=2, step=0.25, decaying=False, sigma=0.0, rng=rng)
    >>> run.last.tolist(), run.average.tolist()
    ([0.375], [0.3125])
    """
    from .. import kernels

    theta, average = np.zeros(data.active), np.empty(data.active)
    keep = np.empty(0, np.int64) if keep is None else np.asarray(keep, np.int64)
    kept = np.empty((len(keep), data.active))
    kernels.stochastic_descent(
        kernels.DERIVATIVE[loss.key], kernels.records_of(data.X), data.y, loss.shape, False, float(lam), float(step),
        decaying, float(rate), float(sigma), float(radius), data.p - data.active, rng, steps,
        theta, skipped, average, keep, kept,
    )  # fmt: skip
    return Iterates(theta, average, kept)
