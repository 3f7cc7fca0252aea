"""Empirical risk over the simplex, with entropy or without it: Newton's method in the logarithms of the weights.

J(w) = F(radius w) + lam sum_j w_j ln w_j over w >= 0, sum_j w_j = 1, for losses with a curvature bound. Weights live as
logarithms, so none underflows however small lam is. Columns that `Data` does not store are zero in every record and get
equal weights: they are one more coordinate, of gradient 0, whose entropy counts the ln of how many they are.
"""

from __future__ import annotations

import dataclasses as dc
import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ..checks import positive
from ..losses import Loss
from ..types import Array, Data, Unconverged
from .problem import cholesky_inverse, dense

_MAX_STEPS, _MAX_CG = 400, 500
# Larger systems are solved by conjugate gradients: measured faster, since most steps need few digits.
_MAX_FACTOR, _DIGITS = 300, 0.1
_ENOUGH = 0.6
# Shares of lam. Columns that carry less than the first of the Hessian's trace are left out of the system; those that
# carry less than the second take their step from their own row of it, which conjugate gradients leave inaccurate.
_LEFT_OUT, _OWN_ROW = 1e-3, 0.1
_ARMIJO, _SMALLEST_SHARE = 1e-4, 1e-12
# A rise of J by this share is rounding; after so many steps without a better residual, so is all that is left.
_ROUNDING, _PATIENCE = 64 * np.finfo(float).eps, 4
# Without a start lam comes down by this factor at a time, until a step would change J by less than so many lam.
_FACTOR, _NEAR = 20.0, 1.0


@dc.dataclass(frozen=True)
class Weights:
    """An approximate minimiser of J over the simplex with its certificates.

    log_weights: [r], ln w_j of the stored columns. log_idle: ln of the weight of each idle column, -inf where there are
    none. residual: the range over all columns, idle ones too, of ln w_j + g_j / lam with g = radius grad F(radius w),
    evaluated at these weights; it is 0 at the minimiser. gap: J(w) - min J <= gap. steps: Newton steps.

    The gap is lam KL(w || softmax(-g / lam)). With alpha_i = l'(z_i), F(v) >= <g, v> - (1/n) sum_i l*(alpha_i) for
    every v on the simplex, so min J >= -lam ln sum_j exp(-g_j / lam) - (1/n) sum_i l*(alpha_i), and for v = w the first
    is an equality (Fenchel-Young); their difference is J(w) - min J <= lam (sum_j w_j (ln w_j + g_j / lam) +
    ln sum_j exp(-g_j / lam)).
    """

    log_weights: Array
    log_idle: float
    residual: float
    gap: float
    steps: int


@dc.dataclass(frozen=True)
class SimplexMinimum:
    """The smallest unregularised risk over the simplex with its certificate.

    theta: [r], >= 0, of sum radius, or less where idle columns take the rest. risk: F(theta).
    gap: F(theta) - min F <= gap. radius: of the simplex.
    """

    theta: Array
    risk: float
    gap: float
    radius: float


def minimise_entropic(
    loss: Loss, data: Data, lam: float, *, tol: float, radius: float = 1.0, start: Array | None = None
) -> Weights:
    """Minimise J(w) = F(radius w) + lam sum_j w_j ln w_j over the simplex of all p columns, idle ones included.

    tol: largest residual, in units of ln w; J - lam <e, w> has w as its exact minimiser for an e with |e_j| <= tol / 2.
    Rounding leaves a residual of about 1e-16 max |g_j| / lam. start: [r], ln w_j of a nearby problem; it changes the
    work, not the answer.

    Raises Unconverged when the residual stays above tol; ValueError for a loss without a curvature bound.

    >>> from dpcore.losses import get_loss
    >>> data = Data([[1.0, 0.0], [1.0, 0.0]], [1.0, 1.0])
    >>> found = minimise_entropic(get_loss("linear"), data, lam=0.5, tol=1e-12)
    >>> [round(float(v), 12) for v in np.diff(found.log_weights)], found.residual <= 1e-12
    ([2.0], True)
    """
    problem = _Problem(_smooth(loss), data, positive("lam", lam), positive("radius", radius))
    positive("tol", tol)
    if start is not None and (start.shape != (data.active,) or not np.isfinite(start).all()):
        raise ValueError(f"start must be a finite vector of {data.active} entries, got shape {start.shape}")
    point = None if start is None else _newton(problem, problem.completed(start), tol)
    # From weights that are far from the answer at a tiny lam, what Newton's method gains drowns in J's rounding.
    if point is None or np.ptp(point.tilt) > tol:
        point = _descend(problem, tol)
    residual = float(np.ptp(point.tilt))
    if residual > tol:
        raise Unconverged(
            f"ln w could be certified to {residual:.2g} only, not to {tol:g}, at lam = {lam:g}; nothing was released"
        )
    log_idle = float(point.u[-1] - problem.log_counts[-1]) if problem.idle else -math.inf
    return Weights(point.u[: data.active], log_idle, residual, lam * _divergence(point), point.steps)


