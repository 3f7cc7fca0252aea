"""Frank-Wolfe with the exponential mechanism on sparse records: the law of `vertices.descend`, cheaper steps.

`dpcore.kernels.frank_wolfe_sparse` explains the cost of a step and proves that the law is exact.
"""

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import kernels
from ...core.arrays import Array
from ...core.cancel import Cancelled, go_on
from ...core.losses import Loss
from ...core.records import Data
from ...core.rng import Generators
from .vertices import Chosen, Run

# Candidates for the largest score of a light column, in units of b: on the L1 ball c means at most cosh(c) proposals a
# choice on average, on the simplex c / 2 means exp(c). The candidate with the lowest estimated cost is used.
_REACHES = (3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
# Nanoseconds: to change a heavy entry, to weigh a heavy column, to read an entry of a proposed column, to propose.
_CHANGE, _WEIGH, _LOOK, _PROPOSE = 2.0, 3.0, 5.0, 25.0
# Share of heavy columns above which every choice reads all columns.
_MOST_HEAVY = 0.125
_BLOCK_STEPS = 256


def descend_sparse(
    loss: Loss,
    data: Data,
    runs: Sequence[Run],
    rngs: Generators,
    *,
    size: float,
    signed: bool,
    local: tuple[float, float] | None = None,
    cancelled: Cancelled = lambda: False,
) -> Chosen:
    """Choose the vertices of every run by the exponential mechanism, on sparse records and any loss of <x, theta>.

    Set: size times the L1 ball from theta_1 = 0 where `signed`, else size times the simplex from equal weights, in all
    data.p columns. noise of a run: > 0. local: (R, y_max) of the bounds |x_ij| <= R, |y| <= y_max, for the L1 ball: the
    noise of choice t is the run's times steepness(R ||theta_t||_1) / steepness(R size), see `Loss.steepness`; None for
    the run's noise throughout. If nearly all columns are heavy, a choice reads all of them, as `vertices.descend` does
    with `Exponential`, which then makes the same choices from the same generators.

    Randomness: of rngs[run.stream]. Runs that share a stream all start from its state, and the stream continues from
    the end of the last of them. Cost of a step for squared loss: entries of the chosen column times heavy entries of
    its rows; for other losses heavy entries of all rows with a chosen column; at most those of all rows; plus one
    exponential for each heavy column.

    Raises ValueError for dense records, labels outside [-1, 1] or noise <= 0, and CancelledError if `cancelled`, asked
    at intervals, returns True.

    >>> from scipy.sparse import csr_array
    >>> from dpcore.core.losses import get_loss
    >>> data, rng = Data(csr_array([[1.0, 0.0], [0.0, 1.0]]), [1.0, 0.0]), np.random.default_rng(0)
    >>> chosen = descend_sparse(get_loss("squared"), data, [Run(3, noise=1e-3)], [rng], size=1.0, signed=True)
    >>> chosen.columns.tolist(), chosen.signs.tolist()
    ([[0, 0]], [[1.0, 1.0]])
    """
    if not data.sparse:
        raise ValueError("X must be sparse, got a dense table")
    if loss.classification and np.any(np.abs(data.y) > 1.0):
        raise ValueError(f"y must lie in [-1, 1] for {loss.label}, got {np.abs(data.y).max():g}")
    if min(run.noise for run in runs) <= 0.0:
        raise ValueError(f"noise must be > 0 in every run, got {min(run.noise for run in runs):g}")
    longest = max(run.T for run in runs) - 1
    columns, signs = np.full((len(runs), longest), -1), np.zeros((len(runs), longest))
    ends = {run.stream: k for k, run in enumerate(runs)}
    starts = {run.stream: copy.deepcopy(rngs[run.stream]) for k, run in enumerate(runs) if ends[run.stream] != k}
    tables: dict[float, Table] = {}
    for k, run in enumerate(runs):
        if run.noise not in tables:
            tables = {run.noise: Table(loss, data, run.noise, size, signed=signed, local=local)}
        rng = rngs[run.stream] if ends[run.stream] == k else copy.deepcopy(starts[run.stream])
        tables[run.noise].descend(run, rng, columns[k, : run.T - 1], signs[k, : run.T - 1], cancelled)
    return Chosen(columns, signs, np.empty((len(runs), 0)))


class Table:
    """Records prepared for runs of one scale of noise: the heavy columns, and these by rows."""

    def __init__(
        self, loss: Loss, data: Data, noise: float, size: float, *, signed: bool, local: tuple[float, float] | None
    ) -> None:
        self.loss, self.data, self.size, self.signed, self.noise = loss, data, size, signed, noise
        self.local = local is not None
        X: Any = data.X
        largest = float(np.abs(X.data).max(initial=0.0)), float(np.abs(data.y).max())
        self.declared, self.kept = _bound_on_slope(loss, *(local or largest)), _bound_on_slope(loss, *largest)
        masses = data.masses
        self.lazy, self.light = True, self._light()
        self.heavy = np.flatnonzero(masses > self.light)
        if len(self.heavy) > _MOST_HEAVY * data.p:
            self.lazy, self.light, self.heavy = False, -1.0, np.arange(data.stored)
        # The bound on a light column's score need not exceed that of the heaviest light column.
        self.light = float(masses.max(initial=0.0, where=masses <= self.light))
        self.rows = X if len(self.heavy) == data.stored else X[:, self.heavy]

    def _light(self) -> float:
        """Largest mass of a light column. Any value is correct; this one is chosen for speed."""
        data, reach = self.data, self._reach()
        if data.masses.max() * reach <= _REACHES[0] * self._unit:
            return math.inf
        candidates = np.flatnonzero(data.masses > 0.5 * _REACHES[0] * self._unit / reach)
        pointers = data.by_columns.indptr
        far, entries = data.masses[candidates] * reach, pointers[candidates + 1] - pointers[candidates]
        # A step changes all heavy entries; for squared loss only those in the rows of one column.
        share = data.by_columns.nnz / (data.stored * data.n) if self.loss.key == "squared" else 1.0
        costs = []
        for c in _REACHES:
            heavy = far > c * self._unit
            kept_up = _CHANGE * share * entries[heavy].sum() + _WEIGH * np.count_nonzero(heavy)
            looked_at = _LOOK * (np.exp(far[~heavy]) * entries[~heavy]).sum() / data.p
            costs.append(kept_up + looked_at + _PROPOSE * math.exp(c * self._unit))
        return _REACHES[int(np.argmin(costs))] * self._unit / reach

    @property
    def _unit(self) -> float:
        return 1.0 if self.signed else 0.5

    def _reach(self) -> float:
        """Distance of a column's score from 0 over its mass, in units of b, at an end of the range of ||theta_t||_1."""
        norms = np.array([0.0, self.size] if self.signed else [self.size])
        noise = np.full_like(norms, self.noise)
        if self.local:
            steep = self.loss.steepness(self.declared[1] * norms, self.declared[2])
            noise *= steep / steep[-1]
        return float(
            (self.size * self.loss.steepness(self.kept[1] * norms, self.kept[2]) / (self.data.n * noise)).max()
        )

    def descend(
        self,
        run: Run,
        rng: np.random.Generator,
        columns: NDArray[np.int64],
        signs: Array,
        cancelled: Cancelled = lambda: False,
    ) -> tuple[Array, Array]:
        """Fill in columns and signs [T - 1]; return the predictions at theta_T, [n], and grad F of the heavy columns.

        Raises CancelledError as `descend_sparse` does.
        """
        data, loss, n, h = self.data, self.loss, self.data.n, len(self.heavy)
        predictions, norm = np.zeros(n), np.zeros(1)
        if not self.signed:
            predictions[:] = (self.size / data.p) * (data.X @ np.ones(data.stored))
            norm[0] = self.size
        gradient, linear = np.empty(h), np.empty(h)
        rows = np.empty(n), np.empty(n, np.int64), np.zeros(2, np.int64)
        squared = loss.key == "squared"
        columns_of, rows_of = (kernels.records_of(table)[1:] for table in (data.by_columns, self.rows))
        for first in range(1, run.T, _BLOCK_STEPS):
            go_on(cancelled)
            kernels.sparse_frank_wolfe(
                kernels.DERIVATIVE[loss.key], squared, data.y, loss.shape,
                columns_of, data.masses, self.light, rows_of, self.heavy,
                data.p, self.signed, self.lazy, self.size, self.noise, self.local, self.declared, self.kept, rng,
                first, min(first + _BLOCK_STEPS, run.T), predictions, norm, gradient, linear, *rows, columns, signs,
            )  # fmt: skip
        share = 2.0 / (run.T * (run.T + 1.0))
        return share * predictions, 2.0 * (share * gradient - linear) if squared else gradient


def _bound_on_slope(loss: Loss, R: float, y_max: float) -> tuple[int, float, float]:
    """`Loss.steepness` in the form of the kernel."""
    if loss.key == "squared":
        return kernels.AFFINE, R, y_max
    if loss.key == "logistic":
        return kernels.SIGMOID, R, y_max
    if loss.slope != 1.0:
        raise ValueError(f"loss must have the steepest slope 1 or be squared, got {loss.label}")
    return kernels.CONSTANT, R, y_max
