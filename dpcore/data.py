"""Data sets with a declared public scaling: a synthetic recipe and bundled real records.

Privacy proofs need ||x||_2 <= R for every record that *could* occur. R and the scaling that keeps it are constants
written down here; nothing is measured on the records. Rows beyond R are refused, never clipped silently.
"""

from __future__ import annotations

import dataclasses as dc
import functools
import math
from pathlib import Path

import numpy as np

from .losses import get_loss
from .types import Array, Data, Domain, Spec, integer

# Smallest and largest value of each measurement as printed in the public description of the Wisconsin
# diagnostic breast cancer data (UCI), rounded outwards: mean, standard error and worst over the cell nuclei.
_BREAST_CANCER_LOW = (
    *(5.0, 5.0, 40.0, 100.0, 0.05, 0.0, 0.0, 0.0, 0.1, 0.04),
    *(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    *(5.0, 10.0, 50.0, 100.0, 0.05, 0.0, 0.0, 0.0, 0.1, 0.05),
)
_BREAST_CANCER_HIGH = (
    *(30.0, 40.0, 200.0, 2600.0, 0.17, 0.35, 0.45, 0.21, 0.31, 0.1),
    *(3.0, 5.0, 22.0, 550.0, 0.04, 0.14, 0.4, 0.06, 0.08, 0.03),
    *(40.0, 50.0, 260.0, 4300.0, 0.23, 1.1, 1.3, 0.3, 0.7, 0.21),
)
_TEST_SHARE = 0.3
_SYNTHETIC_TEST = 4_000
_SYNTHETIC_NORM = 6.0


@dc.dataclass(frozen=True)
class Source:
    """What is publicly known of a data set.

    key, label: names for code and people. record, records: what one record is ("patient"). things, outcome: "of 100
    {things} so many are {outcome}". size: training records that exist, None where any number can be drawn.
    p: columns, None where it is free. theta_norm: public guess of a good model's norm, declared with the scaling it
    belongs to, never fitted. scaling: how ||x||_2 <= R is kept, in one sentence.
    """

    key: str
    label: str
    record: str
    records: str
    things: str
    outcome: str
    size: int | None
    p: int | None
    theta_norm: float
    scaling: str

    @property
    def people(self) -> int:
        """How many training records to take where nobody says: all there are, or 5,000."""
        return self.size or 5_000


@dc.dataclass(frozen=True)
class Split:
    """Training and test records of a source, and the promise that both keep."""

    train: Data
    test: Data
    domain: Domain


_BREAST_CANCER_RECORDS = 569

SOURCES = {
    source.key: source
    for source in (
        Source(
            "breast_cancer",
            "breast cancer (real)",
            record="patient",
            records="patients",
            things="tumours",
            outcome="told apart correctly",
            size=_BREAST_CANCER_RECORDS - round(_TEST_SHARE * _BREAST_CANCER_RECORDS),
            p=31,
            theta_norm=30.0,
            scaling="30 measurements mapped to [-1, 1] by their published ranges and a constant 1, all over sqrt(31)",
        ),
        Source(
            "synthetic",
            "synthetic people",
            record="person",
            records="people",
            things="people",
            outcome="classified correctly",
            size=None,
            p=None,
            theta_norm=10.0,
            scaling="features drawn uniformly on the unit sphere",
        ),
    )
}


def get_source(key: str) -> Source:
    """The source with this key; ValueError names the known ones.

    >>> get_source("breast_cancer").size
    398
    """
    if not isinstance(key, str) or key not in SOURCES:
        raise ValueError(f"source must be one of {', '.join(SOURCES)}, got {key!r}")
    return SOURCES[key]


@functools.lru_cache(maxsize=8)  # up to 25 MB each at the sizes of the sliders
def load(source: str, n: int, p: int, seed: int) -> Split:
    """n training records and a test set from a source; the same arguments always give the same records.

    source: key in `SOURCES`. n: training records >= 2; beyond the source's size they are resampled from its
    training half. p: columns; must equal the source's own where it has its own. seed: integer >= 0.
    Randomness: one Generator from (seed, source); see the loaders for the order of draws.

    >>> load("breast_cancer", 398, 31, 0).train.X.shape
    (398, 31)
    """
    info = get_source(source)
    integer("n", n, at_least=2)
    integer("p", p, at_least=1)
    integer("seed", seed, at_least=0)
    if info.p is not None and p != info.p:
        raise ValueError(f"p must be {info.p} for source {source!r}, got {p}")
    rng = np.random.default_rng([seed, *source.encode()])
    split = _breast_cancer(n, rng) if source == "breast_cancer" else _synthetic(n, p, rng)
    split.train.check_domain(split.domain)
    split.test.check_domain(split.domain)
    return split


def check_records(data: Data, spec: Spec) -> None:
    """Raise ValueError when records break what the plan was calibrated for."""
    if (data.n, data.p) != (spec.n, spec.p):
        raise ValueError(f"X must have shape ({spec.n}, {spec.p}) as calibrated, got ({data.n}, {data.p})")
    data.check_domain(spec.domain)
    if get_loss(spec.loss).classification:
        other = data.y[np.abs(data.y) != 1.0]
        if other.size:
            raise ValueError(f"y must be -1 or +1 for {get_loss(spec.loss).label}, got {other[0]:g}")


@dc.dataclass(frozen=True)
class Table:
    """Records read from a file, with the names of their feature columns."""

    data: Data
    columns: tuple[str, ...]


def read_csv(path: Path, label: str) -> Table:
    """Numeric records from a CSV file with a header line; `label` names the column of y. Nothing is scaled.

    Raises ValueError, naming the column, where a value is missing or not a number.
    """
    import pandas as pd

    try:
        frame = pd.read_csv(path)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path.name} must be a CSV table with a header line ({reason})") from None
    if label not in frame.columns:
        raise ValueError(f"label must be a column of {path.name} ({', '.join(map(str, frame.columns))}), got {label!r}")
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]) or frame[column].isna().any():
            raise ValueError(f"column {str(column)!r} of {path.name} must hold a number in every row")
    features = frame.drop(columns=label)
    return Table(Data(features.to_numpy(float), frame[label].to_numpy(float)), tuple(map(str, features.columns)))


