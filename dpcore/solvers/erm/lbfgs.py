"""Limited-memory BFGS with products in single precision for as long as that costs no accuracy.

A point that is evaluated in double precision serves as an anchor. From there predictions and gradients are updated by
their changes: errors of single precision are relative to the change since the anchor, a ten millionth of the gradient
there. When the gradient has fallen by that much, the point is evaluated in double precision, which certifies it or
makes it the next anchor. Nearly all passes over the records thus read half the bytes, at any tolerance.

Source: Nocedal and Wright 2006, Algorithm 7.4; anchors are the iterative refinement of Wilkinson 1963 for gradients.
"""

import dataclasses as dc
import functools
import math
from collections.abc import Callable

import numpy as np

from ... import kernels
from ...core.arrays import Array
from ...core.roots import find_root
from .objective import Iterate, Objective, pull_single

MEMORY = 10
_FURTHEST, _LINE_STEPS = 2.0**60, 60
# Share of an anchor's gradient down to which single precision is used.
_ROUNDING = 2e-7
# Closer to rounding than this, single precision ends when so many steps do not halve the gradient.
_CLOSE, _PATIENCE = 1e-3, 5
# Steps after which the inverse Hessian is computed anew if each leaves more than this share of the gradient.
_RENEWALS, _GOOD_STEP = (3, 6, 12, 24, 48), 0.2
# After so many steps, the steps still allowed must be likely to do this share of the rest.
_JUDGED, _HOPE = 24, 0.7
# For tables larger than every cache: first steps in double precision, one pass each, until it is known whether enough
# steps follow to pay for a second table.
_FIRST, _WORTH = 2, 4

Inverse = Callable[[Array], Array]


@dc.dataclass(frozen=True)
class Way:
    """Settings of steps: an approximation of the inverse Hessian near a point, and the largest number of steps.

    flatter: a step ends where the slope along it is at most this share of the slope at its start. single: products may
    be in single precision.
    """

    inverse_at: Callable[[Iterate], Inverse]
    max_steps: int
    flatter: float
    single: bool


def quasi_newton(problem: Objective, here: Iterate, tol: float, way: Way) -> tuple[Iterate, int]:
    """Take steps until ||gradient|| <= tol or no more are allowed or useful; the best point and the number of steps."""
    with np.errstate(over="ignore", invalid="ignore"):  # of single precision, which ends where it does not help
        return _refine(problem, here, tol, way)


def _refine(problem: Objective, here: Iterate, tol: float, way: Way) -> tuple[Iterate, int]:
    walk, single = _Walk(here, tol, way), way.single
    if single and problem.vast:
        here = walk.go(_Double(problem), here, tol, _FIRST)
        here = here if here.exact else problem.at(here.theta)
        single = walk.left(here) > _WORTH
    while here.norm > tol and walk.steps < walk.max_steps:
        if single:
            there = walk.go(_Single(problem, here), here, max(0.9 * tol, _ROUNDING * here.norm))
        else:
            there = walk.go(_Double(problem), here, tol)
        there = there if there.exact else problem.at(there.theta)
        if not there.norm < here.norm and not single:
            break
        single = single and there.norm <= 0.1 * here.norm
        here = there if there.norm < here.norm else here
    return here, walk.steps


class _Walk:
    """Curvature learnt from steps, and the number of steps."""

    def __init__(self, here: Iterate, tol: float, way: Way) -> None:
        self.way, self.max_steps, self.steps = way, way.max_steps, 0
        self.first, self.tol = here.norm, tol
        self.secants = Secants(len(here.theta))
        self._renew(here)

    def _renew(self, here: Iterate) -> None:
        self.inverse, self.renewed, self.norm_then = self.way.inverse_at(here), self.steps, here.norm

    def go(self, passes: "_Double | _Single", here: Iterate, goal: float, most: float = math.inf) -> Iterate:
        """Take steps until ||gradient|| <= goal, or until no more are allowed or useful."""
        norms = [here.norm]
        while goal < here.norm < math.inf and self.steps < min(self.max_steps, most):
            direction = self.secants.inverse_times(-here.gradient, self.inverse)
            moved = passes.step(here, direction, self.way.flatter)
            if moved is None:
                break
            self.secants.add(here, moved)
            here, self.steps = moved, self.steps + 1
            norms.append(here.norm)
            if here.norm < _CLOSE * norms[0] and here.norm > 0.5 * min(norms[:-_PATIENCE], default=math.inf):
                break
            if self.steps == _JUDGED and self.left(here) * _HOPE > self.max_steps - self.steps:
                self.max_steps = self.steps
            elif self.steps in _RENEWALS and here.norm > self.norm_then * _GOOD_STEP ** (self.steps - self.renewed):
                self._renew(here)
        return here

    def left(self, here: Iterate) -> float:
        """Number of further steps if they are as good as those so far."""
        if not 0.0 < here.norm < self.first:
            return math.inf if here.norm > self.tol else 0.0
        return self.steps * math.log(here.norm / self.tol) / math.log(self.first / here.norm)


