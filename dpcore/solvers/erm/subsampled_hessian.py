"""The inverse Hessian of some of the records, which stands for that of all in quasi-Newton steps.

m rows estimate the Hessian of n to a relative error of about sqrt(r / m), so each step leaves about that part of the
gradient, and the curvatures are those of the point where it is made. X'X of the whole table would cost as much as many
steps.

Source: Roosta-Khorasani and Mahoney 2019, Sub-sampled Newton methods, Mathematical Programming 174.
"""

from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from ...core.arrays import Array
from ...core.losses import Loss
from .lbfgs import Inverse
from .objective import SINGLE_RANGE, Iterate, Objective

# The golden section's multiples are spread evenly, whatever the order and the period of the rows.
_GOLDEN = 0.6180339887498949
_PER_COLUMN = 15
# Times that a sample is taken before it grows, and by how much: where steps stay slow it may have missed something.
_PATIENCE, _GROWTH = 2, 4
# Every record curves by this part of the mean: those that do not here may do so nearby.
_AT_LEAST = 0.03
# What rounding of products in single and in double precision may add to the diagonal, relative to it.
_ROUNDING = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-14}


def rows_for(n: int, r: int) -> int:
    """How many rows to take: as many as cost a pass or two over the table, at least 15 a column."""
    return min(n, max(_PER_COLUMN * r, int(min(n / 8, 16 * n / r, 256 * r))))


class SampledHessian:
    """X' diag(l'') X / m + lam I over m of the records."""

    def __init__(self, problem: Objective, loss: Loss, least: float) -> None:
        """least: what the mean curvature is taken for where it is less."""
        self.problem, self.loss, self.least = problem, loss, least
        self.rows, self.made = rows_for(problem.data.n, problem.data.active), 0

    def inverse_at(self, here: Iterate) -> Inverse:
        n = self.problem.data.n
        if self.made >= _PATIENCE:
            self.rows = min(_GROWTH * self.rows, n)
        self.made += 1
        chosen: Any = slice(None)
        if self.rows <= n // 2:
            chosen = (np.arange(self.rows) * _GOLDEN % 1.0 * n).astype(np.intp)
        curvatures = self.loss.curvature(here.z[chosen], self.problem.data.y[chosen])
        mean, straight = float(curvatures.mean()), float((curvatures < self.least).mean())
        curvatures += max(max(_AT_LEAST, straight) * mean, self.least - mean)
        if self.problem.wide and (inverse := self._inverse(self.problem.single[chosen], curvatures)):
            return inverse
        return self._inverse(self.problem.data.X[chosen], curvatures) or (lambda g: g / self.problem.lam)

    def _inverse(self, table: Array, curvatures: Array) -> Inverse | None:
        """None where rounding leaves no Cholesky factor, or single precision no digits."""
        scaled = table * np.sqrt(curvatures / len(curvatures)).astype(table.dtype)[:, None]
        hessian = (scaled.T @ scaled).astype(np.float64, copy=False)
        if table.dtype == np.float32 and not SINGLE_RANGE[0] < hessian.diagonal().max() < SINGLE_RANGE[1]:
            return None
        hessian.flat[:: len(hessian) + 1] *= 1.0 + _ROUNDING[table.dtype]
        hessian.flat[:: len(hessian) + 1] += self.problem.lam
        factor, failed = dpotrf(hessian.T, lower=1, clean=0, overwrite_a=1)
        return None if failed else lambda g: dpotrs(factor, g, lower=1, overwrite_b=1)[0]
