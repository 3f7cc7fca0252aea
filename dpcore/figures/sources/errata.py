"""How far printed numbers are from right ones: a bar for each, from 1, by what is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..chart import Chart
from ..figure import Figure
from ..named_bars import named_bars
from ..style import Theme, with_opacity

_TICKS = [1, 2, 5, 10, 100, 1_000, 10_000]


def corrections_figure(
    names: Sequence[str],
    times: Sequence[float],
    kinds: Sequence[str],
    legend: Mapping[Any, str],
    *,
    theme: Theme,
    height: int,
) -> Figure:
    """A bar for each name, top to bottom.

    times: how far what is printed is from what is right, >= 1. kinds: a key of `legend` for each name; the kinds fade
    in the order of `legend`, whose values are what the legend says.
    """
    chart = Chart(theme, height, left=260, right=18, top=14)
    ink, places = chart.colours["frank_wolfe"], np.arange(len(names))[::-1]
    lengths = np.array(times, float)
    for (kind, words), opacity in zip(legend.items(), np.linspace(0.9, 0.0, len(legend)), strict=True):
        here = np.array([each == kind for each in kinds])
        bars = {
            "type": "bar",
            "orientation": "h",
            "y": places[here],
            "x": lengths[here] - 1.0,
            "base": np.ones(here.sum()),
            "width": 0.45,
            "name": words,
            "marker": {"color": with_opacity(ink, float(opacity)), "line": {"color": ink, "width": 1.5}},
            "customdata": lengths[here],
            "hovertemplate": f"%{{customdata:,.3g}} times: {words}<extra></extra>",
        }
        chart.traces.append(bars)
    ticks = {"tickvals": _TICKS, "ticktext": [f"{tick:,}" for tick in _TICKS]}
    most = math.log10(1.3 * lengths.max())
    across = chart.log_axis(0.0, most, title="times off what is right", standoff=8, **ticks)
    return named_bars(chart, names, across, size=13, small=11, above=13, room=0.3)
