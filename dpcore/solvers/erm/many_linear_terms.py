"""Certified minimisers of one problem under many linear terms: `minimise` for many releases at once."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.losses import Loss
from ...core.records import Data
from .batched_lbfgs import Preconditioner, Records, descend, lengths
from .objective import beside_filled, no_room
from .smooth import minimise_smooth

_MAX_ENTRIES = 1_000_000


def _never() -> bool:
    return False


def minimise_many(loss: Loss, data: Data, lam: float, linear: Array, *, tol: float, start: Array) -> Array:
    """theta_i within tol of the minimiser of J(theta) + <linear_i, theta>, for linear [k, r]; shape [k, r].

    For smooth losses, in double precision. The certificate ||gradient|| <= lam tol is computed at the very theta that
    is returned. start: [r], for all of them. Raises Unconverged.
    """
    columns, filled = data.filled
    thetas, rounding = beside_filled(data, lam, linear)
    if rounding >= tol:
        raise no_room(rounding, tol)
    thetas[:, columns] = _minimise_filled(loss, filled, lam, linear[:, columns], tol - rounding, start[columns])
    return thetas


def _minimise_filled(loss: Loss, data: Data, lam: float, linear: Array, tol: float, start: Array) -> Array:
    thetas = np.tile(start, (len(linear), 1))
    records = Records(loss, data, single=False)
    step = max(1, _MAX_ENTRIES // data.n)
    for first in range(0, len(thetas), step):
        theta, tilt = thetas[first : first + step], linear[first : first + step]
        z = records.predictions(theta)
        descend(records, theta, z, lam, tilt, lambda g: np.full(len(g), 0.5 * tol * lam), Preconditioner(), _never)
        forces = records.forces(records.predictions(theta), np.arange(len(theta)))
        for row in np.flatnonzero(~(lengths(forces + lam * theta + tilt) <= tol * lam)):
            theta[row] = minimise_smooth(loss, data, lam, tol * lam, theta[row], tilt[row]).theta
    return thetas
