"""Bounds of an upload: the smallest and largest value of each column of numbers, proposed, typed or pasted, and the
levels of each category; all are confirmed as public."""

from __future__ import annotations

import dataclasses as dc
import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.core.facts import facts_beside
from dpcore.core.validation import shown
from dpcore.data import Category, Declared
from dpcore.data.cells import number_in
from pages.ui.html import listed, literal, readable
from pages.ui.upload_levels import ask_levels

if TYPE_CHECKING:
    import pandas as pd

Pair = tuple[float, float]  # nan where there is none yet
Levels = tuple[str, ...]

CONTROLS = "upload "  # how the keys of all controls begin that ask something about the file
_HELD = f"{CONTROLS}bounds"
_FEWEST_LEVELS = 2
_NO_BOUNDS: Pair = (math.nan, math.nan)
# Bounds of public knowledge: pattern of a column's name in small letters, smallest and largest value.
_PROPOSED = [
    (row["name"], float(row["smallest"]), float(row["largest"])) for row in facts_beside(__file__, "public_bounds.csv")
]


@dc.dataclass
class Bounds:
    """Bounds of a session.

    of: of each column that has been in the table. levels: of each category that is used. confirmed: those that their
    holder called public knowledge. shown: those under which the page first told what they clip or leave out of a
    column. looked: columns for which others were confirmed afterwards, or whose levels were taken from the file. table:
    before the edits that its editor holds, None where it is to be made anew; tables: how many there were.
    """

    of: dict[str, Pair] = dc.field(default_factory=dict)
    levels: dict[str, Levels] = dc.field(default_factory=dict)
    confirmed: dict[str, Pair | Levels] = dc.field(default_factory=dict)
    shown: dict[str, Pair | Levels] = dc.field(default_factory=dict)
    looked: set[str] = dc.field(default_factory=set)
    table: pd.DataFrame | None = None
    tables: int = 0

    def lacking(self, used: Sequence[str]) -> list[str]:
        return [column for column in used if any(map(math.isnan, self.of[column]))]

    def confirm(self, bounds: dict[str, Pair | Levels]) -> None:
        """Take bounds and levels as confirmed, and record those that differ from what the page has told about."""
        self.confirmed |= bounds
        self.looked |= {column for column, said in bounds.items() if self.shown.get(column, said) != said}

    def show(self, declared: Declared) -> None:
        """Note that the page tells what these bounds and levels clip or leave out."""
        self.shown = bounds_of(declared) | self.shown


def held_bounds() -> Bounds:
    """Bounds of this session."""
    held: Bounds = st.session_state.setdefault(_HELD, Bounds())
    return held


def bounds_of(declared: Declared) -> dict[str, Pair | Levels]:
    """Bounds or levels of each feature of a declaration."""
    pairs = zip(declared.low, declared.high, strict=True)
    return {**dict(zip(declared.columns, pairs, strict=True)), **{c.column: c.levels for c in declared.categories}}


def proposed_bounds(column: str) -> Pair:
    """Smallest and largest value of a column as its name alone suggests them; nan where it suggests none.

    >>> proposed_bounds("Age"), proposed_bounds("body_fat_%"), proposed_bounds("weight")
    ((0.0, 120.0), (0.0, 100.0), (nan, nan))
    """
    words = " ".join(re.findall("[a-z]+", column.lower().replace("%", " percent ")))
    return next(((low, high) for name, low, high in _PROPOSED if re.fullmatch(name, words)), _NO_BOUNDS)


def pasted_bounds(text: str, columns: Sequence[str], decimal: str = ".") -> dict[str, Pair]:
    """The bounds in lines of "column, smallest, largest", with tabs or semicolons as well.

    columns: the names that there are. decimal: as the file writes numbers. A first line without a number is a heading.
    Raises ValueError with the line that is none of these.

    >>> pasted_bounds("age\\t0\\t120\\nsize, cm; 40; 250", ["age", "size, cm"])
    {'age': (0.0, 120.0), 'size, cm': (40.0, 250.0)}
    """
    found: dict[str, Pair] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        separator = next((mark for mark in "\t;" if mark in line), ",")
        column, *ends = (cell.strip().strip('"') for cell in line.rsplit(separator, 2))
        numbers = [number_in(end, decimal) for end in ends]
        if not line.strip() or (number == 1 and len(ends) == 2 and all(map(math.isnan, numbers))):
            continue
        if len(ends) < 2 or not all(map(math.isfinite, numbers)):
            written = " with decimal commas, as in the file" if decimal == "," else ""
            raise ValueError(
                f"line {number} must be a column, its smallest and its largest value{written}, got {shown(line)}"
            )
        if column not in columns:
            raise ValueError(f"line {number} must begin with a column of numbers of this file, got {shown(column)}")
        if column in found:
            raise ValueError(f"line {number} must be about another column, got {shown(column)} twice")
        low, high = numbers
        if not low < high:
            raise ValueError(f"line {number} must have its smallest value first, got {ends[0]} and {ends[1]}")
        found[column] = low, high
    if not found:
        raise ValueError('a table must have a line with "column, smallest, largest", got none')
    return found


