"""Frank-Wolfe with Gaussian noise in every gradient, on any convex set: many runs advance together.

theta_{t+1} = (1 - mu_t) theta_t + mu_t s_t, mu_t = 2 / (t + 2), for t = 1, ..., T - 1, with s_t the point of the set at
which <grad F(theta_t) + noise, .> is smallest; theta_T is the result. On the L1 ball and the simplex s_t is a vertex:
`GaussianBest` chooses it for `vertices.descend`, and columns that are 0 in every record cost nothing. For other sets
`descend_noisy` draws the noise of every column.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ...core.arrays import Array
from ...core.cancel import Cancelled, go_on
from ...core.rng import Generators, in_blocks
from ...core.sets import ConvexSet
from .vertices import Choice, Risk, Run

_ASK_EVERY = 32


class GaussianBest(Choice):
    """The vertex of the smallest score plus N(0, noise^2), a draw for each column, of the L1 ball or the simplex.

    signed: vertices are +e_j and -e_j, whose noise is that of column j with either sign; else e_j alone.
    idle: number of further columns, whose scores are all 0; any number of them uses the same random numbers. Stream i
    takes the noise of generator i.

    Randomness: from each generator, for blocks of 32 steps or of fewer that hold 2^14 normals, a normal for each step
    and stored column; with idle columns two more uniforms a step: the largest noise of the idle vertices, by its
    inverse distribution function, and the vertex that has it.
    """

    steps: Iterator[tuple[Any, ...]] | None = None

    def choose(self, scores: Array, noise: Array, streams: NDArray[np.intp]) -> tuple[NDArray[np.int64], Array]:
        r, extras = scores.shape[1], 2 if self.idle else 0
        self.steps = self.steps or in_blocks(
            self.rngs, r, lambda rng, steps: (rng.standard_normal((steps, r)), rng.random((steps, extras)))
        )
        normals, extra = next(self.steps)
        noisy = noise[:, None] * normals[streams]
        noisy += scores
        columns = (np.abs(noisy) if self.signed else -noisy).argmax(axis=1).astype(np.int64)
        at = np.take_along_axis(noisy, columns[:, None], axis=1)[:, 0]
        signs = np.where((at > 0.0) & self.signed, -1.0, 1.0)
        if self.idle:
            uniforms = extra[streams]
            beyond = noise * largest_noise(uniforms[:, 0], self.idle, signed=self.signed)
            wins = beyond > (np.abs(at) if self.signed else -at)
            # One uniform is enough for the column and its sign: the first half of [0, 1) is +e_j.
            spread = uniforms[:, 1] * (2.0 if self.signed else 1.0)
            places = np.minimum((spread % 1.0 * self.idle).astype(np.int64), self.idle - 1)
            columns = np.where(wins, scores.shape[1] + places, columns)
            signs = np.where(wins, np.where(spread < 1.0, 1.0, -1.0), signs)
        return columns, signs


def largest_noise(uniforms: Array, count: NDArray[np.int64] | int, *, signed: bool) -> Array:
    """Quantiles of max_j |g_j| (signed) or of max_j g_j, j <= count, for independent normal g_j.

    The maximum is below x with probability P(x)^count, so that P(x) = u^(1 / count), and 1 - P(x) loses no digits.
    uniforms: [k], in [0, 1). count: [k] or one number, >= 1.

    >>> largest_noise(np.array([0.5]), np.array([1]), signed=True).round(4).tolist()
    [0.6745]
    """
    with np.errstate(divide="ignore"):
        tail = -np.expm1(np.log(uniforms) / count)
    return -ndtri(0.5 * tail if signed else tail)


def noise_of_steps(rngs: Generators, p: int) -> Iterator[Array]:
    """Standard normal noise of one step after another, without end: [len(rngs), p], in blocks as `in_blocks` says."""
    return (normals for (normals,) in in_blocks(rngs, p, lambda rng, steps: (rng.standard_normal((steps, p)),)))


def descend_noisy(
    risk: Risk,
    runs: Sequence[Run],
    shape: ConvexSet,
    rngs: Generators,
    *,
    size: float,
    start: Array,
    cancelled: Cancelled = lambda: False,
    watch: Callable[[Array], object] | None = None,
) -> Array:
    """theta_T of every run, [len(runs), p], in the set of this shape and size.

    runs: `noise` is the standard deviation of each coordinate of the noise in a gradient, `stream` the number of its
    generator. start: theta_1, [p]; columns that the risk does not store have gradient 0. watch: called in each step
    with the noisy gradients of the unfinished runs, [k, p], the longest run first.

    Randomness: p normals a step from each generator, in blocks of 32 steps or of fewer that hold 2^14 normals.
    Raises CancelledError if `cancelled`, asked at intervals, returns True.
    """
    order = np.argsort([-run.T for run in runs], kind="stable")
    T = np.array([runs[k].T for k in order])
    noise, streams = np.array([runs[k].noise for k in order]), np.array([runs[k].stream for k in order])
    thetas, p = np.tile(start, (len(runs), 1)), len(start)
    normals = noise_of_steps(rngs, p)
    for t in range(1, T[0]):
        if t % _ASK_EVERY == 0:
            go_on(cancelled)
        live, mu = int(np.count_nonzero(t < T)), 2.0 / (t + 2.0)
        noisy = next(normals)[streams[:live]]
        noisy *= noise[:live, None]
        noisy[:, : risk.stored] += risk.gradients(np.ascontiguousarray(thetas[:live, : risk.stored]))
        if watch is not None:
            watch(noisy)
        thetas[:live] *= 1.0 - mu
        thetas[:live] += mu * size * shape.extreme(noisy)
    return thetas[np.argsort(order)]
