"""Loss functions of a linear prediction z = <x, theta>: constants for privacy proofs, values for solvers.

One record serves both, so the sensitivity that scales the noise and the gradient that a solver follows
cannot come from different losses. Compiled code is looked up by key on first use.
"""

from __future__ import annotations

import dataclasses as dc
import math

import numpy as np

from .checks import one_of
from .types import Array, Spec


@dc.dataclass(frozen=True)
class Loss:
    """A convex loss l(z; y), with its constants per unit of z.

    key: name in the registry. label: for people. shape: the shape parameter h of the kernels.
    slope: sup |l'| over all z and y, inf where there is none. curvature_bound: sup l'' over z and y, inf where there is
    none. classification: True when y must be -1 or +1, False when y is any number with |y| <= y_max.
    """

    key: str
    label: str
    slope: float
    curvature_bound: float
    classification: bool
    shape: float = 0.0

    def lipschitz(self, spec: Spec) -> float:
        """L: a bound on |dl/dz| over every record of the domain and every theta where the minimiser can lie.

        Squared loss has none without a bound on theta. `spec.radius` gives one; without it, J(theta_hat) <= J(0) puts
        the minimiser within y_max sqrt(2 / lam), so that L = 2 (R y_max sqrt(2 / lam) + y_max) depends on lam.

        >>> from dpcore.types import Domain
        >>> get_loss("squared").lipschitz(Spec("squared", n=10, p=1, lam=0.5, domain=Domain(R=1.0, y_max=1.0)))
        6.0
        """
        if math.isfinite(self.slope):
            return self.slope
        reach = spec.radius
        if reach is None:
            if isinstance(spec.lam, str):
                raise ValueError(f"lam must be a number before {self.label} has a Lipschitz constant, got {spec.lam!r}")
            reach = spec.domain.y_max * math.sqrt(2.0 / spec.lam)
        return self.curvature_bound * (spec.domain.R * reach + spec.domain.y_max)

    def smoothness(self, spec: Spec) -> float:
        """c: a bound on d2l/dz2 in the same sense."""
        return self.curvature_bound

    def at_zero(self, spec: Spec) -> float:
        """The largest loss of the prediction 0 over the labels of the domain.

        >>> get_loss("hinge").at_zero(Spec("hinge", n=10, p=1))
        1.0
        """
        label = 1.0 if self.classification else spec.domain.y_max
        return float(self.value(np.zeros(1), np.array([label]))[0])

    def value(self, z: Array, y: Array) -> Array:
        """l(z_i; y_i), shape [n]."""
        return self._apply("VALUE", z, y)

    def derivative(self, z: Array, y: Array) -> Array:
        """dl/dz at (z_i; y_i), shape [n]."""
        return self._apply("DERIVATIVE", z, y)

    def curvature(self, z: Array, y: Array) -> Array:
        """d2l/dz2 at (z_i; y_i), shape [n]."""
        return self._apply("CURVATURE", z, y)

    def gaussian_mean(self, z: Array, y: Array, sd: Array) -> Array:
        """E l(z_i + sd_i g; y_i) for g ~ N(0, 1), shape [n]; absolute error below 1e-8."""
        from . import kernels

        out = np.empty_like(z)
        kernels.gaussian_mean(kernels.GAUSSIAN_MEAN[self.key], z, y, sd, self.shape, out)
        return out

    def row_means(self, z: Array, noise: Array, scale: float, y: Array) -> Array:
        """mean_i l(z_i + scale * noise_ri; y_i) for every row r of noise [r, n]; shape [r]."""
        from . import kernels

        out = np.empty(noise.shape[0])
        kernels.row_means(kernels.VALUE[self.key], z, noise, scale, y, self.shape, out)
        return out

    def _apply(self, table: str, z: Array, y: Array) -> Array:
        from . import kernels

        out = np.empty_like(z)
        kernels.apply(getattr(kernels, table)[self.key], z, y, self.shape, out)
        return out


_HALF_WIDTH = 0.5

LOSSES = {
    loss.key: loss
    for loss in (
        Loss("logistic", "logistic loss", slope=1.0, curvature_bound=0.25, classification=True),
        Loss(
            "huber_hinge",
            "Huberised hinge loss",
            slope=1.0,
            curvature_bound=1.0 / (2.0 * _HALF_WIDTH),
            classification=True,
            shape=_HALF_WIDTH,
        ),
        Loss("hinge", "hinge loss", slope=1.0, curvature_bound=math.inf, classification=True),
        Loss("squared", "squared loss", slope=math.inf, curvature_bound=2.0, classification=False),
        Loss(
            "huber",
            "Huber loss",
            slope=1.0,
            curvature_bound=1.0 / _HALF_WIDTH,
            classification=False,
            shape=_HALF_WIDTH,
        ),
    )
}


def get_loss(key: str) -> Loss:
    """The loss with this key; ValueError names the known ones.

    >>> get_loss("logistic").curvature_bound
    0.25
    """
    return LOSSES[one_of("loss", key, LOSSES)]
