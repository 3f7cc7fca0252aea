"""Objectives of Frank-Wolfe: a mean loss in the form whose steps cost least, and the positions of K runs on it.

A run moves towards one vertex in each step, so that predictions, or gradients of squared loss, follow from those of
the step before and one column.
"""

import dataclasses as dc
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ... import kernels
from ...core.arrays import Array
from ...core.losses import Loss
from ...core.records import Data

# Largest number of columns whose products with one another are computed in advance.
_MAX_GRAM = 2_048
# Number of products that are kept if they are computed one column at a time.
_MAX_KEPT = 1 << 25


class State(Protocol):
    """Positions of K runs, and their gradients there."""

    def gradients(self, live: int) -> Array:
        """grad F of the first `live` runs, [live, r]."""

    def move(self, mu: float, columns: NDArray[np.int64], lengths: Array) -> None:
        """theta <- (1 - mu) theta + mu length e_column for the first len(columns) runs; idle columns move nothing."""

    def risks(self, live: int) -> Array:
        """F of the first `live` runs, [live]."""


class Walkable(Protocol):
    """Objective for runs: a risk of `stored` columns."""

    @property
    def stored(self) -> int: ...

    def state(self, count: int, start: Array) -> State:
        """Positions of `count` runs, all at start [r]."""


@dc.dataclass(frozen=True)
class Quadratic:
    """F(theta) = theta' gram theta - 2 <linear, theta> + constant: the mean squared error from its moments.

    gram: X'X / n [r, r]. linear: X'y / n [r]. constant: mean y^2.
    """

    gram: Array
    linear: Array
    constant: float

    @property
    def stored(self) -> int:
        return len(self.linear)

    def state(self, count: int, start: Array) -> "_QuadraticState":
        image = start @ self.gram
        return _QuadraticState(self.gram, lambda columns: columns, self.linear, self.constant, start, image, count)

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
    def stored(self) -> int:
        return self.data.stored

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
    """Mean squared error of a table of many columns: those of X'X / n are computed when they are first chosen.

    Later steps with a column cost as little as from moments. single: these products in single precision.
    """

    def state(self, count: int, start: Array) -> State:
        data = self.data
        asked, linear = _ColumnsAsked(data, count, self.single), data.y @ data.X / data.n
        image = (data.X @ start) @ data.X / data.n
        constant = float(data.y @ data.y) / data.n
        return _QuadraticState(asked.table, asked.find, linear, constant, start, image, count)


Risk = Quadratic | Records


def risk_of(loss: Loss, data: Data, *, choices: int | None = None, single: bool = False) -> Risk:
    """Mean loss of the records in the form whose steps cost least.

    choices: number of vertices that all runs together will choose, if known. single: single precision, for charts;
    predictions of the same vertices are then accurate to about 1e-6, else to 1e-12.
    """
    if loss.key != "squared" or data.sparse:
        return Records(loss, data, single)
    many = choices is None or 2 * choices >= data.stored or "gram" in vars(data)
    if data.stored <= _MAX_GRAM and many:
        return Quadratic(data.gram, data.y @ data.X / data.n, float(data.y @ data.y) / data.n)
    return SquaredRecords(loss, data, single)


def _products(rows: Array, X: Any) -> Array:
    """rows @ X, C-contiguous, in the order of factors that is faster for the memory layout of X."""
    if isinstance(X, np.ndarray) and X.flags.f_contiguous:
        return np.ascontiguousarray((X.T @ rows.T).T)
    return np.ascontiguousarray(rows @ X)


class _ColumnsAsked:
    """Columns of G = X'X / n, computed on first use and kept while there is room."""

    def __init__(self, data: Data, most: int, single: bool) -> None:
        self.X: Array = data.single if single else data.X
        self.n = data.n
        rows = min(data.stored, max(most, _MAX_KEPT // data.stored))
        self.table = np.empty((rows, data.stored), self.X.dtype)
        self.places, self.kept = np.full(data.stored, -1), 0

    def find(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions of these columns in the table; there are at most as many as the table has rows."""
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
    """Runs on theta' G theta - 2 <linear, theta> + constant.

    find: positions in the table of the rows that are these columns of G. image: G start.
    """

    def __init__(
        self,
        table: Array,
        find: Callable[[NDArray[np.int64]], NDArray[np.int64]],
        linear: Array,
        constant: float,
        start: Array,
        image: Array,
        count: int,
    ) -> None:
        self.table, self.find, self.linear, self.constant = table, find, linear, constant
        self.now = np.tile(2.0 * (image - linear), (count, 1))
        self.squares, self.products = np.full(count, start @ image), np.full(count, start @ linear)

    def gradients(self, live: int) -> Array:
        return self.now[:live]

    def move(self, mu: float, columns: NDArray[np.int64], lengths: Array) -> None:
        if columns.max() < len(self.linear):
            places = self.find(columns)
        else:
            stored = columns < len(self.linear)
            places = np.full(len(columns), -1)
            places[stored] = self.find(columns[stored])
        kernels.follow(self.now, mu, lengths, columns, places, self.table, self.linear, self.squares, self.products)

    def risks(self, live: int) -> Array:
        return self.squares[:live] - 2.0 * self.products[:live] + self.constant


class _RecordsState:
    def __init__(self, risk: Records, start: Array, count: int) -> None:
        self.loss, data = risk.loss, risk.data
        single = risk.single and self.loss.key in kernels.SINGLE_DERIVATIVE
        self.X: Any = data.single if single else data.X
        self.columns = self.X if isinstance(self.X, np.ndarray) else self.X.tocsc()
        self.labels, self.y = data.y.astype(self.X.dtype), data.y
        self.margins = np.tile((data.X @ start).astype(self.X.dtype), (count, 1))

    def gradients(self, live: int) -> Array:
        slopes = self.loss.derivatives(self.margins[:live], self.labels)
        slopes /= slopes.dtype.type(len(self.y))
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
