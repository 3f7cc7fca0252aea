"""Models of the large-margin Gaussian classifier for its mechanism: families of matrices that add up to 0.

Such families are a space V; a model is [C, q], a matrix in svec form for each class. Noise is in J's normalisation.
"""

import functools

import numpy as np
from scipy.linalg import helmert

from ...core.arrays import Array
from ...core.losses import get_loss
from ...core.records import Data
from ...core.specification import Spec
from ...solvers.multiclass.objective import ClassRecords, MulticlassObjective, smat
from ..noise.rounding import grid_of, on_grid
from ..noise.spherical import Noise
from .calibration import dimensions

_BATCH_NUMBERS = 2_000_000


def class_records(spec: Spec, data: Data) -> ClassRecords:
    """Records as the solver takes them: dense, with zeros in the columns that are not stored."""
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    X = np.pad(X, ((0, 0), (0, data.p - data.stored)))
    return ClassRecords(X, data.y, spec.classes, spec.domain.R, get_loss(spec.loss).shape)


def objective(spec: Spec, data: Data, noise: Array | None = None) -> MulticlassObjective:
    """n (J + <B, Phi>) for each B of the noise [R, C, q]; None is a single B of 0."""
    return MulticlassObjective(
        class_records(spec, data), spec.n * float(spec.lam), noise=None if noise is None else spec.n * noise
    )


def direction(law: Noise, spec: Spec, rng: np.random.Generator) -> Array:
    """Draw of the law in V at scale 1, [C, q]: its coordinates in an orthonormal basis are drawn."""
    size = dimensions(spec)
    return _basis(spec.classes) @ law.direction(size, size, rng).reshape(spec.classes - 1, -1)


def centred(weights: Array) -> Array:
    """Nearest models in V to [..., C, q]; the part that all classes share does not affect decisions."""
    return weights - weights.mean(axis=-2, keepdims=True)


def restored(weights: Array) -> Array:
    """Matrices [..., C, p, p] of models [..., C, q] without negative eigenvalues: t I is added to all classes.

    >>> restored(np.array([[1.0, 0.0, -2.0], [-1.0, 0.0, 2.0]])).diagonal(axis1=1, axis2=2).tolist()
    [[3.0, 0.0], [1.0, 4.0]]
    """
    matrices = smat(weights)
    t = np.maximum(-np.linalg.eigvalsh(matrices)[..., 0].min(axis=-1), 0.0)
    return matrices + t[..., None, None, None] * np.eye(matrices.shape[-1])


def rounded(matrices: Array, resolution: float) -> Array:
    """Models made by `restored`, [..., C, p, p], on the grid of the noise.

    All classes are rounded, and shifted anew by a multiple of the grid, so that no eigenvalue is negative.
    """
    own = on_grid(matrices - matrices.mean(axis=-3, keepdims=True), resolution)
    least = np.linalg.eigvalsh(own)[..., 0].min(axis=-1)
    t = on_grid(np.maximum(-least, 0.0), resolution) + grid_of(resolution)
    return own + t[..., None, None, None] * np.eye(own.shape[-1])


def gradients(spec: Spec, data: Data, weights: Array) -> Array:
    """grad J at models [R, C, q]."""
    return objective(spec, data, np.zeros_like(weights)).gradients(weights) / spec.n


def log_volumes(spec: Spec, data: Data, weights: Array) -> Array:
    """ln det of J's Hessian on V at models [R, C, q]; [R].

    The Hessian is lam I plus psi''(m_ic) / n times the square of (e_c - e_y) (x) X_i for each record and wrong class.
    """
    records, h = class_records(spec, data), get_loss(spec.loss).shape
    margins = records.margins(records.scores(weights))
    bends = np.where(np.abs(1.0 - margins) < h, 0.5 / h, 0.0)
    bends[:, records.labels, np.arange(records.n)] = 0.0
    basis = _basis(spec.classes)
    away = basis[:, None] - basis[records.labels]  # e_c - e_y in the basis
    rows = (away[..., None] * records.Z[:, None]).reshape(spec.classes * records.n, -1)
    logs, step = np.empty(len(weights)), max(1, _BATCH_NUMBERS // (rows.shape[1] * max(rows.shape)))
    for start in range(0, len(weights), step):
        batch = slice(start, start + step)
        part = bends[batch].reshape(-1, len(rows)) / spec.n
        hessians = (part[:, None, :] * rows.T) @ rows
        logs[batch] = np.linalg.slogdet(hessians + float(spec.lam) * np.eye(rows.shape[1]))[1]
    return logs


@functools.cache
def _basis(classes: int) -> Array:
    """Orthonormal columns that add up to 0, [C, C - 1]."""
    return helmert(classes).T
