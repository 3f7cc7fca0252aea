"""Frank-Wolfe on binary trees of gradient estimates, which reads each record at most once: many runs advance together.

Phase t = 1, ..., T walks a binary tree with 2^t leaves from left to right, depth first. Its root reads b new records
and estimates the gradient at the current iterate. A right child at depth j reads b / 2^j new records and adds to its
parent's estimate that of the difference of the gradients at the current iterate and at the parent's. A left child reads
nothing and has its parent's iterate and estimate. At each leaf the iterate makes a Frank-Wolfe step.

There is no privacy here: whoever calls says what becomes of an estimate and which point of the set a leaf goes to.

Source: Bassily, Guzman and Nandi 2021, Algorithm 1, after Asi, Feldman, Koren and Talwar 2021.
"""

from __future__ import annotations

import dataclasses as dc
import functools
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

import numpy as np

from ..losses import Loss
from ..types import Array, Data

_BLOCK_NUMBERS = 1 << 18  # predictions that are at hand at once: they and what is made of them fit in a cache


@dc.dataclass(frozen=True)
class Node:
    """A node that reads records: the root of a phase's tree or a right child.

    phase: t, from 1 to T. depth: j, 0 for the root, at most t. leaf: k, the first leaf below it, from 0 to 2^t - 1;
    each leaf is the first one below exactly one such node. first, last: it reads the records first, ..., last - 1.
    """

    phase: int
    depth: int
    leaf: int
    first: int
    last: int

    @property
    def size(self) -> int:
        return self.last - self.first

    @property
    def step(self) -> float:
        """eta of the step at this leaf, 2 / (2^t + k): 2 / (tau + 2) after tau = 2^t - 2 + k steps of all phases."""
        return 2.0 / (2**self.phase + self.leaf)

    @property
    def reach(self) -> float:
        """A bound on the distance to the parent's iterate, over the set's diameter: 2 / 2^j.

        2^(t - j) steps lie between them, those of the leaves below the left sibling, and each is at most 2 / 2^t of the
        diameter. 0 for the root, which has no parent.
        """
        return 2.0 * 0.5**self.depth if self.depth else 0.0


def root_batch(n: int, T: int) -> int:
    """b, the largest multiple of 2^T for which T phases read at most n records; 0 if there is none.

    Phase t reads b + sum_{j=1..t} 2^(j - 1) b / 2^j = b (1 + t / 2), all phases b T (T + 5) / 4.

    >>> root_batch(1_000, 3), records_read(root_batch(1_000, 3), 3), root_batch(2, 1)
    (160, 960, 0)
    """
    return 2**T * (4 * n // (T * (T + 5) * 2**T))


def records_read(b: int, T: int) -> int:
    """How many records T phases read: b T (T + 5) / 4, whole for a multiple b of 2^T."""
    return b * T * (T + 5) // 4


@functools.lru_cache(maxsize=64)
def nodes(T: int, b: int) -> tuple[Node, ...]:
    """The nodes that read records, in the order in which they are visited; 2^(T + 1) - 2 of them. b: a multiple of 2^T.

    >>> [(node.depth, node.size) for node in nodes(2, 8)]
    [(0, 8), (1, 4), (0, 8), (2, 2), (1, 4), (2, 2)]
    """
    found, first = [], 0
    for t in range(1, T + 1):
        for k in range(2**t):
            # Behind leaf k - 1 the walk goes up as often as k has zeros at its end, and down to the right.
            depth = t - ((k & -k).bit_length() - 1) if k else 0
            last = first + (b >> depth)
            found.append(Node(t, depth, k, first, last))
            first = last
    return tuple(found)


def walk(
    loss: Loss,
    data: Data,
    start: Array,
    T: int,
    b: int,
    *,
    release: Callable[[Node, Array, Array | None], Array],
    choose: Callable[[Node, Array], Array],
    single: bool = False,
    cancelled: Callable[[], bool] = lambda: False,
) -> Array:
    """The last iterates of all runs, [K, p].

    start: [K, p], a point of the set for each run. T: phases, >= 1. b: records of a root, a multiple of 2^T with
    `records_read(b, T)` <= data.n.
    release: of the node, the mean over its records of the gradients' (differences), [K, p], and the iterate less the
    parent's, [K, p], None for a root; what comes back, [K, p], is what the run knows of that mean.
    choose: of the node whose first leaf it is and the estimates there, [K, p]; the points that the step goes to, of
    the same shape.
    single: means to about 1e-6, for pictures; losses without such code are computed as always.
    cancelled: asked at each node; when it says yes, CancelledError is raised.
    """
    x = np.array(start, float)
    path: list[tuple[Array, Array]] = []  # iterate and estimate of every depth
    for node in nodes(T, b):
        if cancelled():
            raise CancelledError
        if node.depth == 0:
            path = [(x, release(node, batch_mean(loss, data, node, x, single=single), None))] * (node.phase + 1)
        else:
            before, known = path[node.depth - 1]
            moved = release(node, batch_mean(loss, data, node, x, before, single=single), x - before)
            path[node.depth :] = [(x, known + moved)] * (node.phase + 1 - node.depth)
        x = (1.0 - node.step) * x + node.step * choose(node, path[-1][1])
    return x


def batch_mean(
    loss: Loss, data: Data, node: Node, thetas: Array, others: Array | None = None, *, single: bool = False
) -> Array:
    """The mean over the node's records of grad l(theta_k), less grad l(other_k) where others are given; [K, p].

    thetas, others: [K, p], models of all columns of the records. single: as in `walk`.
    """
    from .. import kernels

    single = single and loss.key in kernels.SINGLE_DERIVATIVE
    table: Any = data.single if single else data.X
    stored, count = data.active, len(thetas)
    models = thetas[:, :stored] if others is None else np.concatenate([thetas[:, :stored], others[:, :stored]])
    models = models.astype(table.dtype, copy=False)
    total = np.zeros_like(thetas)
    rows = max(32, _BLOCK_NUMBERS // len(models))
    for first in range(node.first, node.last, rows):
        part = slice(first, min(first + rows, node.last))
        X = table[part]
        slopes = _slopes(loss, X, data.y[part].astype(table.dtype, copy=False), models)
        if others is not None:
            slopes = slopes[:count] - slopes[count:]
        total[:, :stored] += slopes @ X
    return total / node.size


def _slopes(loss: Loss, X: Any, y: Array, models: Array) -> Array:
    """dl/dz of each record of X [m, r], dense or CSR, under each model [k, r]; shape [k, m], in the precision of X."""
    from .. import kernels

    z = models @ X.T if isinstance(X, np.ndarray) else np.ascontiguousarray((X @ models.T).T)
    derivatives = kernels.DERIVATIVE if z.dtype == np.float64 else kernels.SINGLE_DERIVATIVE
    out = np.empty_like(z)
    kernels.apply_to_rows(derivatives[loss.key], z, np.arange(len(z)), y, z.dtype.type(loss.shape), out)
    return out
