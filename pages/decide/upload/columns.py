"""The table of columns: which are used, as what, and within which bounds or levels; all are confirmed as public."""

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.core.validation import shown
from dpcore.data import Category, Declared, RawTable, TableFacts, levels_in
from pages.ui.html import listed, literal, readable

from .rows import KINDS, Row, rows_of, tidy
from .session import CONTROLS, Held, Levels, Pair, asked, held_file
from .several import ask_yes_no, draw_tools, take_dictionary

_ROW, _MOST_HEIGHT = 35, 430  # of the table, beyond which it scrolls


def ask_columns(held: Held, table: RawTable) -> Declared | None:
    """The declaration of a table by its holder, once it is confirmed. The session has the facts about it."""
    facts: TableFacts = held.kept["facts"][1]
    rows = rows_of(held)
    if not rows:
        raise ValueError("a table must have a column beside the label, got none")
    take_dictionary(held, table, rows)
    _apply_edits(held, rows, table.form.decimal if table.form else ".")
    if copies := [f"**{literal(row.name)}**" for row in rows if "copy of the answer" in row.column.reason]:
        st.warning(f"A copy of the answer? Is it known when you ask? Alone it tells the label: {listed(copies)}.")
    draw_tools(held, rows)
    ask_yes_no(held, table, rows)
    _draw(held, rows)
    used = [row for row in rows if row.use]
    drop = _ask_drop(held, table, used, facts)
    return _confirmed(held, used, facts.question.positive, drop)


def _editor(held: Held) -> str:
    return f"{CONTROLS}columns {held.frames}"


def _draw(held: Held, rows: list[Row]) -> None:
    """Draw the table. Its editor is a new one only if something but the holder's own edits has changed."""
    guessed = {"kind": [row.kind for row in rows], "remarks": [row.remarks for row in rows]}
    if held.frame is None or _editor(held) not in st.session_state or held.guessed != guessed:
        held.frames, held.guessed = held.frames + 1, guessed
        texts = {
            "kind": guessed["kind"],
            "smallest": [row.said.low if row.is_number else "" for row in rows],
            "largest": [row.said.high if row.is_number else "" for row in rows],
            "levels": ["" if row.is_number else "; ".join(row.said.levels) for row in rows],
            "from": "",
            "remarks": guessed["remarks"],
        }
        held.frame = pd.DataFrame(texts, pd.Index([row.name for row in rows], name="column"), dtype=str)
        held.frame.insert(0, "use", [row.use for row in rows])
    covered = {row.name: ", not covered by ε" if row.name in held.looked else "" for row in rows}
    origins = ["" if row.bare else row.said.origin + covered[row.name] for row in rows]
    # A browser's editor keeps what is being typed while only the values of such a column change.
    held.frame["from"] = pd.Series(origins, held.frame.index, dtype=str)
    text = st.column_config.TextColumn
    st.data_editor(
        held.frame,
        key=_editor(held),
        disabled=["column", "from", "remarks"],
        # Texts, since a browser takes what is typed into a field of numbers for another number: 0,5 for 5, 1e3 for 13.
        column_config={
            "use": st.column_config.CheckboxColumn(width=70),
            "kind": st.column_config.SelectboxColumn(options=KINDS, required=True, width=100),
            "smallest": text(width=100),
            "largest": text(width=95),
            "levels": text(width=170),
            "from": text(width=175),
            "remarks": text(width=380),
        },
        height=min(_ROW * (len(rows) + 1) + 3, _MOST_HEIGHT),
        placeholder="",
        alt="Use, kind, smallest and largest value or levels of each column",
    )
    st.caption("Question, use, kinds and remarks begin as guesses from a look at the records, which ε does not cover.")


def _apply_edits(held: Held, rows: list[Row], decimal: str) -> None:
    """Take over what the holder typed into the table, which is made anew where it must show that in other words."""
    edited = st.session_state.get(_editor(held))
    if held.frame is None or edited is None or [*held.frame.index] != [row.name for row in rows]:
        held.frame = None
        return
    for place, cells in edited["edited_rows"].items():
        row, said = rows[place], rows[place].said
        before = row.kind
        said.use = bool(cells.get("use", row.use)) if "use" in cells else said.use
        said.kind = cells.get("kind", said.kind)
        levels = levels_in(cells["levels"] or "", decimal) if "levels" in cells else said.levels
        if levels != said.levels:
            said.levels, said.origin = levels, "you"
            said.kind = "category" if levels and row.kind == "number" else said.kind
        for cell, end in (("smallest", "low"), ("largest", "high")):
            text = tidy(cells.get(cell, getattr(said, end)) or "")
            if text == getattr(said, end):
                continue
            if text and not (row.is_number or row.column.numeric):
                held.told = literal(readable(f"{shown(row.name)} holds texts: it has levels, no bounds."))
                held.frame = None
                continue
            setattr(said, end, text)
            said.origin = "you"
            if text != cells[cell]:
                held.frame = None
            if not row.is_number:
                said.kind = "number"
        if row.kind != before:
            held.frame = None


def _ask_drop(held: Held, table: RawTable, used: list[Row], facts: TableFacts) -> bool:
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
    such = f", such as {' and '.join(quoted[:3])}" if quoted else ""
    levels = "" if all(row.is_number for row in used) else " or another level"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        drop = asked(st.checkbox, name, f"Leave out rows with a gap{levels}", said, width="content")
        some = f"{int(lacking.sum()):,} of {table.rows:,} rows lack something{such}. " if lacking.any() else ""
        st.caption(f"{some}The number of records is public: leaving rows out reveals how many.")
    return bool(drop)


def _confirmed(held: Held, used: list[Row], positive: str, drop: bool) -> Declared | None:
    """The declaration, once all bounds and levels are confirmed; until then what is missing, or the button."""
    lacking: dict[str, list[str]] = {"bounds": [], "levels": []}
    wrong = False
    for row in used:
        try:
            if lacks := row.lacks():
                lacking[lacks].append(literal(row.name))
        except ValueError as error:
            wrong, told = True, readable(str(error))
            st.error(literal(f"{told[0].upper()}{told[1:]}."))
    missing = [] if positive else ["the value to predict"]
    missing += [f"{what} of {listed(names)}" for what, names in lacking.items() if names]
    missing += [] if used else ["a column that is used"]
    if missing:
        st.info(f"Still missing: {'; '.join(missing)}.")
    if missing or wrong:
        return None
    numbers = {row.name: row.pair() for row in used if row.is_number}
    categories = {row.name: row.said.levels for row in used if not row.is_number}
    said: dict[str, Pair | Levels] = {**numbers, **categories}
    if any(held.confirmed.get(column) != given for column, given in said.items()):
        kinds = [name for name, found in (("bounds", numbers), ("levels", categories)) if found]
        looked = held.looked.intersection(said)
        st.button(
            f"Confirm: these {' and '.join(kinds)} are public knowledge, "
            + ("except those chosen after looking" if looked else "not taken from this file"),
            on_click=_confirm,
            args=(said,),
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
        tuple(column for column in said if column in held.looked),
    )


def _confirm(said: dict[str, Pair | Levels]) -> None:
    if held := held_file():
        held.confirm(said)
