"""Frank-Wolfe on the L1 ball and the simplex, private or not: many runs advance together, one vertex a step.

theta_{t+1} = (1 - mu_t) theta_t + mu_t s_t, mu_t = 2 / (t + 2), for t = 1, ..., T - 1, and theta_T is the result. Hence
theta_T = 2 / (T (T + 1)) [theta_1 + sum_t (t + 1) s_t] depends only on the chosen vertices. A polytope with a list of
vertices is the simplex of the products of the records with the vertices. Risks are in `objectives`.
"""

import abc
import dataclasses as dc
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ... import kernels
from ...core.arrays import Array
from ...core.cancel import Cancelled, go_on
from ...core.rng import Generators, in_blocks
from .objectives import Quadratic as Quadratic
from .objectives import Records as Records
from .objectives import Risk as Risk
from .objectives import SquaredRecords as SquaredRecords
from .objectives import Walkable as Walkable
from .objectives import risk_of as risk_of

_ASK_EVERY = 32  # steps between two calls of `cancelled`


@dc.dataclass(frozen=True)
class Run:
    """T - 1 choices of a vertex. noise: the scale b of a choice, 0 for the best vertex. stream: of random numbers."""

    T: int
    noise: float
    stream: int = 0


class Choice(abc.ABC):
    """Choice of vertices with the randomness of R streams.

    signed: vertices are +e_j and -e_j, else e_j alone. idle: further columns, whose scores are all 0.
    """

    def __init__(self, rngs: Generators = (), idle: int = 0, *, signed: bool) -> None:
        self.rngs, self.idle, self.signed = rngs, idle, signed

    @abc.abstractmethod
    def choose(self, scores: Array, noise: Array, streams: NDArray[np.intp]) -> tuple[NDArray[np.int64], Array]:
        """Columns and signs, [K] each, of the next choice by scores [K, r] with noise of these scales [K].

        Only their ratio matters: scores are grad F, and scales are those of the runs over the size of the set.
        """


class Best(Choice):
    """Vertex of the smallest score; the first of several."""

    def choose(self, scores: Array, noise: Array, streams: NDArray[np.intp]) -> tuple[NDArray[np.int64], Array]:
        columns = (np.abs(scores).argmax(axis=1) if self.signed else scores.argmin(axis=1)).astype(np.int64)
        at = scores[np.arange(len(scores)), columns]
        if self.idle and not self.signed:
            columns[at > 0.0] = scores.shape[1]
        return columns, np.where((at > 0.0) & self.signed, -1.0, 1.0)


class Exponential(Choice):
    """Vertex v with probability proportional to exp(-<v, scores> / noise): one column, then one sign.

    Randomness: two uniforms a choice from each stream, in order.
    """

    def __init__(self, rngs: Generators, idle: int, *, signed: bool) -> None:
        super().__init__(rngs, idle, signed=signed)
        self.uniforms = in_blocks(rngs, 2, lambda rng, steps: (rng.random((steps, 2)),))

    def choose(self, scores: Array, noise: Array, streams: NDArray[np.intp]) -> tuple[NDArray[np.int64], Array]:
        columns, signs = np.empty(len(scores), np.int64), np.empty(len(scores))
        uniforms = next(self.uniforms)[0][streams]
        room, scores = np.empty(scores.shape[1]), scores.astype(float, copy=False)
        kernels.draw_vertices(scores, 1.0 / noise, self.idle, self.signed, uniforms, room, columns, signs)
        return columns, signs


class NoisyBest(Choice):
    """Vertex of the smallest score plus Laplace noise of scale `noise`, an independent draw for each vertex.

    Randomness: from each stream in each step the noise of the stored vertices, +e_1, ..., +e_r and then -e_1, ...;
    with idle columns two more uniforms: the smallest noise of all idle vertices, and the vertex that has it.
    """

    def choose(self, scores: Array, noise: Array, streams: NDArray[np.intp]) -> tuple[NDArray[np.int64], Array]:
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


