"""What stands folded below a picture: assumptions, formula, code and data."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    import pandas as pd


def behind(assumptions: Callable[[], str], formula: str, code: Callable[[], str], table: pd.DataFrame) -> None:
    """Pills, and what the chosen one shows; assumptions and code are asked for only when they are wanted."""
    chosen = st.pills(
        "Behind this picture",
        ["Assumptions", "Formula", "Code", "Data"],
        label_visibility="collapsed",
        key="behind",
        bind="query-params",
    )
    if chosen == "Assumptions":
        st.markdown(assumptions())
    elif chosen == "Formula":
        st.markdown(formula)
    elif chosen == "Code":
        st.code(code(), language="python", wrap_lines=True)  # what scrolls sideways is out of the keyboard's reach
    elif chosen == "Data":
        shown = table.drop(columns=["label", "axis", "x", "seconds"], errors="ignore").dropna(axis="columns", how="all")
        st.dataframe(shown, hide_index=True)
        st.download_button(
            "Download CSV", lambda: table.to_csv(index=False), "price_of_privacy.csv", "text/csv", on_click="ignore"
        )
