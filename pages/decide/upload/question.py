"""The question that a model is to answer: whether a column has a value, or at least a threshold."""

import numpy as np
import streamlit as st

from dpcore import data
from dpcore.core.validation import shown
from dpcore.data import Question, RawTable
from dpcore.data.cells import typed, typed_number
from dpcore.data.tables import threshold_in
from pages.ui.html import literal, readable

from .session import Held, inline

_THRESHOLD = "≥ a threshold"
_MOST_VALUES = 10  # of a label of numbers that begins without a threshold
_FEWEST = 3  # different numbers, of which a threshold makes fewer


def ask_question(held: Held, table: RawTable) -> Question:
    """The question: as guessed, or as the dictionary has it, unless the holder says otherwise.

    Its positive value is "" while there is none. Raises ValueError for a label of too many values.
    """
    said, columns = held.dictionary, [*table.columns]
    guess = held.keep("guessed question", table.form, lambda: data.guess_question(table))
    wanted = said.label if said and said.label in columns else guess.label
    if said and wanted != said.label:
        told = f"The dictionary does not fit this file, which has no column {shown(said.label)} for the label."
        st.warning(literal(readable(told)))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("Predict whether", width="content")
        name = f"label {table.form} {held.loaded}"
        label = inline(st.selectbox, name, "Column to predict", columns, columns.index(wanted), width=210)
        st.markdown("is", width="content")
        table = table.with_label(label)
        positive = guess.positive if label == guess.label else _guessed(held, table)
        if said and label == said.label:
            positive = said.declared.positive
        values, ordered = held.keep("values", (table.form, label), lambda: _values(table))
        return Question(label, _ask_value(f"{columns.index(label)} {name}", values, ordered, positive))


def _guessed(held: Held, table: RawTable) -> str:
    made = held.keep("guessed value", (table.form, table.label), lambda: data.guess_question(table))
    return made.positive


def _values(table: RawTable) -> tuple[tuple[str, ...], bool]:
    """Values of the label, as far as they are few, and whether a threshold may divide them."""
    numbers = np.unique(table.columns[table.label].numbers)
    ordered = bool(np.count_nonzero(~np.isnan(numbers)) >= _FEWEST)
    try:
        return table.labels[0], ordered
    except ValueError:
        if not ordered:
            raise
        return (), ordered


def _ask_value(name: str, values: tuple[str, ...], ordered: bool, positive: str) -> str:
    """The value, or a threshold like ">= 50". positive: with which the controls begin, "" for none."""
    threshold = threshold_in(positive) if positive not in values else None
    options = [*values, *([_THRESHOLD] if ordered else [])]
    at = values.index(positive) if positive in values else None
    if at is None and ordered and (threshold is not None or not 0 < len(values) <= _MOST_VALUES):
        at = len(values)
    value = inline(
        st.selectbox, f"value {name}", "Value to predict", options, at, placeholder="choose a value", width=190
    )
    if value != _THRESHOLD or _THRESHOLD in values:
        return value or ""
    begin = "" if threshold is None else typed(threshold)
    text = inline(st.text_input, f"threshold {name}", "Threshold", begin, placeholder="50", width=110)
    try:
        return f">= {typed(typed_number(text))}" if text.strip() else ""
    except ValueError as error:
        st.markdown(f":red[{literal(f'The threshold is not taken: {readable(str(error))}.')}]")
        return ""
