"""Frank-Wolfe that reads each record once, for vertices that are chosen with noise: many runs advance together.

A run keeps one estimate of grad F and updates it from fresh records by the change of the gradient; old records lose
weight at the rate of the steps. Runs use the same records in the given order and differ in the noise of their choices.
"""

import dataclasses as dc

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ...core.arrays import Array
from ...core.cancel import Cancelled, go_on
from ...core.losses import Loss
from ...core.records import Data
from .tree import batch_mean
from .vertices import Choice

_ASK_EVERY = 32  # steps between two calls of `cancelled`


@dc.dataclass(frozen=True)
class Walk:
    """Problem of R runs. loss, data: records, read from the first on. start: theta_0, [w], w >= r, r
    columns being stored. size: of the set.

    count: R. choice: rule by which vertices are chosen. cancelled: asked at intervals; if it returns True,
    CancelledError is raised.
    """

    loss: Loss
    data: Data
    start: Array
    size: float
    count: int
    choice: Choice
    cancelled: Cancelled = lambda: False

    @property
    def starts(self) -> Array:
        """theta_0 of each run, [R, w]."""
        return np.tile(self.start, (self.count, 1))


@dc.dataclass(frozen=True)
class Walked:
    """Result of R runs. thetas: [R, w], the last iterates. columns, signs: [R, K], the vertices size * sign * e_column;
    columns from r on are idle."""

    thetas: Array
    columns: NDArray[np.int64]
    signs: Array


def recursive_walk(walk: Walk, first: int, batch: int, step: float, noise: Array) -> Walked:
    """Run steps of length eta = `step`: d_0 is the mean gradient of `first` records at theta_0, and after each step
    d_t = (1 - eta) d_{t-1} + g_t(theta_t) - (1 - eta) g_t(theta_{t-1}), g_t the mean of `batch` fresh records.

    noise: [k], the scale of each of the k choices.
    """

    def gradients(thetas: Array, records: range) -> Array:
        return batch_mean(walk.loss, walk.data, records, thetas[:, : walk.data.stored])

    vertices, records = _Vertices(walk, len(noise)), range(first)
    before = thetas = walk.starts
    estimates = gradients(thetas, records)
    for t, scale in enumerate(noise):
        if t % _ASK_EVERY == 0:
            go_on(walk.cancelled)
        if t:
            records = range(records.stop, records.stop + batch)
            estimates = (1.0 - step) * (estimates - gradients(before, records)) + gradients(thetas, records)
        before, thetas = thetas, (1.0 - step) * thetas + step * vertices.take(estimates, float(scale))
    return Walked(thetas, vertices.columns, vertices.signs)


class _Vertices:
    """Vertices that the runs took."""

    def __init__(self, walk: Walk, most: int) -> None:
        self.walk, self.done, self.rows = walk, 0, np.arange(walk.count)
        self.columns, self.signs = np.empty((walk.count, most), np.int64), np.empty((walk.count, most))

    def take(self, scores: Array, scale: float) -> Array:
        """Next vertices, [R, w], for scores [R, r] and noise of this scale."""
        walk = self.walk
        columns, signs = walk.choice.choose(scores, np.full(walk.count, scale / walk.size), self.rows)
        self.columns[:, self.done], self.signs[:, self.done] = columns, signs
        self.done += 1
        points = np.zeros((walk.count, len(walk.start)))
        stored = columns < len(walk.start)
        points[self.rows[stored], columns[stored]] = walk.size * signs[stored]
        return points


class Followed(Choice):
    """Choice that repeats the vertices of earlier runs and computes their log-likelihoods and scores.

    columns, signs: [R, K]. keep: keep the scores.

    log_likelihood: [R], the sum of ln p(vertex) for draws with probability ~ exp(-<v, scores> / noise). scores: of each
    step, those of all vertices, [R, J], over the noise's scale.
    """

    def __init__(self, columns: NDArray[np.int64], signs: Array, idle: int, *, signed: bool, keep: bool) -> None:
        super().__init__(idle=idle, signed=signed)
        self.steps, self.keep = zip(columns.T, signs.T, strict=True), keep
        self.log_likelihood, self.scores = np.zeros(len(columns)), list[Array]()

    def choose(self, scores: Array, noise: Array, streams: NDArray[np.intp]) -> tuple[NDArray[np.int64], Array]:
        columns, signs = next(self.steps)
        logs = -np.pad(scores, ((0, 0), (0, self.idle))) / noise[:, None]
        places = columns
        if self.signed:
            places = np.where(signs > 0.0, columns, columns + logs.shape[1])
            logs = np.concatenate([logs, -logs], axis=1)
        chosen = np.take_along_axis(logs, places[:, None], axis=1)[:, 0]
        self.log_likelihood += chosen - logsumexp(logs, axis=1)
        if self.keep:
            self.scores.append(-logs)
        return columns, signs
