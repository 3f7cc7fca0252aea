"""How the file was read, its first rows, and what one row is."""

import math

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import data
from dpcore.data import Format, RawTable
from dpcore.data.cells import word_of
from dpcore.data.encodings import ENCODINGS
from dpcore.data.tables import Column
from pages.ui.html import literal, readable

from .session import Held, asked, inline

_ROWS, _ROW = 5, 28  # that are shown, and their height
_COLUMNS = 50  # that are shown of the rows
_HIDDEN = "•••"
_MOST_RECORDS = (1, 2, 3, 4, 5, 7, 10, 20, 50, 100)
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "|", " ": "blanks"}
_DECIMALS = {".": "decimal points", ",": "decimal commas"}
_QUOTES = {'"': "double quotes", "'": "single quotes"}
_THOUSANDS = {"": "nothing", ",": "commas", ".": "points", "'": "apostrophes", " ": "blanks"}


def ask_format(held: Held) -> RawTable:
    """The table of a file, read as guessed unless its holder says otherwise; its first rows are shown, or hidden."""
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    form = _format(held, row) if data.kind_of(held.name) == "csv" else None
    with st.spinner("Reading the file"):
        table = held.keep("table", form, lambda: data.read_table(held.content, held.name, form=form))
    with row:
        hidden = asked(st.toggle, "hide", "Hide the values", False, width="content")
    shown = [*table.columns.items()][:_COLUMNS]
    rows = range(min(_ROWS, table.rows))
    cells = {name: [_HIDDEN if hidden else _cell(column, row) for row in rows] for name, column in shown}
    height = _ROW * (len(rows) + 1) + 14  # with room for a scroll bar
    st.dataframe(pd.DataFrame(cells, dtype=str), hide_index=True, row_height=_ROW, height=height)
    if len(shown) < len(table.columns):
        st.caption(f"The first {len(shown)} of {len(table.columns):,} columns.")
    return table


def _cell(column: Column, row: int) -> str:
    number, place = float(column.numbers[row]), column.places[row]
    if not math.isnan(number):
        return word_of(number)
    return column.words[place] if place >= 0 else "…" if column.unread else ""


def ask_unit(held: Held) -> tuple[str, int] | None:
    """What one row is, and how many rows one of these has at most; None where the first is not understood."""
    said = held.dictionary
    wanted = said.records if said else 1
    choices = sorted({*_MOST_RECORDS, wanted})
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("One row is one", width="content")
        begin = said.unit if said else "person"
        unit = inline(st.text_input, f"unit {held.loaded}", "Unit", begin, max_chars=20, width=130).strip()
        try:
            known = data.check_unit(unit)
        except ValueError as error:
            known, wrong = "", str(error)
        st.markdown(f"and each {literal(known) or 'unit'} has at most", width="content")
        named = {most: "1 row" if most == 1 else f"{most:,} rows" for most in choices}
        records = inline(
            st.selectbox,
            f"records {held.loaded}",
            "Rows at most",
            choices,
            choices.index(wanted),
            format_func=named.__getitem__,
            width=120,
        )
    if not known:
        st.error(literal(f"Say what one row is, such as patient: {readable(wrong)}."))
        return None
    return known, records


def _format(held: Held, row: DeltaGenerator) -> Format:
    """Format of a CSV file. row: place for what it is."""
    guess = held.keep("guess", None, lambda: data.sniff(held.content, held.name))
    with row:
        told = st.empty()
        change = st.popover("Read it differently", type="tertiary")
    with change:
        chosen = {
            key: asked(
                st.selectbox, key, label, names, list(names).index(getattr(guess, key)), format_func=names.__getitem__
            )
            for key, label, names in (
                ("separator", "Columns are separated by", _SEPARATORS),
                ("decimal", "Numbers are written with", _DECIMALS),
                ("thousands", "Groups of three digits are separated by", _THOUSANDS),
                ("quote", "Texts stand in", _QUOTES),
                ("encoding", "Text is written in", ENCODINGS),
            )
        }
        row_names = asked(st.checkbox, "row names", "Rows begin with a name that the header lacks", guess.row_names)
    if not guess.header:
        st.warning(
            "Is the first line a header? It looks like the lines below it. Unless you say otherwise, it is read as a "
            "record, and columns are named by position."
        )
    with change if guess.header else st.container():
        header = asked(st.checkbox, "header", "The first line is a header", guess.header)
    first = "the first line is a header" if header else "the first line is a record"
    groups = f"{_THOUSANDS[chosen['thousands']]} between groups of three digits, " if chosen["thousands"] else ""
    told.caption(
        f"Read as: separated by {_SEPARATORS[chosen['separator']]}, {_DECIMALS[chosen['decimal']]}, {groups}"
        f"{ENCODINGS[chosen['encoding']]}, {first}.",
        width="content",
    )
    return Format(header=header, row_names=row_names, **chosen)
