"""Frank-Wolfe on binary trees of gradient estimates, which reads each record at most once: many runs advance together.

Phase t = 1, ..., T walks a binary tree with 2^t leaves from left to right, depth first. Its root reads b new records
and estimates the gradient at the current iterate. A right child at depth j reads b / 2^j new records and adds to its
parent's estimate that of the difference of the gradients at the current iterate and at the parent's. A left child reads
nothing and has its parent's iterate and estimate. At each leaf the iterate makes a Frank-Wolfe step.

Nothing here is private: the caller decides what noise an estimate gets and which point of the set a leaf steps to.

Source: Bassily, Guzmán and Nandi 2021, Algorithm 1, after Asi, Feldman, Koren and Talwar 2021.
"""

import dataclasses as dc
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import kernels
from ...core.arrays import Array
from ...core.cancel import Cancelled, go_on
from ...core.losses import Loss
from ...core.records import Data

_BLOCK_NUMBERS = 1 << 18  # predictions in memory at once: they and the results fit in a cache


@dc.dataclass(frozen=True)
class Tree:
    """Trees of all phases, one after the other.

    phases: the depths t = 1, ..., T. batch: b, the records of a root, a multiple of 2^t for each t.
    """

    phases: range
    batch: int

    @property
    def used(self) -> int:
        """Number of records read: b (1 + t / 2) in phase t, since each of 2^(j - 1) right children at depth j reads
        b 2^-j."""
        return sum(self.batch + t * self.batch // 2 for t in self.phases)

    @property
    def choices(self) -> int:
        """Number of steps, one at each leaf."""
        return sum(1 << t for t in self.phases)

    @property
    def gradients(self) -> int:
        """Number of gradients: one for each record of a root, two for each record of another node."""
        return sum(self.batch * (1 + t) for t in self.phases)


def tree_of(n: int, T: int) -> Tree | None:
    """Tree with the largest batch for phases 1, ..., T and n records; None if n is too small.

    >>> tree_of(1_000, 3), tree_of(1_000, 3).used, tree_of(2, 1)
    (Tree(phases=range(1, 4), batch=160), 960, None)
    """
    # sum_t b (1 + t / 2) = b T (T + 5) / 4.
    batch = (4 * n // (T * (T + 5)) >> T) << T
    return Tree(range(1, T + 1), batch) if batch else None


@dc.dataclass(frozen=True)
class Node:
    """Node that reads records: the root of a phase's tree or a right child.

    phase: t. depth: j, 0 for the root, at most t. leaf: k, the first leaf below it, from 0 to 2^t - 1; each leaf is the
    first one below exactly one such node. tau: the steps of all phases before the one at that leaf. batch: the records
    that it reads.
    """

    phase: int
    depth: int
    leaf: int
    tau: int
    batch: range

    @property
    def step(self) -> float:
        """eta of the step at this leaf, 2 / (tau + 2)."""
        return 2.0 / (self.tau + 2)


@functools.lru_cache(maxsize=64)
def nodes(tree: Tree) -> tuple[Node, ...]:
    """Nodes that read records, in the order of their visit: one for each leaf.

    >>> [(node.depth, node.batch) for node in nodes(Tree(range(1, 2), 8))]
    [(0, range(0, 8)), (1, range(8, 12))]
    """
    found, first = list[Node](), 0
    for t in tree.phases:
        for k in range(1 << t):
            # After leaf k - 1 the walk goes up as many levels as k has trailing zeros, then down to the right.
            depth = t - ((k & -k).bit_length() - 1) if k else 0
            batch = range(first, first + (tree.batch >> depth))
            found.append(Node(t, depth, k, len(found), batch))
            first = batch.stop
    return tuple(found)


def walk(
    loss: Loss,
    data: Data,
    start: Array,
    tree: Tree,
    *,
    release: Callable[[Node, Array, Array | None], Array],
    choose: Callable[[Node, Array], Array],
    single: bool = False,
    cancelled: Cancelled = lambda: False,
) -> Array:
    """Last iterates of all runs, [K, w].

    start: [K, w], a point of the set for each run, in at least the columns that the records store.
    release: called with a node, the mean over its records of the gradients or of their differences, [K, w], and the
    iterate less the parent's, [K, w], None for a root; returns the estimate of that mean, in any number of columns.
    choose: called with the node whose first leaf it is and the estimates there, sums of the returned ones; returns the
    points to which the step goes, [K, w].
    single: means to about 1e-6, for charts; losses without such code are computed in double precision.
    cancelled: asked at each node; if it returns True, CancelledError is raised. ValueError for too few records.
    """
    x = np.array(start, float)
    path: list[tuple[Array, Array]] = []  # iterate and estimate of every depth
    for node in nodes(tree):
        go_on(cancelled)
        if node.depth == 0:
            mean = batch_mean(loss, data, node.batch, x, single=single)
            path = [(x, release(node, mean, None))] * (node.phase + 1)
        else:
            before, known = path[node.depth - 1]
            mean = batch_mean(loss, data, node.batch, x, before, single=single)
            path[node.depth :] = [(x, known + release(node, mean, x - before))] * (node.phase + 1 - node.depth)
        x = (1.0 - node.step) * x + node.step * choose(node, path[-1][1])
    return x


def batch_mean(
    loss: Loss, data: Data, batch: range, thetas: Array, others: Array | None = None, *, single: bool = False
) -> Array:
    """Mean over a batch of grad l(theta_k), less grad l(other_k) if others are given; [K, w].

    batch: the records, first to last; ValueError if there are too few. thetas, others: [K, w], models in at least the
    stored columns; gradients are 0 in all other columns. single: as in `walk`.
    """
    if batch.stop > data.n:
        raise ValueError(f"records must be at least {batch.stop}, got {data.n}")
    single = single and loss.key in kernels.SINGLE_DERIVATIVE
    table: Any = data.single if single else data.X
    stored, count = data.stored, len(thetas)
    models = thetas[:, :stored] if others is None else np.concatenate([thetas[:, :stored], others[:, :stored]])
    models = models.astype(table.dtype, copy=False)
    total = np.zeros_like(thetas)
    rows = max(32, _BLOCK_NUMBERS // len(models))
    for first in batch[::rows]:
        part = slice(first, min(first + rows, batch.stop))
        X = table[part]
        z = models @ X.T if isinstance(X, np.ndarray) else np.ascontiguousarray((X @ models.T).T)
        slopes = loss.derivatives(z, data.y[part].astype(table.dtype, copy=False))
        if others is not None:
            slopes = slopes[:count] - slopes[count:]
        total[:, :stored] += slopes @ X
    return total / len(batch)
