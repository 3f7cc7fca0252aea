"""Sensitivity of the scores of one-pass Frank-Wolfe on a polytope, and the choice of noise and steps.

A choice with probability ~ exp(-score / G) whose scores one record moves by half a range of at most s (the largest
move less the smallest, halved) has log-ratios in an interval of length 2 s / G: it is s^2 / (2 G^2)-zCDP and
(2 s / G)-DP. A record is read once, so its privacy cost is the sum over the choices after that reading.
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
from ...theory.high_probability import BETA, exponential_tail
from ..noise.rounding import ROUNDED_UP
from .step_count import constants_of

LARGEST_DEPTH = 14
# "auto": the shares that count of the bound's terms for curvature (trees, minibatches) and for errors of estimates,
# which hold for the worst records. The noise of choices is known and counts in full.
_TREE_CURVATURE, _STREAM_CURVATURE, _ERRORS = 0.2, 0.35, 0.03
# Candidates for the number of minibatches and for the lengths of all their steps together; the longest step.
_COUNTS, _PATHS, _LONGEST = 60, (0.5, 1.0, 2.0, 4.0, 8.0), 0.125
# Where choices are mostly noise: so many steps that vertices drawn by chance cancel, of a small length for minibatches.
_SAFE_DEPTH, _SAFE_COUNT, _SAFE_PATH = 6, 32, _PATHS[0]


@dc.dataclass(frozen=True)
class Slopes:
    """Public constants of a problem over a polytope with J = `vertices` vertices v, and its diameter.

    across: L D, a bound on |<v - v', g>| for the gradient g of a record's loss, D the largest |<x, a - b>| for points
    a, b of the set. curvature: Gamma = c D^2; |<v - v', g - g'>| <= Gamma lambda where g and g' are taken at models
    that differ by lambda (a - b). start: a bound on F(theta_0) - min F.
    reach, bend: the same for <v, .>, as the errors of means need them: E max_v - min_v of a mean's error is at most
    `theory.estimate_range` of the variance reach^2 / m. Or k L D and k Gamma, k^2 = ln(J (J - 1)) / (4 ln J), where
    that is less, for sets far from 0: the range is a maximum over J (J - 1) differences of proxy (L D)^2 / m.
    """

    vertices: int
    reach: float
    bend: float
    across: float
    curvature: float
    start: float

    @property
    def turn(self) -> float:
        """Gamma / (L D), the largest change of a gradient across the set over its largest size."""
        return self.curvature / self.across


def slopes_of(spec: Spec) -> Slopes:
    """Public constants of a problem over a polytope; across is 0 for a set of one point."""
    facts, loss = constants_of(spec), get_loss(spec.loss)
    diameter = spec.domain.R * (spec.size or 0.0) * spec.unit_set.diameter(spec.domain.dual_order, spec.p)
    bend = loss.curvature_bound * diameter * spec.domain.R * (spec.reach or 0.0)
    vertices, across = spec.unit_set.n_vertices(spec.p) or 1, facts.steepness * diameter
    # A set of one point has no differences.
    share = 0.5 * math.sqrt(math.log(vertices * (vertices - 1)) / math.log(vertices)) if vertices > 1 else 0.0
    reach, bend = min(facts.extent, share * across), min(bend, share * facts.curvature)
    return Slopes(vertices, reach, bend, across, facts.curvature, facts.start)


@dc.dataclass(frozen=True)
class Weight:
    """Privacy cost of the worst record if the noise of a choice is `share` times the plan's scale.

    root: the largest root of the sum of (s / share)^2 over the choices after a reading. total: the largest sum of
    s / share.
    """

    root: Any
    total: Any

    def scale(self, rho: float, epsilon: float) -> Any:
        """G = min{root / sqrt(2 rho), 2 total / epsilon}: by zCDP, or by the sum, which is better for few choices."""
        return np.minimum(self.root / math.sqrt(2.0 * rho), 2.0 * self.total / epsilon) * ROUNDED_UP


@functools.lru_cache(maxsize=64)
def leaf_moves(t: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Depth of the node made at leaf k = 0, ..., 2^t - 1 of phase t, number of leaves below it or its left descendants,
    and lambda, the move of the model since its parent was made; [2^t] each.

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
    """Largest difference between scores of a record's part of the node made at leaf k, as a share of L D, [2^t].

    The root holds gradients: 1. Other nodes hold differences of gradients of one record: at most lambda Gamma / (L D),
    and, as one gradient less another, at most 2.
    """
    shares = np.minimum(turn * leaf_moves(t)[2], 2.0)
    shares[0] = 1.0
    return shares


def tree_weight(facts: Slopes, tree: Tree, t: int) -> Weight:
    """Weight of phase t: a replaced record of a node of m records moves it by a half range s = L D share / m.

    Its old and its new part each have half a range of L D share / 2. The node is part of the estimates of exactly the
    leaves below it.
    """
    depth, below, _ = leaf_moves(t)
    shares = node_shares(t, facts.turn) / (tree.batch >> depth)
    return Weight(facts.across * float(np.max(np.sqrt(below) * shares)), facts.across * float(np.max(below * shares)))


def tree_readings(facts: Slopes, tree: Tree, noise: Array) -> tuple[tuple[float, ...], ...]:
    """Largest s over the phase's `noise` for each number of leaves below a node: other nodes cost at most as much."""
    largest: dict[int, float] = {}
    for t, share in zip(tree.phases, noise, strict=True):
        depth, below, _ = leaf_moves(t)
        moves = facts.across * node_shares(t, facts.turn) / (tree.batch >> depth) / share
        for leaves, move in zip(below.tolist(), moves.tolist(), strict=True):
            largest[leaves] = max(largest.get(leaves, 0.0), move)
    return tuple((move,) * leaves for leaves, move in largest.items() if move > 0.0)


