"""What printed mechanisms really cost, in multiples of what they print. Exhibits: none of them keeps its promise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..figure import Figure
from ..log_chart import BOTTOM
from ..style import BACKGROUND, FAMILIES, LEGEND, LEGEND_ROW, TEXT, Theme, axis, frame, log_axis, note, with_opacity

_TOP, _LEFT = 14, 250
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
    """A bar for each name, top to bottom, from 1, which is what is printed. px.

    sure, likely: the lower bounds with 99.9% and 95% confidence over what is printed; exact: what it is over what is
    printed, nan where that is not known.
    """
    ink, places = FAMILIES[theme]["frank_wolfe"], np.arange(len(names))[::-1]
    bounds = np.array(sure, float), np.array(likely, float)
    bars = [
        {
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
        for start, end, share, opacity in (
            (np.ones(len(names)), bounds[0], "99.9%", 0.9),
            (np.maximum(bounds[0], 1.0), bounds[1], "95%", 0.35),
        )
    ]
    computed = {
        "type": "scatter",
        "mode": "markers",
        "x": np.array(exact, float),
        "y": places,
        "name": "computed without chance",
        "marker": {
            "symbol": "diamond",
            "size": 13,
            "color": TEXT[theme],
            "line": {"color": BACKGROUND[theme], "width": 2},
        },
        "hovertemplate": "%{x:.3g} times what is printed, computed without chance<extra></extra>",
    }
    rows = LEGEND_ROW * 3
    largest = max(np.nanmax(bounds[1]), np.nanmax(np.append(np.array(exact, float), 1.0)))
    title = {"text": "times what is printed", "standoff": 8, "font": {"size": 14}}
    legend = LEGEND | {"orientation": "v", "x": 0, "y": -(BOTTOM - 4) / (height - _TOP - BOTTOM - rows)}
    printed = {"type": "line", "xref": "x", "yref": "paper", "x0": 1, "x1": 1, "y0": 0, "y1": 1}
    labels = [
        note(name, x=0, y=0, colour=TEXT[theme], size=14, align="right")
        | {"yref": "y", "y": place, "xanchor": "right", "xshift": -10}
        for name, place in zip(names, places, strict=True)
    ]
    layout = frame(theme, height) | {
        "margin": {"l": _LEFT, "r": 18, "t": _TOP, "b": BOTTOM + rows},
        "barmode": "overlay",
        "showlegend": True,
        "legend": legend,
        "xaxis": log_axis(theme, math.log10(0.85), math.log10(1.5 * largest))
        | {"title": title, "tickvals": _TICKS, "ticktext": [f"{tick:g}" for tick in _TICKS]},
        "yaxis": axis(theme) | {"range": [-0.6, len(names) - 0.4], "showticklabels": False, "showgrid": False},
        "shapes": [printed | {"line": {"color": TEXT[theme], "width": 2}}],
        "annotations": labels,
        "meta": {
            "narrow": {
                "margin": {"l": 12, "r": 12, "t": _TOP + 10, "b": BOTTOM + rows},
                "annotations": [
                    label
                    | {"text": label["text"].replace("<br>", " "), "xanchor": "left", "xshift": 0, "yshift": 29}
                    | {"bgcolor": BACKGROUND[theme]}
                    for label in labels
                ],
            }
        },
    }
    return Figure([*bars, computed], layout)
