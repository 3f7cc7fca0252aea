"""The view "all mechanisms": smallest budget and accuracy loss of each registered one, or why it does not apply."""

from typing import cast

import pandas as pd
import streamlit as st

from dpcore import list_mechanisms
from dpcore.studies.decide.compare_mechanisms import Row, ranked
from pages.decide.state import State
from pages.decide.words import budget, interval
from pages.ui.html import readable
from pages.ui.live_figure import paragraph
from pages.ui.numbers import points

NAME = "compare"


def show(state: State) -> None:
    """Draw the view."""
    rows = cast("tuple[Row, ...] | None", state.answers[NAME].snapshot)
    if not rows:
        st.caption("The first mechanism is running …")
        return
    table = ranked(rows)
    paragraph(words(table, state))
    ok = table[table.status == "ok"]
    st.dataframe(
        pd.DataFrame(
            {
                "": ["●" if best else "" for best in ok.best],
                "mechanism": ok.label,
                f"smallest ε for {points(state.at_most)}": [budget(found) for found in ok.smallest],
                "95% interval": [interval(found) for found in ok.smallest],
                "guarantee": ok.guarantee,
                f"accuracy loss at ε = {state.epsilon:g}, points": ok.lost.round(2),
                "± (1 s.e.)": ok.lost_se.round(2),
                "accuracy, %": (100 * ok.score).round(1),
                "attack success at most, %": ok.limit.round(1),
                "loss function": ok.loss,
                "models in": ok.set,
            }
        ),
        hide_index=True,
        column_config={"": st.column_config.Column(width=20), "mechanism": st.column_config.Column(width=240)},
    )
    _list("Run with another loss function:", ok[ok.reason != ""])
    _list("Not applicable to these records:", table[table.status != "ok"])


def _list(title: str, rows: pd.DataFrame) -> None:
    """Write a line for each mechanism with its whole reason; a table's cells would cut it."""
    if len(rows):
        lines = [f"- {label}: {readable(reason)}." for label, reason in zip(rows.label, rows.reason, strict=True)]
        st.markdown("\n".join([f"**{title}**", "", *lines]))


def words(table: pd.DataFrame, state: State) -> str:
    """The mechanism with the smallest loss, and how many apply."""
    ok, all_of = table[table.status == "ok"], len(list_mechanisms())
    so_far = "" if len(table) == all_of else f" ({len(table)} of {all_of} tried so far)"
    if ok.empty:
        return f"**No mechanism** applies to these records at ε = {state.epsilon:g}{so_far}."
    best, verb = ok[ok.best].sort_values("lost"), "applies" if len(ok) == 1 else "apply"
    tied = f" ({len(best) - 1} more cannot be told apart from it)" if len(best) > 1 else ""
    return (
        f"**{_started(best.label.iloc[0])}** has the smallest accuracy loss at ε = {state.epsilon:g}: "
        f"{points(best.lost.iloc[0])}{tied}. Always predicting the larger class has an accuracy of "
        f"{100 * ok.floor.iloc[0]:.1f}%. {len(ok)} of {all_of} mechanisms {verb}{so_far}. Choosing the "
        "best one from this table costs privacy that ε does not include. Each loss is measured as in the "
        f"chart, on the same {state.setting.splits} splits."
    )


def _started(label: str) -> str:
    """The label at the start of a sentence."""
    return label[0].upper() + label[1:]
