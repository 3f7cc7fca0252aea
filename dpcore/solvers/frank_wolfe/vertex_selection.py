"""How Frank-Wolfe chooses a vertex of the L1 ball or the simplex: the best one, or one drawn, with which noise."""

from __future__ import annotations

import abc
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ... import kernels
from ...core.arrays import Array

# Choices whose uniforms are drawn at once; part of what a seed means.
_BLOCK_STEPS = 32


class Choice(abc.ABC):
    """How a vertex is chosen, with the randomness of R streams."""

    @abc.abstractmethod
    def choose(self, t: int, scores: Array, noise: Array, streams: NDArray[np.intp]) -> tuple[NDArray[np.int64], Array]:
        """Columns and signs, [K] each, of choice t = 0, 1, ... by scores [K, r] with noise of these scales [K].

        Only their ratio matters: scores are grad F and scales are those of the runs over the size of the set.
        """


class Best(Choice):
    """The vertex of the smallest score; the first of several. idle: further columns, whose scores are all 0."""

    def __init__(self, idle: int = 0, *, signed: bool) -> None:
        self.signed, self.idle = signed, idle

    def choose(self, t: int, scores: Array, noise: Array, streams: NDArray[np.intp]) -> tuple[NDArray[np.int64], Array]:
        columns = (np.abs(scores).argmax(axis=1) if self.signed else scores.argmin(axis=1)).astype(np.int64)
        at = np.take_along_axis(scores, columns[:, None], axis=1)[:, 0]
        if self.idle and not self.signed:
            columns[at > 0.0] = scores.shape[1]
        return columns, np.where((at > 0.0) & self.signed, -1.0, 1.0)


class Exponential(Choice):
    """v with probability proportional to exp(-<v, scores> / noise): one column, then one sign.

    Randomness: two uniforms a choice from each stream, in order.
    """

    def __init__(self, rngs: Sequence[np.random.Generator], idle: int, *, signed: bool) -> None:
        self.rngs, self.idle, self.signed = rngs, idle, signed
        self.block = np.empty((len(rngs), 0, 2))

    def choose(self, t: int, scores: Array, noise: Array, streams: NDArray[np.intp]) -> tuple[NDArray[np.int64], Array]:
        if t % _BLOCK_STEPS == 0:
            self.block = np.stack([rng.random((_BLOCK_STEPS, 2)) for rng in self.rngs])
        columns, signs = np.empty(len(scores), np.int64), np.empty(len(scores))
        uniforms = self.block[streams, t % _BLOCK_STEPS]
        room = np.empty(scores.shape[1])
        kernels.draw_vertices(scores, 1.0 / noise, self.idle, self.signed, uniforms, room, columns, signs)
        return columns, signs


class NoisyBest(Choice):
    """The vertex of the smallest score plus Laplace noise of scale `noise`, an independent draw for each vertex.

    Randomness: from each stream in each step the noise of the stored vertices, +e_1, ..., +e_r and then -e_1, ...;
    with idle columns two uniforms more: the smallest noise of all idle vertices, and which of them has it.
    """

    def __init__(self, rngs: Sequence[np.random.Generator], idle: int, *, signed: bool) -> None:
        self.rngs, self.idle, self.signed = rngs, idle, signed

    def choose(self, t: int, scores: Array, noise: Array, streams: NDArray[np.intp]) -> tuple[NDArray[np.int64], Array]:
        live, r, sides = len(scores), scores.shape[1], 2 if self.signed else 1
        draws = np.stack([rng.laplace(size=sides * r) for rng in self.rngs])
        columns, signs, best = np.empty(live, np.int64), np.empty(live), np.empty(live)
        kernels.best_of_noisy(scores, noise, draws, streams, self.signed, columns, signs, best)
        if self.idle:
            extra, count = np.array([rng.random(2) for rng in self.rngs]), sides * self.idle
            # The smallest of `count` draws is below x with probability 1 - (1 - F(x))^count.
            with np.errstate(divide="ignore"):
                above = np.exp(np.log1p(-extra[:, 0]) / count)  # 1 - F(x)
            below = -np.expm1(np.log1p(-extra[:, 0]) / count)
            smallest = np.where(below < 0.5, np.log(2.0 * np.maximum(below, 1e-300)), -np.log(2.0 * above))
            wins = noise * smallest[streams] < best
            which = np.minimum((extra[streams, 1] * count).astype(np.int64), count - 1)
            columns = np.where(wins, r + which % self.idle, columns)
            signs = np.where(wins, np.where(which < self.idle, 1.0, -1.0), signs)
        return columns, signs
