"""Data sets with several classes for the large-margin Gaussian classifier: drawn ones and real ones.

||x||_2 <= 1 is ensured by constants written down here and, for real records, by a declared rule: a row beyond norm 1 is
projected onto the sphere, independently of the others. `public` names what a scaling has taken from the records.
"""

import dataclasses as dc
import functools
import math
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.cache import SharedCache
from ..core.facts import facts_beside
from ..core.records import Data
from ..core.scaling import clip_rows
from ..core.specification import Domain
from ..core.validation import integer, one_of
from .bundled import packaged
from .gaussian_classes import Mixture, crossing_ellipses, draw_within
from .sources import SOURCES, declared, draw_split, feature_names
from .synthetic import TEST_RECORDS

MAX_RECORDS = 1_000_000
MAX_CLASSES, MAX_COORDINATES = 10, 16  # of drawn classes
_PICTURES = "digits"
_COMPONENTS = 10


@dc.dataclass(frozen=True)
class ClassSource:
    """Public facts of a data set with several classes.

    key, label: names for code and people. things: "of 100 {things} so many are classified correctly". names: of the
    classes, () if they are drawn. size: training records that exist, None if any number can be drawn. d: columns, None
    if they are chosen. features: their names, () if drawn. scaling: the rule that keeps ||x||_2 <= 1, in one sentence.
    public: the part of the scaling that was taken from the records and is declared public, in one sentence, else "".
    """

    key: str
    label: str
    things: str
    names: tuple[str, ...]
    size: int | None
    d: int | None
    features: tuple[str, ...]
    scaling: str
    public: str


@dc.dataclass(frozen=True)
class ClassSplit:
    """Training and test records, y in 0.0, ..., classes - 1, the bounds that both keep, and their law if known."""

    train: Data
    test: Data
    classes: int
    names: tuple[str, ...]
    domain: Domain
    truth: Mixture | None = None


_STANDARDISED = 1.5  # standardised rows are divided by this times sqrt(d)
_PROJECTED = 2.5  # projected pictures are divided by this


def _source(row: dict[str, Any]) -> ClassSource:
    """Source of a row of the table; sizes are those of the sources with two classes, features those that are kept."""
    key, names, d = row["key"], row["names"], row["d"]
    features = tuple(f"component {k}" for k in range(1, _COMPONENTS + 1)) if key == _PICTURES else feature_names(key)
    size = SOURCES[key].size if key in SOURCES else None
    facts = {"size": size, "d": int(d) if d else None, "features": features}
    return ClassSource(**row | facts | {"names": tuple(names.split("; ")) if names else ()})


CLASS_SOURCES = {source.key: source for source in map(_source, facts_beside(__file__, "class_sources.csv"))}


def load_classes(source: str, n: int, *, d: int | None = None, classes: int | None = None, seed: int) -> ClassSplit:
    """n training records with classes and a test set; the same arguments always give the same records.

    source: key in `CLASS_SOURCES`. n: from 2 to 1,000,000 training records; beyond a real source's size, 70% of its
    records, they are resampled from these. d, classes: of drawn records, from 2 to 16 coordinates (2 if None) and from
    2 to 10 classes (3 if None), with 4,000 test records and their law; None for a real source, which has its own.
    seed: integer >= 0. Results are cached, up to 200 MB, and must not be changed.
    Randomness: drawn records have one Generator from (seed, classes, d, source), the law first, then separate streams
    for training and test, so that the first records stay when n grows. Real records have that of `load`: the
    permutation, with the same test records, then the draw with replacement.
    Raises ValueError for arguments outside these ranges.

    >>> split = load_classes("iris", 105, seed=0)
    >>> split.train.X.shape, split.names
    ((105, 4), ('setosa', 'versicolor', 'virginica'))
    """
    info = CLASS_SOURCES[one_of("source", source, CLASS_SOURCES)]
    if integer("n", n, at_least=2) > MAX_RECORDS:
        raise ValueError(f"n must be at most {MAX_RECORDS:,}, got {n:,}")
    integer("seed", seed, at_least=0)
    if info.d is None:
        d = _from_two("d", 2 if d is None else d, MAX_COORDINATES)
        classes = _from_two("classes", 3 if classes is None else classes, MAX_CLASSES)
        return _SPLITS.get((source, n, d, classes, seed), lambda: _draw(source, n, d, classes, seed))
    for name, value, own in (("d", d, info.d), ("classes", classes, len(info.names))):
        if value is not None and integer(name, value, at_least=1) != own:
            raise ValueError(f"{name} must be {own} for source {source!r}, got {value}")
    return _SPLITS.get((source, n, seed), lambda: _choose(info, n, seed))


def _from_two(name: str, value: int, most: int) -> int:
    if integer(name, value, at_least=2) > most:
        raise ValueError(f"{name} must be at most {most}, got {value}")
    return int(value)


def _draw(source: str, n: int, d: int, classes: int, seed: int) -> ClassSplit:
    rng = np.random.default_rng([seed, classes, d, *source.encode()])
    law = crossing_ellipses(classes, d, rng)
    train, test = rng.spawn(2)
    names = tuple("ABCDEFGHIJ"[:classes])
    return _split(Data(*draw_within(law, n, train)), Data(*draw_within(law, TEST_RECORDS, test)), names, law)


def _choose(info: ClassSource, n: int, seed: int) -> ClassSplit:
    split = draw_split(*_records(info.key), n, np.random.default_rng([seed, *info.key.encode()]))
    return _split(split.train, split.test, info.names)


def _split(train: Data, test: Data, names: tuple[str, ...], truth: Mixture | None = None) -> ClassSplit:
    domain = Domain(y_max=len(names) - 1.0)
    train.check_domain(domain)
    test.check_domain(domain)
    return ClassSplit(train, test, len(names), names, domain, truth)


@functools.cache
def _records(key: str) -> tuple[Array, Array]:
    """Scaled records of a real source, all of them: X [all, d], y [all] as floats."""
    raw, target = packaged(key)
    if key == _PICTURES:
        scaled = _projected(raw / 16.0) / _PROJECTED
    else:
        scaled = (raw - declared(key, "mean")) / declared(key, "deviation") / (_STANDARDISED * math.sqrt(raw.shape[1]))
    clipped, _ = clip_rows(Data(scaled, target), 1.0)
    return clipped.X, clipped.y


def _projected(X: Array) -> Array:
    """X less its mean row, on its first principal components, each with its largest entry > 0; [n, 10]."""
    centred = X - X.mean(axis=0)
    components = np.linalg.svd(centred, full_matrices=False)[2][:_COMPONENTS]
    largest = components[np.arange(_COMPONENTS), np.abs(components).argmax(axis=1)]
    return centred @ (components * np.sign(largest)[:, None]).T


def _bytes(split: ClassSplit) -> int:
    return sum(8 * (data.X.size + 2 * data.n) for data in (split.train, split.test))  # with the row norms


_SPLITS: SharedCache[ClassSplit] = SharedCache(200_000_000, _bytes)
