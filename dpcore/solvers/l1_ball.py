"""Empirical risk over an L1 ball: accelerated projected gradients, finished by Newton steps on a face.

Near the minimum an accelerated descent shows on which face of the ball the minimiser lies; Newton's method restricted
to that face then gains all digits at once. The result is certified by the Frank-Wolfe gap alone.
"""

import dataclasses as dc
import math

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.privacy import Unconverged
from ..core.sets import L1Ball
from ..core.validation import positive
from .erm.objective import Minimum
from .frank_wolfe.vertices import Quadratic, Records, Risk

_BALL = L1Ball()
_MAX_STEPS = 100_000
# Number of steps without a smaller gap that counts as rounding.
_PATIENCE = 20_000
# Steps between two evaluations of the gap; Newton's method is tried if the face has not changed in between.
_CHECK = 10
_LARGEST_FACE, _NEWTON_PATIENCE, _NEWTON_STEPS = 1_500, 3, 300
_RIDGE, _INSIDE, _SMALLEST_SHARE, _SMALLEST_MOVE = 1e-11, 1e-9, 1e-8, 1e-13
_ROUNDING = 64 * np.finfo(float).eps


@dc.dataclass(frozen=True)
class _Scaled:
    """F(size w) as a function of w; image: the linear part of its work, gram @ w or X @ w."""

    risk: Risk
    size: float

    def image(self, w: Array) -> Array:
        return self.risk.gram @ w if isinstance(self.risk, Quadratic) else self.risk.data.X @ w

    def gradient(self, image: Array) -> Array:
        if isinstance(self.risk, Quadratic):
            return 2.0 * self.size * (self.size * image - self.risk.linear)
        data = self.risk.data
        return self.size / data.n * (self.risk.loss.derivative(self.size * image, data.y) @ data.X)

    def curvature(self, step: Array, image: Array) -> float:
        """Bound on the second derivative along a step with this image, at every point."""
        if isinstance(self.risk, Quadratic):
            return 2.0 * self.size**2 * float(step @ image)
        return self.risk.loss.curvature_bound * self.size**2 * float(image @ image) / self.risk.data.n

    def hessian(self, image: Array, free: NDArray[np.intp]) -> Array:
        """Hessian in the free coordinates, [f, f]."""
        if isinstance(self.risk, Quadratic):
            return 2.0 * self.size**2 * self.risk.gram[np.ix_(free, free)]
        data = self.risk.data
        curvature = self.risk.loss.curvature(self.size * image, data.y)
        columns = data.X[:, free]
        if isinstance(columns, np.ndarray):
            return self.size**2 / data.n * (columns.T @ (curvature[:, None] * columns))
        weighted = columns.multiply(curvature[:, None])
        return self.size**2 / data.n * (columns.T @ weighted).toarray()

    def value(self, w: Array) -> float:
        return float(self.risk.values(self.size * w[None])[0])


@dc.dataclass(frozen=True)
class _Face:
    """Coordinates [f] in which a point may move within its face, where <normal, step> = 0.

    normal: None inside the ball, where every short step may be taken.
    """

    free: NDArray[np.intp]
    normal: Array | None


def minimise_on_l1_ball(risk: Risk, size: float, *, tol: float = 1e-9) -> Minimum:
    """Minimise F(theta) over ||theta||_1 <= size, in the r coordinates of `risk`; all others are 0.

    risk: see `vertices.risk_of`, of a loss with a curvature bound. tol: certified gap, in units of risk.

    Raises Unconverged when the gap stays above tol; ValueError for a loss without a curvature bound.

    >>> found = minimise_on_l1_ball(Quadratic(np.eye(2), np.array([1.0, 0.2]), 1.0), 1.0)
    >>> [round(float(v), 9) for v in found.theta], found.gap <= 1e-9
    ([0.9, 0.1], True)
    """
    size, tol = positive("size", size), positive("tol", tol)
    if isinstance(risk, Records) and not (risk.loss.linear and math.isfinite(risk.loss.curvature_bound)):
        raise ValueError(f"loss must be one of a prediction, with a curvature bound, got {risk.loss.label}")
    w, gap = _descend(_Scaled(risk, size), tol)
    if not gap <= tol:
        raise Unconverged(f"the risk over the {_BALL.label} could be certified to {gap:.2g} only, not to {tol:g}")
    theta = size * w
    return Minimum(theta, float(risk.values(theta[None])[0]), max(gap, 0.0), size)


