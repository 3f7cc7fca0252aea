"""Projected stochastic gradient descent with Gaussian noise: the loop that private and non-private runs share."""

import dataclasses as dc
import math

import numpy as np

from ... import kernels
from ...core.arrays import Array
from ...core.cancel import Cancelled, go_on
from ...core.losses import Loss
from ...core.records import Data

# Steps in one call, and the largest number of coordinates of visited records, between two questions whether the result
# is still wanted.
_CALL_STEPS, _CALL_NUMBERS = 1 << 14, 1 << 19


@dc.dataclass(frozen=True)
class Iterates:
    """Iterates of a run or of M runs, by their first s coordinates; theta_t is the one after step t.

    last: theta_T, [s] or [M, s]. average: mean of theta_first, ..., theta_T, of that shape. Of the first run, kept:
    theta_t at the requested t, [m, s]; seen: the noisy gradient of every step, [T, s], or [0, s] without `watch`.
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
    step: float | Array,
    decaying: bool,
    sigma: float | Array,
    rng: np.random.Generator,
    radius: float = math.inf,
    order: float = 2.0,
    rate: float = 0.0,
    lam: float = 0.0,
    first: int = 1,
    keep: np.ndarray | None = None,
    stored: int | None = None,
    watch: bool = False,
    cancelled: Cancelled = lambda: False,
) -> Iterates:
    """Take T = `steps` steps theta <- Proj(theta - eta_t (estimate + lam theta + sigma g)), from theta_0 = 0.

    eta_t = step / sqrt(t) where `decaying`, else step. Proj: to the nearest point of ||theta||_order <= radius in R^p,
    order from 2 to inf. The estimate of the gradient of F is that of one record drawn uniformly (rate 0), or the sum
    over a batch that holds each record with probability `rate`, independently, divided by rate n (0 < rate <= 1; at 1
    no batch is drawn). These are averages: n times the estimate and the noise with step / n is the same run.

    sigma: standard deviation of the noise in each coordinate; with -sigma the same rng draws the opposite noise. step,
    sigma: numbers, or [M] for M runs that share records and normals, those of one run with noise.
    first: in 1, ..., steps; the iterates from there on are averaged. keep: ascending steps whose iterates are kept,
    integers [m]. stored: s in r, ..., p, the coordinates that are followed, by default the r columns that data stores;
    at order 2 the others enter through their norm, whose law is exact, and at another order s must be p. watch: keep
    estimate + lam theta + sigma g of every step. Dense or CSR records. Nothing is validated here. cancelled: asked at
    short intervals; if it returns True, CancelledError is raised.

    Randomness: see `dpcore.kernels.sgd`; all of it from rng. Source: Kamath, CS 860 (2020), Lecture 13,
    Algorithms 2 and 3, in averages.

    >>> from dpcore.core.losses import get_loss
    >>> data, rng = Data([[1.0], [1.0]], [0.5, 0.5]), np.random.default_rng(0)
    >>> run = noisy_descent(get_loss("squared"), data, steps=2, step=0.25, decaying=False, sigma=0.0, rng=rng)
    >>> run.last.tolist(), run.average.tolist()
    ([0.375], [0.3125])
    """
    stored = data.stored if stored is None else stored
    # Without a ball, idle columns do not change linear predictions.
    idle_columns = data.p - stored if math.isfinite(radius) or not loss.linear else 0
    keep = np.empty(0, np.int64) if keep is None else np.asarray(keep, np.int64)
    kept, seen = np.empty((len(keep), stored)), np.empty((steps if watch else 0, stored))
    etas, sigmas = (np.array(values, float, ndmin=1) for values in (step, sigma))
    theta, sums, idle = np.zeros((len(etas), stored)), np.zeros((len(etas), stored)), np.zeros(len(etas))
    call = max(1, min(_CALL_STEPS, int(_CALL_NUMBERS / (stored * max(1.0, rate * data.n)))))
    for start in range(0, steps, call):
        go_on(cancelled)
        kernels.stochastic_descent(
            kernels.DERIVATIVE[loss.key], kernels.records_of(data.X), data.y, loss.shape, not loss.linear, float(lam),
            etas, decaying, float(rate), sigmas, float(radius), float(order), idle_columns, rng,
            start, min(start + call, steps), theta, idle, first, sums, keep, kept, seen,
        )  # fmt: skip
    sums /= steps - first + 1
    return Iterates(theta, sums, kept, seen) if np.ndim(step) else Iterates(theta[0], sums[0], kept, seen)
