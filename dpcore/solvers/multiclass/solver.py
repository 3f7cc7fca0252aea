"""Minimisers of the large-margin Gaussian classifier's objective, certified by its duality gap, for many noise draws.

All draws take Newton steps together. Several draws start at the minimiser without noise, whose Hessian preconditions
them all. `MulticlassObjective.gaps` certifies each result.
"""

import dataclasses as dc
import math
from typing import Any

import numpy as np

from ... import kernels
from ...core.arrays import Array
from ...core.privacy import Unconverged
from ...core.roots import find_root
from ...core.validation import positive
from .objective import ClassRecords, MulticlassObjective

_MAX_ROUNDS = 40
_CG_ACCURACY, _MAX_CG = 0.1, 500
_MAX_STEPS, _CENTRE_STEPS = 1_000, 50  # for each draw
# Smaller ridges, as a share of n, are approached from this one in steps; each minimum is found to a gap of this share.
_LARGE_RIDGE, _FALL, _ROUGH = 1e-3, 10.0, 1e-3
# Largest matrix that saves ten draws, or each step of a single one, more than it costs.
_LARGEST_HESSIAN = 500
_SOLVABLE = 1e-12  # smallest ridge, as a share of n, that rounding leaves beside the Hessian of the loss


@dc.dataclass(frozen=True)
class Ellipsoids:
    """Minimisers of F with their certificates, one for each of R draws.

    weights: [R, C, q]; `smat` makes them matrices. values: [R], F. gaps: [R], F - F* is at most this.
    distances: [R], ||Phi - Phi*||_F over all classes is at most this. steps: [R], Newton steps taken.
    """

    weights: Array
    values: Array
    gaps: Array
    distances: Array
    steps: Any


@dc.dataclass(frozen=True)
class _Asked:
    """Required accuracy of a certificate."""

    share: float
    distance: float
    mu: float

    def goals(self, sizes: Array) -> Array:
        """Largest gap allowed if F's terms have these sizes."""
        return np.minimum(self.share * sizes, 0.5 * self.mu * self.distance**2)


def minimise_ellipsoids(
    objective: MulticlassObjective, *, tol: float = 1e-6, distance: float = math.inf, centre: Array | None = None
) -> Ellipsoids:
    """Minimise F for every draw of the noise.

    tol: the certified gap is at most this share of the sizes of F's terms, sum of losses + (mu/2) ||Phi||^2 +
    |<tau I_d + B, Phi>|: of F itself if no term is negative. distance: also requires ||Phi - Phi*||_F <= distance.
    centre: the minimiser without noise, [C, q], where it is known; it changes the work, not the result.

    Draws affect each other only by rounding. Memory: about four arrays [R, C, n].
    Raises Unconverged if a draw does not reach the accuracy; nothing is returned then.

    >>> from dpcore.solvers.multiclass.objective import ClassRecords, MulticlassObjective, classify
    >>> records = ClassRecords([[-1.0], [-0.8], [0.9], [1.0]], [0, 0, 1, 1], classes=2)
    >>> found = minimise_ellipsoids(MulticlassObjective(records, mu=0.1))
    >>> classify(found.weights, records.Z).tolist(), bool(found.gaps[0] <= 1e-6 * found.values[0])
    ([[0, 0, 1, 1]], True)
    """
    if not (isinstance(distance, float) and distance == math.inf):
        positive("distance", distance)
    asked = _Asked(positive("tol", tol), float(distance), objective.mu)
    if centre is not None:
        found, goals = _around(objective, asked, centre, 0)
    elif len(objective.linear) == 1:
        found, goals = _along_ridges(objective, asked, _MAX_STEPS)
    else:
        found, goals = _around_no_noise(objective, asked)
    for row in np.flatnonzero(~(found.gaps <= goals)):  # a NaN is no certificate
        raise Unconverged(
            f"the solver reached a duality gap of {found.gaps[row]:.3g} in {found.steps[row]} steps, "
            f"required was {goals[row]:.3g}; nothing was returned"
        )
    return found


def _around_no_noise(objective: MulticlassObjective, asked: _Asked) -> tuple[Ellipsoids, Array]:
    """Solve from the minimiser without noise.

    If that is not found soon, the draws start at the minimisers without records, which are nearer for a small ridge
    and large noise.
    """
    calm = dc.replace(objective, noise=None)
    centre, goal = _along_ridges(calm, asked, min(_MAX_STEPS, _CENTRE_STEPS))
    if not centre.gaps <= goal:
        return _solve(objective, asked, -objective.linear / objective.mu, _MAX_STEPS)
    return _around(objective, asked, centre.weights[0], int(centre.steps[0]))


