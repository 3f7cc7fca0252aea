"""A paper's lines beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from .figure import Figure
from .style import (
    FAMILIES,
    LEGEND,
    LEGEND_ROW,
    NOISES,
    TEXT,
    Theme,
    axis,
    family_of,
    frame,
    line,
    marker_of,
    noise_of,
    note,
    place_of,
    with_opacity,
)

_TOP, _BOTTOM, _HEIGHT = 30, 54, 420


def accuracy_lines(
    table: pd.DataFrame, printed: Mapping[str, Sequence[tuple[float, float]]], over: str, theme: Theme = "light"
) -> Figure:
    """Right of 100 against x, the mean and all runs but the outer tenths, and what the paper prints as open marks.

    table: columns run, x, mechanism ("none" is without privacy) and right; nan is a refusal. printed: mechanism ->
    (x, right of 100). over: what x is, in words.
    """
    colours = FAMILIES[theme]
    groups = table.groupby(["mechanism", "x"])["right"]
    traces: list[dict[str, Any]] = []
    for key in table.mechanism.unique():
        mean, low, high = (found[key] for found in (groups.mean(), groups.quantile(0.1), groups.quantile(0.9)))
        colour = colours["reference" if key == "none" else family_of(key)]
        name = "without privacy" if key == "none" else f"{NOISES[noise_of(key)]} noise in {place_of(key)}"
        dash = "solid" if key == "none" or noise_of(key) == "gaussian" else "dashdot"
        edge = {"type": "scatter", "mode": "lines", "line": {"width": 0}, "showlegend": False, "hoverinfo": "skip"}
        traces.append(edge | {"x": high.index.to_numpy(float), "y": high.to_numpy(float)})
        fill = {"fill": "tonexty", "fillcolor": with_opacity(colour, 0.12)}
        traces.append(edge | fill | {"x": low.index.to_numpy(float), "y": low.to_numpy(float)})
        traces.append(line(mean.index, mean, colour, name, "y", width=3, dash=dash, over=over))
        if marks := printed.get(key):
            look = marker_of(key, colour, theme, 9)
            dots = {"type": "scatter", "mode": "markers", "name": f"{name}, as printed", "showlegend": True}
            place = {"x": [x for x, _ in marks], "y": [y for _, y in marks]}
            traces.append(dots | place | {"marker": look | {"symbol": f"{look['symbol']}-open", "color": colour}})
    places = sorted(table.x.unique())
    logarithmic = places[-1] / places[0] > 100 and places[0] < 1
    rows = sum(bool(trace["showlegend"]) for trace in traces)
    tall = _HEIGHT + LEGEND_ROW * rows
    layout = frame(theme, tall) | {
        "margin": {"l": 48, "r": 20, "t": _TOP, "b": _BOTTOM + LEGEND_ROW * rows},
        "showlegend": True,
        "legend": LEGEND | {"y": -(_BOTTOM + 2) / (_HEIGHT - _TOP - _BOTTOM)},
        "xaxis": axis(theme)
        | {
            "title": {"text": over, "standoff": 10, "font": {"size": 14}},
            "type": "log" if logarithmic else "linear",
            "tickvals": places,
            "ticktext": [f"{x:,g}" if logarithmic else f"{x:,.0f}" for x in places],
        },
        "yaxis": axis(theme) | {"range": [38.0, 100.0], "dtick": 10},
        "annotations": [note("right, of 100", x=0, y=1, yshift=18, colour=TEXT[theme], size=14)],
        "meta": {"narrow": {}},
    }
    return Figure(traces, layout)
