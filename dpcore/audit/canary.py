"""Neighbouring data sets for audits of functions, from a table: they differ in a record that moves a model far."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array
from ..core.records import Data
from ..core.specification import Domain
from ..core.validation import check_real


def canary_pair(X: Array, y: Array, *, R: float, labels: tuple[float, float] = (-1.0, 1.0)) -> tuple[Data, Data]:
    """Two data sets, equal but for the last record: a canary with ||x||_2 = R and one label, or the other.

    X: records, [n, p], with ||x||_2 <= R in every row. y: their labels, [n], between the two of `labels`, of which the
    first is the smaller one. R > 0. The canary takes the place of the table's last record.

    At theta = 0 no other replacement of one record moves the mean gradient further, under logistic loss (whatever the
    two classes are called) and under squared loss with labels -c and c. x is the direction in which the other records
    vary least about 0, where they hold a model back least. The pair is made of the table's records: it is as private as
    they are.

    Raises ValueError for records beyond these bounds.

    >>> zero, one = canary_pair(np.array([[1.0, 0.0], [0.5, 0.0], [0.8, 0.6]]), np.array([1.0, -1.0, 1.0]), R=1.0)
    >>> np.abs(zero.X[-1]).tolist(), zero.y.tolist(), one.y.tolist()
    ([0.0, 1.0], [1.0, -1.0, -1.0], [1.0, -1.0, 1.0])
    """
    low, high = (
        check_real("labels", label, "two finite numbers, the smaller first", lambda v: True) for label in labels
    )
    if low >= high:
        raise ValueError(f"labels must be two finite numbers, the smaller first, got {labels}")
    data = Data(X, y)
    if data.sparse:
        raise ValueError("X must be a dense table for a canary, got a sparse one")
    data.check_rows(Domain(R=R))
    if data.y.min() < low or data.y.max() > high:
        raise ValueError(
            f"y must lie between the labels {low:g} and {high:g}, got {data.y.min():g} to {data.y.max():g}"
        )
    others = np.asarray(data.X)[:-1]
    x = R * np.linalg.eigh(others.T @ others)[1][:, 0]
    zero, one = (Data(np.vstack([others, x]), np.append(data.y[:-1], label)) for label in (low, high))
    return zero, one
