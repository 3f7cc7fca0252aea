"""Bars with names beside them, from 1: cost of published mechanisms, and how far published numbers are from correct.

Exhibits: none of the mechanisms keeps its guarantee.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..studies.papers.errata import three_digits
from .chart import LEGEND_ROW, Chart
from .figure import Figure
from .style import INKS, Look, Theme, with_opacity

_COST_TICKS = [mantissa * 10.0**k for k in range(5) for mantissa in (1, 2, 5)]
_TICKS = [1, 2, 5, 10, 100, 1_000, 10_000]


def exhibits_figure(
    names: Sequence[str],
    sure: Sequence[float],
    likely: Sequence[float],
    exact: Sequence[float],
    *,
    theme: Theme,
    height: int,
) -> Figure:
    """A bar for each name, top to bottom, from 1, which is what is published.

    sure, likely: the lower bounds with 99.9% and 95% confidence over what is published; exact: what it is over what
    is published, nan where that is not known.
    """
    chart = Chart(theme, height, left=250, right=18, top=14)
    places = np.arange(len(names))[::-1]
    bounds = np.array(sure, float), np.array(likely, float)
    for start, end, share, opacity in (
        (np.ones(len(names)), bounds[0], "99.9%", 0.9),
        (np.maximum(bounds[0], 1.0), bounds[1], "95%", 0.35),
    ):
        hover = f"at least %{{customdata:.3g}} times the published value ({share} confidence)"
        name, ink = f"certified, {share} confidence", chart.colours["frank_wolfe"]
        _add(chart, places, start, end, name, hover, ink, opacity)
    chart.marks(
        np.array(exact, float),
        places,
        {"symbol": "diamond", "size": 13, "color": chart.text, "line": {"color": chart.paper, "width": 2}},
        name="exact value",
        hovertemplate="exactly %{x:.3g} times the published value<extra></extra>",
    )
    largest = max(np.nanmax(bounds[1]), np.nanmax(np.append(np.array(exact, float), 1.0)))
    ticks = {"tickvals": _COST_TICKS, "ticktext": [f"{tick:g}" for tick in _COST_TICKS]}
    chart.vertical(1, color=chart.text, width=2)
    across = chart.log_axis(
        math.log10(0.85), math.log10(1.5 * largest), title="times the published value", standoff=8, **ticks
    )
    return beside_names(chart, names, across, size=14, small=14, above=29, room=0.4)


def corrections_figure(
    names: Sequence[str],
    times: Sequence[float],
    kinds: Sequence[str],
    headings: Mapping[Any, str],
    *,
    theme: Theme,
    height: int,
) -> Figure:
    """A bar for each name, below a heading that says what is wrong.

    times: how far the published value is from the correct one, >= 1. kinds: a key of `headings` for each name; those of
    the last heading are harmless, and muted.
    """
    chart = Chart(theme, height, left=260, right=18, top=14)
    lengths, rows = np.array(times, float), list[str]()
    inks = [chart.colours["frank_wolfe"]] * (len(headings) - 1) + [chart.muted]
    for (kind, words), ink in zip(headings.items(), inks, strict=True):
        here = np.array([each == kind for each in kinds])
        top = len(names) + len(headings) - 1 - len(rows)
        chart.write(f"<b>{words}</b>", 0, top, ink, yref="y", xanchor="left", bgcolor=chart.paper)
        places, hover = top - 1 - np.arange(here.sum()), f"%{{text}} times: {words}"
        told: Look = {"text": [three_digits(length) for length in lengths[here]], "textposition": "outside"}
        told |= {"textfont": {"color": INKS.get(ink, ink), "size": 12}, "constraintext": "none", "cliponaxis": False}
        _add(chart, places, np.ones(here.sum()), lengths[here], words, hover, ink, 0.9, showlegend=False, **told)
        rows += ["", *np.array(names)[here]]
    ticks = {"tickvals": _TICKS, "ticktext": [f"{tick:,}" for tick in _TICKS]}
    most = math.log10(3.0 * lengths.max())  # with room for the largest in digits
    across = chart.log_axis(0.0, most, title="factor between published and correct", standoff=8, **ticks)
    return beside_names(chart, rows, across, size=13, small=12, above=19, room=0.3)


def _add(
    chart: Chart, y: Any, start: Array, end: Array, name: str, hover: str, ink: str, opacity: float, **more: Any
) -> None:
    look = {"color": with_opacity(ink, opacity), "line": {"color": ink, "width": 1}}
    x = np.maximum(end - start, 0.0)
    chart.bars(x, y, 0.5, look, name, hover, orientation="h", base=start, customdata=end, **more)


def beside_names(
    chart: Chart, names: Sequence[str], across: Look, *, size: int, small: int, above: int, room: float
) -> Figure:
    """The chart with a name beside each of its rows, top to bottom; where it is narrow, `above` px above it. A row that
    has a heading instead has no name.

    across: the axis. size, small: px of the names, beside and above. room: above the uppermost bar, in bars.
    """
    headings = [*chart.notes]
    for name, place in zip(names, range(len(names) - 1, -1, -1), strict=True):
        if name:
            chart.write(name, 0, place, size=size, align="right", yref="y", xanchor="right", xshift=-10)
    changes = {"xanchor": "left", "xshift": 0, "yshift": above, "bgcolor": chart.paper}
    labels = [label | changes | {"font": label["font"] | {"size": small}} for label in chart.notes[len(headings) :]]
    margin = {"l": 12, "r": 12, "t": chart.top + 10, "b": chart.bottom + LEGEND_ROW * chart.entries()}
    narrow = {"margin": margin, "height": max(chart.height, 42 * len(names) + margin["t"] + margin["b"])}
    return chart.below(
        across,
        chart.axis(range=[-0.6, len(names) - room], showticklabels=False, showgrid=False),
        drop=50,
        stacked=True,
        barmode="overlay",
        narrow=narrow | {"annotations": [it | {"text": it["text"].replace("<br>", " ")} for it in headings + labels]},
    )
