"""Projected stochastic gradient descent with Gaussian noise: the loop that private and non-private runs share."""

from __future__ import annotations

import dataclasses as dc
import math

import numpy as np

from ..losses import Loss
from ..types import Array, Data


@dc.dataclass(frozen=True)
class Iterates:
    """What a run leaves: the first s coordinates of its iterates; theta_t is the one after step t.

    last: theta_T, [s]. average: mean of theta_first, ..., theta_T, [s]. kept: theta_t at the t asked for, [m, s].
    seen: the noisy gradient of every step, [T, s], or [0, s] where `watch` was not asked for.
    """

    last: Array
    average: Array
    kept: Array
    seen: Array


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
    first: int = 1,
    keep: np.ndarray | None = None,
    stored: int | None = None,
    watch: bool = False,
) -> Iterates:
    """T = `steps` times theta <- Proj(theta - eta_t (estimate + lam theta + sigma g)), from theta_0 = 0.

    eta_t = step / sqrt(t) where `decaying`, else step. Proj: onto the L2 ball of `radius` in R^p. The estimate of the
    gradient of F is that of one record drawn uniformly (rate 0), or the sum over a batch that holds each record with
    probability `rate`, independently, divided by rate n (0 < rate <= 1; at 1 no batch is drawn). These are averages: n
    times the estimate and the noise with step / n is the same run.

    sigma: standard deviation of the noise in each coordinate; with -sigma the same rng draws the opposite noise.
    first: in 1, ..., steps; the iterates from there on are averaged. keep: ascending steps whose iterates are kept,
    integers [m]. stored: s in r, ..., p, the coordinates that are followed, by default the r columns that data stores;
    the others enter through their norm, whose law is exact. watch: keep estimate + lam theta + sigma g of every step.
    Dense or CSR records. Nothing is validated here.

    Randomness: see `dpcore.kernels.descent`; all of it from rng. Source: Kamath, CS 860 (2020), Lecture 13,
    Algorithms 2 and 3, in averages.

    >>> from dpcore.losses import get_loss
    >>> data, rng = Data([[1.0], [1.0]], [0.5, 0.5]), np.random.default_rng(0)
    >>> run = noisy_descent(get_loss("squared"), data, steps=2, step=0.25, decaying=False, sigma=0.0, rng=rng)
    >>> run.last.tolist(), run.average.tolist()
    ([0.375], [0.3125])
    """
    from .. import kernels

    stored = data.active if stored is None else stored
    # Without a ball, what happens in idle columns changes no linear prediction.
    idle = data.p - stored if math.isfinite(radius) or not loss.linear else 0
    theta, average = np.zeros(stored), np.empty(stored)
    keep = np.empty(0, np.int64) if keep is None else np.asarray(keep, np.int64)
    kept, seen = np.empty((len(keep), stored)), np.empty((steps if watch else 0, stored))
    kernels.stochastic_descent(
        kernels.DERIVATIVE[loss.key], kernels.records_of(data.X), data.y, loss.shape, not loss.linear, float(lam),
        float(step), decaying, float(rate), float(sigma), float(radius), idle, rng, steps,
        theta, first, average, keep, kept, seen,
    )  # fmt: skip
    return Iterates(theta, average, kept, seen)
