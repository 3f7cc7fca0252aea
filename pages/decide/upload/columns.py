"""The table of columns: which are used, as what, and within which bounds or levels; all are confirmed as public."""

import dataclasses as dc
import math
import re
from collections.abc import Collection

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.core.facts import facts_beside
from dpcore.core.validation import shown
from dpcore.data import Category, ColumnFacts, Declared, RawTable, TableFacts, levels_in, mismatches, read_codebook
from dpcore.data.cells import typed, typed_number
from pages.ui.html import listed, literal, readable

from .session import CONTROLS, Held, Levels, Pair, Said, asked, bounds_of, held_file

_USE, _KIND, _LOW, _HIGH, _LEVELS, _FROM, _REMARKS = _CELLS = (
    "use",
    "kind",
    "smallest",
    "largest",
    "levels",
    "from",
    "remarks",
)
_KINDS = ["number", "yes/no", "category"]
_NAME, _HOLDER, _CODEBOOK, _YES_NO, _DICTIONARY, _FILE = (
    "its name",
    "you",
    "codebook",
    "yes/no",
    "dictionary",
    "the file",
)
_NOT_COVERED = ", not covered by ε"
_CODEBOOK_OPEN = f"{CONTROLS}codebook"
_ROW, _MOST_HEIGHT = 35, 430  # of the table, beyond which it scrolls
_FEWEST_LEVELS = 2
# Bounds of public knowledge: pattern of a column's name in small letters, smallest and largest value.
_PROPOSED = [
    (row["name"], float(row["smallest"]), float(row["largest"])) for row in facts_beside(__file__, "public_bounds.csv")
]


@dc.dataclass
class _Row:
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
        return not (self.said.low or self.said.high if self.is_number else self.said.levels)

    @property
    def remarks(self) -> str:
        column = self.column if self.is_number else dc.replace(self.column, others=0)  # a text may be a level
        return "; ".join(filter(None, [column.reason, *column.notes]))

    def origin(self, looked: Collection[str]) -> str:
        """Where bounds or levels come from. looked: columns for which they were chosen after looking."""
        return "" if self.bare else self.said.origin + _NOT_COVERED * (self.name in looked)

    def pair(self) -> Pair:
        """Bounds; nan for one that is missing, ValueError for one that is not understood."""
        low, high = (self._number(end, text) for end, text in ((_LOW, self.said.low), (_HIGH, self.said.high)))
        if low >= high:
            raise ValueError(
                f"the smallest value of {shown(self.name)} must be below the largest, got {low:g} and {high:g}"
            )
        return low, high

    def _number(self, end: str, text: str) -> float:
        try:
            return typed_number(text) if text.strip() else math.nan
        except ValueError as error:
            raise ValueError(f"the {end} value of {shown(self.name)} is not taken: {error}") from None

    def missing(self) -> str:
        """What is still to be said of a column that is used; ValueError for what is not understood."""
        if self.kind == "number" and not self.column.numeric:
            raise ValueError(
                f"column {shown(self.name)} must be a category, since it holds texts, got the kind 'number'"
            )
        if self.is_number:
            return "bounds" if any(map(math.isnan, self.pair())) else ""
        return "levels" if len(self.said.levels) < _FEWEST_LEVELS else ""


def proposed_bounds(column: str) -> Pair:
    """Smallest and largest value of a column as its name alone suggests them; nan where it suggests none.

    >>> proposed_bounds("Age"), proposed_bounds("body_fat_%"), proposed_bounds("weight")
    ((0.0, 120.0), (0.0, 100.0), (nan, nan))
    """
    words = " ".join(re.findall("[a-z]+", column.lower().replace("%", " percent ")))
    return next(((low, high) for name, low, high in _PROPOSED if re.fullmatch(name, words)), (math.nan, math.nan))


def ask_columns(held: Held, table: RawTable) -> Declared | None:
    """The declaration of a table by its holder, once it is confirmed. The session has the facts about it."""
    facts: TableFacts = held.kept["facts"][1]
    rows = _rows(held)
    if not rows:
        raise ValueError("a table must have a column beside the label, got none")
    _take_dictionary(held, table, facts, rows)
    decimal = table.form.decimal if table.form else "."
    edited = _apply_edits(held, rows, decimal)
    if copies := [f"**{literal(row.name)}**" for row in rows if "copy of the answer" in row.column.reason]:
        st.warning(f"A copy of the answer? Is it known when you ask? Alone it tells the label: {listed(copies)}.")
    _tools(held, rows)
    if _ask_yes_no(held, table, rows) or edited:
        held.frame = None
    _draw(held, rows)
    used = [row for row in rows if row.use]
    drop = _asks_to_drop(held, table, used, facts)
    return _confirmed(held, used, facts.question.positive, drop)