def tree_errors(facts: Slopes, tree: Tree, t: int, beta: float = 1.0) -> Array:
    """E [max_v - min_v] <v, estimate - grad F> at each leaf of phase t, [2^t], for independent records.

    beta: instead, a share of the runs at most beta exceeds a mean of these ranges with any weights.

    The error is a sum of martingale differences: in the root each record's part of <v, .> lies in an interval of length
    2 reach / b, in another node in one of 2 min(bend lambda, 2 reach) / m. The estimate of leaf k is that of k without
    its lowest set bit, plus the node made at k.
    """
    depth, _, moved = leaf_moves(t)
    widths = np.minimum(facts.bend * moved, 2.0 * facts.reach)
    widths[0] = facts.reach
    added = widths**2 / (tree.batch >> depth)
    sums = added[:1]
    for j in range(1, t + 1):
        # Right children at depth j are made at odd multiples of 2^(t - j).
        sums = np.stack([sums, sums + added[1 << (t - j) :: 1 << (t - j + 1)]], axis=1).ravel()
    return np.asarray(theory.estimate_range(sums, facts.vertices / beta))


def tree_scales(facts: Slopes, tree: Tree, rho: float, epsilon: float) -> Array:
    """G_t of each phase: each record is in one phase, so that phases do not compose."""
    return np.array([float(tree_weight(facts, tree, t).scale(rho, epsilon)) for t in tree.phases])


def tree_bound(facts: Slopes, tree: Tree, scales: Array) -> float:
    """Bound on the mean excess: the exponential mechanism's score is on average at most G ln J above the smallest
    (Gibbs: its distribution minimises E score - G entropy); the estimate's error adds its range.

    Nor is it above the mean score of all vertices, which is that of theta_0: <estimate, v - theta_0> <= 0 on average.
    With <grad F, theta_0 - theta> <= F(theta_0) - F(theta) all choices together cost at most F(theta_0) - min F.
    """
    errors = np.concatenate([tree_errors(facts, tree, t) for t in tree.phases])
    chosen = min(_choices_cost(facts, tree, scales), facts.start)
    return theory.falling_steps_bound(facts.curvature, errors) + chosen


