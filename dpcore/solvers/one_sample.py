"""Frank-Wolfe that reads each record once, for vertices that are chosen with noise: many runs advance together.

Both walks keep an estimate of grad F that learns from fresh records how the gradient has moved. In `tree_walk` the
estimates are nodes of binary trees; in `recursive_walk` there is one, which forgets at the pace of the steps. Runs see
the same records in the order given, and differ in the noise of their choices.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable
from concurrent.futures import CancelledError

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ..losses import Loss
from ..types import Array, Data
from .vertex_choices import Choice

_ASK_EVERY = 32  # steps between two looks at whether somebody cancelled
_BLOCK_NUMBERS = 4_000_000  # predictions at once


@dc.dataclass(frozen=True)
class Walk:
    """What R runs walk on. loss, data: records, read from the first on. start: theta_0, [w], w >= r, r
    columns being stored. size: of the set.

    count: R. choice: how vertices are chosen. cancelled: asked now and then; if it says yes, CancelledError is raised.
    """

    loss: Loss
    data: Data
    start: Array
    size: float
    count: int
    choice: Choice
    cancelled: Callable[[], bool] = lambda: False


@dc.dataclass(frozen=True)
class Walked:
    """thetas: [R, w], where the runs end. columns, signs: [R, K], the vertices size * sign * e_column; columns from r
    on are idle ones. used: how many records were read."""

    thetas: Array
    columns: NDArray[np.int64]
    signs: Array
    used: int


def tree_walk(walk: Walk, phases: range, batch: int, noise: Array) -> Walked:
    """Steps eta = 2 / (tau + 2), tau = 0, 1, ..., one for each leaf of a binary tree of depth t, t in `phases`.

    A tree's root is the mean gradient of `batch` records at the model of its first leaf. A left child is its parent. A
    right child at depth j adds to its parent the mean, over batch / 2^j fresh records, of how far the gradient has
    moved since the parent was made. Leaves go from left to right, so that the only new node of leaf k > 0 is at depth
    t - (trailing zero bits of k).

    batch: a multiple of 2^t for each t. noise: the scale of a choice in each phase.
    """
    steps, reader = _Steps(walk, sum(1 << t for t in phases)), _Reader(walk)
    for t, scale in zip(phases, noise, strict=True):
        reader.advance(batch)
        path = [(steps.thetas, reader.gradients(steps.thetas))] * (t + 1)
        for k in range(1 << t):
            if k:
                j = t - ((k & -k).bit_length() - 1)
                before, below = path[j - 1]
                reader.advance(batch >> j)
                moved = reader.gradients(steps.thetas) - reader.gradients(before)
                path[j:] = [(steps.thetas, below + moved)] * (t + 1 - j)
            steps.take(path[t][1], 2.0 / (steps.done + 2.0), float(scale))
    return Walked(steps.thetas, steps.columns, steps.signs, reader.stop)


def recursive_walk(walk: Walk, first: int, batch: int, step: float, noise: Array) -> Walked:
    """Steps of one length eta = `step`: d_0 is the mean gradient of `first` records at theta_0, and after each step
    d_t = (1 - eta) d_{t-1} + g_t(theta_t) - (1 - eta) g_t(theta_{t-1}), g_t the mean of `batch` fresh records.

    noise: [k], the scale of each of the k choices.
    """
    steps, reader = _Steps(walk, len(noise)), _Reader(walk)
    reader.advance(first)
    estimate, before = reader.gradients(steps.thetas), steps.thetas
    for t, scale in enumerate(noise):
        if t:
            reader.advance(batch)
            estimate = (1.0 - step) * (estimate - reader.gradients(before)) + reader.gradients(steps.thetas)
            before = steps.thetas
        steps.take(estimate, step, float(scale))
    return Walked(steps.thetas, steps.columns, steps.signs, reader.stop)


class _Reader:
    """The records one batch after the other: each is in one batch at most."""

    def __init__(self, walk: Walk) -> None:
        self.loss, self.data, self.stop = walk.loss, walk.data, 0

    def advance(self, count: int) -> None:
        begin, self.stop = self.stop, self.stop + count
        if self.stop > self.data.n:
            raise ValueError(f"records must be at least {self.stop}, got {self.data.n}")
        self.X, self.y = self.data.X[begin : self.stop], self.data.y[begin : self.stop]

    def gradients(self, thetas: Array) -> Array:
        """The mean gradient of the batch at each model [R, w], [R, r]."""
        from .. import kernels

        thetas = thetas[:, : self.data.active]
        derivative, rows, total = kernels.DERIVATIVE[self.loss.key], np.arange(len(thetas)), np.zeros_like(thetas)
        block = max(1, _BLOCK_NUMBERS // len(thetas))
        for begin in range(0, len(self.y), block):
            X, y = self.X[begin : begin + block], self.y[begin : begin + block]
            z = np.ascontiguousarray(thetas @ X.T)
            slopes = np.empty_like(z)
            kernels.apply_to_rows(derivative, z, rows, y, self.loss.shape, slopes)
            total += slopes @ X
        return total / len(self.y)


class _Steps:
    """Where the runs are and which vertices they took. Models are made anew in each step: nodes keep old ones."""

    def __init__(self, walk: Walk, most: int) -> None:
        self.walk, self.done, self.rows = walk, 0, np.arange(walk.count)
        self.thetas = np.tile(walk.start, (walk.count, 1))
        self.columns, self.signs = np.empty((walk.count, most), np.int64), np.empty((walk.count, most))

    def take(self, scores: Array, step: float, scale: float) -> None:
        if self.done % _ASK_EVERY == 0 and self.walk.cancelled():
            raise CancelledError
        noise = np.full(len(self.rows), scale / self.walk.size)
        columns, signs = self.walk.choice.choose(self.done, scores, noise, self.rows)
        self.columns[:, self.done], self.signs[:, self.done] = columns, signs
        self.thetas = (1.0 - step) * self.thetas
        stored = columns < self.thetas.shape[1]
        self.thetas[self.rows[stored], columns[stored]] += step * self.walk.size * signs[stored]
        self.done += 1


class Followed(Choice):
    """The vertices of earlier runs again: how likely they are, and what their scores are.

    columns, signs: [R, K]. signed: vertices are e_j and -e_j, else e_j. keep: whether scores are kept.

    log_likelihood: [R], the sum of ln p(vertex) for draws with probability ~ exp(-<v, scores> / noise). scores: of each
    step, those of all vertices, [R, J], over the noise's scale.
    """

    def __init__(self, columns: NDArray[np.int64], signs: Array, idle: int, *, signed: bool, keep: bool) -> None:
        self.columns, self.signs, self.idle, self.signed, self.keep = columns, signs, idle, signed, keep
        self.log_likelihood, self.scores = np.zeros(len(columns)), list[Array]()

    def choose(self, t: int, scores: Array, noise: Array, streams: NDArray[np.intp]) -> tuple[NDArray[np.int64], Array]:
        columns, signs = self.columns[:, t], self.signs[:, t]
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
