"""Minimisers of the large-margin Gaussian classifier's objective, certified by its duality gap, for many noise draws.

All draws take accelerated projected steps together; those that are not done after a while are finished one by one by
Newton's method, over the cone within the method of multipliers. Neither is trusted: `Objective.gaps` decides.
"""

from __future__ import annotations

import dataclasses as dc
import math
from typing import Any

import numpy as np

from ..checks import integer, positive
from ..types import Array, Unconverged
from .ellipsoids import Objective, Spectrum, hinge_slope, project_to_cone, pulled, smat, svec
from .problem import find_root

_ACCELERATED_STEPS, _CHECK = 60, 10
_MAX_ROUNDS, _FIRST_WEIGHT, _GROWTH = 40, 10.0, 5.0
_INNER, _CG_ACCURACY, _MAX_CG = 0.1, 0.1, 500


@dc.dataclass(frozen=True)
class Ellipsoids:
    """Minimisers of F with their certificates, one for each of R draws.

    weights: [R, C, q], in the set; `smat` makes them matrices. values: [R], F. gaps: [R], F - F* is at most this.
    distances: [R], ||Phi - Phi*||_F over all classes is at most this. steps: [R], gradients and Newton steps taken.
    """

    weights: Array
    values: Array
    gaps: Array
    distances: Array
    steps: Any


@dc.dataclass(frozen=True)
class _Asked:
    """What a certificate must reach."""

    share: float
    distance: float
    mu: float

    def goals(self, sizes: Array) -> Array:
        """The largest gap allowed where F's terms have these sizes."""
        return np.minimum(self.share * sizes, 0.5 * self.mu * self.distance**2)


def minimise_ellipsoids(
    objective: Objective, *, tol: float = 1e-6, distance: float = math.inf, max_steps: int = 1_000
) -> Ellipsoids:
    """Minimise F for every draw of the noise.

    tol: the certified gap is at most this share of the sizes of F's terms, sum of losses + (mu/2) ||Phi||^2 +
    |<tau I_d + B, Phi>|: of F itself where nothing is negative. distance: also asks for ||Phi - Phi*||_F <= distance.
    max_steps: for each draw.

    All draws take accelerated projected steps together, and those that are done leave; the few that need more are
    finished one by one (`_finish`). Memory: about six arrays [R, C, n].
    Raises Unconverged when a draw does not get there; nothing is returned then.

    >>> from dpcore.solvers.ellipsoids import ClassRecords, Objective, classify
    >>> records = ClassRecords([[-1.0], [-0.8], [0.9], [1.0]], [0, 0, 1, 1], classes=2)
    >>> found = minimise_ellipsoids(Objective(records, mu=0.1, cone=True))
    >>> classify(found.weights, records.Z).tolist(), bool(found.gaps[0] <= 1e-6 * found.values[0])
    ([[0, 0, 1, 1]], True)
    """
    if not (isinstance(distance, float) and distance == math.inf):
        positive("distance", distance)
    asked = _Asked(positive("tol", tol), float(distance), objective.mu)
    max_steps = integer("max_steps", max_steps, at_least=1)
    weights, gaps, goals, steps = _accelerated(objective, asked, min(max_steps, _ACCELERATED_STEPS))
    for row in np.flatnonzero(~(gaps <= goals)):  # a NaN is no certificate
        part, left = objective.draws([row]), max_steps - int(steps[row])
        weights[row], gaps[row], goals[row], taken = _finish(part, asked, weights[row], left)
        steps[row] += taken
        if not gaps[row] <= goals[row]:
            raise Unconverged(
                f"the solver reached a duality gap of {gaps[row]:.3g} in {steps[row]} steps, "
                f"asked for was {goals[row]:.3g}; nothing was returned"
            )
    return Ellipsoids(weights, objective.values(weights), gaps, np.sqrt(2.0 * gaps / objective.mu), steps)