def ask_bounds(
    used: tuple[str, ...],
    categories: tuple[str, ...],
    columns: Sequence[str],
    decimal: str,
    levels_in_file: Callable[[str], Levels],
) -> tuple[list[Pair], list[Category]] | None:
    """Bounds of each column of numbers and levels of each category that is used, once all of them are confirmed.

    columns: all that have numbers. decimal: as the file writes numbers. levels_in_file: those of a column that occur.
    """
    held = held_bounds()
    if used:
        _ask_numbers(held, used, columns, decimal)
    if categories:
        st.markdown("**Levels of each category**")
        st.caption(
            "Enter every value that any record could have, from public knowledge and never from this file. Each level "
            "becomes a column that is 1 for its records and 0 for all others; a record with any other value is treated "
            "like one with a gap."
        )
        held.levels |= ask_levels(categories, CONTROLS, levels_in_file, held.looked.add, decimal)
    declared: dict[str, Pair | Levels] = {column: held.of[column] for column in used}
    declared |= {column: held.levels[column] for column in categories}
    if all(held.confirmed.get(column) == said for column, said in declared.items()):
        st.caption("You confirmed these bounds.")
        return [held.of[column] for column in used], [Category(column, held.levels[column]) for column in categories]
    if proposed := [column for column in used if held.of[column] == proposed_bounds(column)]:
        st.caption(f"Bounds proposed from the column's name: {listed(map(literal, proposed))}.")
    meant = "bounds and levels" if categories else "bounds"
    few = [column for column in categories if len(held.levels[column]) < _FEWEST_LEVELS]
    if lacking := [*held.lacking(used), *few]:
        wanted = "bounds or two levels" if few else "bounds"
        st.info(f"Nothing is computed until every column has {wanted}; still missing: {listed(map(literal, lacking))}.")
    else:
        st.button(
            f"Confirm: these {meant} are public knowledge, "
            + (
                "except those chosen after looking"
                if held.looked.intersection(declared)
                else "not taken from this file"
            ),
            on_click=held.confirm,
            args=(declared,),
        )
    return None


def _ask_numbers(held: Bounds, used: tuple[str, ...], columns: Sequence[str], decimal: str) -> None:
    """Ask for the smallest and largest value of each column of numbers."""
    import pandas as pd

    st.markdown("**Smallest and largest value of each column**")
    st.caption(
        "Enter the smallest and largest value that any record could have, from public knowledge and never from this "
        "file: bounds taken from the records reveal them. Values beyond the bounds are clipped."
    )
    for column in used:
        held.of.setdefault(column, proposed_bounds(column))
    _set_several(held, used)
    _paste(held, columns, decimal)
    key = f"{_HELD} {held.tables}"
    if held.table is None or tuple(held.table.index) != used or key not in st.session_state:
        held.tables += 1
        key = f"{_HELD} {held.tables}"
        held.table = pd.DataFrame(
            [held.of[column] for column in used], pd.Index(used, name="column"), ["smallest", "largest"], float
        )
    number = st.column_config.NumberColumn(format="%g")  # "plain" shows 50.5 as 50.49999999999999
    table = st.data_editor(
        held.table,
        disabled=["column"],
        column_config={"smallest": number, "largest": number},
        key=key,
        height=min(35 * (len(used) + 1) + 3, 300),
        placeholder="",
        alt="Smallest and largest value of each column",
    )
    held.of |= zip(used, table.itertuples(index=False, name=None), strict=True)


def _set_several(held: Bounds, used: tuple[str, ...]) -> None:
    """Ask for bounds that several columns share."""
    with st.form(f"{CONTROLS}several", clear_on_submit=True, border=False):
        which, first, second, button = st.columns([3, 1, 1, 1], vertical_alignment="bottom")
        chosen = which.multiselect(
            "Set several columns at once", used, placeholder="all columns without bounds", key=f"{CONTROLS}chosen"
        )
        low = first.number_input("Smallest", value=None, format="%g", key=f"{CONTROLS}low")
        high = second.number_input("Largest", value=None, format="%g", key=f"{CONTROLS}high")
        if not button.form_submit_button("Set bounds", width="stretch"):
            return
    if low is None or high is None or not low < high:
        given = " and ".join("none" if end is None else f"{end:.10g}" for end in (low, high))
        st.error(readable(f"The smallest value must be a number below the largest, got {given}: type both again."))
        return
    held.of |= dict.fromkeys(chosen or held.lacking(used), (low, high))
    held.table = None


def _paste(held: Bounds, columns: Sequence[str], decimal: str) -> None:
    """Ask for a table of bounds as text."""
    with st.expander("Paste bounds from a spreadsheet"), st.form(f"{CONTROLS}paste", border=False):
        text = st.text_area(
            "One line per column: name, smallest and largest value, with tabs, semicolons or commas between",
            placeholder="age, 0, 120",
            key=f"{CONTROLS}pasted",
        )
        if st.form_submit_button("Import this table"):
            try:
                found = pasted_bounds(text, columns, decimal)
            except ValueError as error:
                st.error(literal(f"No bounds were imported: {readable(str(error))}."))
                return
            held.of |= found
            held.table = None
            st.caption(f"Bounds of {len(found):,} columns were imported: check and confirm them below.")
