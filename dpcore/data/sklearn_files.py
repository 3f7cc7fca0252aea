"""Tables in scikit-learn's package, read without importing it: that takes longer than all else a page needs."""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path

import numpy as np

from ..core.arrays import Array


def packaged(key: str) -> tuple[Array, Array]:
    """What `sklearn.datasets.load_KEY(return_X_y=True, scaled=False)` returns: features [n, d] and targets [n].

    >>> X, y = packaged("iris")
    >>> X.shape, set(y.tolist()) == {0.0, 1.0, 2.0}
    ((150, 4), True)
    """
    folder = Path(str(distribution("scikit-learn").locate_file("sklearn/datasets/data")))
    if key == "diabetes":
        return np.loadtxt(folder / "diabetes_data_raw.csv.gz"), np.loadtxt(folder / "diabetes_target.csv.gz")
    # The first line holds sizes and names, but for digits, which have none.
    (file,) = folder.glob(f"{key}*")
    table = np.loadtxt(file, delimiter=",", skiprows=int(key != "digits"))
    return table[:, :-1], table[:, -1]