def _accelerated(objective: Objective, asked: _Asked, max_steps: int) -> tuple[Array, Array, Array, Any]:
    """Weights, gaps, goals and steps of each draw after accelerated projected gradients with restarts.

    Sources: Beck and Teboulle 2009, FISTA; O'Donoghue and Candes 2015, the restart where a step goes uphill.
    """
    records, mu = objective.records, objective.mu
    step = 1.0 / (mu + records.curvature)
    found = objective.project(-objective.linear) / mu  # the minimiser without records
    gaps, sizes = objective.gaps(found)
    goals, steps = asked.goals(sizes), np.zeros(len(found), dtype=np.int64)
    active = np.flatnonzero(~(gaps <= goals))
    part, here = objective.draws(active), found[active]
    scores = records.scores(here)
    ahead, scores_ahead, momentum = here, scores, np.ones(len(active))
    for k in range(1, max_steps + 1):
        if not len(active):
            break
        slopes = records.slopes(records.margins(scores_ahead))
        gradient = records.pull(slopes) + mu * ahead + part.linear
        new = part.project(ahead - step * gradient)
        new_scores = records.scores(new)
        uphill = ((ahead - new) * (new - here)).sum((1, 2)) > 0.0
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        share = np.where(uphill, 0.0, (momentum - 1.0) / grown)[:, None, None]
        momentum = np.where(uphill, 1.0, grown)
        # Scores are linear in the weights: one product serves both points.
        ahead, scores_ahead = new + share * (new - here), new_scores + share * (new_scores - scores)
        here, scores = new, new_scores
        if k % _CHECK == 0 or k == max_steps:
            found[active], steps[active] = here, k
            gaps[active], sizes = part.gaps(here)
            goals[active] = asked.goals(sizes)
            open_ = ~(gaps[active] <= goals[active])
            active, here, scores = active[open_], here[open_], scores[open_]
            ahead, scores_ahead, momentum = ahead[open_], scores_ahead[open_], momentum[open_]
            part = objective.draws(active)
    return found, gaps, goals, steps


def _finish(objective: Objective, asked: _Asked, weights: Array, max_steps: int) -> tuple[Array, float, float, int]:
    """Weights [C, q], gap, goal and steps of a single draw: the method of multipliers, each round by Newton's method.

    A round minimises F(Phi) + ||Pi(Y - sigma Phi)||^2 / (2 sigma) over all symmetric matrices; Pi(Y - sigma Phi) is the
    next Y, and Pi(sigma Phi - Y) / sigma lies in the cone. Without cone Y is 0 and one round is enough.

    Sources: Rockafellar 1976, Augmented Lagrangians and applications of the proximal point algorithm; Zhao, Sun and Toh
    2010, A Newton-CG augmented Lagrangian method for semidefinite programming.
    """
    mu, sigma, steps = objective.mu, _FIRST_WEIGHT * objective.mu, 0
    (gap,), sizes = objective.gaps(weights[None])
    (goal,) = asked.goals(sizes)
    Y = project_to_cone(objective.gradients(weights[None])[0]) if objective.cone else np.zeros_like(weights)
    at = weights
    for _ in range(_MAX_ROUNDS):
        if gap <= goal or steps >= max_steps:
            break
        # A gradient of this norm adds a tenth of the goal to the gap.
        end, taken = _newton(objective, Y, sigma, at, math.sqrt(0.2 * mu * goal), max_steps - steps)
        at, Y, weights = end.weights, end.multipliers, end.inside
        (gap,), sizes = objective.gaps(weights[None])
        (goal,) = asked.goals(sizes)
        steps, sigma = steps + max(taken, 1), _GROWTH * sigma
    return weights, float(gap), float(goal), steps


