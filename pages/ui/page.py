"""A page from top to bottom: question, headline and pickers, the chart and what stands beside it, and what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from dpcore import NotApplicable, Unconverged
from dpcore.figures.figure import Figure
from pages.server import prefetch
from pages.ui.chips import chips
from pages.ui.details import FIGURES, behind, cards
from pages.ui.html import emphasised, plain
from pages.ui.live_figure import captioned_figure, live_figure, paragraph, small_print
from pages.ui.pickers import switch
from pages.ui.sidebar import Controls

if TYPE_CHECKING:
    import pandas as pd

Made = TypeVar("Made")


def or_reason(make: Callable[[], Made]) -> tuple[Made | None, str]:
    """What is made, and ""; or None, and why there is none."""
    try:
        return make(), ""
    except (NotApplicable, Unconverged) as error:
        return None, str(error)


class Page:
    """The places of a page, in the order in which a reader meets them; a script fills each when it has what goes there.

    pickers: above the chart. left, right: once `halves` has parted the page, the chart's column and the other one.
    """

    def __init__(self, question: str) -> None:
        st.session_state.pop(FIGURES, None)  # an earlier run may have ended half-way
        st.title(question, anchor=False)
        self._headline = st.container(key="headline")
        self.pickers = st.container(horizontal=True, vertical_alignment="center", key="pickers")

    def headline(self, *sentences: str, colour: str) -> None:
        """Sentences above the pickers; what stands between ** has the colour. Empty ones are left out."""
        self._headline.html("".join(emphasised(sentence, colour) for sentence in sentences if sentence))

    def halves(self, share: float = 1.5, key: str = "halves") -> None:
        """Two columns, the chart's so many times as wide as the other."""
        self.left, self.right = st.container(key=key).columns([share, 1], gap="medium")
        self._chart = self.left.container(key="chart")

    def chart(
        self,
        figure: Figure,
        sentence: str,
        *,
        key: str,
        height: int,
        ahead: tuple[prefetch.Draw, Controls] | None = None,
        verdict: str = "",
        caption: str,
    ) -> None:
        """The page's chart, with its sentence for screen readers; below it where its bounds are informative, and what
        it shows. ahead: as `live_figure` takes it."""
        with self._chart:
            live_figure(figure, key=key, alt=plain(sentence), height=height, ahead=ahead)
        with self.left:
            if verdict:
                paragraph(verdict)
            small_print(caption)

    def wide_chart(self, figure: Figure, sentence: str, *, key: str, height: int) -> None:
        """The chart of a page that is not parted, with its sentence for screen readers."""
        with st.container(key="chart"):
            live_figure(figure, key=key, alt=plain(sentence), height=height)

    def beside(
        self,
        sides: Sequence[str],
        draw: Callable[[str], tuple[Figure, str] | str],
        *,
        key: str,
        chart: str,
        height: int,
    ) -> None:
        """One of several side views, as the reader picks it. draw: its figure and caption, or why there is none.

        key: of the picker; chart: of the figure.
        """
        with self.right:
            drawn = draw(switch("Beside the chart", sides, sides[0], key=key, wrap=True))
            if isinstance(drawn, str):
                small_print(drawn)
            else:
                captioned_figure(*drawn, key=chart, height=height)

    def below(
        self,
        readouts: Sequence[tuple[str, str, str]],
        offered: Iterable[tuple[str, Mapping[str, Any]]],
        assumptions: Callable[[], str],
        formula: str,
        code: Callable[[], str],
        data: Callable[[], pd.DataFrame],
    ) -> None:
        """Cards, chips and details: what `cards`, `chips` and `behind` take."""
        cards(readouts)
        chips(offered)
        behind(assumptions, formula, code, data)
