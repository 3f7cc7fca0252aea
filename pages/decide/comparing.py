"""The view "other mechanisms": smallest budget of each registered one, or why it does not apply."""

from collections.abc import Sequence
from typing import cast

import pandas as pd
import streamlit as st

from dpcore import list_mechanisms
from dpcore.studies.decide.compare_mechanisms import CompareQuestion, Row, ranked
from pages.background.asking import ask
from pages.decide.state import State
from pages.decide.words import budget, interval
from pages.ui.html import readable
from pages.ui.live_figure import paragraph
from pages.ui.numbers import points


def show(state: State) -> None:
    """Draw the view."""
    rows = cast("tuple[Row, ...] | None", ask(CompareQuestion(state.setting, state.answer.at_most)).snapshot)
    if not rows:
        st.caption("The first mechanism is running …")
        return
    table = ranked(rows)
    paragraph(words(table, state))
    found = [(row, row.smallest) for row in table if row.smallest]
    st.dataframe(
        pd.DataFrame(
            {
                "mechanism": [row.label for row, _ in found],
                f"smallest ε for {points(state.answer.at_most)}": [budget(smallest) for _, smallest in found],
                "95% interval": [interval(smallest) for _, smallest in found],
                "guarantee": [row.guarantee for row, _ in found],
                "loss function": [row.loss for row, _ in found],
                "models in": [row.set for row, _ in found],
            }
        ),
        hide_index=True,
        column_config={"mechanism": st.column_config.Column(width=240)},
    )
    _list("Run with another loss function:", [row for row, _ in found if row.reason])
    _list("Not applicable to these records:", [row for row in table if not row.smallest])


def _list(title: str, rows: Sequence[Row]) -> None:
    """Write a line for each mechanism with its whole reason; a table's cells would cut it."""
    if rows:
        lines = [f"- {row.label}: {readable(row.reason)}." for row in rows]
        st.markdown("\n".join([f"**{title}**", "", *lines]))


def words(table: Sequence[Row], state: State) -> str:
    """The mechanism with the smallest budget once all are tried, and how many apply."""
    known, all_of = [row for row in table if row.smallest], len(list_mechanisms())
    if len(table) < all_of:
        return (
            f"{len(table)} of {all_of} mechanisms are tried so far; which one needs the smallest ε comes with the last."
        )
    if not known or known[0].smallest is None:
        return "**No mechanism** applies to these records."
    first, verb = known[0], "applies" if len(known) == 1 else "apply"
    return (
        f"**{first.label[0].upper()}{first.label[1:]}** needs the smallest ε here: {budget(known[0].smallest)}. "
        f"{len(known)} of {all_of} mechanisms {verb}. This is a look: choosing a mechanism by this table costs privacy "
        f"that ε does not include. The plan uses {state.mechanism.label}, which follows from public facts."
    )