def _around(objective: MulticlassObjective, asked: _Asked, centre: Array, taken: int) -> tuple[Ellipsoids, Array]:
    """Solve from a centre [C, q], which took so many steps, shifted by the mean of the noise over the classes.

    That mean is -(mean of B) / mu and affects no margin. The Hessian at the centre preconditions all draws.
    """
    records, mu = objective.records, objective.mu
    inverse: Any = None
    if centre.size <= _LARGEST_HESSIAN:
        hessian = loss_hessian(records, records.scores(centre[None])[0])
        inverse = np.linalg.inv(hessian + mu * np.eye(len(hessian)))
    start = centre - objective.noise.mean(1, keepdims=True) / mu  # type: ignore[union-attr]
    found, goals = _solve(objective, asked, start, _MAX_STEPS - taken, inverse)
    return dc.replace(found, steps=found.steps + taken), goals


def _along_ridges(objective: MulticlassObjective, asked: _Asked, max_steps: int) -> tuple[Ellipsoids, Array]:
    """Solve for a single draw, along falling ridges if its own is small.

    At 0 no margin is on the rounded part: with a tiny ridge Newton's first step would be far too long.
    """
    ridge = max(_LARGE_RIDGE * objective.records.n, objective.mu)
    start, steps = -objective.linear / ridge, 0  # the minimiser without records
    while ridge > _FALL * objective.mu and steps < max_steps:
        rough = _Asked(_ROUGH, math.inf, ridge)
        found, _ = _solve(dc.replace(objective, mu=ridge), rough, start, max_steps - steps)
        start, steps, ridge = found.weights, steps + int(found.steps[0]), ridge / _FALL
    found, goals = _solve(objective, asked, start, max_steps - steps)
    return dc.replace(found, steps=found.steps + steps), goals


def loss_hessian(records: ClassRecords, scores: Array) -> Array:
    """Hessian of the loss at one model's scores [C, n], [C q, C q]: a block for each two classes, from the records of
    either with a margin over the other on the rounded part."""
    C, q, h = records.classes, records.Z.shape[1], records.half_width
    found = np.zeros((C, q, C, q))
    for y in range(C):
        own = records.labels == y
        Z, margins = records.Z[own], scores[:, own] - scores[y, own]
        curved = np.abs(1.0 - margins) < h  # the margin of y over itself cancels below
        blocks = (curved[:, None] * Z.T) @ Z / (2.0 * h)
        found[range(C), :, range(C)] += blocks
        found[:, :, y] -= blocks
        found[y] -= blocks.swapaxes(0, 1)
        found[y, :, y] += blocks.sum(0)
    return found.reshape(C * q, C * q)


def _solve(
    objective: MulticlassObjective, asked: _Asked, start: Array, max_steps: int, inverse: Array | None = None
) -> tuple[Ellipsoids, Array]:
    """Result of rounds of Newton's method, each with fresh predictions of its start, and the goals [R]."""
    weights, steps = start.copy(), np.zeros(len(start), dtype=np.int64)
    gaps, sizes, values = objective.gaps(start)
    goals = asked.goals(sizes)
    for _ in range(_MAX_ROUNDS):
        rows = np.flatnonzero(~(gaps <= goals) & (steps < max_steps))
        if not len(rows):
            break
        part = objective.draws(rows)
        weights[rows], taken = _newton(part, asked, weights[rows], max_steps - steps[rows], inverse)
        gaps[rows], sizes, values[rows] = part.gaps(weights[rows])
        goals[rows] = asked.goals(sizes)
        steps[rows] += taken
    return Ellipsoids(weights, values, gaps, np.sqrt(2.0 * gaps / objective.mu), steps), goals


def _newton(
    objective: MulticlassObjective, asked: _Asked, weights: Array, max_steps: Any, inverse: Array | None
) -> tuple[Array, Any]:
    """End points of a round, and the number of steps of each draw until its gradient was below its goal."""
    here = _Iterate(objective, weights, objective.records.scores(weights))
    ends, rows, taken = weights.copy(), np.arange(len(weights)), np.zeros(len(weights), dtype=np.int64)
    for step in range(int(max_steps.max()) + 1):
        ends[rows], taken[rows] = here.weights, step
        open_ = np.flatnonzero((_norms(here.gradient) > here.floors(asked)) & (step < max_steps[rows]))
        if not len(open_):
            break
        kept, here = here.step(open_, here.directions(open_, inverse))
        rows = rows[kept]
    return ends, taken


