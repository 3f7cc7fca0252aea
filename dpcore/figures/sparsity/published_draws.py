"""How many draws a theorem allows, against the number of people."""

from __future__ import annotations

import math

import numpy as np

from ...studies.sparsity.simplex.published_draws import PublishedDraws
from ..chart import Chart
from ..figure import Figure
from ..style import Look, Theme, with_opacity


def published_draws_figure(draws: PublishedDraws, *, n: int, theme: Theme, height: int) -> Figure:
    """Draws m against people, on log axes: Theorem 4 as printed, and proved here; below one draw nothing is released.

    n: where the cursor stands. height: px.
    """
    chart = Chart(theme, height, "n", left=62, right=108)
    for name, values, width, dash in (
        ("proved here", draws.ours, 3.0, "solid"),
        ("as printed", draws.published, 2.0, "dash"),
    ):
        chart.curve(draws.n, values, chart.colours["sampling"], name, label=name, width=width, dash=dash)
    both = np.concatenate([draws.ours, draws.published])
    low = math.log10(np.min(both, where=np.isfinite(both), initial=1.0)) - 0.3
    high = math.log10(np.max(both, where=np.isfinite(both), initial=10.0)) + 0.3
    less = {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "yref": "y", "y0": 10.0**low, "y1": 1.0}
    fill = {"layer": "below", "fillcolor": with_opacity(chart.muted, 0.14), "line": {"width": 0}}
    chart.shapes.append(less | fill)
    chart.heading("random draws m")
    place: Look = {"xanchor": "right", "yshift": 10, "xshift": -6}
    chart.write("less than one draw: no release", 1, 0, chart.muted, **place)
    chart.cursor(n, f"n = {n:,}")
    axes = [
        made | {"ticktext": [text if k % 2 == 0 else "" for k, text in enumerate(made["ticktext"])]}
        for made in chart.cursor_axes(draws.n, n, (360, 280), title="people n")
    ]
    return chart.beside(axes, chart.log_axis(low, high), phone=(58, 30), rows=len(chart.traces))
