"""The panel of door zero: three answers without noise, each of which prints somebody's record."""

from __future__ import annotations

import numpy as np
import streamlit as st

from dpcore import figures
from dpcore.door_zero import median_leak, polynomial_fit, support_vector_leak
from pages.doors import words
from pages.ui.live_figure import live_figure

HEIGHT = 300


def show_door_zero(seed: int, theme: figures.Theme) -> None:
    """A picker, a figure and what it shows. seed: of the records."""
    st.markdown(words.ZERO)
    chosen = st.segmented_control(
        "What is published without noise",
        list(words.LEAKS),
        default="median",
        format_func=words.LEAKS.__getitem__,
        key="leak",
        required=True,
        label_visibility="collapsed",
        bind="query-params",
    )
    if chosen == "curve":
        fit = polynomial_fit(seed)
        figure, said = figures.fit_figure(fit, theme=theme, height=HEIGHT), words.curve_words(fit)
    elif chosen == "median":
        leak = median_leak(seed)
        marks = np.array([leak.printed_before]), np.array([leak.printed_after])
        title = "salary (line: published, ◇: replaced)"
        figure = figures.leak_figure(leak, marks=marks, title=title, theme=theme, height=HEIGHT)
        said = words.median_words(leak)
    else:
        leak = support_vector_leak(seed)
        sides = np.array([-1.0, 1.0])
        marks = sides / leak.printed_before, sides / leak.printed_after
        title = "feature x (lines: ±1/θ, ◇: replaced)"
        figure = figures.leak_figure(leak, marks=marks, title=title, theme=theme, height=HEIGHT)
        said = words.vector_words(leak)
    live_figure(figure, key=f"zero_{chosen}", alt=said.replace("**", ""), height=HEIGHT)
    st.markdown(said)