def _choices_cost(facts: Slopes, tree: Tree, scales: Array) -> float:
    """Mean of G_t ln J with the weights of the steps."""
    noise = np.repeat(scales, [1 << t for t in tree.phases]) * math.log(facts.vertices)
    return float(theory.falling_weights(len(noise)) @ noise)


def tree_tail(facts: Slopes, tree: Tree, scales: Array) -> float:
    """Bound on the excess that a share BETA of the runs may exceed, half for the records and half for the choices."""
    noise = np.repeat(scales, [1 << t for t in tree.phases])
    shares = theory.falling_weights(len(noise)) * noise
    worse = [tree_errors(facts, tree, t, BETA / 2.0) for t in tree.phases]
    chosen = math.log(facts.vertices) * float(shares.sum()) + exponential_tail(shares, math.log(2.0 / BETA))
    return theory.falling_steps_bound(facts.curvature, np.concatenate(worse)) + chosen


def auto_tree(facts: Slopes, n: int, rho: float, epsilon: float) -> Tree:
    """Tree of the depth from 0 to 14 with the smallest `tree_bound`, if only shares of its terms count.

    Choices and errors together count at most as `facts.start`, like vertices drawn by chance. Trees where they would
    count more have a depth of at most 6.
    """
    best, least = Tree(range(1), n), math.inf
    for T in range(LARGEST_DEPTH + 1):
        if (tree := tree_of(n, T)) is None:
            break
        errors = np.concatenate([tree_errors(facts, tree, t) for t in tree.phases])
        worse = _choices_cost(facts, tree, tree_scales(facts, tree, rho, epsilon))
        worse += _ERRORS * float(theory.falling_weights(tree.choices) @ errors)
        if T > _SAFE_DEPTH and worse >= facts.start:
            break
        cost = theory.falling_steps_bound(_TREE_CURVATURE * facts.curvature, np.zeros(tree.choices))
        cost += min(worse, facts.start)
        if cost < least:
            best, least = tree, cost
    return best


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
        """Number of gradients: one for each record of the first batch, two for each of the others."""
        return self.first + 2 * self.batch * self.count


