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
    """Iterates of a run, by their first s coordinates; theta_t is the one after step t.

    last: theta_T, [s]. average: mean of theta_first, ..., theta_T, [s]. kept: theta_t at the requested t, [m, s].
    seen: the noisy gradient of every step, [T, s], or [0, s] without `watch`.
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
    """Take T = `steps` steps theta <- Proj(theta - eta_t (estimate + lam theta + sigma g)), from theta_0 = 0.

    eta_t = step / sqrt(t) where `decaying`, else step. Proj: onto the L2 ball of `radius` in R^p. The estimate of the
    gradient of F is that of one record drawn uniformly (rate 0), or the sum over a batch that holds each record with
    probability `rate`, independently, divided by rate n (0 < rate <= 1; at 1 no batch is drawn). These are averages: n
    times the estimate and the noise with step / n is the same run.

    sigma: standard deviation of the noise in each coordinate; with -sigma the same rng draws the opposite noise.
    first: in 1, ..., steps; the iterates from there on are averaged. keep: ascending steps whose iterates are kept,
    integers [m]. stored: s in r, ..., p, the coordinates that are followed, by default the r columns that data stores;
    the others enter through their norm, whose law is exact. watch: keep estimate + lam theta + sigma g of every step.
    Dense or CSR records. Nothing is validated here.

    Randomness: see `dpcore.kernels.sgd`; all of it from rng. Source: Kamath, CS 860 (2020), Lecture 13,
    Algorithms 2 and 3, in averages.

    >>> from dpcore.core.losses import get_loss
    >>> data, rng = Data([[1.0], [1.0]], [0.5, 0.5]), np.random.default_rng(0)
    >>> run = noisy_descent(get_loss("squared"), data, steps=2, step=0.25, decaying=False, sigma=0.0, rng=rng)
    >>> run.last.tolist(), run.average.tolist()
    ([0.375], [0.3125])
    """
    stored = data.stored if stored is None else stored
    keep = np.empty(0, np.int64) if keep is None else np.asarray(keep, np.int64)
    kept, seen = np.empty((len(keep), stored)), np.empty((steps if watch else 0, stored))
    (last,), (average,) = _descend(
        loss, data, stored, steps=steps, step=np.array([float(step)]), decaying=decaying,
        sigma=np.array([float(sigma)]), rng=rng, radius=radius, rate=rate, lam=lam, first=first,
        cancelled=lambda: False, keep=keep, kept=kept, seen=seen,
    )  # fmt: skip
    return Iterates(last, average, kept, seen)


def coupled_descents(
    loss: Loss,
    data: Data,
    *,
    steps: int,
    step: Array,
    decaying: bool,
    sigma: Array,
    rng: np.random.Generator,
    radius: float = math.inf,
    rate: float = 0.0,
    lam: float = 0.0,
    first: int = 1,
    cancelled: Cancelled = lambda: False,
) -> Array:
    """Averages of M runs of `noisy_descent` that share records and normals, [M, r]; for charts.

    step, sigma: [M], one for each run; a run with -sigma has the opposite noise of that with sigma. cancelled: asked at
    short intervals; if it returns True, CancelledError is raised. The other arguments are those of `noisy_descent`.

    Randomness: that of one run of `noisy_descent` with noise, all of it from rng.

    >>> from dpcore.core.losses import get_loss
    >>> data, rng = Data([[1.0], [1.0]], [0.5, 0.5]), np.random.default_rng(0)
    >>> runs = {"steps": 2, "step": np.array([0.25, 0.5]), "decaying": False, "sigma": np.zeros(2), "rng": rng}
    >>> coupled_descents(get_loss("squared"), data, **runs).tolist()
    [[0.3125], [0.5]]
    """
    nothing = np.empty((0, data.stored))
    _, averages = _descend(
        loss, data, data.stored, steps=steps, step=np.asarray(step, float), decaying=decaying,
        sigma=np.asarray(sigma, float), rng=rng, radius=radius, rate=rate, lam=lam, first=first,
        cancelled=cancelled, keep=np.empty(0, np.int64), kept=nothing, seen=nothing,
    )  # fmt: skip
    return averages


def _descend(
    loss: Loss,
    data: Data,
    stored: int,
    *,
    steps: int,
    step: Array,
    decaying: bool,
    sigma: Array,
    rng: np.random.Generator,
    radius: float,
    rate: float,
    lam: float,
    first: int,
    cancelled: Cancelled,
    keep: np.ndarray,
    kept: Array,
    seen: Array,
) -> tuple[Array, Array]:
    """Last iterates and averages of M runs, [M, stored] each; kept and seen are filled in for the first run."""
    # Without a ball, idle columns do not change linear predictions.
    idle_columns = data.p - stored if math.isfinite(radius) or not loss.linear else 0
    theta, sums, idle = np.zeros((len(step), stored)), np.zeros((len(step), stored)), np.zeros(len(step))
    call = max(1, min(_CALL_STEPS, int(_CALL_NUMBERS / (stored * max(1.0, rate * data.n)))))
    for start in range(0, steps, call):
        go_on(cancelled)
        kernels.stochastic_descent(
            kernels.DERIVATIVE[loss.key], kernels.records_of(data.X), data.y, loss.shape, not loss.linear, float(lam),
            step, decaying, float(rate), sigma, float(radius), idle_columns, rng, start, min(start + call, steps),
            theta, idle, first, sums, keep, kept, seen,
        )  # fmt: skip
    return theta, sums / (steps - first + 1)
