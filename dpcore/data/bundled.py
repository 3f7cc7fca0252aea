"""Real records that come with scikit-learn, with declared ranges.

Every feature is mapped to [-1, 1] by its range, a constant 1 is appended, and all is divided by sqrt(p), so that
||x||_2 <= 1. The ranges are constants written down from the public descriptions and rounded outwards; nothing is
measured on the records. theta_norm follows one rule: coefficients of norm about 5 on the mapped features (1 where y is
a number in [-1, 1]), times the sqrt(p) that the scaling divides by, rounded.
"""

from __future__ import annotations

import dataclasses as dc
import functools
import math

import numpy as np

from ..core.arrays import Array
from ..core.scaling import scale
from .sklearn_files import packaged
from .sources import Source, Split, draw_split, training_records


@dc.dataclass(frozen=True)
class Ranges:
    """Declared smallest and largest value of each feature, and of y where y is a number."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    y: tuple[float, float] | None = None


BUNDLED = {
    source.key: source
    for source in (
        Source(
            "breast_cancer",
            "breast cancer (real)",
            record="patient",
            records="patients",
            things="tumours",
            outcome="told apart correctly",
            size=training_records(569),
            p=31,
            theta_norm=30.0,
            scaling="30 measurements mapped to [-1, 1] by their published ranges and a constant 1, all over sqrt(31)",
        ),
        Source(
            "digits",
            "digits, even or odd (real)",
            record="picture",
            records="pictures",
            things="digits",
            outcome="told apart correctly",
            size=training_records(1797),
            p=65,
            theta_norm=40.0,
            scaling="64 pixels mapped from 0..16 to [-1, 1] and a constant 1, all over sqrt(65)",
        ),
        Source(
            "wine",
            "wine, first grower or not (real)",
            record="wine",
            records="wines",
            things="wines",
            outcome="told apart correctly",
            size=training_records(178),
            p=14,
            theta_norm=20.0,
            scaling="13 measurements mapped to [-1, 1] by their published ranges and a constant 1, all over sqrt(14)",
        ),
        Source(
            "iris",
            "iris, virginica or not (real)",
            record="flower",
            records="flowers",
            things="irises",
            outcome="told apart correctly",
            size=training_records(150),
            p=5,
            theta_norm=10.0,
            scaling="4 measurements mapped to [-1, 1] by their published ranges and a constant 1, all over sqrt(5)",
        ),
        Source(
            "diabetes",
            "diabetes (real, a number to predict)",
            record="patient",
            records="patients",
            things="patients",
            outcome="put on the right side of the scale's middle",
            size=training_records(442),
            p=11,
            theta_norm=3.0,
            scaling="10 measurements mapped to [-1, 1] by declared ranges and a constant 1, all over sqrt(11); "
            "progression mapped from 0..350 to [-1, 1]",
            task="regression",
        ),
    )
}

RANGES = {
    # Wisconsin diagnostic breast cancer (UCI): mean, standard error and worst over the cell nuclei.
    "breast_cancer": Ranges(
        (
            *(5.0, 5.0, 40.0, 100.0, 0.05, 0.0, 0.0, 0.0, 0.1, 0.04),
            *(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
            *(5.0, 10.0, 50.0, 100.0, 0.05, 0.0, 0.0, 0.0, 0.1, 0.05),
        ),
        (
            *(30.0, 40.0, 200.0, 2600.0, 0.17, 0.35, 0.45, 0.21, 0.31, 0.1),
            *(3.0, 5.0, 22.0, 550.0, 0.04, 0.14, 0.4, 0.06, 0.08, 0.03),
            *(40.0, 50.0, 260.0, 4300.0, 0.23, 1.1, 1.3, 0.3, 0.7, 0.21),
        ),
    ),
    # Optical recognition of handwritten digits (UCI): 4x4 blocks of ink, counted.
    "digits": Ranges((0.0,) * 64, (16.0,) * 64),
    # Wine recognition (UCI): the summary table of the description.
    "wine": Ranges(
        (11.0, 0.7, 1.3, 10.0, 70.0, 0.9, 0.3, 0.1, 0.4, 1.0, 0.4, 1.2, 270.0),
        (15.0, 6.0, 3.5, 30.0, 170.0, 4.0, 5.5, 0.7, 4.0, 13.0, 2.0, 4.0, 1700.0),
    ),
    # Iris (Fisher): the summary table of the description, in cm.
    "iris": Ranges((4.0, 2.0, 1.0, 0.0), (8.0, 4.5, 7.0, 3.0)),
    # Diabetes (Efron et al. 2004). Only the range of y, 25 to 346, is published; the rest is what such measurements of
    # adults can be: age, sex (1 or 2), body mass index, blood pressure, six blood serum measurements.
    "diabetes": Ranges(
        (18.0, 1.0, 15.0, 50.0, 80.0, 20.0, 10.0, 1.0, 2.0, 40.0),
        (90.0, 2.0, 50.0, 150.0, 350.0, 300.0, 120.0, 12.0, 8.0, 160.0),
        y=(0.0, 350.0),
    ),
}


def load_bundled(key: str, n: int, rng: np.random.Generator) -> Split:
    """n of the training records of a bundled source, as `draw_split` takes them."""
    return draw_split(*_records(key), n, rng)


@functools.cache
def _records(key: str) -> tuple[Array, Array]:
    """All scaled records of a bundled source: X [all, its p], y [all]."""
    raw, target = _raw(key)
    ranges = RANGES[key]
    features = scale(raw, np.array(ranges.low), np.array(ranges.high))
    X = np.column_stack([features, np.ones(len(raw))]) / math.sqrt(raw.shape[1] + 1)
    y = np.where(target, 1.0, -1.0) if ranges.y is None else scale(target, *map(np.array, ranges.y))
    return X, y


def _raw(key: str) -> tuple[Array, Array]:
    """Features as measured, and what +1 stands for as booleans, or y as measured."""
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
