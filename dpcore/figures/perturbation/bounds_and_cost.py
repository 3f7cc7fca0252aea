"""The step's door from inside: what is proved of it, and how much work it is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import Array
from ...studies.perturbation.non_private_descent import DescentCost
from ..figure import Figure
from ..style import (
    FAMILIES,
    LEGEND,
    LEGEND_ROW,
    MUTED,
    TEXT,
    Theme,
    decades,
    end_labels,
    frame,
    last_drawn,
    line,
    log_axis,
    note,
    vertical,
)

RULE_NAMES = {"smooth": "smooth", "averaging": "average", "last_iterate": "last iterate"}
_SYMBOLS = {"smooth": "triangle-up", "averaging": "triangle-right", "last_iterate": "triangle-down"}
_TOP, _BOTTOM, _LEFT, _RIGHT = 30, 54, 58, 12
_UPPER, _BREAK = 0.28, 0.1  # shares of the drawing's height
_DEPTH = 8.0


def bounds_figure(table: pd.DataFrame, *, lecture: Array, epsilon: float, theme: Theme, height: int) -> Figure:
    """Measured excess risk of the rules for steps below their bounds, and the lecture's bound on a panel of its own.

    table: of noisy_gd under several rules, swept over epsilon. lecture: the lecture's bound at each epsilon of the
    table, nan where it has none. epsilon: where the cursor stands. height: px.
    """
    colour = FAMILIES[theme]["gradient"]
    excess = table[(table.status == "ok") & (table.metric == "excess_empirical_risk")]
    places = np.unique(table.x.to_numpy(float))
    traces: list[dict[str, Any]] = []
    for rule, name in RULE_NAMES.items():
        rows = excess[excess.rule == rule]
        marker = {"symbol": _SYMBOLS[rule], "size": 8, "color": colour}
        measured = line(rows.x, rows["mean"], colour, f"{name}: measured", "y", width=3)
        traces.append(measured | {"mode": "lines+markers", "marker": marker})
        proved = line(rows.x, rows.bound, colour, f"{name}: bound", "y", dash="dash")
        traces.append(proved | {"mode": "lines+markers", "marker": marker | {"symbol": f"{_SYMBOLS[rule]}-open"}})
    traces.append(line(places, lecture, MUTED[theme], "lecture: bound", "y2", dash="dash"))
    low, top = decades(excess, ("mean", "bound"), _DEPTH)
    values = lecture[np.isfinite(lecture)]
    high = (math.log10(values.min()) - 0.2, math.log10(values.max()) + 0.2) if len(values) else (1.0, 2.0)

    pairs = math.ceil(len(traces) / 2)
    words = {"text": "privacy budget ε", "standoff": 10, "font": {"size": 14}}

    made = frame(theme, height) | _with_legend(pairs, height)
    made |= {
        "showlegend": True,
        "xaxis": log_axis(theme, math.log10(places[0]), math.log10(places[-1])) | {"title": words, "anchor": "y"},
        "yaxis": log_axis(theme, low, top + 0.4) | {"domain": [0, 1 - _UPPER - _BREAK]},
        "yaxis2": log_axis(theme, *high) | {"domain": [1 - _UPPER, 1]},
        "shapes": [vertical(epsilon, MUTED[theme])],
        "annotations": [
            note("excess risk above the best model's", x=0, y=1, yshift=18, colour=TEXT[theme], size=14),
            note("// the axis is broken here", x=0, y=1 - _UPPER - _BREAK / 2, colour=MUTED[theme], size=12),
        ],
        "meta": {"narrow": _with_legend(len(traces), height + LEGEND_ROW * (len(traces) - pairs))},
    }
    return Figure(traces, made)


def work_figure(made: DescentCost, *, theme: Theme, height: int) -> Figure:
    """Excess risk against the gradients computed, by all records a step and by one, each with its bound. height: px."""
    colours = FAMILIES[theme]
    curves = (
        (made.full, "all records a step", colours["gradient"], "solid"),
        (made.single, "one record a step", colours["reference"], "solid"),
    )
    traces, ends = [], []
    for progress, name, colour, dash in curves:
        excess = np.where(progress.risks > made.best, progress.risks - made.best, np.nan)
        traces.append(line(progress.gradients, excess, colour, name, "y", width=3, dash=dash, over="gradients"))
        ends.append(("y", last_drawn(excess), name, colour))
        traces.append(
            line(progress.gradients, made.bound, colour, f"{name}: bound", "y", dash="dash", over="gradients")
        )
    drawn = np.concatenate([trace["y"] for trace in traces])
    drawn = drawn[np.isfinite(drawn)]
    low, high = (math.log10(drawn.min()), math.log10(drawn.max())) if len(drawn) else (-3.0, 0.0)
    powers = max(low, high - _DEPTH) - 0.15, high + 0.15
    _, beyond = end_labels(ends, {"y": (powers, float(height))}, theme, ("y",))
    words = {"text": "gradients of one record, computed so far", "standoff": 10, "font": {"size": 14}}

    made_layout = frame(theme, height) | _with_legend(2, height)
    made_layout |= {
        "showlegend": True,
        "xaxis": log_axis(theme, 0.0, math.log10(made.full.gradients[-1]) + 0.1) | {"title": words},
        "yaxis": log_axis(theme, *powers),
        "annotations": [
            note("excess risk above the best model's", x=0, y=1, yshift=18, colour=TEXT[theme], size=14),
            *beyond,
        ],
        "meta": {"narrow": _with_legend(4, height + 2 * LEGEND_ROW)},
    }
    return Figure(traces, made_layout)


def _with_legend(rows: int, size: int) -> dict[str, Any]:
    """Height and margins of a chart with a legend of so many rows below its axis."""
    bottom = _BOTTOM + LEGEND_ROW * rows
    return {
        "height": size,
        "margin": {"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": bottom},
        "legend": LEGEND | {"y": -(_BOTTOM + 2) / (size - _TOP - bottom)},
    }
