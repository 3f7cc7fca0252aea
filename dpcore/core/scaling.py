"""Preparation of records for a mechanism: scaling by public constants, clipping on request, checks."""

import numpy as np

from .arrays import Array
from .losses import get_loss
from .records import Data
from .specification import Spec
from .validation import positive


def scale(values: Array, low: Array, high: Array) -> Array:
    """Columns mapped from their declared ranges to [-1, 1]: 2 (v - low) / (high - low) - 1; same shape as `values`.

    low, high: public constants, one per column of `values` or one for all, low < high. Raises ValueError if a value
    lies outside its declared range.

    >>> scale(np.array([[0.0, 10.0], [5.0, 20.0]]), np.array([0.0, 10.0]), np.array([10.0, 20.0]))
    array([[-1., -1.],
           [ 0.,  1.]])
    """
    values, low, high = np.asarray(values, float), np.asarray(low, float), np.asarray(high, float)
    if not np.all(low < high):
        raise ValueError(f"low must be below high in every column, got {low} and {high}")
    outside = values[~((low <= values) & (values <= high))]
    if outside.size:
        raise ValueError(f"values must lie in their declared ranges, got {outside[0]:g}; clip values or widen a range")
    return 2.0 * (values - low) / (high - low) - 1.0


def clip_rows(data: Data, R: float, q: float = 2.0) -> tuple[Data, int]:
    """Records with each row x multiplied by min(1, R / ||x||_q), dense or CSR, and the number of rows changed.

    q: from 1 to inf. Clipping each record by a public R ensures ||x||_q <= R for any records, and changes what is
    learned. The count depends on the records: it is not private and belongs in no report.

    >>> clipped, changed = clip_rows(Data(np.array([[3.0, 4.0], [0.0, 0.5]]), np.array([1.0, -1.0])), 1.0)
    >>> clipped.X.round(3).tolist(), changed
    ([[0.6, 0.8], [0.0, 0.5]], 1)
    """
    positive("R", R)
    norms = data.norms(q)
    beyond = norms > R
    if not beyond.any():
        return data, 0
    factors = np.divide(R, norms, out=np.ones(data.n), where=beyond)
    if isinstance(data.X, np.ndarray):
        return Data(data.X * factors[:, None], data.y, data.p), int(beyond.sum())
    X = data.X
    values = X.data * np.repeat(factors, np.diff(X.indptr))
    return Data(type(X)((values, X.indices, X.indptr), shape=X.shape), data.y, data.p), int(beyond.sum())


def check_records(data: Data, spec: Spec) -> None:
    """Raise ValueError if records break the bounds for which the plan was calibrated; location losses use no labels.

    >>> check_records(Data(np.eye(2), np.array([0.0, 1.0])), Spec("logistic", 2, 2))
    Traceback (most recent call last):
        ...
    ValueError: y must be -1 or +1 for logistic loss, got 0; labels 0 and 1 become -1 and +1 by 2 * y - 1
    """
    if (data.n, data.p) != (spec.n, spec.p):
        raise ValueError(
            f"X must have shape ({spec.n}, {spec.p}) as calibrated, got ({data.n}, {data.p}); calibrate for this shape"
        )
    if get_loss(spec.loss).task == "classes":
        data.check_rows(spec.domain)
        wrong = data.y[(data.y != np.rint(data.y)) | (data.y < 0) | (data.y >= spec.classes)]
        if wrong.size:
            raise ValueError(f"y must be whole numbers from 0 to {spec.classes - 1}, got {wrong[0]:g}")
        return
    if get_loss(spec.loss).classification:
        other = data.y[np.abs(data.y) != 1.0]
        if other.size:
            zero_one = np.isin(data.y, (0.0, 1.0)).all()
            advice = "; labels 0 and 1 become -1 and +1 by 2 * y - 1" if zero_one else ""
            raise ValueError(f"y must be -1 or +1 for {get_loss(spec.loss).label}, got {other[0]:g}{advice}")
    if get_loss(spec.loss).linear:
        data.check_domain(spec.domain)
    else:
        data.check_rows(spec.domain)
