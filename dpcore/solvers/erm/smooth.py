"""Losses with a derivative: limited-memory BFGS, then Newton's method for what is left.

lam-strong convexity of J bounds the distance of any theta from the minimiser by ||grad J(theta)|| / lam: both methods
stop on the gradient norm, which is computed from the records at the theta that they return.

A quasi-Newton step costs one pass over the records and vectors of r numbers for each remembered step. Newton's method
learns nothing from one step to the next, but converges for every smooth convex loss.

Source: Nocedal and Wright 2006, Algorithms 7.4 (quasi-Newton) and 7.1 (Newton with conjugate gradients).
"""

import collections

import numpy as np

from ...core.arrays import Array
from ...core.losses import Loss
from ...core.privacy import Unconverged
from ...core.records import Data
from ...core.roots import find_root
from .objective import MAX_FACTOR, Inverse, Iterate, Objective, Point, cholesky_inverse

_MAX_NEWTON = 200
_MAX_STEPS, _MEMORY = 60, 10
# A step is shortened where J rises again by more than this share of its slope at the start. Newton's method needs the
# lowest point more nearly, because it remembers no slopes.
_FLAT, _FLATTER = 0.5, 0.1
# Columns up to which X'X costs no more than a few passes, and plain steps that are tried before it costs more.
_FEW_COLUMNS, _PLAIN_STEPS = 128, 10
# Curvatures below this share of the loss's bound say little about points nearby.
_LEAST_CURVATURE = 0.05
# Change of the mean curvature after which X'X is factored anew.
_STALE = 1.5

Pair = tuple[Array, Array, float]


def minimise_smooth(
    loss: Loss, data: Data, lam: float, tol: float, start: Array | None = None, linear: Array | float = 0.0
) -> Point:
    """theta with ||grad J(theta) + linear|| <= tol; raises Unconverged."""
    problem = Objective(loss, data, lam, linear)
    here, steps = problem.at(np.zeros(data.stored) if start is None else start), 0
    # On sparse tables with more columns than rows the remembered steps would be larger than the records.
    if not data.sparse or data.stored <= data.n:
        here, steps = _quasi_newton(problem, here, tol, _LEAST_CURVATURE * loss.curvature_bound)
    here, taken = newton(problem, here, tol)
    return Point(here.theta, here.norm, steps + taken)


def _quasi_newton(problem: Objective, here: Iterate, tol: float, least: float) -> tuple[Iterate, int]:
    """Take steps until ||gradient|| <= tol or no more are allowed. least: smallest mean curvature that is believed."""
    pairs, preconditioner = collections.deque[Pair](maxlen=_MEMORY), _Preconditioner(problem, least)
    for steps in range(_MAX_STEPS):
        if here.norm <= tol:
            return here, steps
        direction = _inverse_times(pairs, preconditioner.inverse_at(here, steps, pairs), -here.gradient)
        there = _step(problem, here, direction, _FLAT)
        moved, change = there.theta - here.theta, there.gradient - here.gradient
        product = float(moved @ change)
        if not product > 0.0:  # rounding, or numbers that are not finite
            return here, steps
        pairs.append((moved, change, 1.0 / product))
        here = there
    return here, _MAX_STEPS


def _inverse_times(pairs: collections.deque[Pair], inverse: Inverse, vector: Array) -> Array:
    """H^{-1} vector from the latest steps and changes of the gradient; inverse: H^{-1} as far as they say nothing."""
    shares = []
    for moved, change, scale in reversed(pairs):
        shares.append(scale * float(moved @ vector))
        vector = vector - shares[-1] * change
    vector = inverse(vector)
    for (moved, change, scale), share in zip(pairs, reversed(shares), strict=True):
        vector = vector + (share - scale * float(change @ vector)) * moved
    return vector


class _Preconditioner:
    """Inverse of c X'X / n + lam I, or of its diagonal, c being the mean curvature of the records.

    X'X serves every later solve on the same records. It is used at once if it is known or cheap, and after some steps
    with the diagonal if it is not; never if it is too large to be factored or has no full rank.
    """

    def __init__(self, problem: Objective, least: float) -> None:
        self.problem, self.least, data = problem, least, problem.data
        self.factors = not data.sparse and data.stored <= min(data.n, MAX_FACTOR)
        cheap = data.stored <= _FEW_COLUMNS or "gram" in vars(data)
        self.plain_steps = 0 if cheap else _PLAIN_STEPS
        self.factored: tuple[float, Inverse] | None = None

    def inverse_at(self, here: Iterate, steps: int, pairs: collections.deque[Pair]) -> Inverse:
        problem = self.problem
        if steps & (steps - 1) == 0:  # after 1, 2, 4, 8, ... steps
            self.mean = max(float(problem.curvatures(here.z).mean()), self.least)
        if self.factors and steps >= self.plain_steps:
            if self.factored is None or not 1.0 / _STALE < self.mean / self.factored[0] < _STALE:
                self.factored = self.mean, cholesky_inverse(self.mean * problem.data.gram, problem.lam)
            return self.factored[1]
        diagonal = self.mean * problem.mean_squares + problem.lam
        if pairs and not self.factors:  # as large as the Hessian along the last step
            _, change, scale = pairs[-1]
            diagonal = diagonal * (scale * float(change @ (change / diagonal)))
        return lambda vector: vector / diagonal


def _step(problem: Objective, here: Iterate, direction: Array, flat: float) -> Iterate:
    """End of a step, or the (nearly) lowest point before it where J has risen again."""
    slope = float(here.gradient @ direction)
    there = problem.at(here.theta + direction)
    rise = float(there.gradient @ direction)
    if not rise > -flat * slope:
        return there
    change = there.z - here.z
    linear = float((problem.lam * here.theta + problem.linear) @ direction)
    square = problem.lam * float(direction @ direction)

    def along(share: float) -> float:
        return float(problem.slopes(here.z + share * change) @ change) / problem.data.n + linear + share * square

    share = find_root(along, 0.0, slope, 1.0, rise, tol=-flat * slope, max_steps=60)
    return problem.at(here.theta + share * direction)


def newton(problem: Objective, here: Iterate, tol: float) -> tuple[Iterate, int]:
    """Take Newton steps to ||gradient|| <= tol; the point and the number of steps.

    Full steps can cycle if curvature jumps between zero and a constant; stepping to (nearly) the lowest point of each
    line makes J fall at every step. Raises Unconverged.
    """
    for steps in range(_MAX_NEWTON):
        if here.norm <= tol:
            return here, steps
        accuracy = max(min(0.25, here.norm**0.5), 0.3 * tol / here.norm)
        here = _step(problem, here, problem.newton_direction(here.z, here.gradient, accuracy), _FLATTER)
    raise Unconverged(
        f"the solver reached a gradient norm of {here.norm:.3g} in {_MAX_NEWTON} steps, "
        f"the privacy proof needs {tol:.3g}; nothing was released"
    )