def _rows(held: Held) -> list[_Row]:
    return [_Row(column, _said(held, column.name)) for column in held.kept["facts"][1].columns]


def _said(held: Held, column: str) -> Said:
    if column not in held.said:
        low, high = map(typed, proposed_bounds(column))
        held.said[column] = Said(low=low, high=high, origin=_NAME if low else "")
    return held.said[column]


# The table


def _draw(held: Held, rows: list[_Row]) -> None:
    """Draw the table of columns. Its editor is a new one only if something but the holder's own edits has changed."""
    key = f"{CONTROLS}columns {held.frames}"
    guessed = {_KIND: [row.kind for row in rows], _REMARKS: [row.remarks for row in rows]}
    if held.frame is None or key not in st.session_state or held.guessed != guessed:
        held.frames, held.guessed = held.frames + 1, guessed
        key = f"{CONTROLS}columns {held.frames}"
        cells = [("" if row.is_number else "; ".join(row.said.levels)) for row in rows]
        ends = [(row.said.low, row.said.high) if row.is_number else ("", "") for row in rows]
        lows, highs = zip(*ends, strict=True)
        texts = {
            _KIND: guessed[_KIND],
            _LOW: lows,
            _HIGH: highs,
            _LEVELS: cells,
            _FROM: "",
            _REMARKS: guessed[_REMARKS],
        }
        names = pd.Index([row.name for row in rows], name="column")
        held.frame = pd.DataFrame(texts, names, dtype=str)
        held.frame.insert(0, _USE, [row.use for row in rows])
    # A browser's editor keeps what is being typed while only values of this kind change.
    held.frame[_FROM] = pd.Series([row.origin(held.looked) for row in rows], held.frame.index, dtype=str)
    text = st.column_config.TextColumn
    st.data_editor(
        held.frame,
        key=key,
        disabled=["column", _FROM, _REMARKS],
        # Texts, since a browser takes what is typed into a field of numbers for another number: 0,5 for 5, 1e3 for 13.
        column_config={
            _USE: st.column_config.CheckboxColumn(width=70),
            _KIND: st.column_config.SelectboxColumn(options=_KINDS, required=True, width=100),
            _LOW: text(width=100),
            _HIGH: text(width=95),
            _LEVELS: text(width=220),
            _FROM: text(width=180),
            _REMARKS: text(width=380),
        },
        height=min(_ROW * (len(rows) + 1) + 3, _MOST_HEIGHT),
        placeholder="",
        alt="Use, kind, smallest and largest value or levels of each column",
    )
    st.caption(
        "Question, use, kinds and remarks begin with guesses from a look at the records, which ε does not cover."
    )


def _apply_edits(held: Held, rows: list[_Row], decimal: str) -> bool:
    """Take over what the holder typed into the table; True if the table must show it in other words."""
    state = st.session_state.get(f"{CONTROLS}columns {held.frames}")
    if held.frame is None or state is None:
        return False
    if [*held.frame.index] != [row.name for row in rows]:
        held.frame = None
        return False
    other = False
    for place, edits in state["edited_rows"].items():
        row, said = rows[place], rows[place].said
        if _USE in edits:
            said.use = bool(edits[_USE])
        if _KIND in edits and said.kind != edits[_KIND]:
            said.kind, other = edits[_KIND], True
        if _LEVELS in edits and (levels := levels_in(edits[_LEVELS] or "", decimal)) != said.levels:
            said.levels, said.origin = levels, _HOLDER
            if levels and row.kind == "number":
                said.kind, other = "category", True
        for cell, end in ((_LOW, "low"), (_HIGH, "high")):
            if cell in edits and (text := _tidy(edits[cell] or "")) != getattr(said, end):
                other |= text != (edits[cell] or "")
                if text and not row.is_number and not row.column.numeric:
                    held.told, other = (
                        literal(readable(f"{shown(row.name)} holds texts: it has levels, no bounds.")),
                        True,
                    )
                    continue
                setattr(said, end, text)
                said.origin = _HOLDER
                if text and not row.is_number:
                    said.kind, other = "number", True
    return other


def _tidy(text: str) -> str:
    """A number as it was understood; what is none as it was typed."""
    try:
        return typed(typed_number(text))
    except ValueError:
        return text.strip()


# What says something of several columns