def published_stream(n: int, vertices: int) -> Stream:
    """Stream of Algorithm 2: n / 2 records, then a step for each other one, eta = ln(n / ln J) / n; n > ln J, J > 1."""
    return Stream(n // 2, 1, n - n // 2, math.log(n / math.log(vertices)) / n)


def entry_moves(facts: Slopes, first: Any, batch: Any, step: Any) -> tuple[Any, Any]:
    """s_0 and s_1: half the range by which a replaced record changes the scores of the choice after its reading.

    In the first batch its part of <v, d_0> is <v, g> / n_0: L D / n_0. In a batch of m it is
    [<v, g(theta_t)> - (1 - eta) <v, g(theta_{t-1})>] / m = [eta <v, g(theta_t)> + (1 - eta) <v, the change of g>] / m,
    where the model has moved by lambda = eta: two such parts give
        (eta L D + (1 - eta) eta Gamma) / m, and, as one gradient less a share of another, at most (2 - eta) L D / m.
    Each later estimate keeps a share 1 - eta of the earlier one, and reads other records: s (1 - eta)^j after j steps.
    """
    entering = np.minimum(step * (1.0 + (1.0 - step) * facts.turn), 2.0 - step)
    return facts.across / first, facts.across * entering / batch


def stream_weight(facts: Slopes, stream: Stream, shares: Array | None = None) -> Weight:
    """Weight of the worst record. shares: [choices], noise of each choice over the plan's scale; None for 1."""
    from scipy.signal import lfilter  # 1.2 s of imports, which pages that list mechanisms need not wait for

    s0, s1 = entry_moves(facts, stream.first, stream.batch, stream.step)
    kept = 1.0 - stream.step
    weights = np.ones(stream.choices) if shares is None else 1.0 / shares

    def largest(power: int) -> float:
        """Largest s (sum_{t >= i} (kept^(t - i) weight_t)^power)^(1 / power) over i, from the last choice back."""
        ahead = lfilter([1.0], [1.0, -(kept**power)], weights[::-1] ** power)[::-1] ** (1.0 / power)
        return float(max(s0 * ahead[0], s1 * ahead[1:].max()))

    return Weight(largest(2), largest(1))


def stream_readings(facts: Slopes, stream: Stream) -> tuple[tuple[float, ...], ...]:
    """s (1 - eta)^j after the first batch and after the second; later batches are like the second, with fewer choices.

    For equal noise in all choices.
    """
    s0, s1 = entry_moves(facts, stream.first, stream.batch, stream.step)
    fading = (1.0 - stream.step) ** np.arange(stream.choices)
    return tuple((s0 * fading).tolist()), tuple((s1 * fading[:-1]).tolist())


def stream_error(facts: Slopes, first: Any, batch: Any, count: Any, step: Any, beta: float = 1.0) -> Any:
    """Bound on the range of the estimate's error, averaged over the choices with weights ~ (1 - eta)^(T - t).

    On average, or for beta < 1 in all runs but a share of beta.

    A record's part of the error lies in intervals of half a length reach / n_0, or w / m with
    w = min(eta reach + (1 - eta) eta bend, (2 - eta) reach), and shrinks by 1 - eta a step. Hence sigma_t^2 is at most
    (1 - eta)^(2 t) reach^2 / n_0 + w^2 / (m eta (2 - eta)), and the mean of (1 - eta)^(2 t) is (1 - eta)^T. The range
    grows with sigma, and Jensen's inequality moves the mean inside.
    """
    entering = np.minimum(step * (facts.reach + (1.0 - step) * facts.bend), (2.0 - step) * facts.reach)
    variance = (1.0 - step) ** count * facts.reach**2 / first + entering**2 / (batch * step * (2.0 - step))
    return theory.estimate_range(variance, facts.vertices / beta)


def stream_bound(facts: Slopes, stream: Stream, worse: float, beta: float = 1.0) -> float:
    """Bound on the mean excess. worse: excess score of a choice over the best, in the same average; beta: as there."""
    error = stream_error(facts, stream.first, stream.batch, stream.count, stream.step, beta)
    return float(theory.constant_steps_bound(facts.start, facts.curvature, stream.step, stream.choices, worse + error))


def auto_stream(facts: Slopes, n: int, rho: float, epsilon: float, count: int | None = None) -> Stream:
    """Stream with half the records first, T steps, and eta T in 1/2, 1, 2, 4, 8 but eta at most 1/8.

    It has the smallest `stream_bound`, if only shares of its terms count. If that is no less than `facts.start`, the
    model stays near theta_0: eta T = 1/2 with T = 32, or with as many steps as there are records. count: T, if given.
    """
    first = n // 2
    rest = n - first
    counts = np.unique(np.geomspace(1, rest, _COUNTS).astype(int)) if count is None else np.array([count])
    T, paths = np.meshgrid(counts, _PATHS, indexing="ij")
    batch, step = rest // T, np.minimum(paths / T, _LONGEST)
    kept = 1.0 - step
    s0, s1 = entry_moves(facts, first, batch, step)

    def series(power: int, terms: Array) -> Array:
        """Root of order `power` of sum_{j < terms} kept^(power j)."""
        return ((1.0 - kept ** (power * terms)) / (1.0 - kept**power)) ** (1.0 / power)

    def largest(power: int) -> Array:
        return np.maximum(s0 * series(power, T + 1), s1 * series(power, T))

    worse = Weight(largest(2), largest(1)).scale(rho, epsilon) * math.log(facts.vertices)
    worse = worse + _ERRORS * stream_error(facts, first, batch, T, step)
    found = theory.constant_steps_bound(facts.start, _STREAM_CURVATURE * facts.curvature, step, T + 1, worse)
    best = np.unravel_index(np.argmin(found), found.shape)
    if found[best] < facts.start:
        return Stream(first, int(batch[best]), int(T[best]), float(step[best]))
    steps = min(_SAFE_COUNT, rest) if count is None else count
    return Stream(first, rest // steps, steps, min(_SAFE_PATH / steps, _LONGEST))
