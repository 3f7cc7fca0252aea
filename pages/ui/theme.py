"""What theme options cannot say: the sides of the page, readable small print, a visible focus, a chart's table, and
where a phone has the slider of epsilon."""

from dpcore.core.facts import text_beside
from dpcore.figures.style import BACKGROUND, GRID, MUTED, Theme

_STYLE = text_beside(__file__, "theme.css")


def look(theme: Theme) -> str:
    """A style sheet as HTML, for every page.

    Streamlit's own captions and labels of disabled controls are paler than the 4.5:1 that small text needs.

    >>> MUTED["dark"] in look("dark")
    True
    """
    colours = f"--small-print: {MUTED[theme]}; --page: {BACKGROUND[theme]}; --rule: {GRID[theme]}"
    colours += f"; --code: {0.65 if theme == 'light' else 1.2}"
    return f"<style>:root {{ {colours} }}\n{_STYLE}</style>"
