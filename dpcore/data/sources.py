"""What is publicly known of a data set, and what loading one returns."""

from __future__ import annotations

import dataclasses as dc
from typing import Literal

from ..types import Array, Data, Domain, SetName
from .population import Population


@dc.dataclass(frozen=True)
class Source:
    """What is publicly known of a data set.

    key, label: names for code and people. record, records: what one record is ("patient"). things, outcome: "of 100
    {things} so many are {outcome}" (y <x, theta> > 0). size: training records that exist, None where any number can be
    drawn. p: columns of its own, beyond which every column is zero; None where each of any number of columns is filled.
    theta_norm: public guess of a good model's norm, declared with the scaling it belongs to, never fitted. scaling: how
    ||x||_2 <= R is kept, in one sentence. task: whether y is a class, -1 or +1, or a number in [-1, 1], or 0
    because only the points x matter (location, where nothing is predicted or counted). set: where its good models live,
    and the best one is sought.
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

    @property
    def people(self) -> int:
        """How many training records to take where nobody says: all there are, or 5,000."""
        return self.size or 5_000

    def drawn(self, n: int) -> str:
        """n training records in words, which say whether they are all, some, or copies."""
        if self.size is None or n == self.size:
            return f"{n:,} {self.records}"
        if n < self.size:
            return f"{n:,} of {self.size:,} {self.records}"
        return f"{n:,} {self.records} drawn with replacement from {self.size:,} (a what-if)"


@dc.dataclass(frozen=True)
class Split:
    """Training and test records of a source, the promise that both keep, and their law where it is known.

    truth: [p], the weights behind the labels of a mixture.
    """

    train: Data
    test: Data
    domain: Domain
    population: Population | None = None
    truth: Array | None = None
