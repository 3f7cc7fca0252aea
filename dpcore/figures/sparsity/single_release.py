"""One release of draws from a mixture, column by column."""

from __future__ import annotations

import numpy as np

from ...studies.sparsity.simplex.single_release import Support
from ..chart import LEGEND_ROW, Chart
from ..figure import Figure
from ..style import Look, Theme, plain_number


def support_figure(support: Support, *, theme: Theme, height: int) -> Figure:
    """Shares of the weight, column by column: the truth, the model before the draws, and one release of m draws.

    The columns that are not listed stand together, and so do those that are zero in every record. height: px.
    """
    chart = Chart(theme, height, left=48, right=16, bottom=70)
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
    told: Look = {
        "customdata": [name.replace("<br>", " ") for name in names],
        "hovertemplate": "column %{customdata}<br>%{fullData.name}: %{y:.3~f}<extra></extra>",
    }
    for y, width, name, look in (
        (drawn, 0.44, f"one release, {support.plan.steps:,} {plural}", {"color": chart.colours["sampling"]}),
        (truth, 0.74, "the truth", {"color": "rgba(0,0,0,0)", "line": {"color": chart.muted, "width": 1.5}}),
    ):
        chart.traces.append({"type": "bar", "x": places, "y": y, "width": width, "name": name, "marker": look} | told)
    dash = {"symbol": "line-ew", "size": 18, "line": {"color": chart.colours["reference"], "width": 3}}
    chart.marks(places, weights, dash, name="θ̂, before the draws", **told)
    top = 1.08 * float(max(truth.max(), weights.max(), drawn.max()))
    chart.heading("share of the weight")
    across = chart.axis("column", 6, tickvals=places, range=[-0.6, len(names) - 0.4], showgrid=False)
    ticks = {"ticktext": short, "tickangle": 0, "tickfont": {"color": chart.text, "size": 10}}
    narrow = chart.legend(height + 2 * LEGEND_ROW, 3 * LEGEND_ROW, drop=72, sides=(44, 8))
    return chart.below(
        across | {"ticktext": names},
        chart.axis(range=[0.0, top], tickformat=".0%"),
        rows=1,
        drop=72,
        barmode="overlay",
        narrow=narrow | {"xaxis": across | ticks},
    )


def _short(count: int) -> str:
    """Exactly below a thousand, then two digits."""
    return str(count) if count < 1000 else plain_number(float(f"{count:.2g}"))