class _Round:
    """F(Phi) + ||Pi(Y - sigma Phi)||^2 / (2 sigma) at weights [C, q] with these scores [C, n]; plain F without cone."""

    def __init__(self, objective: Objective, Y: Array, sigma: float, weights: Array, scores: Array) -> None:
        self.objective, self.Y, self.sigma, self.weights, self.scores = objective, Y, sigma, weights, scores
        records = objective.records
        self.margins = records.margins(scores[None])[0]
        gradient = records.pull(records.slopes(self.margins[None]))[0] + objective.mu * weights + objective.linear[0]
        self.multipliers, self.inside = Y, weights
        if objective.cone:
            turned = Y - sigma * weights
            self.spectrum = Spectrum.of(turned)
            self.multipliers = self.spectrum.positive_part()
            self.inside = (self.multipliers - turned) / sigma
            gradient -= self.multipliers
        self.gradient = gradient

    def direction(self, accuracy: float) -> Array:
        """Newton's direction [C, q] by conjugate gradients, to a residual of `accuracy` times the gradient."""
        records, mu = self.objective.records, self.objective.mu
        h = records.half_width
        curved = np.abs(1.0 - self.margins) < h
        curved[records.labels, np.arange(records.n)] = False
        rows = np.flatnonzero(curved.any(0))  # the other records have no curvature here
        labels, Z, curved = records.labels[rows], records.Z[rows], curved[:, rows]
        order = np.arange(len(rows))
        if self.objective.cone:
            U, weights = self.spectrum.vectors, self.sigma * self.spectrum.derivative_weights()
            transposed = U.swapaxes(-1, -2)

        def hessian(D: Array) -> Array:
            scores = D @ Z.T
            product = mu * D + pulled((curved * (scores[labels, order] - scores) / (2.0 * h))[None], labels, Z)[0]
            if self.objective.cone:
                product += svec(U @ (weights * (transposed @ smat(D) @ U)) @ transposed)
            return product

        found, left = np.zeros_like(self.gradient), -self.gradient
        ahead, square = left, float((left**2).sum())
        goal = accuracy**2 * square
        for _ in range(_MAX_CG):
            product = hessian(ahead)
            share = square / float((ahead * product).sum())
            found, left = found + share * ahead, left - share * product
            before, square = square, float((left**2).sum())
            if square <= goal:
                break
            ahead = left + square / before * ahead
        return found

    def step(self, direction: Array) -> _Round | None:
        """Where Newton's step ends, or the lowest point before it (nearly); None where rounding leaves no descent."""
        objective, records = self.objective, self.objective.records
        moved = records.scores(direction[None])[0]
        turn = records.margins(moved[None])[0]
        constant = float(((objective.mu * self.weights + objective.linear[0]) * direction).sum())
        square = objective.mu * float((direction**2).sum())

        def along(t: float) -> float:
            slope = constant + t * square
            slope -= float((hinge_slope(self.margins + t * turn, records.half_width) * turn).sum())
            if objective.cone:
                turned = self.Y - self.sigma * (self.weights + t * direction)
                slope -= float((project_to_cone(turned) * direction).sum())
            return slope

        slope, share, rise = float((self.gradient * direction).sum()), 1.0, along(1.0)
        if slope >= 0.0:
            return None
        if rise > -0.1 * slope:
            share = find_root(along, 0.0, slope, 1.0, rise, tol=-0.1 * slope, max_steps=60)
        weights, scores = self.weights + share * direction, self.scores + share * moved
        return _Round(objective, self.Y, self.sigma, weights, scores)


def _newton(
    objective: Objective, Y: Array, sigma: float, weights: Array, floor: float, max_steps: int
) -> tuple[_Round, int]:
    """The end of a round and the steps that it took: the gradient is at most `floor`, or small beside the distance to
    the cone, mu times a tenth of it: then the multipliers are what matters."""
    here = _Round(objective, Y, sigma, weights, objective.records.scores(weights[None])[0])
    for steps in range(max_steps):
        outside = float(np.linalg.norm(here.inside - here.weights))
        if np.linalg.norm(here.gradient) <= max(floor, _INNER * objective.mu * outside):
            return here, steps
        new = here.step(here.direction(_CG_ACCURACY))
        if new is None:
            return here, steps
        here = new
    return here, max_steps
