"""Many perturbed minimisers at once, for charts of objective perturbation.

At every point k of a curve and in every repetition i, theta_ki minimises J_k(theta) + <b_ki, theta> with
b_ki = scale_k * direction_i. The points are solved from the least noisy to the noisiest. Each starts on the line
through the last two: theta is linear in the scale for small noise, and again for large noise. All repetitions of a
point move together (`batched_lbfgs`); the few that do not converge are finished one by one by Newton's method.

Accuracy: to second order F can fall from theta by about grad F' H^-1 grad F / 2, and a remaining gradient g has shifted
F by grad F' H^-1 g. The relative error of the excess risk is therefore about ||g|| / ||grad F|| for any noise and lam;
`accuracy` bounds this ratio.
"""

import dataclasses as dc
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.cancel import Cancelled, go_on
from ...core.losses import Loss
from ...core.records import Data
from .batched_lbfgs import Matrix, Preconditioner, Records, descend, lengths
from .objective import MAX_FACTOR, Objective, dense
from .smooth import newton

DISPLAY_ACCURACY = 2e-3
# Smallest goal for a gradient, as a share of L R, the largest gradient of one record.
_FLOOR = 1e-12
# Rounding in single precision, with a margin: of sums of slopes; of single slopes and predictions, which averages out.
_SUM_ROUNDING, _TERM_ROUNDING = 1e-7, 2e-6
_SINGLE_RANGE = 1e-9, 1e9
_MAX_ENTRIES = 10_000_000


@dc.dataclass(frozen=True)
class PerturbedPath:
    """Minimisers at K points with R repetitions each.

    thetas: [K, R, r]. risks: [K, R], F(theta) on the records, without regularisation and noise. residuals: [K, R], the
    norm of the gradient of the perturbed objective at theta, as the solver computed it.
    """

    thetas: Array
    risks: Array
    residuals: Array


