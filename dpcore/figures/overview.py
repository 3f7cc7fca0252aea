"""What privacy costs: accuracy over excess risk against epsilon."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from ..experiments.summary import LEAST_BANDED
from ..mechanisms import mechanism_class
from .figure import Figure
from .style import (
    BACKGROUND,
    FAMILIES,
    LARGER,
    MUTED,
    TEXT,
    Theme,
    axis,
    band,
    decades,
    dot,
    end_labels,
    flag,
    frame,
    line,
    log_axis,
    note,
    plain_number,
    vertical,
    zero_or_below,
)

_TOP, _BOTTOM, _RIGHT, _LEFT, _GAP = 30, 54, 150, 52, 62
_SHARE = 0.6  # of the drawing height for the upper panel


def cost_figure(
    table: pd.DataFrame,
    *,
    epsilon: float,
    accuracy_title: str,
    theme: Theme,
    height: int,
    decision: float | None = None,
) -> Figure:
    """Accuracy against epsilon over excess empirical risk against epsilon, with band, larger class, bound and a cursor.

    table: of one mechanism swept over epsilon, as `dpcore.run` gives it. epsilon: where the cursor stands.
    accuracy_title: what is counted, in words. decision: epsilon to mark as the budget question's answer. height: px.
    """
    colours = FAMILIES[theme]
    ok = table[table.status == "ok"]
    accuracy = ok[ok.metric == "accuracy"]
    excess = ok[ok.metric == "excess_empirical_risk"]
    main = colours[mechanism_class(table.mechanism.iloc[0]).family]
    drawing = height - _TOP - _BOTTOM - _GAP
    split = 1 - _SHARE * drawing / (height - _TOP - _BOTTOM)  # lower edge of the upper panel, paper units
    low_top = (1 - _SHARE) * drawing / (height - _TOP - _BOTTOM)

    budgets = table.x.unique()
    percent = _accuracy_range(accuracy)
    powers = decades(excess)
    floor = 10.0 ** powers[0]
    traces = [
        *band(accuracy, main, "y", 100.0),
        line(accuracy.x, 100 * accuracy["mean"], main, "private, on average", "y", width=3),
        line(
            budgets, [100 * _first(accuracy, "reference")] * len(budgets), colours["reference"], "without privacy", "y"
        ),
        line(budgets, [100 * _first(accuracy, "larger_class")] * len(budgets), MUTED[theme], LARGER, "y", dash="dot"),
        *band(excess, main, "y2", 1.0, floor),
        line(excess.x, excess["mean"], main, "private, on average", "y2", width=3, legend=False),
        line(excess.x, excess.bound, main, "upper bound, proved", "y2", dash="dash"),
        line(excess.x, excess.noiseless, colours["reference"], "regularisation alone", "y2", dash="dot"),
        zero_or_below(excess.x, excess["mean"], main, "private, on average", "y2", floor),
        dot(accuracy, epsilon, main, theme, "y", 100.0),
        dot(excess, epsilon, main, theme, "y2", 1.0),
        _decision(accuracy, decision, main, theme),
    ]
    banded = "<br>(band: 8 of 10 runs)" if ok.repetitions.max() >= LEAST_BANDED else ""
    ends = [
        ("y", 100 * _first(accuracy, "reference"), "without privacy", colours["reference"]),
        ("y", 100 * _first(accuracy, "larger_class"), LARGER, MUTED[theme]),
        ("y", 100 * _last(accuracy, "mean"), f"private, on average{banded}", main),
        ("y2", _last(excess, "bound"), "upper bound, proved", main),
        ("y2", _last(excess, "mean"), "private, on average", main),
        ("y2", _last(excess, "noiseless"), "regularisation alone", colours["reference"]),
    ]
    panels = {"y": (percent, _SHARE * drawing), "y2": (powers, (1 - _SHARE) * drawing)}
    titles = [
        note(accuracy_title, x=0, y=1, yshift=18, colour=TEXT[theme], size=14),
        note("excess risk above the best model's", x=0, y=low_top, yshift=18, colour=TEXT[theme], size=14),
    ]
    cursor = flag(f"ε = {plain_number(epsilon)}", epsilon, TEXT[theme], BACKGROUND[theme])
    flags = [cursor, *_decision_label(accuracy, decision, main, percent)]
    labels, beyond = end_labels(ends, panels, theme)
    budget = {"text": "privacy budget ε  (smaller = more private)", "standoff": 10, "font": {"size": 14}}
    layout = frame(theme, height) | {
        "margin": {"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": _BOTTOM},
        "showlegend": False,
        "xaxis": log_axis(theme, -2, 1) | {"anchor": "y2", "title": budget},
        "yaxis": axis(theme) | {"domain": [split, 1], "range": list(percent), "dtick": 10},
        "yaxis2": log_axis(theme, *powers) | {"domain": [0, low_top]},
        "shapes": [vertical(epsilon, MUTED[theme])],
        "annotations": [*titles, *flags, *labels],
        "meta": {
            "narrow": {
                "height": height + 60,
                "margin": {"l": 44, "r": 26, "t": _TOP, "b": 128},  # half a cursor flag on the right
                "annotations": [*titles, *flags, *beyond],
                "showlegend": True,
                "legend": {
                    **{"orientation": "h", "traceorder": "normal", "x": 0, "y": -0.18, "yanchor": "top"},
                    "font": {"size": 13},
                },
            }
        },
    }
    return Figure(traces, layout)


def _accuracy_range(rows: pd.DataFrame) -> tuple[float, float]:
    """From 50%, below which no larger class is, or a round number below everything that is drawn, to one above it."""
    drawn = 100 * rows[["mean", "q10", "q90", "reference"]].to_numpy(float)
    low, top = (np.nanmin(drawn), np.nanmax(drawn)) if np.isfinite(drawn).any() else (50.0, 100.0)
    return min(50.0, 10.0 * math.floor(low / 10)), min(101.0, 5 * math.ceil((top + 1) / 5) + 0.5)


def _first(rows: pd.DataFrame, column: str) -> float:
    return float(rows[column].iloc[0]) if len(rows) else math.nan


def _last(rows: pd.DataFrame, column: str) -> float:
    return float(rows[column].iloc[-1]) if len(rows) else math.nan


def _decision(rows: pd.DataFrame, epsilon: float | None, colour: str, theme: Theme) -> dict[str, Any]:
    """A diamond on the accuracy curve where the budget question is answered."""
    marker = {"color": BACKGROUND[theme], "size": 11, "symbol": "diamond", "line": {"color": colour, "width": 2}}
    return dot(rows, epsilon, colour, theme, "y", 100.0) | {"marker": marker}


def _decision_label(
    rows: pd.DataFrame, epsilon: float | None, colour: str, percent: tuple[float, float]
) -> list[dict[str, Any]]:
    """Words below the diamond (above it where the panel ends), tied to it by a thin line."""
    here = rows[rows.x == epsilon] if epsilon is not None else rows.iloc[:0]
    if here.empty:
        return []
    height = 100 * float(here["mean"].iloc[0])
    low, high = percent
    below = height - low > 0.35 * (high - low)
    x = math.log10(here.x.iloc[0])
    anchor = "left" if x < -1.6 else "right" if x > 0.6 else "center"  # never over the chart's edge
    place = {"xref": "x", "yref": "y", "x": x, "y": height, "xanchor": anchor}
    arrow: dict[str, Any] = {"showarrow": True, "arrowhead": 0, "arrowcolor": colour, "arrowwidth": 1, "ax": 0}
    arrow |= {"ay": 44 if below else -44, "standoff": 7}
    return [note("good enough", x=0, y=0, colour=colour, size=14) | place | arrow]
