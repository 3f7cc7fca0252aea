"""Private players on streams: regret against the number of steps, and one stream step by step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...studies.sparsity.streaming.regret import Play, RegretCurve
from ..figure import Figure
from ..style import (
    BACKGROUND,
    FAMILIES,
    LEGEND,
    LEGEND_ROW,
    MUTED,
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
    plain_number,
    thinned,
    vertical,
    with_opacity,
)

_TOP, _BOTTOM, _LEFT, _RIGHT = 30, 54, 58, 176
_NARROW = {"l": 52, "r": 30, "t": _TOP}
_DEPTH = 4.0
_BELOW = 1e-9  # where a band's edge at or below 0 goes: below every axis
_FLAG = 110  # px on the axis that the cursor's flag and the gaps beside it take
_SYMBOLS = ("circle", "square", "diamond", "triangle-up")
_GAP, _SHARE = 62, 0.42  # between the panels of a play, and of its height for the upper one
_MOST_DOTS = 2000
_TITLE = "regret: cost beyond that of the best arm"


def regret_figure(curves: Sequence[RegretCurve], *, steps: int, theme: Theme, height: int) -> Figure:
    """Mean regret against the length of the stream for several numbers of arms, with its bounds, on log axes.

    curves: of the same lengths, at most four, by growing p. Two orders of growth are shown as shapes: what they make of
    the largest p, given the smallest p's regret on the longest stream. steps: where the cursor stands. height: px.
    """
    colour = FAMILIES[theme]["sampling"]
    traces: list[dict[str, Any]] = []
    ends: list[tuple[str, float, str, str]] = []
    shown: list[Array] = []  # what the axis must hold
    hidden = 0
    for curve, symbol in zip(curves, _SYMBOLS, strict=False):
        name = f"p = {curve.p:,}"
        hidden += int((curve.expected <= 0.0).sum())
        shown += [curve.q10, curve.q90, curve.expected, curve.bound]
        low, high = (np.where(np.isfinite(q), np.maximum(q, _BELOW), np.nan) for q in (curve.q10, curve.q90))
        traces += _band(curve.steps, low, high, colour, "y", legend=curve is curves[0])
        measured = line(curve.steps, _positive(curve.expected), colour, name, "y", width=3, over="T")
        traces.append(measured | _markers(curve.steps, steps, symbol, colour))
        traces.append(line(curve.steps, curve.bound, colour, f"{name}: bound", "y", dash="dash", over="T"))
        ends.append(("y", last_drawn(measured["y"]), name, colour))
        ends.append(("y", last_drawn(curve.bound), f"{name}: bound", colour))
    for values, label, dash in _shapes(curves):
        traces.append(line(curves[-1].steps, values, MUTED[theme], label, "y", dash=dash, over="T"))
        shown.append(values)
        ends.append(("y", last_drawn(values), label, MUTED[theme]))

    panel = _decades(shown)
    span = curves[0].steps if curves else np.array([10.0, 1000.0])
    notes = [note(_TITLE, x=0, y=1, yshift=18, colour=TEXT[theme], size=14)]
    if hidden:
        text = f"not drawn: {hidden} of the means, which are not above 0"
        notes.append(note(text, x=0.01, y=0, yshift=10, colour=MUTED[theme], size=12))
    cursor = flag(f"T = {steps:,}", steps, TEXT[theme], BACKGROUND[theme])
    labels, beyond = end_labels(ends, {"y": (panel, height - _TOP - _BOTTOM)}, theme, ("y",))
    made = frame(theme, height) | {
        "margin": {"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": _BOTTOM},
        "showlegend": False,
        "xaxis": _steps_axis(theme, span, steps, 600.0) | {"title": _words("steps T")},
        "yaxis": log_axis(theme, *panel),
        "shapes": [vertical(steps, MUTED[theme])],
        "annotations": [*notes, cursor, *labels],
        "meta": {
            "narrow": _with_legend(traces, height)
            | {"xaxis": _steps_axis(theme, span, steps, 250.0), "annotations": [*notes, cursor, *beyond]}
        },
    }
    return Figure(traces, made)


def play_figure(play: Play, *, theme: Theme, height: int) -> Figure:
    """One stream: the arms that one run plays above its regret so far, with the band of all runs and the bounds.

    The bounds speak of the end of the stream and stand there. Arms are counted from 1; of long streams every second,
    third, ... is drawn. height: px.
    """
    colour, quiet = FAMILIES[theme]["sampling"], FAMILIES[theme]["reference"]
    every = math.ceil(len(play.arms) / _MOST_DOTS)
    T, p = float(play.plan.steps), play.plan.spec.p
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": np.arange(1, len(play.arms) + 1, every),
        "y": play.arms[::every] + 1,
        "yaxis": "y",
        "name": "arm played",
        "marker": {"size": 4, "color": with_opacity(colour, 0.55)},
        "showlegend": True,
        "hovertemplate": "step %{x}: arm %{y}<extra></extra>",
    }
    best = line(play.marks[1:], play.leader[1:] + 1, quiet, "best arm so far", "y", width=2, over="step")
    best["line"] |= {"shape": "hv"}
    edge = [
        _end(T, play.bound, "bound on the mean", "diamond", colour),
        _end(T, play.one_run, "bound for 9 of 10 runs", "diamond-open", colour),
    ]
    traces = [
        best,
        dots,
        *_band(play.marks, play.q10, play.q90, colour, "y2", legend=True),
        line(play.marks, play.expected, quiet, "exact mean", "y2", over="step"),
        line(play.marks, play.regret, colour, "this run", "y2", width=3, over="step"),
        *edge,
    ]
    drawing = height - _TOP - _BOTTOM - _GAP
    split = 1 - _SHARE * drawing / (height - _TOP - _BOTTOM)
    low_top = (1 - _SHARE) * drawing / (height - _TOP - _BOTTOM)
    heights = np.concatenate([play.q10, play.q90, play.regret, [0.0, play.bound, play.one_run]])
    low, high = float(np.nanmin(heights)), float(np.nanmax(heights))
    panel = (low - 0.06 * (high - low), high + 0.06 * (high - low))
    arms = (0.5 - 0.03 * p, 1.03 * p + 0.5)
    ends = [
        ("y", float(play.leader[-1] + 1), "best arm", quiet),
        ("y2", float(play.expected[-1]), "exact mean", quiet),
        ("y2", float(play.regret[-1]), "this run", colour),
        *(("y2", trace["y"][0], trace["name"], colour) for trace in edge),
    ]
    titles = [
        note("arm played in each step of one run", x=0, y=1, yshift=18, colour=TEXT[theme], size=14),
        note("regret so far", x=0, y=low_top, yshift=18, colour=TEXT[theme], size=14),
    ]
    panels = {"y": (arms, _SHARE * drawing), "y2": (panel, (1 - _SHARE) * drawing)}
    labels, _ = end_labels(ends, panels, theme, ())  # both panels hold all that is drawn
    made = frame(theme, height) | {
        "margin": {"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": _BOTTOM},
        "showlegend": False,
        "xaxis": axis(theme) | {"range": [0.0, 1.01 * T], "anchor": "y2", "title": _words("steps so far"), "nticks": 8},
        "yaxis": axis(theme) | {"domain": [split, 1], "range": list(arms), "tickvals": sorted({1, (p + 1) // 2, p})},
        "yaxis2": axis(theme) | {"domain": [0, low_top], "range": list(panel), "nticks": 6},
        "annotations": [*titles, *labels],
        "meta": {"narrow": _with_legend(traces, height) | {"annotations": titles, "xaxis": {"nticks": 5}}},
    }
    return Figure(traces, made)


def _shapes(curves: Sequence[RegretCurve]) -> list[tuple[Array, str, str]]:
    """What the published orders make of the largest p, anchored at the smallest p's last regret."""
    if len(curves) < 2:
        return []
    small, large = curves[0], curves[-1]
    made = []
    for field, label, dash in (
        ("published", "equation (12)", "2px 5px"),
        ("earlier", "earlier √(Tp)", "longdashdot"),
    ):
        order = getattr(small, field)
        anchors = np.flatnonzero((small.expected > 0) & (order > 0))
        if len(anchors):
            factor = small.expected[anchors[-1]] / order[anchors[-1]]
            text = f"{label} at p = {large.p:,},<br>shape only"
            made.append((getattr(large, field) * factor, text, dash))
    return made


