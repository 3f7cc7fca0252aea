"""Large-margin Gaussian classifier: one ellipsoid for each class, its loss, and a bound on F - F* for any model.

Records are x~ = (x / R, 1) / sqrt2, so that ||x~|| <= 1 where ||x|| <= R. Class c has a symmetric p x p matrix Phi_c,
p = d + 1, and x goes to the class of the smallest x~' Phi_c x~ = <Phi_c, X>, X = x~ x~'. The margin over class c is
m_c = <Phi_c - Phi_y, X>. With psi the hinge max(1 - m, 0) rounded within h of its kink and tr_d the trace without the
last diagonal entry,
    F(Phi) = sum_i sum_{c != y_i} psi(m_ic) + (mu/2) sum_c ||Phi_c||_F^2 + tau sum_c tr_d Phi_c + <B, Phi>
is mu-strongly convex. It is minimised over all symmetric matrices.

Certificate. psi(m) is the largest s (1 - m) + h s (1 - s) with s in [0, 1], so any slopes s bound F from below. At
those of Phi, s = -psi'(m), the gap to that bound is ||grad F||^2 / (2 mu), in which nothing cancels (docs/formulas.md).
Hence F(Phi) - F* <= gap and ||Phi - Phi*|| <= sqrt(2 gap / mu).

Not implemented: with several ellipsoids in a class, x~' Phi_c x~ becomes the softmin -ln sum_m exp(-x~' Phi_cm x~),
which is concave. The margin over such a class stays concave, and psi of it convex, only if the own class enters by one
fixed component for each record; with a softmin for the own class too, the margin is a difference of concave functions.
Slack variables for records that miss the margin change nothing: at their optimum they equal the hinge.

Sources: Sha and Saul 2006, Large margin Gaussian mixture modeling; Pathak and Raj 2010, Large margin multiclass
Gaussian classification with differential privacy, whose published loss and gradient have wrong signs.
"""

import copy
import dataclasses as dc
import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import kernels
from ...core.arrays import Array, float_array
from ...core.validation import check_real, integer, positive

# Numbers that fit into the cache.
_BLOCK = 100_000


@functools.lru_cache(maxsize=64)
def _triangle(p: int) -> tuple[Any, Any, Array]:
    """Rows and columns of the upper triangle and the weight of each entry in svec."""
    rows, columns = np.triu_indices(p)
    return rows, columns, np.where(rows == columns, 1.0, math.sqrt(2.0))


def svec(matrices: Array) -> Array:
    """Symmetric [..., p, p] as vectors [..., q], q = p (p + 1) / 2: <A, B>_F = <svec A, svec B>.

    >>> svec(np.array([[1.0, 2.0], [2.0, 3.0]])).round(3).tolist()
    [1.0, 2.828, 3.0]
    """
    rows, columns, weights = _triangle(matrices.shape[-1])
    return matrices[..., rows, columns] * weights


def smat(vectors: Array) -> Array:
    """Symmetric matrices [..., p, p] from `svec` vectors [..., q]; ValueError if no p has q entries."""
    q = vectors.shape[-1]
    p = (math.isqrt(8 * q + 1) - 1) // 2
    if q < 1 or p * (p + 1) // 2 != q:
        raise ValueError(f"vectors must have p (p + 1) / 2 entries for an integer p >= 1, got {q}")
    rows, columns, weights = _triangle(p)
    matrices = np.empty((*vectors.shape[:-1], p, p))
    matrices[..., rows, columns] = matrices[..., columns, rows] = vectors / weights
    return matrices


@dc.dataclass(frozen=True)
class Ellipsoid:
    """Ellipsoid (x - centre)' precision (x - centre) + offset, in the units of x, for one class or many.

    centre: [..., d]. precision: [..., d, d], symmetric. offset: [...].
    """

    centre: Array
    precision: Array
    offset: Array


