"""How far printed numbers are from right ones: a bar for each, from 1, by what is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..figure import Figure
from ..log_chart import BOTTOM
from ..style import BACKGROUND, FAMILIES, LEGEND, LEGEND_ROW, TEXT, Theme, axis, frame, log_axis, note, with_opacity

_TOP, _LEFT = 14, 260
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
    in the order of `legend`, whose values are what the legend says. height: px.
    """
    ink, places = FAMILIES[theme]["frank_wolfe"], np.arange(len(names))[::-1]
    lengths = np.array(times, float)
    bars = []
    for (kind, words), opacity in zip(legend.items(), np.linspace(0.9, 0.0, len(legend)), strict=True):
        here = np.array([each == kind for each in kinds])
        bars.append(
            {
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
        )
    rows = LEGEND_ROW * len(legend)
    title = {"text": "times off what is right", "standoff": 8, "font": {"size": 14}}
    labels = [
        note(name, x=0, y=0, colour=TEXT[theme], size=13, align="right")
        | {"yref": "y", "y": place, "xanchor": "right", "xshift": -10}
        for name, place in zip(names, places, strict=True)
    ]
    box = LEGEND | {"orientation": "v", "x": 0, "y": -(BOTTOM - 4) / (height - _TOP - BOTTOM - rows)}
    layout = frame(theme, height) | {
        "margin": {"l": _LEFT, "r": 18, "t": _TOP, "b": BOTTOM + rows},
        "barmode": "overlay",
        "showlegend": True,
        "legend": box,
        "xaxis": log_axis(theme, 0.0, math.log10(1.3 * lengths.max()))
        | {"title": title, "tickvals": _TICKS, "ticktext": [f"{tick:,}" for tick in _TICKS]},
        "yaxis": axis(theme) | {"range": [-0.6, len(names) - 0.3], "showticklabels": False, "showgrid": False},
        "annotations": labels,
        "meta": {
            "narrow": {
                "margin": {"l": 12, "r": 12, "t": _TOP + 10, "b": BOTTOM + rows},
                "annotations": [
                    label
                    | {"font": label["font"] | {"size": 11}, "xanchor": "left", "xshift": 0, "yshift": 13}
                    | {"bgcolor": BACKGROUND[theme]}
                    for label in labels
                ],
            }
        },
    }
    return Figure(bars, layout)
