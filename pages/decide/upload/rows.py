"""The rows of the table of columns: what is guessed of each column, and what its holder has said."""

import dataclasses as dc
import math
import re
from collections.abc import Sequence

from dpcore.core.facts import facts_beside
from dpcore.core.validation import shown
from dpcore.data import ColumnFacts
from dpcore.data.cells import typed, typed_number

from .session import Held, Levels, Pair, Said

KINDS = ["number", "yes/no", "category"]
_FEWEST_LEVELS = 2
# Bounds of public knowledge: pattern of a column's name in small letters, smallest and largest value.
_PROPOSED = [
    (row["name"], float(row["smallest"]), float(row["largest"])) for row in facts_beside(__file__, "public_bounds.csv")
]


@dc.dataclass(frozen=True)
class Row:
    """A column and what was said of it."""

    column: ColumnFacts
    said: Said

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def use(self) -> bool:
        return self.column.use if self.said.use is None else self.said.use

    @property
    def kind(self) -> str:
        return self.said.kind or self.column.kind

    @property
    def is_number(self) -> bool:
        """Whether it has bounds; else it has levels."""
        return self.kind == "number" or (self.kind == "yes/no" and self.column.numeric and not self.said.levels)

    @property
    def bare(self) -> bool:
        """Whether nothing is said of its bounds or levels."""
        return not (self.said.low or self.said.high if self.is_number else self.said.levels)

    @property
    def remarks(self) -> str:
        column = self.column if self.is_number else dc.replace(self.column, others=0)  # a text may be a level
        return "; ".join(filter(None, [column.reason, *column.notes]))

    def say(self, bounds: Sequence[float], levels: Levels, origin: str) -> None:
        """Take over bounds, or levels where there are none, and make the column what has them."""
        low, high = map(typed, bounds or (math.nan, math.nan))
        self.said.low, self.said.high, self.said.levels, self.said.origin = low, high, levels, origin
        if self.kind != "yes/no":
            self.said.kind = "number" if bounds else "category"

    def pair(self) -> Pair:
        """Bounds; nan for one that is missing, ValueError for one that is not understood."""
        ends = []
        for end, text in (("smallest", self.said.low), ("largest", self.said.high)):
            try:
                ends.append(typed_number(text) if text else math.nan)
            except ValueError as error:
                raise ValueError(f"the {end} value of {shown(self.name)} is not taken: {error}") from None
        low, high = ends
        if low >= high:
            raise ValueError(
                f"the smallest value of {shown(self.name)} must be below the largest, got {low:g} and {high:g}"
            )
        return low, high

    def lacks(self) -> str:
        """What is still to be said of it, "" for nothing; ValueError for what is not understood."""
        if self.kind == "number" and not self.column.numeric:
            raise ValueError(
                f"column {shown(self.name)} must be a category, since it holds texts, got the kind 'number'"
            )
        if self.is_number:
            return "bounds" if any(map(math.isnan, self.pair())) else ""
        return "levels" if len(self.said.levels) < _FEWEST_LEVELS else ""


def rows_of(held: Held) -> list[Row]:
    """All columns but the label's, of the facts that the session has."""
    rows = []
    for column in held.kept["facts"][1].columns:
        if column.name not in held.said:
            low, high = map(typed, proposed_bounds(column.name))
            held.said[column.name] = Said(low=low, high=high, origin="its name" if low else "")
        rows.append(Row(column, held.said[column.name]))
    return rows


def proposed_bounds(column: str) -> Pair:
    """Smallest and largest value of a column as its name alone suggests them; nan where it suggests none.

    >>> proposed_bounds("Age"), proposed_bounds("body_fat_%"), proposed_bounds("ejection_fraction")
    ((0.0, 120.0), (0.0, 100.0), (nan, nan))
    """
    words = " ".join(re.findall("[a-z]+", column.lower().replace("%", " percent ")))
    return next(((low, high) for name, low, high in _PROPOSED if re.fullmatch(name, words)), (math.nan, math.nan))


def tidy(text: str) -> str:
    """A number as it was understood; what is none as it was typed."""
    try:
        return typed(typed_number(text))
    except ValueError:
        return text.strip()
