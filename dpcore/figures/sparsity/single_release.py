"""One release of draws from a mixture, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...studies.sparsity.simplex.single_release import Support
from ..figure import Figure
from ..style import FAMILIES, LEGEND, LEGEND_ROW, MUTED, TEXT, Theme, axis, frame, note, plain_number

_TOP, _BOTTOM = 30, 54


def support_figure(support: Support, *, theme: Theme, height: int) -> Figure:
    """Shares of the weight, column by column: the truth, the model before the draws, and one release of m draws.

    The columns that are not listed stand together, and so do those that are zero in every record. height: px.
    """
    colour = FAMILIES[theme]["sampling"]
    groups = [(support.other_columns, "others", support.other_weight, support.other_drawn)]
    groups.append((support.idle_columns, "idle", support.idle_weight, support.idle_drawn))
    groups = [group for group in groups if group[0]]
    listed = [f"{column + 1:,}" for column in support.columns]
    names = listed + [f"{count:,}<br>{word}" for count, word, *_ in groups]
    short = listed + [f"{_short(count)}<br>{word}" for count, word, *_ in groups]
    truth = np.append(support.truth, np.zeros(len(groups)))
    weights = np.append(support.weights, [group[2] for group in groups])
    drawn = np.append(support.drawn, [group[3] for group in groups])
    places = np.arange(float(len(names)))
    plural = "draw" if support.plan.steps == 1 else "draws"
    bar = {"type": "bar", "x": places, "customdata": [name.replace("<br>", " ") for name in names]}
    hover = "column %{customdata}<br>%{fullData.name}: %{y:.3~f}<extra></extra>"
    traces: list[dict[str, Any]] = [
        bar
        | {"y": drawn, "width": 0.44, "name": f"one release, {support.plan.steps:,} {plural}"}
        | {"marker": {"color": colour}, "hovertemplate": hover},
        bar
        | {"y": truth, "width": 0.74, "name": "the truth"}
        | {"marker": {"color": "rgba(0,0,0,0)", "line": {"color": MUTED[theme], "width": 1.5}}}
        | {"hovertemplate": hover},
        {
            "type": "scatter",
            "mode": "markers",
            "x": places,
            "y": weights,
            "customdata": bar["customdata"],
            "name": "θ̂, before the draws",
            "marker": {"symbol": "line-ew", "size": 18, "line": {"color": FAMILIES[theme]["reference"], "width": 3}},
            "hovertemplate": hover,
        },
    ]
    top = 1.08 * float(max(truth.max(), weights.max(), drawn.max()))
    title = {"text": "column", "standoff": 6, "font": {"size": 14}}
    bottom = _BOTTOM + 16 + LEGEND_ROW
    legend = LEGEND | {"y": -(_BOTTOM + 18) / (height - _TOP - bottom)}
    layout = frame(theme, height) | {
        "margin": {"l": 48, "r": 16, "t": _TOP, "b": bottom},
        "barmode": "overlay",
        "showlegend": True,
        "legend": legend,
        "xaxis": axis(theme)
        | {"tickvals": places, "ticktext": names, "range": [-0.6, len(names) - 0.4], "title": title, "showgrid": False},
        "yaxis": axis(theme) | {"range": [0.0, top], "tickformat": ".0%"},
        "annotations": [note("share of the weight", x=0, y=1, yshift=18, colour=TEXT[theme], size=14)],
    }
    tall, low = height + 2 * LEGEND_ROW, bottom + 2 * LEGEND_ROW
    narrow = {
        "height": tall,
        "margin": {"l": 44, "r": 8, "t": _TOP, "b": low},
        "legend": LEGEND | {"y": -(_BOTTOM + 18) / (tall - _TOP - low)},
        "xaxis": layout["xaxis"] | {"ticktext": short, "tickangle": 0, "tickfont": {"color": TEXT[theme], "size": 10}},
    }
    return Figure(traces, layout | {"meta": {"narrow": narrow}})


def _short(count: int) -> str:
    """Exactly below a thousand, then two digits."""
    return str(count) if count < 1000 else plain_number(float(f"{count:.2g}"))