def _band(x: Any, low: Array, high: Array, colour: str, panel: str, *, legend: bool) -> list[dict[str, Any]]:
    edge = {"type": "scatter", "mode": "lines", "yaxis": panel, "x": x, "line": {"width": 0}, "hoverinfo": "skip"}
    upper = edge | {"y": high, "showlegend": False}
    fill: dict[str, Any] = {"fill": "tonexty", "fillcolor": with_opacity(colour, 0.2), "name": "8 of 10 runs"}
    fill |= {"showlegend": legend and bool(np.isfinite(low).any())}
    return [upper, edge | {"y": low} | fill]


def _markers(x: Array, at: int, symbol: str, colour: str) -> dict[str, Any]:
    """Markers at the computed lengths; the one under the cursor is larger."""
    marker = {"symbol": symbol, "size": np.where(x == at, 12.0, 7.0), "color": colour, "opacity": 1}
    return {"mode": "lines+markers", "marker": marker, "cliponaxis": False}


def _end(x: float, y: float, name: str, symbol: str, colour: str) -> dict[str, Any]:
    """A statement about the end of the stream."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": np.array([x]),
        "y": np.array([y]),
        "yaxis": "y2",
        "name": name,
        "marker": {"symbol": symbol, "size": 10, "color": colour, "line": {"color": colour, "width": 2}},
        "cliponaxis": False,
        "showlegend": True,
        "hovertemplate": f"{name}: %{{y:.4~g}}<extra></extra>",
    }


def _positive(values: Array) -> Array:
    return np.where(values > 0, values, np.nan)


def _decades(curves: Sequence[Array]) -> tuple[float, float]:
    """Exponents of a log axis that holds every positive value, four powers of ten at most."""
    values = np.concatenate([np.asarray(curve, float) for curve in curves]) if curves else np.empty(0)
    values = values[np.isfinite(values) & (values > 0)]
    if not len(values):
        return 0.0, 1.0
    high = math.log10(values.max()) + 0.15
    return max(math.log10(values.min()) - 0.15, high - _DEPTH), high


def _steps_axis(theme: Theme, steps: Array, at: int, width: float) -> dict[str, Any]:
    """A log axis whose tick labels leave room for the cursor's flag where the drawing is `width` px wide or wider."""
    low, high = math.log10(steps.min()) - 0.06, math.log10(steps.max()) + 0.06
    made = log_axis(theme, low, high)
    if high - low < _DEPTH:
        ticks = [m * 10.0**k for k in range(math.floor(low), math.ceil(high)) for m in (1.0, 2.0, 5.0)]
        made |= {"tickvals": ticks, "ticktext": [plain_number(tick) for tick in ticks]}
    return thinned(made, at, _FLAG / 2 / width * (high - low) + 0.05, width)


def _words(text: str) -> dict[str, Any]:
    return {"text": text, "standoff": 10, "font": {"size": 14}}


def _with_legend(traces: Sequence[dict[str, Any]], height: int) -> dict[str, Any]:
    """What a phone needs: names below the axis instead of behind the curves' ends."""
    below = _BOTTOM + LEGEND_ROW * (1 + sum(bool(trace["showlegend"]) for trace in traces))
    return {
        "height": height - _BOTTOM + below,
        "margin": _NARROW | {"b": below},
        "showlegend": True,
        "legend": LEGEND | {"y": -(_BOTTOM + 2) / (height - _TOP - _BOTTOM)},
    }
