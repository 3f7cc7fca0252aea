"""The step's door from inside: what is proved of it, and how much work it is."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from ...core.arrays import Array
from ...studies.perturbation.non_private_descent import DescentCost
from ..chart import LEGEND_ROW, Chart
from ..figure import Figure
from ..log_chart import decades
from ..style import Look, Theme

RULE_NAMES = {"smooth": "smooth", "averaging": "average", "last_iterate": "last iterate"}
_SYMBOLS = {"smooth": "triangle-up", "averaging": "triangle-right", "last_iterate": "triangle-down"}
_UPPER, _BREAK = 0.28, 0.1  # shares of the drawing's height
_DEPTH = 8.0
_HEADING = "excess risk above the best model's"


def bounds_figure(table: pd.DataFrame, *, lecture: Array, epsilon: float, theme: Theme, height: int) -> Figure:
    """Measured excess risk of the rules for steps below their bounds, and the lecture's bound on a panel of its own.

    table: of noisy_gd under several rules, swept over epsilon. lecture: the lecture's bound at each epsilon of the
    table, nan where it has none.
    """
    chart = Chart(theme, height, right=12)
    colour = chart.colours["gradient"]
    excess = table[(table.status == "ok") & (table.metric == "excess_empirical_risk")]
    places = np.unique(table.x.to_numpy(float))
    for rule, name in RULE_NAMES.items():
        rows = excess[excess.rule == rule]
        look: Look = {"mode": "lines+markers", "marker": {"symbol": _SYMBOLS[rule], "size": 8, "color": colour}}
        chart.curve(rows.x, rows["mean"], colour, f"{name}: measured", width=3, **look)
        look["marker"] = look["marker"] | {"symbol": f"{_SYMBOLS[rule]}-open"}
        chart.curve(rows.x, rows.bound, colour, f"{name}: bound", dash="dash", **look)
    chart.curve(places, lecture, chart.muted, "lecture: bound", axis="y2", dash="dash")
    low, top = decades([excess["mean"], excess.bound], _DEPTH)
    values = lecture[np.isfinite(lecture)]
    high = (math.log10(values.min()) - 0.2, math.log10(values.max()) + 0.2) if len(values) else (1.0, 2.0)

    chart.vertical(epsilon)
    chart.heading(_HEADING)
    chart.write("// the axis is broken here", 0, 1 - _UPPER - _BREAK / 2, chart.muted, 12)
    entries = len(chart.traces)
    pairs = math.ceil(entries / 2)
    return chart.below(
        chart.log_axis(math.log10(places[0]), math.log10(places[-1]), title="privacy budget ε", anchor="y"),
        chart.log_axis(low, top + 0.4, domain=[0, 1 - _UPPER - _BREAK]),
        chart.log_axis(*high, domain=[1 - _UPPER, 1]),
        rows=pairs,
        narrow=chart.legend(height + LEGEND_ROW * (entries - pairs), LEGEND_ROW * entries),
    )


def descent_cost_figure(made: DescentCost, *, theme: Theme, height: int) -> Figure:
    """Excess risk against the gradients computed, by all records a step and by one, each with its bound."""
    chart = Chart(theme, height, "gradients", right=12)
    for progress, name, colour in (
        (made.full, "all records a step", chart.colours["gradient"]),
        (made.single, "one record a step", chart.colours["reference"]),
    ):
        excess = np.where(progress.risks > made.best, progress.risks - made.best, np.nan)
        chart.curve(progress.gradients, excess, colour, name, label=name, width=3)
        chart.curve(progress.gradients, made.bound, colour, f"{name}: bound", dash="dash")
    chart.heading(_HEADING)
    last = math.log10(made.full.gradients[-1]) + 0.1
    return chart.below(
        chart.log_axis(0.0, last, title="gradients of one record, computed so far"),
        chart.log_axis(*decades([trace["y"] for trace in chart.traces], _DEPTH)),
        rows=2,
        narrow=chart.legend(height + 2 * LEGEND_ROW, 4 * LEGEND_ROW),
    )
