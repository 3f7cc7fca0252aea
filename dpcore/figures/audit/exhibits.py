"""What printed mechanisms really cost, in multiples of what they print. Exhibits: none of them keeps its promise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..chart import Chart
from ..figure import Figure
from ..named_bars import named_bars
from ..style import Theme, with_opacity

_TICKS = [mantissa * 10.0**k for k in range(5) for mantissa in (1, 2, 5)]


def exhibits_figure(
    names: Sequence[str],
    sure: Sequence[float],
    likely: Sequence[float],
    exact: Sequence[float],
    *,
    theme: Theme,
    height: int,
) -> Figure:
    """A bar for each name, top to bottom, from 1, which is what is printed.

    sure, likely: the lower bounds with 99.9% and 95% confidence over what is printed; exact: what it is over what is
    printed, nan where that is not known.
    """
    chart = Chart(theme, height, left=250, right=18, top=14)
    ink, places = chart.colours["frank_wolfe"], np.arange(len(names))[::-1]
    bounds = np.array(sure, float), np.array(likely, float)
    for start, end, share, opacity in (
        (np.ones(len(names)), bounds[0], "99.9%", 0.9),
        (np.maximum(bounds[0], 1.0), bounds[1], "95%", 0.35),
    ):
        bars = {
            "type": "bar",
            "orientation": "h",
            "y": places,
            "x": np.maximum(end - start, 0.0),
            "base": start,
            "width": 0.55,
            "name": f"costs at least so much, {share}",
            "marker": {"color": with_opacity(ink, opacity), "line": {"color": ink, "width": 1}},
            "customdata": end,
            "hovertemplate": f"at least %{{customdata:.3g}} times what is printed ({share})<extra></extra>",
        }
        chart.traces.append(bars)
    chart.marks(
        np.array(exact, float),
        places,
        {"symbol": "diamond", "size": 13, "color": chart.text, "line": {"color": chart.paper, "width": 2}},
        name="computed without chance",
        hovertemplate="%{x:.3g} times what is printed, computed without chance<extra></extra>",
    )
    largest = max(np.nanmax(bounds[1]), np.nanmax(np.append(np.array(exact, float), 1.0)))
    ticks = {"tickvals": _TICKS, "ticktext": [f"{tick:g}" for tick in _TICKS]}
    chart.vertical(1, color=chart.text, width=2)
    across = chart.log_axis(
        math.log10(0.85), math.log10(1.5 * largest), title="times what is printed", standoff=8, **ticks
    )
    return named_bars(chart, names, across, size=14, small=14, above=29, room=0.4)
