"""Sensitivity of the scores of one-pass Frank-Wolfe on a polytope, and the choice of noise and steps.

A choice with probability ~ exp(-score / G) whose scores one record moves by half a range of at most s (the largest
move less the smallest, halved) has log-ratios in an interval of length 2 s / G: it is s^2 / (2 G^2)-zCDP and
(2 s / G)-DP. A record is read once, so that what it costs is the sum over the choices behind that reading.
"""

import dataclasses as dc
import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.losses import get_loss
from ...core.specification import Spec
from ...solvers.frank_wolfe.tree import Tree, tree_of
from ...theory import frank_wolfe as theory
from ..noise.rounding import ROUNDED_UP
from .step_count import terrain

LARGEST_DEPTH = 14
# Lengths of steps and numbers of steps that are tried.
_STEPS, _COUNTS = 60, 60


@dc.dataclass(frozen=True)
class Slopes:
    """Public constants of a problem over a polytope with J = `corners` vertices v, and its diameter.

    across: L D, a bound on |<v - v', g>| for the gradient g of a record's loss, D the largest |<x, a - b>| for points
    a, b of the set. curvature: Gamma = c D^2; |<v - v', g - g'>| <= Gamma lambda where g and g' are taken at models
    that differ by lambda (a - b). start: a bound on F(theta_0) - min F.
    reach, bend: the same for <v, .>, as the errors of means need them: E max_v - min_v of a mean's error is at most
    `theory.estimate_range` of the variance reach^2 / m. Or k L D and k Gamma, k^2 = ln(J (J - 1)) / (4 ln J), where
    that is less, for sets far from 0: the range is a maximum over J (J - 1) differences of proxy (L D)^2 / m.
    """

    corners: int
    reach: float
    bend: float
    across: float
    curvature: float
    start: float

    @property
    def turn(self) -> float:
        """Gamma / (L D): how much of its largest size a gradient can change across the set."""
        return self.curvature / self.across


def slopes_of(spec: Spec) -> Slopes:
    """across is 0 for a set of one point."""
    land, loss = terrain(spec), get_loss(spec.loss)
    diameter = spec.domain.R * (spec.size or 0.0) * spec.shape.diameter(spec.domain.dual, spec.p)
    bend = loss.curvature_bound * diameter * spec.domain.R * (spec.reach or 0.0)
    corners, across = spec.shape.corners(spec.p) or 1, land.steepness * diameter
    # A set of one point has no differences.
    share = 0.5 * math.sqrt(math.log(corners * (corners - 1)) / math.log(corners)) if corners > 1 else 0.0
    reach, bend = min(land.extent, share * across), min(bend, share * land.curvature)
    return Slopes(corners, reach, bend, across, land.curvature, land.start)


@dc.dataclass(frozen=True)
class Weight:
    """Privacy cost of the worst record, where the noise of a choice is `share` times the plan's scale.

    root: the largest root of the sum of (s / share)^2 over the choices behind a reading. total: the largest sum of
    s / share.
    """

    root: Any
    total: Any

    def scale(self, rho: float, epsilon: float) -> Any:
        """G = min{root / sqrt(2 rho), 2 total / epsilon}: by zCDP, or by the sum, which wins for few choices."""
        return np.minimum(self.root / math.sqrt(2.0 * rho), 2.0 * self.total / epsilon) * ROUNDED_UP


