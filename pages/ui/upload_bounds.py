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
from dpcore.data import Category, Declared, read_codebook
from dpcore.data.cells import typed, typed_number
from pages.ui.html import listed, literal, readable
from pages.ui.upload_levels import ask_levels

if TYPE_CHECKING:
    import pandas as pd

Pair = tuple[float, float]  # nan where there is none yet
Levels = tuple[str, ...]

CONTROLS = "upload "  # how the keys of all controls begin that ask something about the file
_HELD = f"{CONTROLS}bounds"
_FEWEST_LEVELS = 2
_ENDS = ["smallest", "largest"]
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


def ask_bounds(
    used: tuple[str, ...],
    categories: tuple[str, ...],
    columns: Sequence[str],
    numeric: Sequence[str],
    decimal: str,
    levels_in_file: Callable[[str], Levels],
) -> tuple[list[Pair], list[Category]] | None:
    """Bounds of each column of numbers and levels of each category that is used, once all of them are confirmed.

    columns: all that can be features. numeric: those that have numbers. decimal: as the file writes numbers.
    levels_in_file: those of a column that occur.
    """
    held = held_bounds()
    for column in used:
        held.of.setdefault(column, proposed_bounds(column))
    _paste(held, columns, numeric)
    if used:
        _ask_numbers(held, used)
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
    bare = held.lacking(used)
    if proposed := [column for column in used if column not in bare and held.of[column] == proposed_bounds(column)]:
        st.caption(f"Bounds proposed from the column's name: {listed(map(literal, proposed))}.")
    meant = "bounds and levels" if categories else "bounds"
    few = [column for column in categories if len(held.levels[column]) < _FEWEST_LEVELS]
    if lacking := [*bare, *few]:
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


def _ask_numbers(held: Bounds, used: tuple[str, ...]) -> None:
    """Ask for the smallest and largest value of each column of numbers."""
    import pandas as pd

    st.markdown("**Smallest and largest value of each column**")
    st.caption(
        "Enter the smallest and largest value that any record could have, from public knowledge and never from this "
        "file: bounds taken from the records reveal them. Values beyond the bounds are clipped."
    )
    _set_several(held, used)
    key = f"{_HELD} {held.tables}"
    if held.table is None or tuple(held.table.index) != used or key not in st.session_state:
        held.tables += 1
        key = f"{_HELD} {held.tables}"
        texts = [[*map(typed, held.of[column])] for column in used]
        held.table = pd.DataFrame(texts, pd.Index(used, name="column"), _ENDS, str)
    # Texts, since a browser takes what is typed into a field of numbers for another number: 0,5 for 5, 1e3 for 13.
    table = st.data_editor(
        held.table,
        disabled=["column"],
        column_config={end: st.column_config.TextColumn() for end in _ENDS},
        key=key,
        height=min(35 * (len(used) + 1) + 3, 300),
        placeholder="",
        alt="Smallest and largest value of each column",
    )
    written = {(column, end): table.at[column, end] or "" for column in used for end in _ENDS}
    read = {place: _number(f"The {place[1]} value of {shown(place[0])}", text) for place, text in written.items()}
    held.of |= {column: (read[column, "smallest"], read[column, "largest"]) for column in used}
    if any(typed(number) not in ("", written[place]) for place, number in read.items()):
        held.table = None  # to show each number as it was understood
        st.rerun()


def _number(name: str, text: str) -> float:
    """A number that was typed; nan where there is none, which is told if something was typed."""
    try:
        return typed_number(text) if text.strip() else math.nan
    except ValueError as error:
        st.error(literal(readable(f"{name} is not taken: {error}.")))
        return math.nan


def _set_several(held: Bounds, used: tuple[str, ...]) -> None:
    """Ask for bounds that several columns share."""
    with st.form(f"{CONTROLS}several", clear_on_submit=True, border=False):
        which, first, second, button = st.columns([3, 1, 1, 1], vertical_alignment="bottom")
        chosen = which.multiselect(
            "Set several columns at once", used, placeholder="all columns without bounds", key=f"{CONTROLS}chosen"
        )
        low = first.text_input("Smallest", key=f"{CONTROLS}low")
        high = second.text_input("Largest", key=f"{CONTROLS}high")
        if not button.form_submit_button("Set bounds", width="stretch"):
            return
    smallest, largest = _number("The smallest value", low), _number("The largest value", high)
    if smallest < largest:
        held.of |= dict.fromkeys(chosen or held.lacking(used), (smallest, largest))
        held.table = None
    else:
        given = " and ".join(f"{end:.10g}" if math.isfinite(end) else "none" for end in (smallest, largest))
        st.error(readable(f"The smallest value must be a number below the largest, got {given}: type both again."))


def _paste(held: Bounds, columns: Sequence[str], numeric: Sequence[str]) -> None:
    """Ask for a table of bounds and levels as text."""
    with st.expander("Paste bounds from a spreadsheet"), st.form(f"{CONTROLS}paste", border=False):
        text = st.text_area(
            "One line per column: name, smallest and largest value, or all levels, with tabs, semicolons or commas "
            "between",
            placeholder="age, 0, 120\nsex: f; m",
            key=f"{CONTROLS}pasted",
        )
        if st.form_submit_button("Import this table"):
            try:
                book = read_codebook(text, columns, numeric)
            except ValueError as error:
                st.error(literal(f"Nothing was imported: {readable(str(error))}."))
                return
            held.of |= book.bounds
            held.table = None
            for column, levels in book.levels.items():
                st.session_state[f"{CONTROLS}levels {column}"] = "; ".join(levels)
            told = [f"bounds of {len(book.bounds):,}"] if book.bounds else []
            told += [f"levels of {len(book.levels):,}"] if book.levels else []
            st.caption(f"Imported the {' and '.join(told)} columns: check and confirm them below.")