def ellipsoid_of(Phi: Array, R: float = 1.0) -> Ellipsoid:
    """Ellipsoid with value x~' Phi x~ at x; Phi: [..., p, p]. A singular precision gets the centre of least norm.

    Phi = T [[P, -P c], [-c' P, c' P c + offset]] T with the diagonal T for which (x, 1) = T x~. Exact if the last
    column lies in the range of the precision, as it does if no eigenvalue is negative: the precision is invertible or
    the ellipsoid unbounded.

    >>> ellipsoid_of(np.array([[8.0, -4.0], [-4.0, 2.5]])).centre.round(12)
    array([0.5])
    """
    d = Phi.shape[-1] - 1
    t = math.sqrt(2.0) * np.append(np.full(d, positive("R", R)), 1.0)  # (x, 1) = t x~ entry by entry
    plain = Phi / (t[:, None] * t)
    P, column = plain[..., :d, :d], plain[..., :d, d]
    centre = -np.einsum("...ij,...j->...i", np.linalg.pinv(P, rcond=d * np.finfo(float).eps, hermitian=True), column)
    offset = plain[..., d, d] - np.einsum("...i,...ij,...j->...", centre, P, centre)
    return Ellipsoid(centre, P, offset)


def features(X: Array, R: float = 1.0) -> Array:
    """svec(x~ x~') of each record, [n, q], of norm ||x~||^2 <= 1 where ||x|| <= R; records beyond R are not refused."""
    augmented = np.column_stack([X / positive("R", R), np.ones(len(X))]) / math.sqrt(2.0)
    rows, columns, weights = _triangle(augmented.shape[1])
    return augmented[:, rows] * augmented[:, columns] * weights


def classify(weights: Array, Z: Array) -> Any:
    """argmin_c <Phi_c, X>, the first if several; weights: [..., C, q]; Z: `features`, [n, q]. Integers [..., n]."""
    return np.argmin(weights @ Z.T, axis=-2)


def huber_hinge(m: Array, h: float) -> Array:
    """psi: 1 - m below 1 - h, (1 + h - m)^2 / 4h up to 1 + h, then 0."""
    s = hinge_slope(m, h)
    return s * (1.0 - m) + h * s * (1.0 - s)


def hinge_slope(m: Array, h: float) -> Array:
    """-psi', in [0, 1]."""
    return np.clip((1.0 + h - m) / (2.0 * h), 0.0, 1.0)