def perturbed_minimisers(
    loss: Loss,
    data: Data,
    lams: Array,
    scales: Array,
    directions: Array,
    *,
    start: Array,
    accuracy: float = DISPLAY_ACCURACY,
    cancelled: Cancelled = lambda: False,
) -> PerturbedPath:
    """Minimise (1/n) sum_i l + (lam_k/2) ||theta||^2 + scale_k <direction_i, theta> for all points k and directions i.

    For charts only; releases use `minimise`, which certifies a distance.

    loss: one with a finite curvature_bound. lams: [K], > 0. scales: [K], >= 0. directions: [R, r], shared by all
    points. start: [r], first point, near the minimiser without noise at the lam of the smallest scale; it changes the
    work, not the result. accuracy: in (0, 1); the remaining gradient is at most accuracy times ||grad F||, or
    1e-12 L R, and mean excess risks have about that relative error. Vectors with one entry per record are in single
    precision if rounding allows it. cancelled: asked before each step; if it returns True, CancelledError is raised.

    Memory: four arrays [R, n], in blocks of repetitions with at most 10^7 entries. Nothing is validated here.
    Raises Unconverged if even Newton's method does not converge.

    >>> from dpcore.core.losses import get_loss
    >>> data, directions = Data([[1.0], [1.0]], [1.0, 0.0]), np.array([[1.0], [-1.0]])
    >>> lams, scales, start = np.array([2.0]), np.array([0.5]), np.array([0.25])
    >>> path = perturbed_minimisers(get_loss("squared"), data, lams, scales, directions, start=start)
    >>> path.thetas.round(6).tolist()
    [[[0.125], [0.375]]]
    """
    (K,), R = lams.shape, len(directions)
    data = data.merged or data
    path = PerturbedPath(np.empty((K, R, data.stored)), np.empty((K, R)), np.empty((K, R)))
    basis = _row_space(data)
    task = _Task(loss, data if basis is None else Data(data.X @ basis, data.y, weights=data.weights), accuracy)
    order = np.argsort(scales, kind="stable")
    most = max(1, _MAX_ENTRIES // data.n)
    for first in range(0, R, most):
        part = slice(first, first + most)
        inside = directions[part] if basis is None else directions[part] @ basis
        walk = _Walk(task, inside, start if basis is None else start @ basis, lams[order[0]], cancelled)
        for k in order:
            walk.move_to(lams[k], scales[k])
            theta = walk.theta
            if basis is not None:
                outside = directions[part] - inside @ basis.T
                theta = theta @ basis.T - (scales[k] / lams[k]) * outside
            path.thetas[k, part] = theta
            path.risks[k, part] = walk.records.risks(walk.z)
            path.residuals[k, part] = walk.residuals
    return path


def _row_space(data: Data) -> Array | None:
    """Orthonormal basis [r, n] of the rows' span if there are fewer rows than columns, else None.

    Orthogonally to it J + <b, theta> is (lam/2) ||theta||^2 + <b, theta>, with its minimum at -b / lam.
    """
    if data.n >= data.stored or data.n > MAX_FACTOR:
        return None
    return np.linalg.qr(dense(data.X).T)[0]


class _Task:
    """State shared by all repetitions: the records in both precisions, and the goal for gradients."""

    def __init__(self, loss: Loss, data: Data, accuracy: float) -> None:
        self.loss, self.data, self.accuracy = loss, data, accuracy
        self.radius = float(data.row_norms.max())
        bounded = np.isfinite(loss.slope)
        slope = loss.slope if bounded else float(np.abs(loss.derivative(np.zeros(data.n), data.y)).max())
        self.steepest = self.radius * slope
        self._may_be_single = bounded and _SINGLE_RANGE[0] < self.radius < _SINGLE_RANGE[1]
        self._records: dict[bool, Records] = {}

    def goal(self, forces: Array) -> Array:
        """Goal for the gradient at these grad F [k, r]; shape [k]."""
        return np.maximum(self.accuracy * lengths(forces), _FLOOR * self.steepest)

    def records(self, forces: Array, thetas: Array) -> Records:
        """Records, in single precision if it resolves the goal for these grad F and predictions of these thetas."""
        terms = self.steepest + self.loss.curvature_bound * self.radius**2 * lengths(thetas).max()
        rounding = _SUM_ROUNDING * self.steepest + _TERM_ROUNDING / self.data.n**0.5 * terms
        single = self._may_be_single and bool(self.goal(forces).min() > rounding)
        if single not in self._records:
            self._records[single] = Records(self.loss, self.data, single)
        return self._records[single]


class _Walk:
    """Some repetitions at one point of the curve after another."""

    records: Records
    z: Matrix
    residuals: Array

    def __init__(self, task: _Task, directions: Array, theta: Array, lam: float, cancelled: Cancelled) -> None:
        """Start without noise, at its minimiser theta."""
        self.task, self.directions, self.cancelled = task, directions, cancelled
        self.theta = self.before = np.tile(theta, (len(directions), 1))
        self.forces = lam * self.theta
        self.scale = self.scale_before = 0.0
        self.preconditioner = Preconditioner()

    def move_to(self, lam: float, scale: float) -> None:
        gone, ahead = self.scale - self.scale_before, scale - self.scale
        share = ahead / gone if gone > 0.0 else 0.0
        self.theta, self.before = self.theta + share * (self.theta - self.before), self.theta
        self.scale, self.scale_before = scale, self.scale
        linear = scale * self.directions
        self._solve(lam, linear)
        if self.records.single and not self.task.records(self.forces, self.theta).single:
            self._solve(lam, linear)  # in double precision: the goal is smaller here than at the point before

    def _solve(self, lam: float, linear: Array) -> None:
        self.records = self.task.records(self.forces, self.theta)
        self.z = self.records.predictions(self.theta)
        self.residuals, left = descend(
            self.records, self.theta, self.z, lam, linear, self.task.goal, self.preconditioner, self.cancelled
        )
        for row in left:
            self._finish(lam, linear, row)
        self.forces = lam * self.theta + linear

    def _finish(self, lam: float, linear: Array, row: Any) -> None:
        """Newton's method in double precision for one repetition."""
        problem = Objective(self.task.loss, self.task.data, lam, linear[row])
        here = problem.at(self.theta[row])
        while True:
            goal = float(self.task.goal((here.gradient - lam * here.theta - linear[row])[None])[0])
            if here.norm <= goal:
                break
            go_on(self.cancelled)
            here, _ = newton(problem, here, goal)
        self.theta[row], self.residuals[row] = here.theta, here.norm
        self.z[row] = self.records.predictions(here.theta[None])[0]
