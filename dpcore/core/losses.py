"""Loss functions: constants for privacy proofs, values and gradients for solvers.

A record enters a loss through one number z: its linear prediction <x, theta> (which can be its cost itself) or, for
location losses, its distance ||theta - x|| from the model, which is a point. Losses of classes take a margin for each
wrong class and live in `dpcore.solvers.multiclass.objective`; what stands here of them are their constants. One `Loss`
serves proofs and solvers, so the sensitivity that scales the noise and the gradient that a solver follows cannot come
from different losses. Compiled code is looked up by key on first use.
"""

import dataclasses as dc
import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from .arrays import Array
from .records import Data
from .specification import Spec
from .validation import one_of

# Squared distances below this share of ||theta||^2 + ||x||^2 have lost digits to cancellation and are computed again
# from theta - x, this many numbers at a time; the others are right to a relative 1e-9.
_NEAR, _BLOCK = 1e-6, 2_000_000
_SMALLEST_DISTANCE = 1e-300


@dc.dataclass(frozen=True)
class Loss:
    """Convex loss l(z; y) with its constants.

    key: name in the registry. label: for people. shape: the shape parameter h of the kernels. task: what y is: -1 or +1
    (classification), any number with |y| <= y_max (regression), 0 to C - 1 (classes), or nothing that matters
    (location: z = ||theta - x||; cost: the loss is z itself).
    slope: sup |l'| over all z and y, inf where there is none. curvature_bound: sup l'' over z and y, inf where there is
    none; for location the same as a function of theta, sup of the largest eigenvalue of the Hessian. Of classes both
    are those of one margin.
    """

    key: str
    label: str
    slope: float
    curvature_bound: float
    task: Literal["classification", "regression", "classes", "location", "cost"]
    shape: float = 0.0

    @property
    def classification(self) -> bool:
        return self.task == "classification"

    @property
    def linear(self) -> bool:
        """True if z is a linear prediction: for all losses but those of location and of classes."""
        return self.task not in ("location", "classes")

    @property
    def labelled(self) -> bool:
        """True if the loss depends on y."""
        return self.task in ("classification", "regression", "classes")

    @property
    def strong_convexity(self) -> float:
        """Smallest eigenvalue of d2l / d theta2 over all records and models: 2 for squared distances, else 0."""
        return self.curvature_bound if self.key == "mean" else 0.0

    def pull(self, spec: Spec) -> float:
        """Largest ||dz / d theta||_2: that of ||x||_2 for a linear prediction, 1 for a distance."""
        return spec.domain.in_norm(2.0, spec.p).R if self.linear else 1.0

    def lipschitz(self, spec: Spec) -> float:
        """Lipschitz constant L, a bound on |dl/dz| for every record of the domain and every possible minimiser theta.

        Squared loss has no bound without a bound on theta. `spec.radius` gives one, and so does the simplex, where
        |z| <= R radius as well; without either, J(theta_hat) <= J(0) puts the minimiser within y_max sqrt(2 / lam), so
        that L = 2 (R y_max sqrt(2 / lam) + y_max) depends on lam. Squared distances need a bound too; their minimiser
        is no farther from 0 than the records.

        >>> from dpcore.core.specification import Domain
        >>> get_loss("squared").lipschitz(Spec("squared", n=10, p=1, lam=0.5, domain=Domain(R=1.0, y_max=1.0)))
        6.0
        """
        if math.isfinite(self.slope):
            return self.slope
        reach = spec.reach
        if not self.linear:
            return self.curvature_bound * ((reach or spec.domain.R) + spec.domain.R)
        if reach is None:
            if isinstance(spec.lam, str):
                raise ValueError(f"lam must be a number for a Lipschitz constant of {self.label}, got {spec.lam!r}")
            reach = spec.domain.y_max * math.sqrt(2.0 / spec.lam)
        return self.curvature_bound * (spec.domain.R * reach + spec.domain.y_max)

    def steepness(self, reach: Array | float, y_max: float) -> Array:
        """Bound on |dl/dz| for predictions |z| <= reach and labels |y| <= y_max; for losses of a linear prediction.

        >>> float(get_loss("squared").steepness(1.0, y_max=1.0)), float(get_loss("logistic").steepness(0.0, y_max=1.0))
        (4.0, 0.5)
        """
        reach = np.asarray(reach, float)
        if not math.isfinite(self.slope):
            return self.curvature_bound * (reach + y_max)
        if self.key == "logistic":
            return 1.0 / (1.0 + np.exp(-reach))
        return np.full_like(reach, self.slope)

    def slope_range(self, reach: float, y_max: float) -> float:
        """Bound on |l'(z; y) - l'(w; y)| for |z|, |w| <= reach and |y| <= y_max; for losses of a linear prediction.

        >>> get_loss("huber").slope_range(2.0, y_max=1.0), get_loss("huber_hinge").slope_range(0.5, y_max=1.0)
        (2.0, 0.0)
        """
        steepest = float(self.steepness(reach, y_max))
        return steepest + float(self.derivative(np.array([reach]), np.ones(1))[0] if self.classification else steepest)

    def largest_correction(self, step: Any, reach: float, apart: float, y_max: float) -> Any:
        """Bound on |l'(z + eta (w - z); y) - (1 - eta) l'(z; y)|, eta = `step`, for |z|, |w| <= reach and |y| <= y_max.

        And |w - z| <= apart, 0 < eta <= 1; for smooth losses of a linear prediction. Arrays of steps go through.

        Attained for apart = 2 reach, and by losses of a parabola cut off at both ends for any apart <= 2 reach
        (docs/formulas.md, "One-pass Frank-Wolfe on polytopes").

        >>> float(get_loss("squared").largest_correction(0.1, 1.0, 2.0, y_max=1.0))
        0.4
        """
        change = np.minimum(step * self.curvature_bound * apart, self.slope_range(reach, y_max))
        along = step * self.steepness(reach, y_max) + (1.0 - step) * change
        if self.key == "logistic":
            return np.minimum(along, 0.5 * step + (1.0 - 0.5 * step) * np.tanh(step * reach / (4.0 - 2.0 * step)))
        flat = 1.0 + self.shape if self.classification else y_max  # how far from 0 the parabola may be flat
        return np.minimum(along, step * self.curvature_bound * (reach + flat))

    def largest_gradient(self, spec: Spec) -> float:
        """Bound on ||d l / d theta||_2 for one record of the domain and theta anywhere in the set.

        Raises ValueError for a loss of unbounded slope without a radius.

        >>> get_loss("mean").largest_gradient(Spec("mean", n=10, p=3, radius=2.0))
        6.0
        """
        if not math.isfinite(self.slope) and spec.radius is None:
            raise ValueError(f"radius must be a number for a bound on gradients of {self.label}, got None; set radius")
        return self.lipschitz(spec) * self.pull(spec)

    def largest_replacement(self, spec: Spec) -> float:
        """Bound on the change in gradient when one record is replaced, for theta in the ball of `spec.radius`.

        Twice the largest gradient; for squared distances theta cancels, which leaves 2 ||x - x'|| <= 4 R.

        >>> get_loss("mean").largest_replacement(Spec("mean", n=10, p=3, radius=2.0))
        4.0
        """
        if self.key == "mean":
            return 2.0 * self.curvature_bound * spec.domain.R
        return 2.0 * self.largest_gradient(spec)

    def largest_curvature(self, spec: Spec) -> float:
        """Bound on the largest eigenvalue of d2l / d theta2 for one record of the domain; inf for a loss with kinks.

        >>> get_loss("logistic").largest_curvature(Spec("logistic", n=10, p=3))
        0.25
        """
        return self.curvature_bound * self.pull(spec) ** 2

    def at_zero(self, spec: Spec) -> float:
        """The largest loss of theta = 0 over the records of the domain.

        >>> get_loss("hinge").at_zero(Spec("hinge", n=10, p=1))
        1.0
        """
        z = 0.0 if self.linear else spec.domain.R
        label = 1.0 if self.classification else spec.domain.y_max
        return float(self.value(np.array([z]), np.array([label]))[0])

    def value(self, z: Array, y: Array) -> Array:
        """l(z_i; y_i), shape [n]."""
        return self._apply(kernels.VALUE, z, y)

    def derivative(self, z: Array, y: Array) -> Array:
        """dl/dz at (z_i; y_i), shape [n]."""
        return self._apply(kernels.DERIVATIVE, z, y)

    def derivatives(self, z: Array, y: Array) -> Array:
        """dl/dz at (z_ki; y_i), shape [k, n], in the precision of z and y; in single where a kernel has the loss."""
        out = np.empty_like(z)
        table = kernels.DERIVATIVE if z.dtype == np.float64 else kernels.SINGLE_DERIVATIVE
        kernels.apply_to_rows(table[self.key], z, np.arange(len(z)), y, z.dtype.type(self.shape), out)
        return out

    def curvature(self, z: Array, y: Array) -> Array:
        """d2l/dz2 at (z_i; y_i), shape [n], of a smooth loss of a linear prediction."""
        return self._apply(kernels.CURVATURE, z, y)

    def gaussian_mean(self, z: Array, y: Array, sd: Array) -> Array:
        """E l(z_i + sd_i g; y_i) for g ~ N(0, 1), shape [n]; absolute error below 1e-8."""
        out = np.empty_like(z)
        kernels.gaussian_mean(kernels.GAUSSIAN_MEAN[self.key], z, y, sd, self.shape, out)
        return out

    def row_means(self, z: Array, noise: Array, scale: float, y: Array) -> Array:
        """mean_i l(z_i + scale * noise_ri; y_i) for every row r of noise [r, n]; shape [r]."""
        out = np.empty(noise.shape[0])
        kernels.row_means(kernels.VALUE[self.key], z, noise, scale, y, self.shape, out)
        return out

    def risks(self, data: Data, thetas: Array) -> Array:
        """F of each model, shape [k]. thetas: as in `predictions`."""
        return self.row_means(np.zeros(data.n), self.predictions(data, thetas), 1.0, data.y)

    def predictions(self, data: Data, thetas: Array) -> Array:
        """z_i of every record under each model: <x_i, theta_k>, or ||theta_k - x_i|| for location; shape [k, n].

        thetas: [k, r], the coordinates of the stored columns with the others 0, or all p of them: [k, p]. Distances are
        accurate to a relative 1e-9 and to 1e-12 of ||theta|| + ||x||, even where theta is a record.
        """
        if self.linear:
            return data.margins(thetas[:, : data.stored])
        return _distances(data, thetas)[0]

    def gradients(self, data: Data, thetas: Array) -> Array:
        """Gradient of F at each model, shape [k, r]; a subgradient where F has a kink.

        thetas: as in `predictions`; the gradients have their shape. A record that equals the model adds 0.

        >>> data = Data([[0.0, 0.0], [3.0, 4.0]], [0.0, 0.0])
        >>> get_loss("geometric_median").gradients(data, np.zeros((1, 2)))
        array([[-0.3, -0.4]])
        """
        if self.linear:
            gradients = np.zeros_like(thetas)
            slopes = self.derivatives(self.predictions(data, thetas), data.y)
            if data.weights is not None:
                slopes *= data.weights
            gradients[:, : data.stored] = slopes @ data.X
            return gradients / data.n
        z, near = _distances(data, thetas)
        pulls = np.divide(self.derivatives(z, data.y), z, out=np.zeros_like(z), where=z > _SMALLEST_DISTANCE)
        far = np.where(near, 0.0, pulls)
        gradients = far.sum(axis=1)[:, None] * thetas
        gradients[:, : data.stored] -= far @ data.X
        for k, rows, differences in _near_differences(data, thetas, near):
            gradients[k] += pulls[k, rows] @ differences
        return gradients / data.n

    def _apply(self, table: Mapping[str, Any], z: Array, y: Array) -> Array:
        out = np.empty_like(z)
        kernels.apply(table[self.key], z, y, self.shape, out)
        return out


