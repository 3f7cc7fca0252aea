"""Frank-Wolfe on the L1 ball and the simplex, private or not: many runs advance together, one vertex a step.

theta_{t+1} = (1 - mu_t) theta_t + mu_t s_t, mu_t = 2 / (t + 2), for t = 1, ..., T - 1, and theta_T is the answer. So
theta_T = 2 / (T (T + 1)) [theta_1 + sum_t (t + 1) s_t]: the vertices chosen tell everything. Polytopes with a list of
vertices are the simplex of the products of the records with the vertices.
"""

from __future__ import annotations

import abc
import dataclasses as dc
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..losses import Loss
from ..types import Array, Data

# Largest number of columns whose products with one another are computed once and for all.
_MAX_GRAM = 2_048
# How many of these products are kept where they are computed one column at a time.
_MAX_KEPT = 1 << 25
_BLOCK_STEPS = 32


@dc.dataclass(frozen=True)
class Run:
    """T - 1 choices of a vertex. noise: the scale b of a choice, 0 for the best vertex. stream: whose randomness."""

    T: int
    noise: float
    stream: int = 0


@dc.dataclass(frozen=True)
class Chosen:
    """What K runs chose, in their order; runs of fewer steps are padded with column -1 and sign 0.

    columns, signs: [K, max T - 1]. vertex t of a run is size * sign * e_column; columns from r on are idle ones.
    risks: [K, max T], F(theta_1), ..., F(theta_T), where it was asked for, padded with nan; else [K, 0].
    """

    columns: NDArray[np.int64]
    signs: Array
    risks: Array


class State(Protocol):
    """Where K runs are, and what their gradients are there."""

    def gradients(self, live: int) -> Array:
        """grad F of the first `live` runs, [live, r]."""

    def move(self, mu: float, columns: NDArray[np.int64], lengths: Array) -> None:
        """theta <- (1 - mu) theta + mu length e_column for the first len(columns) runs; idle columns move nothing."""

    def risks(self, live: int) -> Array:
        """F of the first `live` runs, [live]."""


class Choice(abc.ABC):
    """How a vertex is chosen, with the randomness of R streams."""

    @abc.abstractmethod
    def choose(self, t: int, scores: Array, noise: Array, streams: NDArray[np.intp]) -> tuple[NDArray[np.int64], Array]:
        """Columns and signs, [K] each, of choice t = 0, 1, ... by scores [K, r] with noise of these scales [K].

        Only their ratio matters: scores are grad F and scales are those of the runs over the size of the set.
        """


@dc.dataclass(frozen=True)
class Quadratic:
    """F(theta) = theta' gram theta - 2 <linear, theta> + constant: the mean squared error from its moments.

    gram: X'X / n [r, r]. linear: X'y / n [r]. constant: mean y^2.
    """

    gram: Array
    linear: Array
    constant: float

    @property
    def active(self) -> int:
        return len(self.linear)

    def state(self, count: int, start: Array) -> _QuadraticState:
        return _QuadraticState(_AllColumns(self.gram), self.linear, self.constant, start, start @ self.gram, count)

    def values(self, thetas: Array) -> Array:
        """F at thetas [..., r]."""
        return ((thetas @ self.gram - 2.0 * self.linear) * thetas).sum(axis=-1) + self.constant

    def gradients(self, thetas: Array) -> Array:
        """grad F at thetas [k, r], of that shape."""
        return 2.0 * (thetas @ self.gram - self.linear)


@dc.dataclass(frozen=True)
class Records:
    """F of records, for any loss of a linear prediction. single: steps in single precision where the loss has it."""

    loss: Loss
    data: Data
    single: bool = False

    @property
    def active(self) -> int:
        return self.data.active

    def state(self, count: int, start: Array) -> State:
        return _RecordsState(self, start, count)

    def values(self, thetas: Array) -> Array:
        """F at thetas [k, r]."""
        return self.loss.row_means(np.zeros(self.data.n), self.data.margins(thetas), 1.0, self.data.y)

    def gradients(self, thetas: Array) -> Array:
        """grad F at thetas [k, r], of that shape."""
        return self.loss.gradients(self.data, thetas)


@dc.dataclass(frozen=True)
class SquaredRecords(Records):
    """The mean squared error of a table of many columns: those of X'X / n are computed when they are first chosen.

    After that a step costs as little as it does from moments. single: these products in single precision.
    """

    def state(self, count: int, start: Array) -> State:
        data = self.data
        table, linear = _ColumnsAsked(data, count, self.single), data.y @ data.X / data.n
        image = (data.X @ start) @ data.X / data.n
        return _QuadraticState(table, linear, float(data.y @ data.y) / data.n, start, image, count)


