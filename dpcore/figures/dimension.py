"""What idle columns do: accuracy, distance and damage against p; and the orthant, where sqrt(p) comes back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..core.arrays import Array
from ..mechanisms import mechanism_class
from ..studies.dimension.noise_growth import Growth
from ..studies.dimension.orthant import OrthantExample
from .figure import Figure
from .style import (
    BACKGROUND,
    FAMILIES,
    LARGER,
    MUTED,
    NOISES,
    SYMBOLS,
    TEXT,
    Theme,
    axis,
    end_labels,
    flag,
    frame,
    last_drawn,
    line,
    log_axis,
    note,
    thinned,
    vertical,
)

Lower = Literal["distance", "damage"]

_TOP, _BOTTOM, _RIGHT, _LEFT, _GAP = 30, 54, 156, 52, 62
_SHARE = 0.5  # of the drawing height for the upper panel
_PROMISES = {"gaussian": "promise (ε, δ)", "gamma": "promise pure ε"}
_LOWER_TITLES = {
    "distance": "distance from the model without privacy",
    "damage": "damage by noise, in average loss",
}
_LEGEND_LINE = 19  # px
_FLAG = 110  # px on the axis that the cursor's flag and the gaps beside it take
_LEGEND = {"orientation": "h", "traceorder": "normal", "x": 0, "yanchor": "top", "font": {"size": 13}}


def dimension_figure(
    table: pd.DataFrame,
    growth: Mapping[str, Growth],
    *,
    p: int,
    lower: Lower,
    accuracy_title: str,
    theme: Theme,
    height: int,
) -> Figure:
    """Accuracy against p over the model's distance, or over the damage beside what theory says of it.

    table: swept over p, as `dpcore.run` gives it. growth: of the same cells. p: where the cursor stands. lower: what
    the lower panel holds; the earlier rates beside the damage are shapes, anchored at the smallest p, and left out
    where two families share the panel. accuracy_title: what is counted, in words. height: px.
    """
    colours = FAMILIES[theme]
    ok = table[table.status == "ok"]
    keys = [key for key in growth if key in set(ok.mechanism)]
    both = len({mechanism_class(key).family for key in keys}) > 1
    drawing = height - _TOP - _BOTTOM - _GAP
    split = 1 - _SHARE * drawing / (height - _TOP - _BOTTOM)
    low_top = (1 - _SHARE) * drawing / (height - _TOP - _BOTTOM)
    span = [float(table.x.min()), float(table.x.max())] if len(table) else [8.0, 8.0]

    right = ok[ok.metric == "accuracy"]
    best, larger = 100 * right[["reference", "larger_class"]].iloc[0] if len(keys) else (math.nan, math.nan)
    traces = [
        line(span, [best, best], colours["reference"], "without privacy", "y", over="p"),
        line(span, [larger, larger], MUTED[theme], LARGER, "y", dash="dot", over="p"),
    ]
    ends = [("y", best, "without privacy", colours["reference"]), ("y", larger, LARGER, MUTED[theme])]
    shown: list[Array] = []  # what the lower panel must hold
    for key in keys:
        colour, name = colours[mechanism_class(key).family], curve_name(key, both)
        rows = ok[(ok.mechanism == key) & (ok.metric == "accuracy")]
        traces.append(_curve(key, rows.x, 100 * rows["mean"], name, "y", p, theme))
        ends.append(("y", 100 * float(rows["mean"].iloc[-1]), _promise(key, both), colour))
        for trace, label in _lower_traces(ok, growth[key], lower, both, p, theme):
            traces.append(trace)
            shown.append(trace["y"])
            ends.append(("y2", last_drawn(trace["y"]), label, colour))
    if lower == "distance" and keys:
        length = growth[keys[0]].length
        traces.append(
            line(span, [length, length], colours["reference"], "‖θ̂‖, its own length", "y2", dash="dot", over="p")
        )
        shown.append(np.array([length]))
        ends.append(("y2", length, "‖θ̂‖, its own length", colours["reference"]))

    percent, powers = (48.0, _top(ok)), _decades(shown)
    panels = {"y": (percent, _SHARE * drawing), "y2": (powers, (1 - _SHARE) * drawing)}
    titles = [
        note(accuracy_title, x=0, y=1, yshift=18, colour=TEXT[theme], size=14),
        note(_LOWER_TITLES[lower], x=0, y=low_top, yshift=18, colour=TEXT[theme], size=14),
    ]
    cursor = flag(f"p = {p:,}", p, TEXT[theme], BACKGROUND[theme])
    labels, beyond = end_labels(ends, panels, theme)
    columns = {"text": "columns p  (8 useful, the rest all zero)", "standoff": 10, "font": {"size": 14}}
    below = _BOTTOM + _LEGEND_LINE * (1 + sum(trace["showlegend"] for trace in traces))
    layout = frame(theme, height) | {
        "margin": {"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": _BOTTOM},
        "showlegend": False,
        "xaxis": _p_axis(theme, span, p, 500) | {"anchor": "y2", "title": columns},
        "yaxis": axis(theme) | {"domain": [split, 1], "range": list(percent), "dtick": 10},
        "yaxis2": log_axis(theme, *powers) | {"domain": [0, low_top]},
        "shapes": [vertical(p, MUTED[theme])],
        "annotations": [*titles, cursor, *labels],
        "meta": {
            "narrow": {
                "height": height - _BOTTOM + below,
                "margin": {"l": 44, "r": 46, "t": _TOP, "b": below},  # half a flag on the right
                "xaxis": _p_axis(theme, span, p, 250),
                "annotations": [*titles, cursor, *beyond],
                "showlegend": True,
                "legend": _LEGEND | {"y": -_BOTTOM / (height - _TOP - _BOTTOM)},
            }
        },
    }
    return Figure(traces, layout)


def orthant_figure(corner: OrthantExample, *, p: int, theme: Theme, height: int) -> Figure:
    """The one prediction that matters against p: free, and with the model held in the positive orthant.

    corner: from `dpcore.studies.dimension.orthant.corner`. p: where the cursor stands. height: px.
    """
    answer, question = FAMILIES[theme]["output"], FAMILIES[theme]["objective"]
    curves = [
        (corner.projected, answer, "answer, cut at 0", "circle", "solid"),
        (corner.free_answer, answer, "answer, free", None, "dot"),
        (corner.constrained, question, "question, held ≥ 0", "square", "solid"),
        (corner.free_question, question, "question, free", None, "dash"),
    ]
    curves = [curve for curve in curves if np.isfinite(curve[0]).any()]
    traces = []
    for values, colour, name, symbol, dash in curves:
        trace = line(corner.p, values, colour, name, "y", width=2.5 if symbol else 1.5, dash=dash, over="p")
        traces.append(trace | _markers(corner.p, p, colour, symbol, colour) if symbol else trace)
    span = [float(corner.p.min()), float(corner.p.max())]
    powers = _decades([values for values, *_ in curves])
    title = note("noise in one prediction, E|z|", x=0, y=1, yshift=16, colour=TEXT[theme], size=14)
    cursor = flag(f"p = {p:,}", p, TEXT[theme], BACKGROUND[theme])
    layout = frame(theme, height) | {
        "margin": {"l": 44, "r": 46, "t": 26, "b": 32 + 4 * _LEGEND_LINE},
        "xaxis": _p_axis(theme, span, p, 230),
        "yaxis": log_axis(theme, *powers),
        "shapes": [vertical(p, MUTED[theme])],
        "annotations": [title, cursor],
        "showlegend": True,
        "legend": _LEGEND | {"y": -28 / (height - 58 - 4 * _LEGEND_LINE)},
    }
    return Figure(traces, layout)


def curve_name(mechanism: str, both: bool) -> str:
    """What a curve is called; both: the chart shows noise in the answer and noise in the question.

    >>> curve_name("output_gamma", False), curve_name("objective_gaussian", True)
    ('Gamma noise', 'question, Gaussian')
    """
    cls = mechanism_class(mechanism)
    noise = NOISES[cls.noise]
    return f"{cls.place}, {noise}" if both else f"{noise} noise"


def _promise(key: str, both: bool) -> str:
    return curve_name(key, both) if both else f"{curve_name(key, both)},<br>{_PROMISES[mechanism_class(key).noise]}"


def _lower_traces(
    ok: pd.DataFrame, growth: Growth, lower: Lower, both: bool, p: int, theme: Theme
) -> list[tuple[dict[str, Any], str]]:
    """One mechanism's curves in the lower panel, each with the label at its end."""
    key, colour = growth.mechanism, FAMILIES[theme][mechanism_class(growth.mechanism).family]
    name = curve_name(key, both)
    if lower == "distance":
        return [(_curve(key, growth.p, growth.distance, name, "y2", p, theme, legend=False), name)]
    rows = ok[(ok.mechanism == key) & (ok.metric == "excess_empirical_risk")]
    damage = (rows["mean"] - rows.noiseless).to_numpy(float)
    measured = _curve(key, rows.x, np.where(damage > 0, damage, np.nan), name, "y2", p, theme, legend=False)
    proved = line(growth.p, growth.damage_bound, colour, f"{name}: bound", "y2", dash="dash", over="p")
    traces = [(measured, name), (proved, f"{name}: bound")]
    if not both and growth.earlier_source:
        shape = growth.earlier * (damage[0] / growth.earlier[0])
        label = f"{name}: earlier theory, shape only"
        trace = line(growth.p, shape, colour, label, "y2", width=1, dash="2px 5px", over="p")
        traces.append((trace, f"{name}: earlier<br>theory, shape only"))
    return traces


