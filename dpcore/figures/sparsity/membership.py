"""How well members are told from strangers by what is released, against epsilon."""

from __future__ import annotations

import numpy as np

from ...experiments.summary import middle
from ...studies.sparsity.l1.membership import Tracing
from ..chart import Chart
from ..figure import Figure
from ..log_chart import markers
from ..style import Theme, plain_number

_LOW, _HIGH = 0.36, 1.03  # guessing is 0.5, and chance goes below it


def tracing_figure(tracing: Tracing, *, epsilon: float, theme: Theme, height: int) -> Figure:
    """How often a member scores above a stranger (AUC) against epsilon: private releases, the best model, guessing.

    Besides, what no attack on such releases can exceed. epsilon: where the cursor stands. height: px.
    """
    chart = Chart(theme, height, right=136)
    colour, x = chart.colours["frank_wolfe"], tracing.epsilon
    low, high = middle(tracing.every_auc, 1)
    chart.band(x, low, high, colour)
    best = "best model, no privacy"
    chart.level(x, tracing.exact, chart.colours["reference"], best, label=best.replace(", ", ",<br>"))
    chart.level(x, 0.5, chart.muted, "guessing", label="guessing", dash="dot")
    chart.curve(x, tracing.limit, colour, "proved limit", label="proved limit", width=2, dash="dash")
    hover = (
        "ε = %{x}<br>private model: %{y:.3~g}<br>%{customdata[0]:.0f}% of the common signs"
        "<br>excess risk %{customdata[1]:.2~g}<extra></extra>"
    )
    chart.marked(
        *(x, tracing.auc, colour, "private model", markers(x, epsilon, colour, "diamond")),
        label="private model",
        width=3,
        customdata=np.column_stack([100 * tracing.agreement, tracing.excess]),
        hovertemplate=hover,
    )
    chart.heading("a member scores above a stranger")
    chart.cursor(epsilon, f"ε = {plain_number(epsilon)}")
    return chart.beside(
        chart.cursor_axes(x, epsilon, (560, 300), title="privacy budget ε  (smaller = more private)"),
        chart.axis(range=_bounds(tracing), tickformat=".0%", dtick=0.1),
    )


def _bounds(tracing: Tracing) -> tuple[float, float]:
    """Of the vertical axis: all that is drawn."""
    lowest = float(np.quantile(tracing.every_auc, 0.1, axis=1).min())
    return max(min(lowest - 0.02, _LOW), 0.0), _HIGH