class _Iterate:
    """F at weights [R, C, q] with these scores."""

    def __init__(self, objective: MulticlassObjective, weights: Array, scores: Array) -> None:
        self.objective, self.weights, self.scores = objective, weights, scores
        self.losses, pull = objective.records.loss(scores)
        self.gradient = pull + objective.mu * weights + objective.linear

    def floors(self, asked: _Asked) -> Array:
        """Gradient norms that use up 19/20 of the required gap."""
        square, linear = self.objective.rest(self.weights)
        return np.sqrt(1.9 * self.objective.mu * asked.goals(self.losses + square + np.abs(linear)))

    def directions(self, rows: Any, inverse: Array | None) -> Array:
        """Newton's directions for some of the draws, [len(rows), C, q]: of a single one exactly, of many by
        preconditioned conjugate gradients to a residual of `_CG_ACCURACY` times the gradient."""
        records, mu, scores = self.objective.records, self.objective.mu, self.scores[rows]
        alone = len(self.objective.linear) == 1 and self.gradient.size <= _LARGEST_HESSIAN
        if alone and mu >= _SOLVABLE * records.n:
            bent = loss_hessian(records, scores[0]) + mu * np.eye(self.gradient.size)
            return np.asarray(np.linalg.solve(bent, -self.gradient.ravel()), float).reshape(self.gradient.shape)

        def hessian(D: Array, open_: Any) -> Array:
            return mu * D + records.bend(scores if len(open_) == len(scores) else scores[open_], D)

        def conditioned(left: Array) -> Array:
            return left if inverse is None else (left.reshape(len(left), -1) @ inverse).reshape(left.shape)

        left = -self.gradient[rows]
        found, goals, open_ = np.zeros_like(left), _CG_ACCURACY * _norms(left), np.arange(len(left))
        ahead = bent = conditioned(left)
        square = (left * bent).sum((1, 2))
        for _ in range(_MAX_CG):
            product = hessian(ahead, open_)
            share = (square / (ahead * product).sum((1, 2)))[:, None, None]
            found[open_] += share * ahead
            left = left - share * product
            going = _norms(left) > goals[open_]
            if not going.any():
                break
            open_, left, ahead, square = open_[going], left[going], ahead[going], square[going]
            bent, before = conditioned(left), square
            square = (left * bent).sum((1, 2))
            ahead = bent + (square / before)[:, None, None] * ahead
        return found

    def step(self, rows: Any, directions: Array) -> "tuple[Any, _Iterate]":
        """Draws, and end points of their Newton steps or the (nearly) lowest points before; draws for which rounding
        leaves no descent are left out."""
        objective, records = self.objective, self.objective.records
        slopes = (self.gradient[rows] * directions).sum((1, 2))
        falling = slopes < 0.0
        rows, directions, slopes = rows[falling], directions[falling], slopes[falling]
        weights, moves = self.weights[rows] + directions, records.scores(directions)
        scores = self.scores[rows] + moves
        for k, row in enumerate(rows):
            along = self._along(row, directions[k], moves[k])
            rise, slope = along(1.0), float(slopes[k])
            if rise > -0.1 * slope:
                share = find_root(along, 0.0, slope, 1.0, rise, tol=-0.1 * slope, max_steps=60)
                weights[k] = self.weights[row] + share * directions[k]
                scores[k] = self.scores[row] + share * moves[k]
        return rows, _Iterate(objective.draws(rows), weights, scores)

    def _along(self, row: int, direction: Array, moves: Array) -> Any:
        """Derivative along a direction, which changes the scores by `moves`, as a function of the share of the step."""
        objective, records = self.objective, self.objective.records
        weights, start = self.weights[row], self.scores[row]
        constant = float(((objective.mu * weights + objective.linear[row]) * direction).sum())
        square = objective.mu * float((direction**2).sum())

        def along(t: float) -> float:
            return constant + t * square + kernels.margin_slope(start, moves, records.labels, records.half_width, t)

        return along


def _norms(families: Array) -> Array:
    """||.||_F over all classes, [R]."""
    return np.sqrt((families**2).sum((1, 2)))
