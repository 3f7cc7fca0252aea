"""Real records that come with scikit-learn, with declared ranges.

Every feature is mapped to [-1, 1] by its range, a constant 1 is appended, and all is divided by sqrt(p), so that
||x||_2 <= 1. The ranges (`features.csv`) are constants written down here; no code measures them. They come from:
- breast cancer (Wisconsin diagnostic: mean, standard error and worst over the cell nuclei), wine (UCI) and iris
  (Fisher, in cm): the smallest and largest values that the public descriptions print, rounded outwards. Those are
  statistics of these same records, declared public; with private records, ranges taken in this way would leak.
- digits: 0 to 16 by design, the ink counted in 4x4 blocks; no record has a part in it.
- diabetes (Efron et al. 2004): plausible for measurements of adults, whatever the records are. The range of y, 0 to
  350, is the one published of these same records, 25 to 346, rounded outwards.
The rule for theta_norm is in docs/data.md.
"""

import functools
import math
from importlib.metadata import distribution
from pathlib import Path

import numpy as np

from ..core.arrays import Array
from ..core.scaling import scale
from .sources import declared

_PROGRESSION = np.array(0.0), np.array(350.0)  # of diabetes


@functools.cache
def bundled_records(key: str) -> tuple[Array, Array]:
    """Scaled records of a bundled source, all of them: X [all, its p], y [all]."""
    raw, target = _raw(key)
    features = scale(raw, declared(key, "low"), declared(key, "high"))
    X = np.column_stack([features, np.ones(len(raw))]) / math.sqrt(raw.shape[1] + 1)
    return X, scale(target, *_PROGRESSION) if key == "diabetes" else np.where(target, 1.0, -1.0)


def _raw(key: str) -> tuple[Array, Array]:
    """Features as measured, and the labels: booleans, True for +1, or y as measured."""
    raw, target = packaged(key)
    if key == "diabetes":
        return raw, target
    positives = {
        "breast_cancer": target == 0,  # malignant
        "digits": target % 2 == 0,  # even
        "wine": target == 0,  # the first of three growers
        "iris": target == 2,  # virginica
    }
    return raw, positives[key]


def packaged(key: str) -> tuple[Array, Array]:
    """Features [n, d] and targets [n] of `sklearn.datasets.load_KEY(return_X_y=True, scaled=False)`.

    It does not import scikit-learn, which takes longer than everything else a page needs.

    >>> X, y = packaged("iris")
    >>> X.shape, set(y.tolist()) == {0.0, 1.0, 2.0}
    ((150, 4), True)
    """
    folder = Path(str(distribution("scikit-learn").locate_file("sklearn/datasets/data")))
    if key == "diabetes":
        return np.loadtxt(folder / "diabetes_data_raw.csv.gz"), np.loadtxt(folder / "diabetes_target.csv.gz")
    # The first line holds sizes and names, except in the file of digits, which has no such line.
    (file,) = folder.glob(f"{key}*")
    table = np.loadtxt(file, delimiter=",", skiprows=int(key != "digits"))
    return table[:, :-1], table[:, -1]