@dc.dataclass(frozen=True)
class _Double:
    """Predictions and gradients from the records in double precision."""

    problem: Objective

    def step(self, here: Iterate, direction: Array, flatter: float) -> Iterate | None:
        """Along the direction to where J is flatter; None where it does not fall that way."""
        slope = float(here.gradient @ direction)
        if not -math.inf < slope < 0.0:
            return None
        end = self.problem.at(here.theta + direction)
        if abs(float(end.gradient @ direction)) <= -flatter * slope:
            return end
        line = _Line(self.problem, here, direction, end.z, end.z - here.z, slope)
        theta, z, slopes = line.flat(flatter)
        gradient = self.problem.pull(slopes) + self.problem.lam * theta + self.problem.linear
        return Iterate(theta, z, slopes, gradient, exact=False)


@dc.dataclass(frozen=True)
class _Single:
    """Predictions and gradients from their changes since the anchor, in single precision."""

    problem: Objective
    anchor: Iterate

    @functools.cached_property
    def rest(self) -> Array:
        """Gradient of the anchor without its part of the regulariser's."""
        return self.anchor.gradient - self.problem.lam * self.anchor.theta

    def step(self, here: Iterate, direction: Array, flatter: float) -> Iterate | None:
        """Along the direction to where J is flatter; None where it does not fall that way."""
        X, anchor = self.problem.single, self.anchor
        taken = direction.astype(np.float32)
        direction = taken.astype(np.float64)  # the step that is taken, so that it is not rounded again
        slope = float(here.gradient @ direction)
        if not -math.inf < slope < 0.0:
            return None
        change = (X @ taken).astype(np.float64)
        line = _Line(self.problem, here, direction, here.z + change, change, slope)
        theta, z, slopes = line.flat(flatter)
        gradient = pull_single(X, slopes - anchor.slopes)
        gradient += self.rest
        gradient += self.problem.lam * theta
        return Iterate(theta, z, slopes, gradient, exact=False)


@dc.dataclass(frozen=True)
class _Line:
    """J along a direction. end: predictions at its end. change: of the predictions. slope: at the start."""

    problem: Objective
    here: Iterate
    direction: Array
    end: Array
    change: Array
    slope: float

    def flat(self, flatter: float) -> tuple[Array, Array, Array]:
        """theta at which the slope is at most this share of the slope here, its predictions and derivatives."""
        problem, here = self.problem, self.here
        square = problem.lam * float(self.direction @ self.direction)
        z = slopes = here.z

        def along(share: float) -> float:
            # From the difference of derivatives: the slope itself is a small sum of large numbers.
            nonlocal z, slopes
            z, slopes, turn = problem.along(self.end, self.change, share - 1.0, here.slopes)
            return self.slope + turn + share * square

        share = _share(along, self.slope, -flatter * self.slope)
        return here.theta + share * self.direction, z, slopes


def _share(along: Callable[[float], float], slope: float, tol: float) -> float:
    """The t that was tried last, with |along(t)| <= tol, for along(0) = slope < -tol; 1 if that suffices."""
    low, f_low, high = 0.0, slope, 1.0
    f_high = along(high)
    while f_high < -tol and high < _FURTHEST:
        low, f_low, high = high, f_high, 2.0 * high
        f_high = along(high)
    if not f_high > tol:
        return high
    return find_root(along, low, f_low, high, f_high, tol=tol, max_steps=_LINE_STEPS)


class Secants:
    """Latest steps and the changes of the gradient along them: an approximation of the inverse Hessian."""

    def __init__(self, r: int) -> None:
        self.moves, self.changes = np.empty((2, MEMORY, r), np.float32)
        self.cosines, self.ratios, self.shares = np.empty((3, MEMORY))
        self.last, self.count = -1, 0

    def add(self, before: Iterate, after: Iterate) -> None:
        """Remember a step, if the gradient has turned along it."""
        k = (self.last + 1) % MEMORY
        cosine, ratio = kernels.keep_secant(
            before.theta, after.theta, before.gradient, after.gradient, self.moves[k], self.changes[k]
        )
        if cosine > 0.0:
            self.last, self.count = k, min(self.count + 1, MEMORY)
            self.cosines[k], self.ratios[k] = cosine, ratio

    def inverse_times(self, q: Array, inverse: Inverse) -> Array:
        """H^{-1} q for q [r], which is overwritten; inverse: approximation of H^{-1} without the secants."""
        kernels.fold_secants(self.moves, self.changes, self.cosines, self.last, self.count, self.shares, q)
        q = inverse(q)
        kernels.unfold_secants(
            self.moves, self.changes, self.cosines, self.ratios, self.last, self.count, self.shares, q
        )
        return q