def minimise_on_simplex(loss: Loss, data: Data, radius: float = 1.0, *, tol: float = 1e-9) -> SimplexMinimum:
    """Minimise F(theta) = (1/n) sum_i l(<x_i, theta>; y_i) over theta >= 0 with sum_j theta_j = radius.

    The sum is over all p columns. tol: certified gap, in units of risk: <grad F, theta> - radius min_j grad_j F, which
    is at most lam (residual + ln p) at the weights that minimise J for a small lam.

    Raises Unconverged when the gap stays above tol; ValueError for a loss without a curvature bound.

    >>> from dpcore.losses import get_loss
    >>> found = minimise_on_simplex(get_loss("squared"), Data([[1.0, 0.0], [0.0, 1.0]], [0.75, 0.25]))
    >>> found.gap <= 1e-9, [round(float(v), 4) for v in found.theta]
    (True, [0.75, 0.25])
    """
    lam = positive("tol", tol) / (2.0 * (1.0 + math.log(data.p)))
    problem = _Problem(_smooth(loss), data, lam, positive("radius", radius))
    point = _descend(problem, tol=1.0)
    w, gradient = np.exp(point.u), problem.gradient(point.z)
    gap = float(w @ gradient - gradient.min())
    if gap > tol:
        raise Unconverged(f"the risk over the simplex could be certified to {gap:.2g} only, not to {tol:g}")
    risk = float(loss.value(point.z, data.y).mean())
    return SimplexMinimum(radius * w[: data.active], risk, max(gap, 0.0), radius)


def _divergence(point: _Point) -> float:
    """KL(w || softmax(-g / lam)) = ln sum_j w_j exp(-t_j) with t the tilt less its mean."""
    w = np.exp(point.u)
    t = point.tilt - w @ point.tilt
    if np.ptp(t) > 1.0:
        return float(logsumexp(point.u - t))
    # sum w t = 0: adding t keeps the digits that 1 + tiny would lose.
    return max(math.log1p(float(w @ (np.expm1(-t) + t))), 0.0)


def _smooth(loss: Loss) -> Loss:
    if not (loss.linear and math.isfinite(loss.curvature_bound)):
        raise ValueError(f"loss must be one of a prediction, with a curvature bound, got {loss.label}")
    return loss


@dc.dataclass(frozen=True)
class _Point:
    """u: [m], normalised; z: predictions [n]; value: J; tilt: [m], ln w_j + g_j / lam; steps: Newton steps so far."""

    u: Array
    z: Array
    value: float
    tilt: Array
    steps: int