@dc.dataclass(frozen=True)
class Chosen:
    """Choices of K runs, in their order; runs of fewer steps are padded with column -1 and sign 0.

    columns, signs: [K, max T - 1]. vertex t of a run is size * sign * e_column; columns from r on are idle ones.
    risks: [K, max T], F(theta_1), ..., F(theta_T), padded with nan, if requested; else [K, 0].
    """

    columns: NDArray[np.int64]
    signs: Array
    risks: Array


def descend(
    risk: Walkable,
    runs: Sequence[Run],
    choice: Choice,
    *,
    size: float,
    start: Array,
    steepness: Callable[[Array], Array] | None = None,
    trace: bool = False,
    cancelled: Cancelled = lambda: False,
) -> Chosen:
    """Choose the vertices of all runs; runs of one stream share its randomness.

    size: of the set. start: theta_1, [r]. steepness: [K] norms ||theta_t||_1 -> [K] factors in (0, 1] by which the
    noise of a choice is smaller there, for runs that start at 0 on the L1 ball; None for 1 throughout. trace: also F
    along the way.

    Raises CancelledError if `cancelled`, asked at intervals, returns True.
    """
    order = np.argsort([-run.T for run in runs], kind="stable")
    T = np.array([runs[k].T for k in order])
    scales, streams = np.array([runs[k].noise for k in order]) / size, np.array([runs[k].stream for k in order])
    columns, signs = np.full((T[0] - 1, len(runs)), -1), np.zeros((T[0] - 1, len(runs)))
    risks = np.full((T[0] if trace else 0, len(runs)), np.nan)
    state, norms = risk.state(len(runs), start), _Norms(len(runs), runs[order[0]].T) if steepness else None
    if trace:
        risks[0] = state.risks(len(runs))
    for t, live in enumerate(np.searchsorted(-T, -np.arange(1, T[0])).tolist(), start=1):
        if t % _ASK_EVERY == 0:
            go_on(cancelled)
        mu = 2.0 / (t + 2.0)
        noise = scales[:live]
        if steepness and norms:
            noise = noise * steepness(norms.at(t, live, size))
        chosen, sign = choice.choose(state.gradients(live), noise, streams[:live])
        columns[t - 1, :live], signs[t - 1, :live] = chosen, sign
        state.move(mu, chosen, size * sign)
        if norms:
            norms.add(t, chosen, sign)
        if trace:
            risks[t, :live] = state.risks(live)
    back = np.argsort(order)
    return Chosen(*(np.ascontiguousarray(table.T[back]) for table in (columns, signs, risks)))


class _Norms:
    """||theta_t||_1 of runs that start at 0, from integers: t (t + 1) theta_t = 2 size sum_{s<t} (s + 1) sign_s e_s."""

    def __init__(self, count: int, T: int) -> None:
        width = 1 << (3 * T // 2).bit_length()
        self.keys, self.sums = np.zeros((count, width), np.int64), np.zeros((count, width), np.int64)
        self.totals = np.zeros(count, np.int64)

    def at(self, t: int, live: int, size: float) -> Array:
        return self.totals[:live].astype(float) * (2.0 * size / (t * (t + 1.0)))

    def add(self, t: int, columns: NDArray[np.int64], signs: Array) -> None:
        kernels.tally(self.keys, self.sums, self.totals, columns, (t + 1) * signs.astype(np.int64))


def models(chosen: Chosen, runs: Sequence[Run], size: float, start: Array, width: int) -> Array:
    """theta_T of each run, [K, width]: the first `width` columns. start: theta_1, [width]."""
    T = np.array([run.T for run in runs], float)
    thetas = np.zeros((len(runs), width))
    share = 2.0 / (T * (T + 1.0))
    weights = share[:, None] * size * chosen.signs * np.arange(2.0, chosen.signs.shape[1] + 2.0)
    rows, steps = np.nonzero((chosen.columns >= 0) & (chosen.columns < width))
    np.add.at(thetas, (rows, chosen.columns[rows, steps]), weights[rows, steps])
    if start.any():
        thetas += share[:, None] * start
    return thetas
