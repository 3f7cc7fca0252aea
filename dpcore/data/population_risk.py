"""Exact population risk of the synthetic data sets.

A record is x = A u with u uniform on the unit sphere of R^r; A is the identity, or a power-law scaling followed by a
fixed reflection. The risk depends on theta only through w = A' theta: the prediction is <x, theta> = <u, w>. The two
integrals, for logistic and for noisy labels, are proved in docs/data.md, "Population risk".
"""

import dataclasses as dc
import functools
import math
from collections.abc import Callable

import numpy as np
from scipy.special import expit

from ..core.arrays import Array
from ..core.losses import Loss
from ..core.validation import positive

_PANELS, _ORDER, _INNER = 4, 12, 24
_STEEPEST = 6.0  # the norm of the truth up to which _INNER nodes resolve the sigmoid
_REACH = 9.0  # standard deviations of a coordinate; the probability beyond is below 1e-17
_LOGISTIC_BREAKS = tuple(sign * m for m in (0.0, 2.5, 7.0, 16.0, 40.0) for sign in (-1.0, 1.0))
_SCAN = np.linspace(0.0, 1.0, 33)
_ROUNDS = 8  # each leaves a sixteenth: together 2e-10 of the range, in which a smooth function is flat to 1e-16


def reflect(rows: Array) -> Array:
    """Rows [..., r] mirrored at the hyperplane orthogonal to (1, ..., 1): symmetric, orthogonal, its own inverse.

    >>> reflect(np.array([1.0, 0.0, 0.0, 0.0]))
    array([ 0.5, -0.5, -0.5, -0.5])
    """
    return rows - 2.0 * rows.mean(axis=-1, keepdims=True)


@dc.dataclass(frozen=True, eq=False)
class Population:
    """Law of a synthetic record (x, y), and the risk of models under it.

    truth: [r]. spectrum: None when x is uniform on the unit sphere; else [r], positive and at most 1, and
    x = reflect(spectrum * u). noise: None for logistic labels, P(y = 1 | x) = 1 / (1 + e^-<x, truth>) with
    ||truth|| <= 6 (ValueError beyond); else h > 0 for y = <x, truth> + e with e uniform on [-h, h].
    """

    truth: Array
    spectrum: Array | None = None
    noise: float | None = None

    def __post_init__(self) -> None:
        size = float(np.linalg.norm(self.truth))
        if self.noise is None and not size <= _STEEPEST * (1.0 + 1e-12):
            raise ValueError(f"truth must have norm at most {_STEEPEST:g} for logistic labels, got {size:g}")

    def risk(self, loss: Loss, thetas: Array) -> Array:
        """F(theta_k) = E l(<x, theta_k>; y) for thetas [k, r]; shape [k].

        Error: below 1e-8 max(1, ||theta_k||), for squared loss 1e-8 max(1, ||theta_k||^2): the panels of the
        quadrature end at the kinks of the loss.
        Raises ValueError for a classification loss on labels that are no classes, and for thetas of another shape.

        >>> from dpcore.core.losses import get_loss
        >>> Population(np.array([6.0, 0.0, 0.0])).risk(get_loss("squared"), np.zeros((1, 3))).round(12)
        array([1.])
        """
        thetas = np.asarray(thetas, float)
        if thetas.ndim != 2 or thetas.shape[1] != len(self.truth):
            raise ValueError(f"thetas must have shape (k, {len(self.truth)}), got {thetas.shape}")
        if self.noise is not None:
            return self._risk_with_noisy_labels(loss, self._latent(thetas), self.noise)
        return self._risk_with_logistic_labels(loss, self._latent(thetas))

    def minimum(self, loss: Loss, radius: float) -> float:
        """Smallest F over ||theta|| <= radius, to 1e-8 max(1, radius). Raises ValueError as `risk` does.

        The minimiser over all of R^r lies on the line through the truth. If that is outside the ball, theta is a
        positive multiple of (A A' + nu I)^-1 A A' truth for some nu in [0, inf]: one number to search (docs/data.md).
        """
        positive("radius", radius)
        size = float(np.linalg.norm(self.truth))
        on_line = _smallest(lambda share: self.risk(loss, np.outer(share * radius / size, self.truth)))
        if self.spectrum is None:
            return on_line
        squares, mirrored = self.spectrum**2, reflect(self.truth)

        def on_sphere(share: Array) -> Array:
            nu = share[:, None]  # runs over nu / (1 + nu), so that both ends are included
            thetas = reflect(squares * mirrored / ((1.0 - nu) * squares + nu))
            return self.risk(loss, thetas * (radius / np.linalg.norm(thetas, axis=1, keepdims=True)))

        return min(on_line, _smallest(on_sphere))

    def _latent(self, thetas: Array) -> Array:
        """w = A' theta, [..., r]."""
        return thetas if self.spectrum is None else self.spectrum * reflect(thetas)

    def _risk_with_logistic_labels(self, loss: Loss, w: Array) -> Array:
        w_star = self._latent(self.truth)
        strength, size = float(np.linalg.norm(w_star)), np.linalg.norm(w, axis=1)
        alignment = np.clip(w @ w_star / np.maximum(size * strength, 1e-300), -1.0, 1.0)
        phi, weight = _coordinate_panels(len(w_star), size, _margin_breaks(loss))
        c, c_weight = _coordinate_rule(max(len(w_star) - 1, 1))
        along = strength * alignment[:, None] * np.sin(phi)
        across = strength * np.sqrt(1.0 - alignment**2)[:, None] * np.cos(phi)
        likely = 2.0 * expit(along[..., None] + across[..., None] * c) @ c_weight
        margins = (size[:, None] * np.sin(phi)).ravel()
        values = loss.value(margins, np.ones_like(margins)).reshape(phi.shape)
        return (weight * likely * values).sum(axis=1)

    def _risk_with_noisy_labels(self, loss: Loss, w: Array, noise: float) -> Array:
        size = np.linalg.norm(w - self._latent(self.truth), axis=1)
        if loss.key == "squared":
            return size**2 / w.shape[1] + noise**2 / 3.0
        if loss.task != "regression":
            raise ValueError(f"loss must be one for numbers if labels are no classes, got {loss.key!r}")
        h = loss.shape  # 0 for absolute loss

        def integral(u: Array) -> Array:
            """Integral of the Huber loss from 0 to u."""
            inside = np.clip(u, -h, h)
            beyond = np.abs(u) - np.abs(inside)
            bowl = inside**3 / (6.0 * h) if h else 0.0
            return bowl + np.sign(u) * (beyond**2 / 2.0 + beyond * h / 2.0)

        breaks = tuple(sign * h + side * noise for sign in (-1.0, 1.0) for side in (-1.0, 1.0))
        phi, weight = _coordinate_panels(w.shape[1], size, breaks)
        v = np.abs(size[:, None] * np.sin(phi))
        # Beyond the last kink the mean is v - h/2; the two integrals would cancel there.
        near = np.minimum(v, h + noise)
        mean = (integral(near + noise) - integral(near - noise)) / (2.0 * noise) + (v - near)
        return (weight * mean).sum(axis=1)