@functools.lru_cache(maxsize=64)
def leaf_moves(t: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """For the node made at leaf k = 0, ..., 2^t - 1 of phase t: its depth, how many leaves are below it or its left
    descendants, and lambda, how far the model has moved since its parent was made; [2^t] each.

    The model is a mixture of its earlier self, of weight prod (1 - 2 / (tau + 2)) = tau0 (tau0 + 1) / (tau (tau + 1))
    after the steps tau0, ..., tau - 1, and of vertices: lambda is 1 less that, at most 2^(1 - j).
    """
    k = np.arange(1 << t)
    low = np.where(k > 0, k & -k, 1 << t)
    now = np.maximum((1 << t) - 2, 0) + k
    then = now - np.where(k > 0, low, 0)
    moved = np.where(k > 0, 1.0 - then * (then + 1.0) / np.maximum(now * (now + 1.0), 1.0), 0.0)
    return t - np.log2(low).round().astype(np.int64), low, moved


def node_shares(t: int, turn: float) -> Array:
    """By how much of L D a record's part of the node made at leaf k can differ between scores, [2^t].

    The root holds gradients: 1. Other nodes hold differences of gradients of one record: at most lambda Gamma / (L D),
    and, as one gradient less another, at most 2.
    """
    shares = np.minimum(turn * leaf_moves(t)[2], 2.0)
    shares[0] = 1.0
    return shares


def tree_weight(land: Slopes, tree: Tree, t: int) -> Weight:
    """Of phase t: a replaced record of a node of m records moves it by a half range s = L D share / m.

    Its old and its new part each have half a range of L D share / 2. The node is a part of all estimates of the leaves
    below it and of no others.
    """
    depth, below, _ = leaf_moves(t)
    shares = node_shares(t, land.turn) / (tree.batch >> depth)
    return Weight(land.across * float(np.max(np.sqrt(below) * shares)), land.across * float(np.max(below * shares)))


def tree_readings(land: Slopes, tree: Tree, noise: Array) -> tuple[tuple[float, ...], ...]:
    """s over the phase's `noise`, for each number of leaves below a node the largest: other nodes cost no more."""
    largest: dict[int, float] = {}
    for t, share in zip(tree.phases, noise, strict=True):
        depth, below, _ = leaf_moves(t)
        moves = land.across * node_shares(t, land.turn) / (tree.batch >> depth) / share
        for leaves, move in zip(below.tolist(), moves.tolist(), strict=True):
            largest[leaves] = max(largest.get(leaves, 0.0), move)
    return tuple((move,) * leaves for leaves, move in largest.items() if move > 0.0)


def tree_errors(land: Slopes, tree: Tree, t: int) -> Array:
    """E [max_v - min_v] <v, estimate - grad F> at each leaf of phase t, [2^t], for independent records.

    The error is a sum of martingale differences: in the root each record's part of <v, .> lies in an interval of length
    2 reach / b, in another node in one of 2 min(bend lambda, 2 reach) / m. The estimate of leaf k is that of k without
    its lowest set bit, plus the node made at k.
    """
    depth, _, moved = leaf_moves(t)
    widths = np.minimum(land.bend * moved, 2.0 * land.reach)
    widths[0] = land.reach
    added = widths**2 / (tree.batch >> depth)
    sums = added[:1]
    for j in range(1, t + 1):
        # Right children at depth j are made at odd multiples of 2^(t - j).
        sums = np.stack([sums, sums + added[1 << (t - j) :: 1 << (t - j + 1)]], axis=1).ravel()
    return np.asarray(theory.estimate_range(sums, land.corners))


def tree_scales(land: Slopes, tree: Tree, rho: float, epsilon: float) -> Array:
    """G_t of each phase: each record is in one phase, so that none pays for another."""
    return np.array([float(tree_weight(land, tree, t).scale(rho, epsilon)) for t in tree.phases])


def tree_bound(land: Slopes, tree: Tree, scales: Array) -> float:
    """The exponential mechanism's score is on average at most G ln J above the smallest (Gibbs' variational
    principle: its distribution makes E score - G entropy smallest); the estimate's error adds its range."""
    worse = [
        float(scale) * math.log(land.corners) + tree_errors(land, tree, t)
        for t, scale in zip(tree.phases, scales, strict=True)
    ]
    return theory.falling_steps_bound(land.curvature, np.concatenate(worse))


def best_tree(land: Slopes, n: int, rho: float, epsilon: float) -> Tree:
    """The depth from 0 to 14 with the smallest bound."""
    trees = [tree for T in range(LARGEST_DEPTH + 1) if (tree := tree_of(n, T)) is not None]
    return min(trees, key=lambda tree: tree_bound(land, tree, tree_scales(land, tree, rho, epsilon)))


@dc.dataclass(frozen=True)
class Stream:
    """`first` records for the first estimate, then `count` steps with `batch` records each, all of length `step`."""

    first: int
    batch: int
    count: int
    step: float

    @property
    def choices(self) -> int:
        return self.count + 1

    @property
    def gradients(self) -> int:
        """One for each record of the first batch, two for each of the others."""
        return self.first + 2 * self.batch * self.count


def published_stream(n: int, corners: int) -> Stream:
    """Algorithm 2: n / 2 records, then a step for each of the others, eta = ln(n / ln J) / n; needs n > ln J, J > 1."""
    return Stream(n // 2, 1, n - n // 2, math.log(n / math.log(corners)) / n)


def entry_moves(land: Slopes, first: Any, batch: Any, step: Any) -> tuple[Any, Any]:
    """s_0 and s_1: half the range by which a replaced record moves the scores of the choice next to its reading.

    In the first batch its part of <v, d_0> is <v, g> / n_0: L D / n_0. In a batch of m it is
    [<v, g(theta_t)> - (1 - eta) <v, g(theta_{t-1})>] / m = [eta <v, g(theta_t)> + (1 - eta) <v, the change of g>] / m,
    where the model has moved by lambda = eta: two such parts give
        (eta L D + (1 - eta) eta Gamma) / m, and, as one gradient less a share of another, at most (2 - eta) L D / m.
    Each later estimate keeps a share 1 - eta of the earlier one, and reads other records: s (1 - eta)^j after j steps.
    """
    entering = np.minimum(step * (1.0 + (1.0 - step) * land.turn), 2.0 - step)
    return land.across / first, land.across * entering / batch


def stream_weight(land: Slopes, stream: Stream, shares: Array | None = None) -> Weight:
    """shares: [choices], the noise of each choice over the plan's scale; None for 1."""
    from scipy.signal import lfilter  # 1.2 s of imports, which pages that list mechanisms need not wait for

    s0, s1 = entry_moves(land, stream.first, stream.batch, stream.step)
    kept = 1.0 - stream.step
    weights = np.ones(stream.choices) if shares is None else 1.0 / shares

    def largest(power: int) -> float:
        """Of s (sum_{t >= i} (kept^(t - i) weight_t)^power)^(1 / power): all i at once, from the last choice back."""
        ahead = lfilter([1.0], [1.0, -(kept**power)], weights[::-1] ** power)[::-1] ** (1.0 / power)
        return float(max(s0 * ahead[0], s1 * ahead[1:].max()))

    return Weight(largest(2), largest(1))


def stream_readings(land: Slopes, stream: Stream) -> tuple[tuple[float, ...], ...]:
    """s (1 - eta)^j behind the first batch, and behind the next; a later one is read alike, with fewer choices behind.

    For noise that is alike for all choices. A step of length 1 forgets all earlier records: their moves, 0, are left
    out.
    """
    s0, s1 = entry_moves(land, stream.first, stream.batch, stream.step)
    fading = (1.0 - stream.step) ** np.arange(stream.choices)
    return tuple(tuple(moves[moves > 0.0].tolist()) for moves in (s0 * fading, s1 * fading[:-1]) if len(moves))


def stream_error(land: Slopes, first: Any, batch: Any, count: Any, step: Any) -> Any:
    """A bound on the mean over the choices, in proportion to (1 - eta)^(T - t), of the range of the estimate's error.

    A record's part of the error lies in intervals of half a length reach / n_0, or w / m with
    w = min(eta reach + (1 - eta) eta bend, (2 - eta) reach), and fades by 1 - eta a step. So sigma_t^2 is at most
    (1 - eta)^(2 t) reach^2 / n_0 + w^2 / (m eta (2 - eta)), and the mean of (1 - eta)^(2 t) is (1 - eta)^T. The range
    grows with sigma, so that Jensen's inequality lets the mean inside.
    """
    entering = np.minimum(step * (land.reach + (1.0 - step) * land.bend), (2.0 - step) * land.reach)
    variance = (1.0 - step) ** count * land.reach**2 / first + entering**2 / (batch * step * (2.0 - step))
    return theory.estimate_range(variance, land.corners)


def stream_bound(land: Slopes, stream: Stream, worse: float) -> float:
    """worse: by how much a choice is worse than the best, on the same average."""
    error = stream_error(land, stream.first, stream.batch, stream.count, stream.step)
    return float(theory.constant_steps_bound(land.start, land.curvature, stream.step, stream.choices, worse + error))


def best_stream(land: Slopes, n: int, rho: float, epsilon: float, count: int | None = None) -> Stream:
    """Half the records first; the number and the length of steps with the smallest bound, on a public grid.

    count: T, if it is given.
    """
    first = n // 2
    rest = n - first
    counts = np.unique(np.geomspace(1, rest, _COUNTS).astype(int)) if count is None else np.array([count])
    T, step = np.meshgrid(counts, np.geomspace(0.5 / n, 1.0, _STEPS), indexing="ij")
    batch, kept = rest // T, 1.0 - step
    s0, s1 = entry_moves(land, first, batch, step)

    def series(power: int, terms: Array) -> Array:
        """The root of that order of sum_{j < terms} kept^(power j)."""
        return ((1.0 - kept ** (power * terms)) / (1.0 - kept**power)) ** (1.0 / power)

    def largest(power: int) -> Array:
        return np.maximum(s0 * series(power, T + 1), s1 * series(power, T))

    worse = Weight(largest(2), largest(1)).scale(rho, epsilon) * math.log(land.corners)
    worse = worse + stream_error(land, first, batch, T, step)
    found = theory.constant_steps_bound(land.start, land.curvature, step, T + 1, worse)
    i, j = np.unravel_index(np.argmin(found), found.shape)
    return Stream(first, int(batch[i, j]), int(T[i, j]), float(step[i, j]))
