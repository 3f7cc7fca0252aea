"""The levels of each category of an upload: typed, pasted, from a public list, or from the file, which is recorded."""

from collections.abc import Callable, Sequence

import streamlit as st

from dpcore.core.facts import facts_beside
from dpcore.data import levels_in
from pages.ui.html import listed, literal, readable

_PUBLIC = {row["name"]: row["levels"] for row in facts_beside(__file__, "public_levels.csv")}


def ask_levels(
    columns: Sequence[str],
    key: str,
    levels_in_file: Callable[[str], tuple[str, ...]],
    looked: Callable[[str], None],
    decimal: str,
) -> dict[str, tuple[str, ...]]:
    """The levels of each column, as far as they are declared.

    key: how those of the controls begin. levels_in_file: those of a column that occur. looked: called with a column
    whose levels are taken from there.
    """

    def take(column: str, name: str | None) -> None:
        if name is not None:
            st.session_state[f"{key}levels {column}"] = _PUBLIC[name]

    def take_file_s(column: str) -> None:
        try:
            st.session_state[f"{key}levels {column}"] = "; ".join(levels_in_file(column))
        except ValueError as error:
            st.session_state[f"{key}no levels"] = readable(str(error))
        else:
            looked(column)

    found = {}
    for column in columns:
        st.markdown(f":small[Levels of {literal(column)}]")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            text = st.text_area(
                f"Levels of {column}",  # screen readers would read the backslashes of a literal
                key=f"{key}levels {column}",
                placeholder="f; m",
                height=68,
                persist_state="session",
                label_visibility="collapsed",
            )
            with st.popover("Lists"):
                chosen = st.selectbox(
                    "A public list", _PUBLIC, None, key=f"{key}list {column}", help="Typed levels are replaced."
                )
                st.button("Use this list", key=f"{key}use {column}", on_click=take, args=(column, chosen))
                st.caption(
                    "If the levels in the file are public knowledge anyway, they can be taken from there. This is "
                    "recorded: chosen after looking at the records, not covered by ε."
                )
                st.button(
                    "They are public: use those in the file",
                    key=f"{key}file {column}",
                    on_click=take_file_s,
                    args=(column,),
                )
        found[column] = levels_in(text or "", decimal)
        told = st.empty()  # a place in any case: what moves the controls below it makes them lose what is being typed
        if found[column]:
            told.caption(f"{len(found[column]):,} levels: {listed(map(literal, found[column]))}.")
    if told := st.session_state.pop(f"{key}no levels", None):
        st.error(literal(told))
    return found