def _breast_cancer(n: int, rng: np.random.Generator) -> Split:
    """Malignant +1, benign -1; 70% of the records form the training half, the rest is never trained on."""
    X, y = _breast_cancer_records()
    order = rng.permutation(len(y))
    size = SOURCES["breast_cancer"].size
    train, test = order[:size], order[size:]
    chosen = rng.choice(train, n, replace=True) if n > len(train) else train[:n]
    return Split(Data(X[chosen], y[chosen]), Data(X[test], y[test]), Domain())


@functools.cache
def _breast_cancer_records() -> tuple[Array, Array]:
    from sklearn.datasets import load_breast_cancer

    raw, malignant_is_zero = load_breast_cancer(return_X_y=True)
    low, high = np.array(_BREAST_CANCER_LOW), np.array(_BREAST_CANCER_HIGH)
    scaled = 2.0 * (raw - low) / (high - low) - 1.0
    X = np.column_stack([scaled, np.ones(len(raw))]) / math.sqrt(31)
    return X, np.where(malignant_is_zero == 0, 1.0, -1.0)


def _synthetic(n: int, p: int, rng: np.random.Generator) -> Split:
    """x uniform on the unit sphere, P(y = 1 | x) = 1 / (1 + e^-<x, theta>), ||theta|| = 6 in a random direction."""
    theta = rng.standard_normal(p)
    theta *= _SYNTHETIC_NORM / np.linalg.norm(theta)
    # Streams of their own: the first records, their labels and the test set do not change when n does.
    features, labels, test_features, test_labels = rng.spawn(4)

    def draw(count: int, features: np.random.Generator, labels: np.random.Generator) -> Data:
        X = features.standard_normal((count, p))
        X /= np.linalg.norm(X, axis=1)[:, None]
        return Data(X, np.where(labels.random(count) < 1 / (1 + np.exp(-X @ theta)), 1.0, -1.0))

    test = draw(_SYNTHETIC_TEST, test_features, test_labels)
    return Split(draw(n, features, labels), test, Domain())