def _curve(
    key: str, x: Any, y: Any, name: str, panel: str, p: int, theme: Theme, *, legend: bool = True
) -> dict[str, Any]:
    """Solid with filled markers for Gaussian noise, dash-dot with open ones for Gamma noise."""
    cls = mechanism_class(key)
    colour = FAMILIES[theme][cls.family]
    trace = line(
        x,
        y,
        colour,
        name,
        panel,
        width=3,
        dash="solid" if cls.noise == "gaussian" else "dashdot",
        legend=legend,
        over="p",
    )
    fill = colour if cls.noise == "gaussian" else BACKGROUND[theme]
    return trace | _markers(trace["x"], p, colour, SYMBOLS[cls.family], fill)


def _markers(x: Array, p: int, colour: str, symbol: str, fill: str) -> dict[str, Any]:
    """Markers at the computed points; the one under the cursor is larger."""
    marker = {
        "size": np.where(x == p, 12.0, 6.0),
        "symbol": symbol,
        "color": fill,
        "line": {"color": colour, "width": 2},
        "opacity": 1,  # plotly fades markers of several sizes
    }
    return {"mode": "lines+markers", "marker": marker, "cliponaxis": False}


def _p_axis(theme: Theme, span: Sequence[float], p: int, width: float) -> dict[str, Any]:
    """A log axis whose tick labels leave room for the cursor's flag where the drawing is `width` px wide or wider."""
    low, high = math.log10(span[0]) - 0.1, math.log10(span[1]) + 0.1
    room = _FLAG / 2 / width * (high - low) + 0.15
    return thinned(log_axis(theme, low, high), p, room, width)


def _top(ok: pd.DataFrame) -> float:
    """A round number above everything in the accuracy panel."""
    rows = ok[ok.metric == "accuracy"]
    top = 100 * rows[["mean", "reference"]].max().max()  # nan where nothing is drawn
    return 101.0 if math.isnan(top) else min(101.0, 5 * math.ceil((top + 1) / 5) + 0.5)


def _decades(curves: Sequence[Array]) -> tuple[float, float]:
    """Exponents of a log axis that holds every positive value."""
    values = np.concatenate([np.asarray(curve, float) for curve in curves]) if curves else np.empty(0)
    values = values[np.isfinite(values) & (values > 0)]
    if not len(values):
        return -1.0, 1.0
    low, high = math.log10(values.min()), math.log10(values.max())
    room = max(0.3, 0.1 * (high - low))  # for labels and the larger marker at the edges
    return low - room, high + room
