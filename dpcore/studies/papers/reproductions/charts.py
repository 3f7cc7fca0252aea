"""What the chart of a reproduction shows; `figures.sources.reproductions` draws it."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ....core.arrays import Array
from ....experiments.summary import Summary
from ...geometry.excess_by_norm import AgainstOrder
from ...multiclass.curves import Accuracies

if TYPE_CHECKING:
    import pandas as pd


@dc.dataclass(frozen=True)
class RightAgainst:
    """Right of 100 against x in many runs.

    table: columns run, x, mechanism ("none" is without privacy), right and larger_class, both of 100; right is nan for
    a refusal. printed: mechanism -> (x, right of 100) of the paper. over: what x is, in words.
    """

    table: pd.DataFrame
    printed: Mapping[str, Sequence[tuple[float, float]]]
    over: str


@dc.dataclass(frozen=True)
class Exponents:
    """A fitted exponent for each curve, its standard error, and the claimed one. All [K]."""

    names: Sequence[str]
    found: Array
    errors: Array
    claimed: Array


@dc.dataclass(frozen=True)
class ExcessOfMechanisms:
    """Excess risk against epsilon [K] of several mechanisms with the same promise.

    measured: name -> (mechanism, what was measured [K]). nothing: excess of theta = 0.
    """

    epsilon: Array
    measured: Mapping[str, tuple[str, Summary]]
    nothing: float


@dc.dataclass(frozen=True)
class ScoresOfMechanisms:
    """Accuracy on test records against epsilon [K] for each mechanism that applies.

    scores: mechanism -> mean accuracy [K], nan where there is none. plain, larger: accuracy without privacy, and of the
    larger class. labels: mechanism -> name.
    """

    epsilon: Array
    scores: Mapping[str, Array]
    plain: float
    larger: float
    labels: Mapping[str, str]


@dc.dataclass(frozen=True)
class ExcessAgainstOrder:
    """Excess of linear losses against the norm order, marked at p_norm; others: the same at other d."""

    found: AgainstOrder
    others: Sequence[AgainstOrder]
    p_norm: float


@dc.dataclass(frozen=True)
class AccuracyOfClassifiers:
    """Accuracy of classifiers of many classes against epsilon, marked at one."""

    found: Accuracies
    epsilon: float


Chart = RightAgainst | Exponents | ExcessOfMechanisms | ScoresOfMechanisms | ExcessAgainstOrder | AccuracyOfClassifiers
