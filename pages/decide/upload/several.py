"""What says something of several columns: a codebook, a box, a tick, the file itself, a dictionary.

Streamlit keeps a callback and its arguments for a while: they may not hold the records.
"""

import streamlit as st

from dpcore.data import RawTable, mismatches, read_codebook
from pages.ui.html import listed, literal, readable

from .rows import Row, rows_of, tidy
from .session import CONTROLS, Held, asked, bounds_of, held_file

_CODEBOOK = f"{CONTROLS}codebook"
_YES_NO = "yes/no"


def draw_tools(held: Held, rows: list[Row]) -> None:
    """A row of buttons, and what the last one did."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.popover("Paste a codebook", key=_CODEBOOK, on_change="rerun"):
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
                disabled=not _without_levels(rows),
                help="Only if they are public knowledge anyway. This is recorded: chosen after looking at the records, "
                "not covered by ε.",
            )
        st.caption(held.told, width="content")


def _import() -> None:
    """Read a codebook that was pasted."""
    if (held := held_file()) is None:
        return
    rows = {row.name: row for row in rows_of(held)}
    numbers = [name for name, row in rows.items() if row.column.numeric]
    try:
        book = read_codebook(st.session_state[f"{CONTROLS}pasted"] or "", rows, numbers)
    except ValueError as error:
        held.wrong = literal(f"Nothing was imported: {readable(str(error))}.")
        return
    for name in (*book.bounds, *book.levels):
        rows[name].say(book.bounds.get(name, ()), book.levels.get(name, ()), "codebook")
        if rows[name].column.use:
            rows[name].said.use = True
    held.told = f"Imported: bounds of {len(book.bounds):,}, levels of {len(book.levels):,}."
    held.wrong, held.frame = "", None
    st.session_state[_CODEBOOK] = False  # closed


def _ask_several(held: Held, rows: list[Row]) -> None:
    """Ask for bounds that several columns share."""
    numbers = {row.name: row for row in rows if row.use and row.is_number}
    with st.form(f"{CONTROLS}several", clear_on_submit=True, border=False):
        chosen = st.multiselect("Columns", numbers, placeholder="all columns without bounds", key=f"{CONTROLS}chosen")
        with st.container(horizontal=True):
            low = st.text_input("Smallest", key=f"{CONTROLS}low")
            high = st.text_input("Largest", key=f"{CONTROLS}high")
        if not st.form_submit_button("Set bounds"):
            return
    for name in chosen or [name for name, row in numbers.items() if row.bare]:
        said = numbers[name].said
        said.low, said.high, said.origin = tidy(low), tidy(high), "you"
    held.frame = None


def _without_levels(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.use and row.kind == "category" and row.bare]


def _take_levels() -> None:
    """Take levels of categories that have none from the file."""
    if (held := held_file()) is None:
        return
    table: RawTable = held.kept["table"][1]
    for row in _without_levels(rows_of(held)):
        try:
            row.say((), table.levels(row.name), "the file")
        except ValueError as error:
            held.told = literal(readable(str(error)))
        else:
            held.looked.add(row.name)
    held.frame = None


def ask_yes_no(held: Held, table: RawTable, rows: list[Row]) -> None:
    """Ask whether columns with the values of a yes and a no have no others, where that is not said otherwise."""
    asked_of = [row for row in rows if row.use and row.kind == row.column.kind == _YES_NO]
    asked_of = [row for row in asked_of if row.bare or row.said.origin == _YES_NO]
    if not asked_of:
        return
    values = {row.name: table.levels(row.name) for row in asked_of}
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        taken = asked(st.checkbox, "yes no", "Yes/no columns take no other value:", False, width="content")
        named = (f"{literal(name)} ({', '.join(map(literal, found))})" for name, found in values.items())
        st.caption(listed(named), width="content")
    for row in asked_of:
        if taken == row.bare:
            numbers = [float(value) for value in values[row.name]] if taken and row.column.numeric else []
            row.say(numbers, values[row.name] if taken and not numbers else (), _YES_NO if taken else "")
            held.frame = None


def take_dictionary(held: Held, table: RawTable, rows: list[Row]) -> None:
    """Let a dictionary that has just come declare the columns, and confirm them if all of it fits."""
    found = held.dictionary
    if found is None or found.label != table.label:
        return
    declared, numbers = found.declared, [row.name for row in rows if row.column.numeric]
    try:
        values = table.labels[0]
    except ValueError:
        values = ()  # there are many, and a threshold
    if wrong := mismatches(declared, table.features, numbers, values):
        told = literal(readable("; ".join(wrong)))
        st.warning(f"The dictionary does not fit this file, so check and confirm the rest: {told}.")
    if held.fitted == found.number:
        return
    held.fitted, held.frame = found.number, None
    held.looked |= {*declared.after_looking}
    bounds = dict(zip(declared.columns, zip(declared.low, declared.high, strict=True), strict=True))
    levels = {category.column: category.levels for category in declared.categories}
    for row in rows:
        row.said.use = row.name in declared.features
        if row.said.use:
            row.say(bounds.get(row.name, ()), levels.get(row.name, ()), "dictionary")
    if not wrong:
        held.confirm(bounds_of(declared))
        st.rerun()  # to fold what is confirmed