def _descend(problem: _Scaled, tol: float) -> tuple[Array, float]:
    """Point with the smallest gap that was found, at most tol unless rounding prevents it, and its gap."""
    w = _BALL.project(np.zeros(problem.risk.stored))
    image = problem.image(w)
    best, least = w, math.inf
    face, wait, helped, found = None, 0, False, 0
    ahead, ahead_image, inertia, steepest = w, image, 1.0, 0.0
    for step in range(_MAX_STEPS):
        if step % _CHECK == 0:
            gradient = problem.gradient(image)
            gap = _gap(w, gradient)
            known, face = face, _face(w)
            stays = known is not None and face is not None and np.array_equal(known.free, face.free)
            if gap > tol and step >= wait and (helped or stays):
                polished = _newton(problem, w, tol)
                polished_gap = _gap(polished, problem.gradient(problem.image(polished)))
                helped = polished_gap < 0.5 * gap
                if helped:
                    w, gap, image = polished, polished_gap, problem.image(polished)
                    ahead, ahead_image, inertia = w, image, 1.0
                else:
                    wait = step + step // 2
            if gap < least:
                best, least, found = w, gap, step
            if least <= tol or step - found > _PATIENCE:
                break
        slope = problem.gradient(ahead_image)
        if not steepest:
            norm = float(slope @ slope)
            steepest = (problem.curvature(slope, problem.image(slope)) / norm if norm else 0.0) or 1.0
        while True:
            new = _BALL.project(ahead - slope / steepest)
            new_image = problem.image(new)
            move = new - ahead
            # F along the move stays below its quadratic model; unlike values of F this is not lost in rounding.
            bend = problem.curvature(move, new_image - ahead_image)
            length = float(move @ move)
            if bend <= steepest * length * (1.0 + 1e-9) or length <= _SMALLEST_MOVE**2 * (1.0 + float(new @ new)):
                break
            steepest *= 2.0
        change, change_image = new - w, new_image - image
        if slope @ change > 0.0:
            inertia = 1.0
            steepest *= 0.9
        grown = 0.5 + math.sqrt(0.25 + inertia**2)
        share = (inertia - 1.0) / grown
        w, image, inertia = new, new_image, grown
        ahead, ahead_image = w + share * change, image + share * change_image
    return best, least


def _gap(w: Array, gradient: Array) -> float:
    """max over s in the set of <gradient, w - s>, a bound on F(w) - min F."""
    return float(gradient @ (w - _BALL.extreme(gradient)))


def _face(w: Array) -> _Face | None:
    """Face that has w inside; None if it is too large, or w is neither on the boundary nor well inside the ball."""
    length = float(np.abs(w).sum())
    if length > 1.0 - _ROUNDING:
        free = np.flatnonzero(w)
        face = _Face(free, np.sign(w[free]))
    elif np.abs(w * (1.0 + _INSIDE)).sum() <= 1.0:
        face = _Face(np.arange(len(w)), None)
    else:
        return None
    return face if 0 < len(face.free) <= _LARGEST_FACE else None


def _newton(problem: _Scaled, w: Array, tol: float) -> Array:
    """Point after Newton steps from w along its face, without coordinates that reach 0, while F or the gap falls."""
    value, image = problem.value(w), problem.image(w)
    gradient = problem.gradient(image)
    best, least, waited = w, _gap(w, gradient), 0
    for _ in range(_NEWTON_STEPS):
        face = _face(w)
        if face is None or waited >= _NEWTON_PATIENCE or least <= tol:
            break
        step = _newton_step(problem.hessian(image, face.free), gradient[face.free], face.normal)
        if step is None:
            break
        share, rounding, before = 1.0, _ROUNDING * abs(value), value
        moved, cut = _moved(w, face, step)
        while not (value := problem.value(moved)) <= before + rounding:
            share *= 0.25
            if share < _SMALLEST_SHARE:
                return best
            moved, cut = _moved(w, face, share * step)
        w, image = moved, problem.image(moved)
        gradient = problem.gradient(image)
        gap = _gap(w, gradient)
        waited = 0 if gap < least or cut or value < before - rounding else waited + 1
        if gap < least:
            best, least = w, gap
    return best


def _newton_step(hessian: Array, gradient: Array, normal: Array | None) -> Array | None:
    """Minimiser s of <gradient, s> + s' hessian s / 2 with <normal, s> = 0; None if there is none.

    A small multiple of the identity makes it unique; the next step corrects its error.
    """
    f = len(gradient)
    ridge = _RIDGE * float(np.trace(hessian)) / f
    if not 0.0 < ridge < math.inf:
        return None
    system = hessian + ridge * np.eye(f)
    if normal is None:
        return np.asarray(-np.linalg.solve(system, gradient), float)
    both = np.linalg.solve(system, np.column_stack([gradient, normal]))
    return both[:, 1] * float(normal @ both[:, 0]) / float(normal @ both[:, 1]) - both[:, 0]


def _moved(w: Array, face: _Face, step: Array) -> tuple[Array, bool]:
    """w after the step, or after the share of it at which a coordinate first changes sign; True if it was cut."""
    moved = w.copy()
    if face.normal is None:
        moved[face.free] += step
        return _BALL.project(moved), False
    here = w[face.free]
    room = np.full(len(here), math.inf)
    np.divide(-here, step, out=room, where=here * step < 0.0)
    share = min(1.0, float(room.min()))
    moved[face.free] = np.where(room <= share, 0.0, here + share * step)
    return moved / np.abs(moved).sum(), share < 1.0