def _tools(held: Held, rows: list[_Row]) -> None:
    # Streamlit keeps a callback and its arguments for a while: they may not hold the records.
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.popover("Paste a codebook", key=_CODEBOOK_OPEN, on_change="rerun", width="content"):
            with st.form(f"{CONTROLS}paste", border=False):
                st.text_area(
                    "A line for each column: its name, smallest and largest value, or all levels",
                    placeholder="age, 0, 120\nsex: f; m",
                    key=f"{CONTROLS}pasted",
                    height=130,
                    width=420,
                )
                st.form_submit_button("Import", on_click=_import)
            if held.wrong:
                st.error(held.wrong)
        with st.popover("Set several columns at once"):
            _ask_several(held, rows)
        if any(row.use and row.kind == "category" for row in rows):
            st.button(
                "Take missing levels from the file",
                on_click=_take_levels,
                disabled=not _bare_categories(rows),
                help="Only if they are public knowledge anyway. This is recorded: chosen after looking at the records, "
                "not covered by ε.",
            )
        st.caption(held.told, width="content")


def _import() -> None:
    """Read a codebook that was pasted."""
    if (held := held_file()) is None:
        return
    rows = _rows(held)
    numbers = [row.name for row in rows if row.column.numeric]
    try:
        book = read_codebook(st.session_state[f"{CONTROLS}pasted"] or "", [row.name for row in rows], numbers)
    except ValueError as error:
        held.wrong = literal(f"Nothing was imported: {readable(str(error))}.")
        return
    for row in rows:
        said = row.said
        if row.name in book.bounds:
            said.low, said.high = map(typed, book.bounds[row.name])
            said.kind, said.levels = ("yes/no" if row.kind == "yes/no" else "number"), ()
        elif row.name in book.levels:
            said.levels = book.levels[row.name]
            said.kind = "yes/no" if row.kind == "yes/no" else "category"
        else:
            continue
        said.origin = _CODEBOOK
        if row.column.use:
            said.use = True
    told = [f"bounds of {len(book.bounds):,}"] if book.bounds else []
    told += [f"levels of {len(book.levels):,}"] if book.levels else []
    held.told, held.wrong, held.frame = f"Imported the {' and '.join(told)} columns.", "", None
    st.session_state[_CODEBOOK_OPEN] = False


def _ask_several(held: Held, rows: list[_Row]) -> None:
    """Ask for bounds that several columns share."""
    numbers = {row.name: row for row in rows if row.use and row.is_number}
    with st.form(f"{CONTROLS}several", clear_on_submit=True, border=False):
        chosen = st.multiselect("Columns", numbers, placeholder="all columns without bounds", key=f"{CONTROLS}chosen")
        with st.container(horizontal=True):
            low = st.text_input("Smallest", key=f"{CONTROLS}low")
            high = st.text_input("Largest", key=f"{CONTROLS}high")
        if not st.form_submit_button("Set bounds"):
            return
    given = Said(low=_tidy(low), high=_tidy(high))
    try:
        if any(map(math.isnan, _Row(dc.replace(rows[0].column, name="these columns"), given).pair())):
            raise ValueError("both bounds must be given, got one or none")
    except ValueError as error:
        st.error(literal(f"No bounds were set: {readable(str(error))}."))
        return
    for name in chosen or [name for name, row in numbers.items() if row.bare]:
        said = numbers[name].said
        said.low, said.high, said.origin = given.low, given.high, _HOLDER
    held.frame = None


def _bare_categories(rows: list[_Row]) -> list[_Row]:
    return [row for row in rows if row.use and row.kind == "category" and row.bare]


def _take_levels() -> None:
    """Take levels of categories that have none from the file."""
    if (held := held_file()) is None:
        return
    table: RawTable = held.kept["table"][1]
    for row in _bare_categories(_rows(held)):
        try:
            row.said.levels = table.levels(row.name)
        except ValueError as error:
            held.told = literal(readable(str(error)))
            continue
        row.said.origin = _FILE
        held.looked.add(row.name)
    held.frame = None


def _ask_yes_no(held: Held, table: RawTable, rows: list[_Row]) -> bool:
    """Ask whether yes/no columns have no other value; True if that has changed the table."""
    open_ones = [row for row in rows if row.use and row.kind == "yes/no" and (row.bare or row.said.origin == _YES_NO)]
    if not open_ones:
        return False
    values = {row.name: table.levels(row.name) for row in open_ones}
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        taken = asked(st.checkbox, "yes no", "Yes/no columns take no other value:", False, width="content")
        named = (f"{literal(name)} ({', '.join(map(literal, found))})" for name, found in values.items())
        st.caption(listed(named), width="content")
    before = [dc.replace(row.said) for row in open_ones]
    for row in open_ones:
        said = row.said
        said.low, said.high, said.levels = "", "", ()
        said.origin = _YES_NO if taken else ""
        if taken and row.column.numeric:
            said.low, said.high = (_tidy(value) for value in values[row.name][:_FEWEST_LEVELS])
        elif taken:
            said.levels = values[row.name]
    return before != [row.said for row in open_ones]