@dc.dataclass(frozen=True)
class ClassRecords:
    """Records with classes: X [n, d], labels [n] in 0, ..., classes - 1.

    R: declared bound on ||x||; it scales x and nothing is clipped. half_width: h of the rounded hinge.
    ValueError for arguments that break these rules.
    """

    X: Array
    labels: Any
    classes: int
    R: float = 1.0
    half_width: float = 0.5

    def __post_init__(self) -> None:
        X, labels = float_array("X", self.X), float_array("labels", self.labels)
        if X.ndim != 2 or 0 in X.shape:
            raise ValueError(f"X must have shape (n >= 1, d >= 1), got {X.shape}")
        if labels.shape != X.shape[:1]:
            raise ValueError(f"labels must have shape ({len(X)},) to match X, got {labels.shape}")
        classes = integer("classes", self.classes, at_least=2)
        wrong = labels[(labels != np.rint(labels)) | (labels < 0) | (labels >= classes)]
        if len(wrong):
            raise ValueError(f"labels must be integers from 0 to {classes - 1}, got {wrong[0]:g}")
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "labels", labels.astype(np.intp))
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "R", positive("R", self.R))
        object.__setattr__(self, "half_width", positive("half_width", self.half_width))

    @property
    def n(self) -> int:
        return len(self.X)

    @property
    def p(self) -> int:
        return self.X.shape[1] + 1

    @functools.cached_property
    def Z(self) -> Array:
        """`features`, [n, q]."""
        return features(self.X, self.R)

    def scores(self, weights: Array) -> Array:
        """<Phi_c, X_i> of weights [R, C, q]; [R, C, n]."""
        draws, classes, q = weights.shape
        return (weights.reshape(-1, q) @ self.Z.T).reshape(draws, classes, self.n)

    def margins(self, scores: Array) -> Array:
        """m_ic of scores [R, C, n], 0 for the own class."""
        return scores - scores[:, self.labels, np.arange(self.n)][:, None]

    def loss(self, scores: Array) -> tuple[Array, Array]:
        """sum_i sum_{c != y_i} psi(m_ic) at scores [R, C, n], [R], and its gradient by the weights, [R, C, q].

        With s_ic = -psi'(m_ic) the gradient has -s_ic X_i for c != y_i and (sum_c s_ic) X_i for y_i; it sums to 0 over
        the classes.
        """
        losses, pulled = np.empty(len(scores)), np.empty((len(scores), self.classes, self.Z.shape[1]))
        for part, buffer in self._blocks(len(scores)):
            kernels.margin_losses(scores[part], self.labels, self.half_width, buffer, losses[part])
            pulled[part] = self._pulled(buffer)
        return losses, pulled

    def risks(self, weights: Array) -> Array:
        """Mean loss of weights [R, C, q]; [R]."""
        return self.loss(self.scores(weights))[0] / self.n

    def bend(self, scores: Array, directions: Array) -> Array:
        """The loss's Hessian at scores [R, C, n] times directions [R, C, q]."""
        bent = np.empty(directions.shape)
        for part, buffer in self._blocks(len(scores)):
            np.matmul(directions[part].reshape(-1, self.Z.shape[1]), self.Z.T, out=buffer.reshape(-1, self.n))
            kernels.margin_curvatures(scores[part], self.labels, self.half_width, buffer)
            bent[part] = self._pulled(buffer)
        return bent

    def _pulled(self, parts: Array) -> Array:
        draws, classes, n = parts.shape
        return (parts.reshape(-1, n) @ self.Z).reshape(draws, classes, -1)

    def _blocks(self, draws: int) -> Iterator[tuple[slice, Array]]:
        """Blocks of the draws, with work space for their scores that fits into the cache."""
        step = max(1, _BLOCK // (self.classes * self.n))
        buffer = np.empty((min(step, draws), self.classes, self.n))
        for start in range(0, draws, step):
            yield slice(start, start + step), buffer[: draws - start]


@dc.dataclass(frozen=True)
class MulticlassObjective:
    """F of the module, for a batch of noise draws. A model is [C, q], a symmetric matrix in svec form for each class.

    mu: > 0. tau: >= 0. noise: B, [R, C, q] in svec form; None is a single draw of 0. ValueError for arguments that
    break these rules.
    """

    records: ClassRecords
    mu: float
    tau: float = 0.0
    noise: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", positive("mu", self.mu))
        object.__setattr__(self, "tau", check_real("tau", self.tau, "a finite number >= 0", lambda v: v >= 0))
        C, p = self.records.classes, self.records.p
        q = p * (p + 1) // 2
        noise = np.zeros((1, C, q)) if self.noise is None else float_array("noise", self.noise)
        if noise.ndim != 3 or noise.shape[1:] != (C, q):
            raise ValueError(f"noise must have shape (R, {C}, {q}), got {noise.shape}")
        object.__setattr__(self, "noise", noise)

    @functools.cached_property
    def linear(self) -> Array:
        """tau I_d + B, [R, C, q]."""
        traced = np.ones(self.records.p)
        traced[-1] = 0.0
        return self.noise + self.tau * svec(np.diag(traced))  # type: ignore[operator]

    def draws(self, rows: Any) -> "MulticlassObjective":
        """Objective for some of the draws."""
        part = copy.copy(self)  # without checks, which these draws have passed
        vars(part).update(noise=self.noise[rows], linear=self.linear[rows])  # type: ignore[index]
        return part

    def gradients(self, weights: Array) -> Array:
        """grad F of weights [R, C, q], one model for each draw; [R, C, q]."""
        return self.records.loss(self.records.scores(weights))[1] + self.mu * weights + self.linear

    def rest(self, weights: Array) -> tuple[Array, Array]:
        """Terms of F other than the loss, (mu/2) sum_c ||Phi_c||_F^2 and <tau I_d + B, Phi>; both [R]."""
        return 0.5 * self.mu * (weights**2).sum((1, 2)), (self.linear * weights).sum((1, 2))

    def gaps(self, weights: Array) -> tuple[Array, Array, Array]:
        """Duality gap of weights [R, C, q], the sum of the sizes of F's terms, and F; all [R].

        The gap bounds F(weights) - F*. It is compared with the sizes, which are never 0, unlike F.
        """
        losses, pull = self.records.loss(self.records.scores(weights))
        V = -(pull + self.linear)
        gaps = ((self.mu * weights - V) ** 2).sum((1, 2)) / (2.0 * self.mu)
        square, linear = self.rest(weights)
        return gaps, losses + square + np.abs(linear), losses + square + linear
