"""Public facts of the data sets, from `sources.csv` and `features.csv`, and the result of loading one."""

from __future__ import annotations

import dataclasses as dc
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.facts import facts_beside
from ..core.records import Data
from ..core.sets import SetName
from ..core.specification import Domain

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_TEST_SHARE = 0.3


@dc.dataclass(frozen=True)
class Source:
    """Public facts of a data set.

    key, label: names for code and people. record, records: what one record is ("patient"). things, outcome: "of 100
    {things} so many are {outcome}" (y <x, theta> > 0). size: training records that exist, None where any number can be
    drawn. p: its number of columns, beyond which every column is zero; None if any number of columns is filled.
    theta_norm: public guess of a good model's norm, declared with the scaling, never fitted. scaling: the rule that
    keeps ||x||_2 <= R, in one sentence. task: y is a class, -1 or +1 (classification), or a number in [-1, 1]
    (regression), or 0 because only the points x matter (location, where nothing is predicted or counted). set: the set
    of its good models, in which the best one is sought. stored: numbers that are stored of a record, None for p.
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
    task: Literal["classification", "regression", "location"] = "classification"
    set: SetName = "ball"
    stored: int | None = None

    @property
    def sample_size(self) -> int:
        """Default number of training records: all of a real source, or 5,000."""
        return self.size or 5_000

    def drawn(self, n: int) -> str:
        """n training records in words: all of them, some of them, or copies."""
        if self.size is None or n == self.size:
            return f"{n:,} {self.records}"
        if n < self.size:
            return f"{n:,} of {self.size:,} {self.records}"
        return f"{n:,} {self.records} drawn with replacement from {self.size:,} (a what-if)"


@dc.dataclass(frozen=True)
class Split:
    """Training and test records of a source, and the bounds that both keep.

    truth: [p], the weights behind drawn labels. tested: of a set that is split, the places of the test
    records in it.
    """

    train: Data
    test: Data
    domain: Domain
    truth: Array | None = None
    tested: NDArray[np.intp] | None = None


def training_records(records: int) -> int:
    """Number of a set's training records; the others are for testing.

    >>> training_records(569)
    398
    """
    return records - round(_TEST_SHARE * records)


def draw_split(X: Array | csr_array, y: Array, n: int, rng: np.random.Generator) -> Split:
    """Split of records with ||x||_2 <= 1 with n training records; beyond the training part, drawn with replacement.

    X: [all, p], y: [all]. Randomness: the permutation that splits, then the draw with replacement.
    """
    order, size = rng.permutation(len(y)), training_records(len(y))
    train, test = order[:size], order[size:]
    if n > size:
        records = Data.drawn(X, y, rng.choice(train, n, replace=True))
    else:
        records = Data(X[train[:n]], y[train[:n]])
    return Split(records, Data(X[test], y[test]), Domain(), tested=test)


def _source(row: dict[str, Any]) -> Source:
    records, p = row.pop("all_records"), row["p"]
    size = training_records(int(records)) if records else None
    return Source(**row | {"size": size, "p": int(p) if p else None, "theta_norm": float(row["theta_norm"])})


SOURCES = {source.key: source for source in map(_source, facts_beside(__file__, "sources.csv"))}
_FEATURES = facts_beside(__file__, "features.csv")


def feature_names(source: str) -> tuple[str, ...]:
    """Names of the features of a real source, in the order of its columns."""
    return tuple(row["feature"] for row in _FEATURES if row["source"] == source)


def declared(source: str, what: str) -> Array:
    """Declared constant for each feature of a real source: "low" or "high" end of its range, "mean" or "deviation".

    >>> declared("iris", "high")
    array([8. , 4.5, 7. , 3. ])
    """
    return np.array([float(row[what]) for row in _FEATURES if row["source"] == source])