def _margin_breaks(loss: Loss) -> tuple[float, ...]:
    """Margins at which l(.; 1) has a kink or, for logistic loss, changes fast."""
    if loss.key == "logistic":
        return _LOGISTIC_BREAKS
    return {
        "huber_hinge": (1.0 - loss.shape, 1.0 + loss.shape),
        "hinge": (1.0,),
        "squared": (),
        "huber": (1.0 - loss.shape, 1.0 + loss.shape),
        "absolute": (1.0,),
    }[loss.key]


def _coordinate_panels(r: int, size: Array, breaks: tuple[float, ...]) -> tuple[Array, Array]:
    """Nodes phi and weights [k, nodes] for E f(a), a = sin(phi) a coordinate on the unit sphere of R^r.

    Gauss-Legendre on panels that end where size_k * a passes one of `breaks`.
    """
    if r == 1:
        ends = np.full((len(size), 2), math.pi / 2.0) * (-1.0, 1.0)
        return ends, np.full_like(ends, 0.5)
    reach = min(math.pi / 2.0, _REACH / math.sqrt(max(r - 2, 1)))
    fixed = np.broadcast_to(np.linspace(-reach, reach, _PANELS + 1), (len(size), _PANELS + 1))
    kinks = np.arcsin(np.clip(np.array(breaks) / np.maximum(size, 1e-300)[:, None], -1.0, 1.0))
    edges = np.sort(np.concatenate([fixed, np.clip(kinks, -reach, reach)], axis=1), axis=1)
    x, w = np.polynomial.legendre.leggauss(_ORDER)
    half = np.diff(edges, axis=1)[..., None] / 2.0
    phi = (edges[:, :-1, None] + half * (1.0 + x)).reshape(len(size), -1)
    weight = (half * w).reshape(len(size), -1) * np.cos(phi) ** (r - 2)
    return phi, weight / weight.sum(axis=1, keepdims=True)


@functools.lru_cache(maxsize=256)
def _coordinate_rule(d: int) -> tuple[Array, Array]:
    """Gauss rule [_INNER] for one coordinate of a uniform point on the unit sphere of R^d.

    Its density is proportional to (1 - c^2)^((d-3)/2) (two atoms for d = 1); nodes and weights are the eigenvalues
    and squared first components of the Jacobi matrix of the Gegenbauer polynomials. Source: Golub and Welsch 1969.
    """
    k = np.arange(2.0, _INNER)
    squares = np.concatenate([[1.0 / d], k * (k + d - 3.0) / ((2.0 * k + d - 2.0) * (2.0 * k + d - 4.0))])
    nodes, vectors = np.linalg.eigh(np.diag(np.sqrt(squares), -1))
    return nodes, vectors[0] ** 2


def _smallest(values: Callable[[Array], Array]) -> float:
    """Smallest value of a function with one valley on [0, 1]: scans narrow to the best point's neighbours."""
    low, high = 0.0, 1.0
    best = math.inf
    for _ in range(_ROUNDS):
        points = low + (high - low) * _SCAN
        found = values(points)
        i = int(found.argmin())
        best = min(best, float(found[i]))
        low, high = float(points[max(i - 1, 0)]), float(points[min(i + 1, len(points) - 1)])
    return best
