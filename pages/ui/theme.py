"""What theme options cannot say: the sides of the page, readable small print, a visible focus, a chart's table, and
where a phone has the slider of epsilon; and how a page follows the system from one theme to the other and a picker the
keyboard."""

import streamlit as st

from dpcore.core.facts import text_beside
from dpcore.figures.style import BACKGROUND, GRID, MUTED, TEXT, Theme

_STYLE = text_beside(__file__, "theme.css")
# At import, so once per process.
_component = st.components.v2.component("theme", js=text_beside(__file__, "theme.js"), isolate_styles=False)


def look(theme: Theme) -> str:
    """A style sheet as HTML, for every page.

    Streamlit's own captions and labels of disabled controls are paler than the 4.5:1 that small text needs.

    >>> MUTED["dark"] in look("dark")
    True
    """
    colours = f"--small-print: {MUTED[theme]}; --page: {BACKGROUND[theme]}; --rule: {GRID[theme]}"
    colours += f"; --text: {TEXT[theme]}; --code: {0.65 if theme == 'light' else 1.2}"
    return f"<style>:root {{ {colours} }}\n{_STYLE}</style>"


def follow_theme() -> None:
    """Have the page drawn in the system's new theme when it changes, on every page."""
    _component(key="theme")