def _take_dictionary(held: Held, table: RawTable, facts: TableFacts, rows: list[_Row]) -> None:
    """Let a dictionary that has just come declare the columns, and confirm them if all of it fits."""
    found = held.dictionary
    if found is None or found.label != facts.question.label:
        return
    declared = found.declared
    numbers = [row.name for row in rows if row.column.numeric]
    wrong = mismatches(declared, table.features, numbers, _values(table))
    if wrong:
        told = literal(readable("; ".join(wrong)))
        st.warning(f"The dictionary does not fit this file, so check and confirm the rest: {told}.")
    if held.fitted == found.number:
        return
    held.fitted = found.number
    said_of_it = bounds_of(declared)
    for row in rows:
        said = row.said
        said.use = row.name in said_of_it
        if not said.use:
            continue
        said.origin = _DICTIONARY
        if row.name in declared.columns:
            said.low, said.high = map(typed, said_of_it[row.name])
            said.levels = ()
            said.kind = row.column.kind if row.column.kind == "yes/no" else "number"
        else:
            said.levels = said_of_it[row.name]
            said.kind = row.column.kind if row.column.kind == "yes/no" else "category"
    held.looked |= {*declared.after_looking}
    held.frame = None
    if not wrong:
        held.confirm(said_of_it)
        st.rerun()  # to fold what is confirmed


def _values(table: RawTable) -> tuple[str, ...]:
    try:
        return table.labels[0]
    except ValueError:
        return ()


# Rows that lack something, and the confirmation


def _asks_to_drop(held: Held, table: RawTable, used: list[_Row], facts: TableFacts) -> bool:
    """Whether to leave out rows with a gap; asks only where there are gaps, or the records did not fit."""
    positive, label = facts.question.positive, facts.label
    lacking = ~table.answers(positive)[1] if positive else table.columns[label.name].missing.copy()
    for row in used:
        column = table.columns[row.name]
        lacking |= np.isnan(column.numbers) if row.is_number else column.missing
    name = f"drop {held.loaded}"
    said = held.dictionary is not None and held.dictionary.declared.gaps == "drop"
    if not lacking.any() and not held.unfit and not st.session_state.get(f"{CONTROLS}{name}", said):
        return False
    words = dict.fromkeys(word for column in (label, *(row.column for row in used)) for word in column.gap_words)
    words |= dict.fromkeys(word for row in used if row.is_number for word in row.column.other_words)
    quoted = [f"“{literal(word)}”" if word else "empty cells" for word in words]
    levels = " or another level" if any(not row.is_number for row in used) else ""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        drop = bool(asked(st.checkbox, name, f"Leave out rows with a gap{levels}", said, width="content"))
        such = f", such as {' and '.join(quoted[:3])}" if quoted else ""
        st.caption(
            f"{int(lacking.sum()):,} of {table.rows:,} rows lack something{such}. The number of records is public: "
            "leaving rows out reveals how many.",
        )
    return drop


def _confirmed(held: Held, used: list[_Row], positive: str, drop: bool) -> Declared | None:
    """The declaration, once all bounds and levels are confirmed; until then what is missing, or the button."""
    lacking: dict[str, list[str]] = {"bounds": [], "levels": []}
    wrong = []
    for row in used:
        try:
            if lacks := row.missing():
                lacking[lacks].append(row.name)
        except ValueError as error:
            wrong.append(str(error))
    for error in wrong:
        told = readable(error)
        st.error(literal(f"{told[0].upper()}{told[1:]}."))
    missing = [] if positive else ["the value to predict"]
    missing += [f"{what} of {listed(map(literal, names))}" for what, names in lacking.items() if names]
    if not used:
        missing.append("a column that is used")
    if missing:
        st.info(f"Still missing: {'; '.join(missing)}.")
    if missing or wrong:
        return None
    numbers = {row.name: row.pair() for row in used if row.is_number}
    categories = {row.name: row.said.levels for row in used if not row.is_number}
    declared: dict[str, Pair | Levels] = {**numbers, **categories}
    if any(held.confirmed.get(column) != said for column, said in declared.items()):
        kinds = [name for name, found in (("bounds", numbers), ("levels", categories)) if found]
        looked = held.looked.intersection(declared)
        st.button(
            f"Confirm: these {' and '.join(kinds)} are public knowledge, "
            + ("except those chosen after looking" if looked else "not taken from this file"),
            on_click=_confirm,
            args=(declared,),
            type="primary",
        )
        return None
    low, high = zip(*numbers.values(), strict=True) if numbers else ((), ())
    return Declared(
        (*numbers,),
        low,
        high,
        positive,
        "drop" if drop else "refuse",
        tuple(Category(name, levels) for name, levels in categories.items()),
        tuple(column for column in declared if column in held.looked),
    )


def _confirm(declared: dict[str, Pair | Levels]) -> None:
    if held := held_file():
        held.confirm(declared)
