"""Models of one-vs-rest: a binary problem for each class on the same records, all solved together."""

import numpy as np

from ...core.arrays import Array
from ...core.cancel import Cancelled, never
from ...core.losses import Loss
from ...core.records import Data
from .batched_lbfgs import Matrix, Preconditioner, Records, Rows, descend, lengths
from .perturbed import DISPLAY_ACCURACY, perturbed_minimisers

# Predictions that are moved together: they stay in the cache.
_ENTRIES = 1 << 16


class _Labelled(Records):
    """Records with labels of their own for every row of predictions, [k, n]."""

    def __init__(self, loss: Loss, X: Array, labels: Matrix) -> None:
        super().__init__(loss, Data(X, labels[0]), single=False)
        self.labels = labels

    def forces(self, z: Matrix, rows: Rows) -> Array:
        every = len(rows) == len(z)  # then nothing is copied
        here, labels = (z, self.labels) if every else (z[rows], self.labels[rows])
        return self._pull(self.loss.derivative(here.ravel(), labels.ravel()).reshape(here.shape))

    def moved_forces(self, z: Matrix, rows: Rows, shares: Array, moved: Matrix, moves: Rows) -> Array:
        if len(rows) == len(z):
            z += shares[:, None] * moved
        else:
            z[rows] += shares[:, None] * moved[moves]
        return self.forces(z, rows)

    def mean_curvatures(self, z: Matrix) -> Matrix:
        return self.loss.curvature(z.ravel(), self.labels.ravel()).reshape(z.shape).mean(axis=0)


def perturbed_against_rest(
    loss: Loss, X: Array, labels: Array, lam: float, linear: Array, *, start: Array, cancelled: Cancelled = never
) -> Array:
    """Minimisers of (1/n) sum_i l(<x_i, theta>; y_ci) + (lam/2) ||theta||^2 + <linear_ck, theta>, for charts; linear
    and models: [C, R, r].

    loss: a smooth one of a linear prediction. X: [n, r]. labels: [C, n]. cancelled: asked before each step; if it
    returns True, CancelledError is raised. start: [C, r], near the minimisers without the linear term; it changes the
    work, not the result. The remaining gradient is at most `DISPLAY_ACCURACY` times that of the mean loss. Memory: some
    arrays of 65,536 numbers, or [R, n] if that is more. Raises Unconverged.

    >>> from dpcore.core.losses import get_loss
    >>> X, labels, linear = np.array([[1.0], [1.0]]), np.array([[1.0, 0.0]]), np.array([[[0.5], [-0.5]]])
    >>> perturbed_against_rest(get_loss("squared"), X, labels, 2.0, linear, start=np.array([[0.25]])).round(6).tolist()
    [[[0.125], [0.375]]]
    """
    (C, R, r), n = linear.shape, len(X)
    models, step = np.empty(linear.shape), max(1, _ENTRIES // (R * n))
    for part in (slice(first, first + step) for first in range(0, C, step)):
        records, tilt = _Labelled(loss, X, np.repeat(labels[part], R, axis=0)), linear[part].reshape(-1, r)
        thetas = np.repeat(start[part], R, axis=0)
        z = records.predictions(thetas)
        _, left = descend(records, thetas, z, lam, tilt, _display_goal, Preconditioner(), cancelled)
        for row in left:
            data, noise = Data(X, records.labels[row]), tilt[row][None]
            near = start[part][row // R]
            path = perturbed_minimisers(loss, data, np.array([lam]), np.ones(1), noise, start=near, cancelled=cancelled)
            thetas[row] = path.thetas[0, 0]
        models[part] = thetas.reshape(-1, R, r)
    return models


def _display_goal(forces: Array) -> Array:
    return DISPLAY_ACCURACY * lengths(forces)
