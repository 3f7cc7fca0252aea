"""Charts to show on a wall: large type, a legend in the place of labels, and little else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.arrays import Array
from ..figure import Figure
from ..style import (
    BACKGROUND,
    FAMILIES,
    MUTED,
    TEXT,
    Theme,
    axis,
    flag,
    frame,
    line,
    log_axis,
    note,
    plain_number,
    vertical,
    with_opacity,
)
from .budget import all_lost

_SIZE = 20  # px of all text, but of a phone's legend
_PHONE = 16
_ROW = 30  # px of a row of the legend
_TOP, _AXIS, _LEFT = 44, 78, 84
Shares = Sequence[float | None] | Array


def lost_on_wall(
    epsilons: Shares,
    mean: Shares,
    smooth: Shares,
    low: Shares,
    high: Shares,
    *,
    at_most: float,
    budget: tuple[float | None, float | None, float | None],
    epsilon: float,
    sure: str,
    family: str,
    theme: Theme = "light",
    height: int = 460,
    learnable: float | None = None,
) -> Figure:
    """Points lost, of 100, against epsilon, with what can be given up and the smallest budget that does.

    mean: dots; smooth, low, high: the line and its interval; [K] each. budget: (value, low, high), None where beyond
    the axis. epsilon: where the cursor stands. sure: of the interval, in words. height: px.
    learnable: points above the larger class.
    """
    colour, reference = FAMILIES[theme][family], FAMILIES[theme]["reference"]
    x, heights = _numbers(epsilons), _numbers(mean)
    value, least, most = budget
    ends = [] if least is None else [least, x[-1] if most is None else most]
    answer = [] if value is None else [value]
    traces = [
        *_interval(x, _numbers(low), _numbers(high), colour, sure),
        line(x, _numbers(smooth), colour, "points lost, on average", "y", width=4),
        _dots(x, heights, colour, "as measured", {"size": 7}),
        line(
            x[[0, -1]], [at_most] * 2, reference, f"can be given up: {plain_number(at_most)}", "y", width=3, dash="dash"
        ),
        *all_lost(x, learnable, MUTED[theme]),
        line(ends, [at_most] * len(ends), colour, f"smallest budget, {sure}", "y", width=12) | {"opacity": 0.5},
        _dots(answer, [at_most] * len(answer), colour, "smallest budget", _open(colour, theme)),
    ]
    top = 1.1 * max(1.0, 1.5 * at_most, float(np.nanmax(_numbers(high))))
    bottom = min(0.0, float(np.nanmin(np.append(_numbers(low), heights)))) - 0.02 * top
    upright = axis(theme) | {"range": [bottom, top], "nticks": 6}
    return _wall(traces, x, epsilon, "points lost, of 100", upright, theme, height)


def worth_on_wall(
    epsilons: Shares,
    worth: Shares,
    low: Shares,
    high: Shares,
    *,
    n: int,
    epsilon: float,
    sure: str,
    family: str,
    theme: Theme = "light",
    height: int = 460,
) -> Figure:
    """How many people without privacy n people with it are worth, against epsilon, on logarithmic axes.

    worth, low, high: [K] as epsilons; None where fewer than can be told. sure: of the interval, in words. height: px.
    """
    colour, reference = FAMILIES[theme][family], FAMILIES[theme]["reference"]
    x, people = _numbers(epsilons), _numbers(worth)
    traces = [
        *_interval(x, _numbers(low), _numbers(high), colour, sure),
        line(x, people, colour, "are worth so many without privacy", "y", width=4),
        _dots(x, people, colour, "as measured", {"size": 7}) | {"showlegend": False},
        line(x[[0, -1]], [n] * 2, reference, f"all {n:,}", "y", width=3, dash="dash"),
    ]
    drawn = np.concatenate([people, _numbers(low)])
    least = float(np.min(drawn[np.isfinite(drawn) & (drawn > 0)], initial=n / 3))
    upright = log_axis(theme, math.log10(least) - 0.1, math.log10(n) + 0.12)
    return _wall(traces, x, epsilon, "people without privacy", upright, theme, height)


def _numbers(values: Shares) -> Array:
    return np.array([math.nan if value is None else value for value in values], float)


def _interval(x: Array, low: Array, high: Array, colour: str, name: str) -> list[dict[str, Any]]:
    """What lies between two curves, where both are there."""
    known = np.isfinite(low) & np.isfinite(high)
    edge = {"type": "scatter", "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "x": x[known]}
    fill = {"fill": "tonexty", "fillcolor": with_opacity(colour, 0.2), "name": name, "showlegend": bool(known.any())}
    return [edge | {"y": high[known], "showlegend": False}, edge | {"y": low[known]} | fill]


def _open(colour: str, theme: Theme) -> dict[str, Any]:
    return {"color": BACKGROUND[theme], "size": 17, "symbol": "diamond", "line": {"color": colour, "width": 3}}


def _dots(x: Any, y: Any, colour: str, name: str, look: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "cliponaxis": False,
        "x": np.asarray(x, float),
        "y": np.asarray(y, float),
        "name": name,
        "marker": {"color": colour} | look,
        "showlegend": len(x) > 0,
        "hovertemplate": f"ε = %{{x:.3~g}}<br>{name}: %{{y:.3~g}}<extra></extra>",
    }


def _wall(
    traces: list[dict[str, Any]],
    x: Array,
    epsilon: float,
    title: str,
    upright: dict[str, Any],
    theme: Theme,
    height: int,
) -> Figure:
    """The frame of both: epsilon along, a cursor with its flag, and a legend below that a phone stacks."""
    ink = {"color": TEXT[theme], "size": _SIZE}
    rows = sum(bool(trace.get("showlegend")) for trace in traces)
    below = _AXIS + _ROW * math.ceil(rows / 3)
    stacked = _AXIS + _ROW * rows
    legend = {"orientation": "h", "traceorder": "normal", "x": 0, "yanchor": "top", "font": ink}
    along = log_axis(theme, math.log10(x[0]), math.log10(x[-1])) | {"tickfont": ink}
    cursor = flag(f"ε = {plain_number(epsilon)}", epsilon, TEXT[theme], BACKGROUND[theme])
    cursor |= {"y": 1, "yanchor": "bottom", "yshift": 3, "font": {"color": BACKGROUND[theme], "size": _SIZE}}
    if math.log10(epsilon) - math.log10(x[0]) < 0.45 * math.log10(x[-1] / x[0]):
        cursor |= {"xanchor": "left"}  # clear of the axis's title
    words = note(title, x=0, y=1, yshift=_TOP - 6, colour=TEXT[theme], size=_SIZE) | {"yanchor": "top"}
    right = {"xref": "paper", "x": 1, "xanchor": "right"}
    layout = frame(theme, height) | {
        "font": frame(theme, height)["font"] | {"size": _SIZE},
        "hoverlabel": {"font": {"size": _SIZE}},
        "margin": {"l": _LEFT, "r": 36, "t": _TOP, "b": below},
        "showlegend": True,
        "legend": legend | {"y": -_AXIS / (height - _TOP - below)},
        "xaxis": along | {"title": {"text": "privacy budget ε (smaller = more private)", "standoff": 8, "font": ink}},
        "yaxis": upright | {"tickfont": ink},
        "shapes": [vertical(epsilon, MUTED[theme])],
        "annotations": [words, cursor],
    }
    tall = height - below + stacked
    layout["meta"] = {
        "narrow": {
            "height": tall + _TOP,
            "margin": {"l": 70, "r": 16, "t": 2 * _TOP, "b": stacked},
            "legend": legend
            | {"orientation": "v", "y": -_AXIS / (tall - _TOP - stacked), "font": ink | {"size": _PHONE}},
            "xaxis": {"title": {"text": "privacy budget ε"}},
            "annotations": [words | {"yshift": 2 * _TOP - 6}, cursor | (right if epsilon > x[-1] / 3 else {})],
        }
    }
    return Figure(traces, layout)