@dc.dataclass(frozen=True)
class _Problem:
    """J in u, the logarithms of the weights: [r] of them, and one more for all idle columns together if there are any;
    m in all."""

    loss: Loss
    data: Data
    lam: float
    radius: float

    @property
    def idle(self) -> int:
        return self.data.p - self.data.active

    @functools.cached_property
    def log_counts(self) -> Array:
        """ln of the number of columns that a coordinate stands for, shape [m]."""
        return np.append(np.zeros(self.data.active), [math.log(self.idle)] if self.idle else [])

    @functools.cached_property
    def root_mean_squares(self) -> Array:
        """The root of the mean over records of x_ij^2, shape [m]."""
        X = self.data.X
        squares = np.einsum("ij,ij->j", X, X) if isinstance(X, np.ndarray) else X.power(2).sum(axis=0)
        return self._extended(np.sqrt(np.asarray(squares) / self.data.n))

    def _extended(self, stored: Array) -> Array:
        return np.append(stored, 0.0) if self.idle else stored

    def completed(self, start: Array) -> Array:
        """Normalised u, [m], from logarithms of the stored weights: idle columns get what these leave."""
        if self.idle:
            start = np.append(start, math.log(-math.expm1(min(float(logsumexp(start)), -1e-15))))
        return start - logsumexp(start)

    def push(self, weights: Array) -> Array:
        """radius * sum_j weights_j x_ij, shape [n]."""
        return self.radius * (self.data.X @ weights[: self.data.active])

    def pull(self, values: Array) -> Array:
        """(radius / n) sum_i values_i x_ij, shape [m]."""
        return self._extended(values @ self.data.X * (self.radius / self.data.n))

    def gradient(self, z: Array) -> Array:
        """radius grad F, shape [m]."""
        return self.pull(self.loss.derivative(z, self.data.y))

    def value(self, u: Array, z: Array) -> float:
        return float(self.loss.value(z, self.data.y).mean() + self.lam * (np.exp(u) @ (u - self.log_counts)))

    def point(self, u: Array, z: Array, value: float, steps: int) -> _Point:
        return _Point(u, z, value, u - self.log_counts + self.gradient(z) / self.lam, steps)

    def direction(self, point: _Point, accuracy: float) -> tuple[Array, Array]:
        """The step of Newton's method in u, shape [m], and how far each u may grow before its weight matters, [m].

        With D = diag(w) and H the Hessian in w, the step s solves (lam I + H D) s = -lam tilt + nu and keeps the sum of
        the weights: sum w s = 0. Centring the records, x_ij - z_i / radius, changes H D s by a constant only; then
        H D 1 = 0, and nu = lam sum w tilt does both. Weighted by D^(1/2) the system is symmetric.
        """
        w, z = np.exp(point.u), point.z
        right = self.lam * (w @ point.tilt - point.tilt)
        curvature = self.loss.curvature(z, self.data.y)
        centre = math.sqrt(float(z @ z) / len(z))
        trace = curvature.max() * w * (self.radius * self.root_mean_squares + centre) ** 2
        order = np.argsort(trace)
        carried = np.cumsum(trace[order]) / self.lam
        solved, own = np.sort(order[carried > _LEFT_OUT]), order[carried <= _OWN_ROW]
        s = np.zeros_like(w)
        if len(solved):
            diagonal = trace[solved] * (curvature.mean() / curvature.max())
            s[solved] = _System(self, solved, w[solved], curvature, z, diagonal).solve(right[solved], accuracy)
        change = w * s
        bent = curvature * (self.push(change) - z * change.sum())
        s[own] = (right - self.pull(bent) + bent @ z / self.data.n)[own] / self.lam
        with np.errstate(divide="ignore"):
            return s, math.log(_OWN_ROW * self.lam) - np.log(trace)


