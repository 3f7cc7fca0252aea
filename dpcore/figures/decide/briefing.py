"""Charts to show on a wall: large type, a legend in the place of labels, and little else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.arrays import Array
from ..chart import Chart
from ..figure import Figure
from ..log_chart import positive
from ..style import Look, Theme, plain_number
from .budget import all_lost

_SIZE = 20  # px of all text, but of a phone's legend
_PHONE = 16
_ROW = 30  # px of a row of the legend
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
    the axis. sure: of the interval, in words. learnable: points above the larger class.
    """
    x, heights = _numbers(epsilons), _numbers(mean)
    value, least, most = budget
    ends = [] if least is None else [least, x[-1] if most is None else most]
    answer = [] if value is None else [value]
    chart = _wall(theme, height)
    colour, given_up = chart.colours[family], f"can be given up: {plain_number(at_most)}"
    chart.band(x, _numbers(low), _numbers(high), colour, sure)
    chart.curve(x, _numbers(smooth), colour, "points lost, on average", width=4)
    _dots(chart, x, heights, "as measured", {"color": colour, "size": 7})
    chart.level(x, at_most, chart.colours["reference"], given_up, width=3, dash="dash")
    if learnable is not None:
        all_lost(chart, x, learnable)
    chart.curve(ends, [at_most] * len(ends), colour, f"smallest budget, {sure}", width=12, opacity=0.5)
    diamond = {"color": chart.paper, "size": 17, "symbol": "diamond", "line": {"color": colour, "width": 3}}
    _dots(chart, answer, [at_most] * len(answer), "smallest budget", diamond)
    top = 1.1 * max(1.0, 1.5 * at_most, float(np.nanmax(_numbers(high))))
    bottom = min(0.0, float(np.nanmin(np.append(_numbers(low), heights)))) - 0.02 * top
    return _on_wall(chart, x, epsilon, "points lost, of 100", chart.axis(range=[bottom, top], nticks=6))


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

    worth, low, high: [K] as epsilons; None where fewer than can be told. sure: of the interval, in words.
    """
    x, people = _numbers(epsilons), _numbers(worth)
    chart = _wall(theme, height)
    colour = chart.colours[family]
    chart.band(x, _numbers(low), _numbers(high), colour, sure)
    chart.curve(x, people, colour, "are worth so many without privacy", width=4)
    _dots(chart, x, people, "as measured", {"color": colour, "size": 7}, showlegend=False)
    chart.level(x, n, chart.colours["reference"], f"all {n:,}", width=3, dash="dash")
    least = float(np.min(positive([people, _numbers(low)]), initial=n / 3))
    upright = chart.log_axis(math.log10(least) - 0.1, math.log10(n) + 0.12)
    return _on_wall(chart, x, epsilon, "people without privacy", upright)


def _numbers(values: Shares) -> Array:
    return np.array([math.nan if value is None else value for value in values], float)


def _dots(chart: Chart, x: Any, y: Any, name: str, look: Look, **more: Any) -> None:
    hover: Look = {"hovertemplate": f"ε = %{{x:.3~g}}<br>{name}: %{{y:.3~g}}<extra></extra>", "showlegend": len(x) > 0}
    x, y = np.asarray(x, float), np.asarray(y, float)
    chart.marks(x, y, look, name=name, cliponaxis=False, **hover | more)


def _wall(theme: Theme, height: int) -> Chart:
    return Chart(theme, height, left=84, right=36, top=44, bottom=78)


def _on_wall(chart: Chart, x: Array, epsilon: float, title: str, upright: Look) -> Figure:
    """The figure, with epsilon along, a cursor with its flag, and a legend below that a phone stacks."""
    ink, rows, top = {"color": chart.text, "size": _SIZE}, chart.entries(), chart.top
    chart.write(title, 0, 1, size=_SIZE, yshift=top - 6, yanchor="top")
    chart.cursor(epsilon, f"ε = {plain_number(epsilon)}")
    words, cursor = chart.notes
    cursor |= {"y": 1, "yanchor": "bottom", "yshift": 3, "font": {"color": chart.paper, "size": _SIZE}}
    if math.log10(epsilon) - math.log10(x[0]) < 0.45 * math.log10(x[-1] / x[0]):
        cursor |= {"xanchor": "left"}  # clear of the axis's title
    right = {"xref": "paper", "x": 1, "xanchor": "right"} if epsilon > x[-1] / 3 else {}
    below, stacked = _ROW * math.ceil(rows / 3), _ROW * rows
    along = chart.log_axis(math.log10(x[0]), math.log10(x[-1]), tickfont=ink)
    wide = chart.legend(chart.height, below, drop=chart.bottom)
    tall = chart.legend(chart.height - below + stacked, stacked, drop=chart.bottom, stacked=True)
    wide["legend"] |= {"font": ink}
    tall["legend"] |= {"font": ink | {"size": _PHONE}}
    tall["height"] += top
    tall["margin"] = {"l": 70, "r": 16, "t": 2 * top, "b": chart.bottom + stacked}
    more = {
        "xaxis": {"title": {"text": "privacy budget ε"}},
        "annotations": [words | {"yshift": 2 * top - 6}, cursor | right],
    }
    return chart.figure(
        along | {"title": {"text": "privacy budget ε (smaller = more private)", "standoff": 8, "font": ink}},
        upright | {"tickfont": ink},
        narrow=tall | more,
        size=_SIZE,
        **wide,
    )
