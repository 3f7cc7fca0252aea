"""Limited-memory BFGS whose products are in single precision for as long as that costs no digits.

A point where everything is known in double precision serves as an anchor. From there predictions and gradients are
carried along by what they change: errors of single precision are relative to the change since the anchor, a ten
millionth of the gradient there. Whenever that much is done the point is evaluated in double precision, which certifies
it or makes it the next anchor. So nearly all passes over the records read half the bytes, whatever the tolerance.

Source: Nocedal and Wright 2006, Algorithm 7.4; anchors are the iterative refinement of Wilkinson 1963 for gradients.
"""

import dataclasses as dc
import functools
import math
from collections.abc import Callable

import numpy as np

from ... import kernels
from ...core.arrays import Array
from ...core.losses import Loss
from ...core.roots import find_root
from .objective import Iterate, Objective, pull_single

MEMORY = 10
_FURTHEST, _LINE_STEPS = 2.0**60, 60
# What is left of an anchor's gradient when single precision has done its part.
_ROUNDING = 2e-7
# Closer to rounding than this, single precision is given up where so many steps halve nothing.
_CLOSE, _PATIENCE = 1e-3, 5
# Steps after which the inverse Hessian is made anew if each has left more than this of the gradient.
_RENEWALS, _GOOD_STEP = (3, 6, 12, 24, 48), 0.2
# After so many steps, those that are allowed have to be likely to do this part of what is left.
_JUDGED, _HOPE = 24, 0.7
# Tables that no cache holds: steps in double precision, which need one pass each, before it is known whether there will
# be enough of them to make up for a second table.
_FIRST, _WORTH = 2, 4

Inverse = Callable[[Array], Array]


@dc.dataclass(frozen=True)
class Way:
    """Settings of steps: the stand-in for the inverse Hessian near a point, and the largest number of steps.

    flatter: a step ends where the slope along it is at most this part of what it was at its start. single: products
    may be in single precision.
    """

    inverse_at: Callable[[Iterate], Inverse]
    max_steps: int
    flatter: float
    single: bool


def quasi_newton(problem: Objective, here: Iterate, tol: float, way: Way) -> tuple[Iterate, int]:
    """Steps until ||gradient|| <= tol or no more are allowed or of use: the best point in double precision, steps."""
    with np.errstate(over="ignore", invalid="ignore"):  # of single precision, which is left where it is of no use
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
    """Curvature learnt from steps, and their number."""

    def __init__(self, here: Iterate, tol: float, way: Way) -> None:
        self.way, self.max_steps, self.steps = way, way.max_steps, 0
        self.first, self.tol = here.norm, tol
        self.secants = Secants(len(here.theta))
        self._renew(here)

    def _renew(self, here: Iterate) -> None:
        self.inverse, self.renewed, self.norm_then = self.way.inverse_at(here), self.steps, here.norm

    def go(self, passes: "_Double | _Single", here: Iterate, goal: float, most: float = math.inf) -> Iterate:
        """Steps until ||gradient|| <= goal, or until no more are allowed or of use."""
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
    """Predictions and gradients from the records."""

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
    """Predictions and gradients from what they have changed since the anchor, in single precision."""

    problem: Objective
    anchor: Iterate

    @functools.cached_property
    def rest(self) -> Array:
        """The anchor's gradient but for its part of the regulariser's."""
        return self.anchor.gradient - self.problem.lam * self.anchor.theta

    def step(self, here: Iterate, direction: Array, flatter: float) -> Iterate | None:
        """Along the direction to where J is flatter; None where it does not fall that way."""
        X, anchor = self.problem.single, self.anchor
        taken = direction.astype(np.float32)
        direction = taken.astype(np.float64)  # the step as it is taken, so that it is not rounded once more
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
    """J along a direction: end, the predictions at its end, change, how far they have come, and the slope here."""

    problem: Objective
    here: Iterate
    direction: Array
    end: Array
    change: Array
    slope: float

    def flat(self, flatter: float) -> tuple[Array, Array, Array]:
        """theta where the slope is at most this part of what it is here, the predictions and derivatives there."""
        problem, here, loss = self.problem, self.here, self.problem.loss
        assert isinstance(loss, Loss)
        square = problem.lam * float(self.direction @ self.direction)
        z = slopes = here.z

        def along(share: float) -> float:
            # From the difference of derivatives: the slope itself is a small sum of large numbers.
            nonlocal z, slopes
            z, slopes, turn = loss.along(self.end, self.change, share - 1.0, problem.data.y, here.slopes)
            return self.slope + turn / problem.data.n + share * square

        share = _share(along, self.slope, -flatter * self.slope)
        return here.theta + share * self.direction, z, slopes


def _share(along: Callable[[float], float], slope: float, tol: float) -> float:
    """The t that was tried last, with |along(t)| <= tol, for along(0) = slope < -tol; 1 where that will do."""
    low, f_low, high = 0.0, slope, 1.0
    f_high = along(high)
    while f_high < -tol and high < _FURTHEST:
        low, f_low, high = high, f_high, 2.0 * high
        f_high = along(high)
    if not f_high > tol:
        return high
    return find_root(along, low, f_low, high, f_high, tol=tol, max_steps=_LINE_STEPS)


class Secants:
    """The latest steps and what they changed of the gradient: an approximation of the inverse Hessian."""

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
        """H^{-1} q for q [r], which is overwritten; inverse: what stands for H^{-1} without the secants."""
        kernels.fold_secants(self.moves, self.changes, self.cosines, self.last, self.count, self.shares, q)
        q = inverse(q)
        kernels.unfold_secants(
            self.moves, self.changes, self.cosines, self.ratios, self.last, self.count, self.shares, q
        )
        return q