class _System:
    """lam I + D^(1/2) H D^(1/2) = lam I + B'B for some of the columns, a row of B for each record."""

    def __init__(
        self, problem: _Problem, columns: NDArray[np.intp], w: Array, curvature: Array, z: Array, diagonal: Array
    ) -> None:
        # About that of the system: a preconditioner.
        self.diagonal = diagonal + problem.lam
        self.lam, self.roots = problem.lam, np.sqrt(w)
        # Idle columns come last and are zero: they have no column in X, only the centre.
        X: Any = problem.data.X
        kept = columns[: np.searchsorted(columns, problem.data.active)]
        rows = np.flatnonzero(curvature)
        self.small = min(len(rows), len(columns)) <= _MAX_FACTOR
        # Taking rows or columns costs several products, so products are with all unless few are needed.
        if len(rows) < (1.0 if self.small else _ENOUGH) * len(z):
            X, curvature, z = X[rows], curvature[rows], z[rows]
        self.stored = len(kept)
        if len(kept) < (1.0 if self.small else _ENOUGH) * X.shape[1]:
            X, kept = X[:, kept] if problem.data.sparse else np.take(X, kept, axis=1), np.arange(len(kept))
        self.X, self.kept = X, kept
        self.scale, self.centre = problem.radius * np.sqrt(curvature / problem.data.n), z / problem.radius

    def solve(self, right: Array, accuracy: float) -> Array:
        """s such that D^(1/2) s solves the system for D^(1/2) right; accuracy: relative, of conjugate gradients."""
        right = self.roots * right
        return (self._by_factor(right) if self.small else self._by_conjugate_gradients(right, accuracy)) / self.roots

    def _by_factor(self, right: Array) -> Array:
        B = np.zeros((len(self.scale), len(self.roots)))
        B[:, : self.stored] = dense(self.X)
        B -= self.centre[:, None]
        B *= self.scale[:, None]
        B *= self.roots
        if B.shape[1] <= B.shape[0]:
            return cholesky_inverse(B.T @ B, self.lam)(right)
        # Woodbury: (B'B + lam I)^{-1} = (I - B' (B B' + lam I)^{-1} B) / lam.
        inner = cholesky_inverse(B @ B.T, self.lam)
        solution = (right - inner(B @ right) @ B) / self.lam
        # The difference loses digits where lam is small; one step of refinement brings them back.
        left = right - (B @ solution) @ B - self.lam * solution
        return solution + (left - inner(B @ left) @ B) / self.lam

    def _times(self, v: Array) -> Array:
        weighted = self.roots * v
        spread = np.zeros(self.X.shape[1])
        spread[self.kept] = weighted[: self.stored]
        bent = self.scale**2 * (self.X @ spread - self.centre * weighted.sum())
        pulled = np.zeros_like(v)
        pulled[: self.stored] = (bent @ self.X)[self.kept]
        return self.roots * (pulled - bent @ self.centre) + self.lam * v

    def _by_conjugate_gradients(self, right: Array, accuracy: float) -> Array:
        solution, residual = np.zeros_like(right), right
        search = scaled = right / self.diagonal
        inner, goal = float(residual @ scaled), accuracy * float(np.linalg.norm(right))
        for _ in range(_MAX_CG):
            if np.linalg.norm(residual) <= goal:
                break
            image = self._times(search)
            step = inner / float(search @ image)
            solution = solution + step * search
            residual = residual - step * image
            scaled = residual / self.diagonal
            inner, before = float(residual @ scaled), inner
            search = scaled + (inner / before) * search
        return solution


def _grown(step: Array, room: Array) -> Array:
    """Steps in ln w, but growth of weights that matter as a step in w, where the system is nearly linear."""
    return np.minimum(step, np.maximum(np.log1p(np.maximum(step, 0.0)), room))


def _descend(problem: _Problem, tol: float) -> _Point:
    """The minimiser from equal weights, by way of larger lam: a small lam forgives no step that is too long."""
    u = problem.log_counts - math.log(problem.data.p)
    lam, steps = max(problem.lam, 0.5 * float(np.ptp(problem.gradient(problem.push(np.exp(u)))))), 0
    while lam > problem.lam:
        point = _newton(dc.replace(problem, lam=lam), u, tol, near=_NEAR, steps=steps)
        u, steps, lam = point.u, point.steps, max(lam / _FACTOR, problem.lam)
    return _newton(problem, u, tol, steps=steps)


def _newton(problem: _Problem, u: Array, tol: float, near: float = 0.0, steps: int = 0) -> _Point:
    """The point of smallest residual, at most tol unless rounding forbids it; or one where a step would change J by
    less than near * lam."""
    z = problem.push(np.exp(u))
    best = now = problem.point(u, z, problem.value(u, z), steps)
    waited = 0
    while (residual := float(np.ptp(best.tilt))) > tol and waited < _PATIENCE and now.steps < steps + _MAX_STEPS:
        # As many digits as the quadratic convergence can use or the tolerance needs.
        reach = float(np.ptp(now.tilt))
        s, room = problem.direction(now, accuracy=_DIGITS * max(min(1.0, reach), 0.5 * tol / reach))
        w = np.exp(now.u)
        slope = problem.lam * float((w * s) @ (now.tilt - w @ now.tilt))
        if -slope < near * problem.lam:
            return now
        rounding = _ROUNDING * (abs(now.value) + problem.lam * float(w @ np.abs(now.tilt - now.u)) + problem.lam)
        share, value = 1.0, math.inf
        while not value <= now.value + _ARMIJO * share * slope + rounding:
            if share < _SMALLEST_SHARE:
                return dc.replace(best, steps=now.steps)
            u = now.u + _grown(share * s, room)
            u -= logsumexp(u)
            z = problem.push(np.exp(u))
            value = problem.value(u, z)
            share *= 0.5
        now = problem.point(u, z, value, now.steps + 1)
        if np.ptp(now.tilt) < residual:
            best, waited = now, 0
        elif -slope <= rounding:
            waited += 1
    return dc.replace(best, steps=now.steps)