Risk = Quadratic | Records


class Walkable(Protocol):
    """What runs can walk on: a risk of `active` columns."""

    @property
    def active(self) -> int: ...

    def state(self, count: int, start: Array) -> State:
        """All of `count` runs at start [r]."""


def risk_of(loss: Loss, data: Data, *, choices: int | None = None, single: bool = False) -> Risk:
    """The mean loss of the records in the form whose steps cost least.

    choices: how many vertices all runs together will choose, if that is known. single: single precision, for pictures;
    predictions of the same vertices are right to about 1e-6 then, else to 1e-12.
    """
    if loss.key != "squared" or data.sparse:
        return Records(loss, data, single)
    many = choices is None or 2 * choices >= data.active or "gram" in vars(data)
    if data.active <= _MAX_GRAM and many:
        return Quadratic(data.gram, data.y @ data.X / data.n, float(data.y @ data.y) / data.n)
    return SquaredRecords(loss, data, single)


def _products(rows: Array, X: Any) -> Array:
    """rows @ X, C-contiguous; the order of the factors that is faster for how X lies in memory."""
    if isinstance(X, np.ndarray) and X.flags.f_contiguous:
        return np.ascontiguousarray((X.T @ rows.T).T)
    return np.ascontiguousarray(rows @ X)


@dc.dataclass(frozen=True)
class _AllColumns:
    """Every column of G = X'X / n at hand: that of number j is table[j]."""

    table: Array

    def find(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        return columns


class _ColumnsAsked:
    """Columns of G = X'X / n, computed when they are first asked for and kept while there is room."""

    def __init__(self, data: Data, most: int, single: bool) -> None:
        self.X: Array = data.single if single else data.X
        self.n = data.n
        rows = min(data.active, max(most, _MAX_KEPT // data.active))
        self.table = np.empty((rows, data.active), self.X.dtype)
        self.places, self.kept = np.full(data.active, -1), 0

    def find(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where in the table these columns are, of which there are at most as many as the table has rows."""
        new = np.unique(columns[self.places[columns] < 0])
        if self.kept + len(new) > len(self.table):
            self.places[:], self.kept = -1, 0
            new = np.unique(columns)
        if len(new):
            rows = slice(self.kept, self.kept + len(new))
            self.table[rows] = _products(np.ascontiguousarray(self.X.T[new]), self.X)
            self.table[rows] /= self.n
            self.places[new] = np.arange(rows.start, rows.stop)
            self.kept = rows.stop
        return self.places[columns]


class _QuadraticState:
    """Runs on theta' G theta - 2 <linear, theta> + constant. image: G start."""

    def __init__(
        self,
        columns: _AllColumns | _ColumnsAsked,
        linear: Array,
        constant: float,
        start: Array,
        image: Array,
        count: int,
    ) -> None:
        self.columns, self.linear, self.constant = columns, linear, constant
        self.now = np.tile(2.0 * (image - linear), (count, 1))
        self.squares, self.products = np.full(count, start @ image), np.full(count, start @ linear)

    def gradients(self, live: int) -> Array:
        return self.now[:live]

    def move(self, mu: float, columns: NDArray[np.int64], lengths: Array) -> None:
        from .. import kernels

        stored = columns < len(self.linear)
        if stored.all():
            places = self.columns.find(columns)
        else:
            places = np.full(len(columns), -1)
            places[stored] = self.columns.find(columns[stored])
        table = self.columns.table
        kernels.follow(self.now, mu, lengths, columns, places, table, self.linear, self.squares, self.products)

    def risks(self, live: int) -> Array:
        return self.squares[:live] - 2.0 * self.products[:live] + self.constant


class _RecordsState:
    def __init__(self, risk: Records, start: Array, count: int) -> None:
        from .. import kernels

        self.loss, data = risk.loss, risk.data
        single = risk.single and self.loss.key in kernels.SINGLE_DERIVATIVE
        self.derivative = (kernels.SINGLE_DERIVATIVE if single else kernels.DERIVATIVE)[self.loss.key]
        self.X: Any = data.single if single else data.X
        self.columns = self.X if isinstance(self.X, np.ndarray) else self.X.tocsc()
        self.labels, self.y = data.y.astype(self.X.dtype), data.y
        self.h = self.X.dtype.type(self.loss.shape)
        self.margins = np.tile((data.X @ start).astype(self.X.dtype), (count, 1))

    def gradients(self, live: int) -> Array:
        from .. import kernels

        slopes = np.empty_like(self.margins[:live])
        kernels.apply_to_rows(self.derivative, self.margins, np.arange(live), self.labels, self.h, slopes)
        slopes /= self.h.dtype.type(len(self.y))
        return _products(slopes, self.X)

    def move(self, mu: float, columns: NDArray[np.int64], lengths: Array) -> None:
        live = len(columns)
        stored = np.flatnonzero(columns < self.X.shape[1])
        taken = self.columns[:, columns[stored]]
        taken = taken if isinstance(taken, np.ndarray) else taken.toarray()
        self.margins[:live] *= 1.0 - mu
        self.margins[stored] += taken.T * (mu * lengths[stored]).astype(taken.dtype)[:, None]

    def risks(self, live: int) -> Array:
        margins = self.margins[:live].astype(float, copy=False)
        return self.loss.row_means(np.zeros(len(self.y)), margins, 1.0, self.y)


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
        from .. import kernels

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
        from .. import kernels

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


def descend(
    risk: Walkable,
    runs: Sequence[Run],
    choice: Choice,
    *,
    size: float,
    start: Array,
    steepness: Callable[[Array], Array] | None = None,
    trace: bool = False,
    cancelled: Callable[[], bool] = lambda: False,
) -> Chosen:
    """Let all runs choose their vertices; those of one stream share its randomness.

    size: of the set. start: theta_1, [r]. steepness: [K] norms ||theta_t||_1 -> [K] factors in (0, 1] by which the
    noise of a choice is smaller there, for runs that start at 0 on the L1 ball; None for 1 throughout. trace: also F
    along the way.

    Raises CancelledError when `cancelled`, asked now and then, says yes.
    """
    order = np.argsort([-run.T for run in runs], kind="stable")
    T = np.array([runs[k].T for k in order])
    scales, streams = np.array([runs[k].noise for k in order]) / size, np.array([runs[k].stream for k in order])
    columns, signs = np.full((T[0] - 1, len(runs)), -1), np.zeros((T[0] - 1, len(runs)))
    risks = np.full((T[0] if trace else 0, len(runs)), np.nan)
    state, norms = risk.state(len(runs), start), _Norms(len(runs), runs[order[0]].T) if steepness else None
    if trace:
        risks[0] = state.risks(len(runs))
    for t in range(1, T[0]):
        if t % _BLOCK_STEPS == 0 and cancelled():
            raise CancelledError
        live, mu = int(np.count_nonzero(t < T)), 2.0 / (t + 2.0)
        noise = scales[:live]
        if steepness and norms:
            noise = noise * steepness(norms.at(t, live, size))
        chosen, sign = choice.choose(t - 1, state.gradients(live), noise, streams[:live])
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
        from .. import kernels

        kernels.tally(self.keys, self.sums, self.totals, columns, (t + 1) * signs.astype(np.int64))


def models(chosen: Chosen, runs: Sequence[Run], size: float, start: Array, width: int) -> Array:
    """theta_T of each run, [K, width]: the first `width` columns. start: theta_1, [width]."""
    T = np.array([run.T for run in runs], float)
    thetas = np.zeros((len(runs), width))
    share = 2.0 / (T * (T + 1.0))
    weights = share[:, None] * size * chosen.signs * np.arange(2.0, chosen.signs.shape[1] + 2.0)
    rows, steps = np.nonzero((chosen.columns >= 0) & (chosen.columns < width))
    np.add.at(thetas, (rows, chosen.columns[rows, steps]), weights[rows, steps])
    return thetas + share[:, None] * start


def frank_wolfe_risks(risk: Risk, T: int, *, size: float, signed: bool, start: Array, idle: int = 0) -> Array:
    """F(theta_1), ..., F(theta_T), shape [T], of Frank-Wolfe without noise.

    size: of the L1 ball (`signed`) or the simplex. start: theta_1, [r]. idle: columns of the problem beyond those r.

    >>> quarter = Quadratic(np.array([[1.0]]), np.array([0.5]), 0.25)  # F(theta) = (theta - 1/2)^2
    >>> frank_wolfe_risks(quarter, 3, size=1.0, signed=True, start=np.zeros(1)).round(4)
    array([0.25  , 0.0278, 0.4444])
    """
    run = Run(T, noise=0.0)
    return descend(risk, [run], Best(idle, signed=signed), size=size, start=start, trace=True).risks[0]