def _distances(data: Data, thetas: Array) -> tuple[Array, Array]:
    """||theta_k - x_i||, shape [k, n], and True where ||theta||^2 - 2 <x, theta> + ||x||^2 cancels, [k, n]."""
    squares = np.einsum("kj,kj->k", thetas, thetas)[:, None] + data.row_norms**2
    z = squares - 2.0 * data.margins(np.ascontiguousarray(thetas[:, : data.stored]))
    near = z <= _NEAR * squares
    z = np.sqrt(np.maximum(z, 0.0))
    for k, rows, differences in _near_differences(data, thetas, near):
        z[k, rows] = np.linalg.norm(differences, axis=1)
    return z, near


def _near_differences(data: Data, thetas: Array, near: Array) -> Iterator[tuple[int, NDArray[np.intp], Array]]:
    """k, some rows [m] with near[k, rows], and theta_k - x_i for them, [m, columns of thetas]."""
    step = max(1, _BLOCK // thetas.shape[1])
    for k in np.flatnonzero(near.any(axis=1)):
        found = np.flatnonzero(near[k])
        for start in range(0, len(found), step):
            rows = found[start : start + step]
            x = data.X[rows]
            differences = np.tile(thetas[k], (len(rows), 1))
            differences[:, : data.stored] -= x if isinstance(x, np.ndarray) else x.toarray()
            yield int(k), rows, differences


_H = 0.5  # h of the kernels, in the margin or the residual
SMOOTHING = 0.1  # within this of the distance, a smooth median's loss is nearly quadratic

LOSSES = {
    loss.key: loss
    for loss in (
        # key, label, slope, curvature_bound, task, shape
        Loss("logistic", "logistic loss", 1.0, 0.25, "classification"),
        Loss("huber_hinge", "Huberised hinge loss", 1.0, 1.0 / (2.0 * _H), "classification", _H),
        Loss("hinge", "hinge loss", 1.0, math.inf, "classification"),
        Loss("squared", "squared loss", math.inf, 2.0, "regression"),
        Loss("huber", "Huber loss", 1.0, 1.0 / _H, "regression", _H),
        Loss("absolute", "absolute loss", 1.0, math.inf, "regression"),
        Loss("multiclass_hinge", "Huberised hinge over classes", 1.0, 1.0 / (2.0 * _H), "classes", _H),
        Loss("linear", "linear cost", 1.0, 0.0, "cost"),
        Loss("geometric_median", "geometric median", 1.0, math.inf, "location"),
        Loss("smooth_median", "smoothed geometric median", 1.0, 1.0 / SMOOTHING, "location", SMOOTHING),
        Loss("mean", "mean", math.inf, 2.0, "location"),
    )
}


def get_loss(key: str) -> Loss:
    """Loss with this key; ValueError names the known ones.

    >>> get_loss("logistic").curvature_bound
    0.25
    """
    return LOSSES[one_of("loss", key, LOSSES)]
