"""Families of records that are hard for private mechanisms, as a table of small functions of public facts.

A member of a family is a few parts; a part is some rows, all as long as the domain allows, the share of the records
that are copies of them, and the share of these that have the label 1 (or y_max); the others have -1 (or -y_max). What
is left of the records is 0. Why each family is hard: docs/formulas.md, "The hardest records known".
"""

import dataclasses as dc
import itertools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard

from ...core.arrays import Array
from ...core.hard_blocks import hard_blocks
from ...core.losses import get_loss
from ...core.records import Data
from ...core.sets import length
from ...core.specification import Spec

_SHARES = tuple(4.0**-k for k in range(6))
_LABELS = (1.0, 0.75, 0.5)
_MARGINS = tuple(2.0**-k for k in range(1, 11))
_AGREEING = tuple(2.0**-k for k in range(1, 8))
_MOST_COLUMNS = 256  # of rows that fill every column


@dc.dataclass(frozen=True)
class Part:
    """Records that are copies of rows [k, r], r <= p, of any length, in equal numbers.

    share: of all records. right: how many of them have the label 1 or y_max.
    """

    rows: Array
    share: float
    right: float


@dc.dataclass(frozen=True)
class Hard:
    """One member of a family. name: its family and its parameters, in words. parts: shares add up to 1 at most."""

    name: str
    parts: tuple[Part, ...]

    def records(self, spec: Spec) -> Data:
        """n records of p columns that keep the bounds of `spec.domain`; equal ones are merged."""
        top = 1.0 if get_loss(spec.loss).classification else spec.domain.y_max
        rows, labels, counts, left = [], [], [], spec.n
        for part in self.parts:
            wanted = min(left, max(1, round(part.share * spec.n)))
            left -= wanted
            right = round(part.right * wanted)
            for label, number in ((top, right), (-top, wanted - right)):
                rows.append(part.rows * (spec.domain.R / length(part.rows, spec.domain.q)))
                labels.append(np.full(len(part.rows), label))
                counts.append(_shared_out(number, len(part.rows)))
        rows.append(np.zeros((2, rows[0].shape[1])))  # records of one kind still are two rows
        labels.append(np.array([top, -top]))
        counts.append(_shared_out(left, 2))
        X, y, times = np.concatenate(rows), np.concatenate(labels), np.concatenate(counts)
        if np.count_nonzero(times) == 1:
            X, y, times = (np.repeat(values[times > 0], 2, axis=0) for values in (X, y, times))
            times = _shared_out(int(times[0]), 2)
        return Data.drawn(X, y, np.repeat(np.arange(len(X)), times)).widened(spec.p)


def _shared_out(number: int, among: int) -> NDArray[np.intp]:
    """So many records among rows, as equally as possible, [among] of integers."""
    return number // among + (np.arange(among) < number % among)


def _said(share: float) -> str:
    return "all records" if share == 1.0 else f"{100.0 * share:.2g}% of the records"


def on_axes(spec: Spec) -> Iterator[Hard]:
    """Records on one axis, or on all that the ball has room for, with labels that agree, mostly agree, or do not.

    With one axis and one label they are those of `theory.lower_bounds.packing`, with k = share n.
    """
    columns = {1, min(spec.p, _MOST_COLUMNS)} if spec.unit_set.q == 2.0 else {1}
    for axes, share, right in itertools.product(sorted(columns), _SHARES, _LABELS):
        where = "one axis" if axes == 1 else f"{axes} axes"
        yield Hard(f"{_said(share)} on {where}, {right:.0%} with one label", (Part(np.eye(axes), share, right),))


def by_a_margin(spec: Spec) -> Iterator[Hard]:
    """Records of one class, margin R beyond a boundary and R away from 0 along the other axes, on both sides.

    F falls slowly along the first axis, which a regulariser and a step pay for, and bends as far as it can along the
    others, which noise pays for.
    """
    if spec.p == 1 or spec.unit_set.q != 2.0:
        return
    for margin, share in itertools.product(_MARGINS, _SHARES[:2]):
        axes = np.eye(min(spec.p, _MOST_COLUMNS))
        sides = np.concatenate([axes[1:], -axes[1:]]) * math.sqrt(1.0 - margin**2)
        rows = sides + margin * axes[0]
        yield Hard(f"{_said(share)} {margin:.2g} R from a boundary", (Part(rows, share, 1.0),))


def one_good_column(spec: Spec) -> Iterator[Hard]:
    """Copies of R (1, -1, ..., -1): one column is right and every other one is wrong by as much as it can be."""
    if spec.unit_set.q == 2.0:
        return
    row = -np.ones((1, min(spec.p, _MOST_COLUMNS)))
    row[0, 0] = 1.0
    for share, right in itertools.product(_SHARES, _LABELS[:2]):
        what = f"{_said(share)} with one column against all others, {right:.0%} with one label"
        yield Hard(what, (Part(row, share, right),))


def spread_out(spec: Spec) -> Iterator[Hard]:
    """Rows of a Hadamard matrix with labels of both kinds, beside rows of ones with one label.

    The best model uses every column, which few vertices cannot: `studies.dimension.lasso.data.Spread`.
    """
    columns = 1 << (min(spec.p, _MOST_COLUMNS).bit_length() - 1)
    if spec.unit_set.q == 2.0 or columns < 2:
        return
    for agreeing in _AGREEING:
        rows = hadamard(columns).astype(float)
        parts = Part(rows[:1], agreeing, 1.0), Part(rows, 1.0 - agreeing, 0.5)
        yield Hard(f"{_said(agreeing)} agree, the others spread over {columns} columns", parts)


def in_blocks(spec: Spec) -> Iterator[Hard]:
    """The blocks of 4, 16, ... records of `core.hard_blocks`, each on its own axis: those of a lower bound."""
    blocks = hard_blocks(spec.n)[: spec.p]
    if get_loss(spec.loss).classification and len(blocks):
        axes = np.eye(len(blocks))
        sizes = blocks.sum(axis=1)
        parts = (
            Part(axes[j : j + 1], size / spec.n, own / size)
            for j, (size, own) in enumerate(zip(sizes, blocks[:, 0], strict=True))
        )
        yield Hard("blocks of 4, 16, … records", tuple(parts))


FAMILIES = (on_axes, by_a_margin, one_good_column, spread_out, in_blocks)


def hard_records(spec: Spec) -> list[Hard]:
    """All members of all families that are records of this problem; for losses of a linear prediction.

    >>> made = hard_records(Spec("logistic", n=500, p=8))
    >>> made[0].name, len(made)
    ('all records on one axis, 100% with one label', 57)
    """
    return [hard for family in FAMILIES for hard in family(spec)]
