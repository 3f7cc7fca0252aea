"""Neighbouring data sets for audits of functions, from a table: three pairs, each of which shows other bugs."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array
from ..core.records import Data
from ..core.specification import Domain
from ..core.validation import check_real

_SHRUNK = 0.1


def canary_pairs(
    X: Array, y: Array, *, R: float, labels: tuple[float, float] = (-1.0, 1.0)
) -> dict[str, tuple[Data, Data]]:
    """Three pairs of data sets by name, each equal but for the last record, where a canary with ||x||_2 = R comes in.

    "worst case": the table with the canary and one label, or the other. "ordinary record": the table as it is, or with
    the canary. "outlier": the same with all x but the canary's divided by 10. In the last two the canary has the label
    farther from that of the record in its place.

    X: records, [n, p], with ||x||_2 <= R in every row. y: their labels, [n], between the two of `labels`, of which the
    first is the smaller one. R > 0.

    At theta = 0 no other replacement of one record moves the mean gradient further than the worst case, under logistic
    loss (whatever the two classes are called) and under squared loss with labels -c and c: it shows noise that is too
    small. Its two sides have the same x, so that it is blind to all that code reads off x, such as the largest norm.
    The ordinary record shows scaling by it where the table's own norms stay below R, and the outlier where they reach
    R too. The canary's x is the direction in which the other records vary least about 0, where they hold a model back
    least. The pairs are made of the table's records: they are as private as they are.

    Raises ValueError for records beyond these bounds.

    >>> table, y = np.array([[1.0, 0.0], [0.5, 0.0], [0.8, 0.6]]), np.array([1.0, -1.0, 1.0])
    >>> pairs = canary_pairs(table, y, R=1.0)
    >>> zero, one = pairs["worst case"]
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
    table = np.asarray(data.X)
    x = R * np.linalg.eigh(table[:-1].T @ table[:-1])[1][:, 0]
    farther = high if data.y[-1] < (low + high) / 2.0 else low

    def with_canary(share: float, label: float) -> Data:
        return Data(np.vstack([share * table[:-1], x]), np.append(data.y[:-1], label))

    return {
        "worst case": (with_canary(1.0, low), with_canary(1.0, high)),
        "ordinary record": (data, with_canary(1.0, farther)),
        "outlier": (Data(_SHRUNK * table, data.y), with_canary(_SHRUNK, farther)),
    }
