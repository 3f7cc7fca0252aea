"""Frank-Wolfe on the L1 ball and the simplex, private or not: many runs advance together, one vertex a step.

theta_{t+1} = (1 - mu_t) theta_t + mu_t s_t, mu_t = 2 / (t + 2), for t = 1, ..., T - 1, and theta_T is the answer. So
theta_T = 2 / (T (T + 1)) [theta_1 + sum_t (t + 1) s_t]: the vertices chosen tell everything. Polytopes with a list of
vertices are the simplex of the products of the records with the vertices. Risks are in `objectives`, ways to
choose in `vertex_selection`.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError

import numpy as np
from numpy.typing import NDArray

from ... import kernels
from ...core.arrays import Array
from .objectives import Quadratic as Quadratic
from .objectives import Records as Records
from .objectives import Risk as Risk
from .objectives import SquaredRecords as SquaredRecords
from .objectives import Walkable as Walkable
from .objectives import risk_of as risk_of
from .vertex_selection import Best as Best
from .vertex_selection import Choice as Choice
from .vertex_selection import Exponential as Exponential
from .vertex_selection import NoisyBest as NoisyBest

_ASK_EVERY = 32  # steps between two looks at whether somebody cancelled


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
        if t % _ASK_EVERY == 0 and cancelled():
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


def frank_wolfe_risks(risk: Risk, T: int, *, size: float, signed: bool, start: Array, idle: int = 0) -> Array:
    """F(theta_1), ..., F(theta_T), shape [T], of Frank-Wolfe without noise.

    size: of the L1 ball (`signed`) or the simplex. start: theta_1, [r]. idle: columns of the problem beyond those r.

    >>> quarter = Quadratic(np.array([[1.0]]), np.array([0.5]), 0.25)  # F(theta) = (theta - 1/2)^2
    >>> frank_wolfe_risks(quarter, 3, size=1.0, signed=True, start=np.zeros(1)).round(4)
    array([0.25  , 0.0278, 0.4444])
    """
    run = Run(T, noise=0.0)
    return descend(risk, [run], Best(idle, signed=signed), size=size, start=start, trace=True).risks[0]
