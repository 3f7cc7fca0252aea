"""Figures to decide by: points lost against the budget, what n people are still worth, and budgets in use elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Array
from ..figure import Figure
from ..style import (
    BACKGROUND,
    FAMILIES,
    LARGER,
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

_TOP, _BOTTOM, _LEFT, _RIGHT = 30, 54, 56, 158
_ROW = 34  # px of a deployment
_CLOSE = 6.0  # times what can be given up are on the axis
_AXIS_TITLE = "privacy budget ε  (smaller = more private)"


class Range(NamedTuple):
    """An answer on an axis with its interval; inf where it is not reachable, or an end is beyond the axis."""

    value: float
    low: float
    high: float


class Use(NamedTuple):
    """A budget in use. name: whose; about: its unit and model in a few words; what: for which release."""

    name: str
    about: str
    what: str
    epsilon: float


def budget_figure(
    epsilons: Array,
    lost: Array,
    low: Array,
    high: Array,
    *,
    at_most: float,
    answer: Range,
    epsilon: float,
    family: str,
    theme: Theme,
    height: int,
    learnable: float | None = None,
) -> Figure:
    """Points lost against epsilon with their interval, what can be given up, and the smallest budget that does.

    lost, low, high: points, [K] as epsilons; nan where nothing is released. at_most: points. answer: of the budget
    question. epsilon: where the cursor stands. family: of colours. height: px. learnable: points above the larger
    class, at which all that there is to learn is lost.
    """
    colour, reference = FAMILIES[theme][family], FAMILIES[theme]["reference"]
    given_up = f"can be given up: {plain_number(at_most)}"
    traces = [
        *_band(epsilons, low, high, colour, "95% sure"),
        line(epsilons, lost, colour, "points lost, on average", "y", width=3),
        line([epsilons[0], epsilons[-1]], [at_most] * 2, reference, given_up, "y", dash="dash"),
        *all_lost(epsilons, learnable, MUTED[theme]),
        _sure(answer, at_most, float(epsilons[-1]), colour),
        _dot(epsilon, _at(epsilons, lost, epsilon), colour, theme),
        _answer(answer.value, at_most, colour, theme),
    ]
    top = _top(lost, high, at_most, _at(epsilons, lost, epsilon))
    bottom = min(0.0, float(np.nanmin(np.concatenate([low, [0.0, learnable or 0.0]]))))
    panel = (bottom - 0.02 * top, top)
    drawing = height - _TOP - _BOTTOM
    ends = [
        ("y", last_drawn(lost), "points lost<br>(band: 95% sure)", colour),
        ("y", at_most, given_up, reference),
    ]
    if learnable is not None:
        words = LARGER if learnable > top else f"{LARGER}:<br>{learnable:.1f} lost"
        ends.append(("y", learnable, words, MUTED[theme]))
    title = note("points lost, of 100", x=0, y=1, yshift=18, colour=TEXT[theme], size=14)
    cursor = flag(f"ε = {plain_number(epsilon)}", epsilon, TEXT[theme], BACKGROUND[theme])
    marks = _words(answer.value, at_most, colour, panel, theme)
    labels, beyond = end_labels(ends, {"y": (panel, drawing)}, theme, logarithmic=())
    rows = sum(bool(trace.get("showlegend")) for trace in traces)
    below = _BOTTOM + LEGEND_ROW * rows
    layout = frame(theme, height) | {
        "margin": {"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": _BOTTOM},
        "showlegend": False,
        "xaxis": _epsilon_axis(theme, epsilons, epsilon, 600)
        | {"title": {"text": _AXIS_TITLE, "standoff": 10, "font": {"size": 14}}},
        "yaxis": axis(theme) | {"range": list(panel)},
        "shapes": [vertical(epsilon, MUTED[theme])],
        "annotations": [title, cursor, *marks, *labels],
        "meta": {"narrow": _narrow(theme, epsilons, epsilon, height, below, drawing, [title, cursor, *beyond])},
    }
    return Figure(traces, layout)


def worth_figure(
    epsilons: Array,
    people: Array,
    low: Array,
    high: Array,
    *,
    n: int,
    epsilon: float,
    family: str,
    theme: Theme,
    height: int,
) -> Figure:
    """How many people without privacy n people with privacy are worth, against epsilon, on logarithmic axes.

    people, low, high: [K] as epsilons; nan where they are worth fewer than can be told. height: px.
    """
    colour, reference = FAMILIES[theme][family], FAMILIES[theme]["reference"]
    traces = [
        *_band(epsilons, low, high, colour, "95% sure"),
        line(epsilons, people, colour, "worth so many people without privacy", "y", width=3),
        line([epsilons[0], epsilons[-1]], [n] * 2, reference, f"all {n:,}", "y"),
        _dot(epsilon, _at(epsilons, people, epsilon), colour, theme),
    ]
    drawn = np.concatenate([values[np.isfinite(values) & (values > 0.0)] for values in (people, low)])
    panel = (math.log10(min(drawn.min(initial=float(n)), n / 3)) - 0.1, math.log10(n) + 0.12)
    drawing = height - _TOP - _BOTTOM
    ends = [("y", last_drawn(people), "worth", colour), ("y", float(n), f"all {n:,}", reference)]
    title = note("people without privacy", x=0, y=1, yshift=18, colour=TEXT[theme], size=14)
    cursor = flag(f"ε = {plain_number(epsilon)}", epsilon, TEXT[theme], BACKGROUND[theme])
    labels, beyond = end_labels(ends, {"y": (panel, drawing)}, theme, logarithmic=("y",))
    rows = sum(bool(trace.get("showlegend")) for trace in traces)
    below = _BOTTOM + LEGEND_ROW * rows
    layout = frame(theme, height) | {
        "margin": {"l": _LEFT, "r": 76, "t": _TOP, "b": _BOTTOM},
        "showlegend": False,
        "xaxis": _epsilon_axis(theme, epsilons, epsilon, 300)
        | {"title": {"text": "privacy budget ε", "standoff": 10, "font": {"size": 14}}},
        "yaxis": log_axis(theme, *panel),
        "shapes": [vertical(epsilon, MUTED[theme])],
        "annotations": [title, cursor, *labels],
        "meta": {"narrow": _narrow(theme, epsilons, epsilon, height, below, drawing, [title, cursor, *beyond])},
    }
    return Figure(traces, layout)


def uses_figure(uses: Sequence[Use], *, epsilon: float, theme: Theme) -> Figure:
    """Budgets in use elsewhere, the smallest first, each in a row of its own, with the cursor's epsilon across."""
    rows = sorted(uses, key=lambda use: use.epsilon)
    x, y = np.array([use.epsilon for use in rows]), np.arange(len(rows), dtype=float)
    colour = FAMILIES[theme]["sampling"]
    dots = {
        "type": "scatter",
        "mode": "markers+text",
        "x": x,
        "y": y,
        "marker": {"color": colour, "size": 11},
        "text": [plain_number(float(f"{value:.3g}")) for value in x],
        "textposition": "middle right",
        "textfont": {"color": TEXT[theme], "size": 13},
        "name": "budget",
        "cliponaxis": False,
        "showlegend": False,
        "customdata": [use.what for use in rows],
        "hovertemplate": "%{customdata}: ε = %{x:.3~g}<extra></extra>",
    }
    low = math.log10(min(epsilon, *x)) - 0.15
    high = math.log10(max(epsilon, *x)) + 0.35
    shared = axis(theme) | {"tickvals": y, "range": [len(rows) - 0.5, -0.5]}
    muted = MUTED[theme]
    names = [f"{use.name}<br><span style='color:{muted};font-size:12px'>{use.about}</span>" for use in rows]
    cursor = flag(f"ε = {plain_number(epsilon)}", epsilon, TEXT[theme], BACKGROUND[theme])
    inside = [
        note(name, x=0, y=0, colour=TEXT[theme], size=13)
        | {"yref": "y", "y": k, "yanchor": "bottom", "yshift": 7, "align": "left"}
        for k, name in enumerate(names)
    ]
    height = _ROW * len(rows) + 20 + _BOTTOM
    layout = frame(theme, height) | {
        "margin": {"l": 300, "r": 40, "t": 20, "b": _BOTTOM},
        "showlegend": False,
        "xaxis": thinned(log_axis(theme, low, high), epsilon, 0.12, 600)
        | {"title": {"text": "privacy budget ε of one unit", "standoff": 10, "font": {"size": 14}}},
        "yaxis": shared | {"ticktext": names},
        "shapes": [vertical(epsilon, muted)],
        "annotations": [cursor],
        "meta": {
            "narrow": {
                "height": 2 * _ROW * len(rows) + 60 + _BOTTOM,
                "margin": {"l": 14, "r": 24, "t": 60, "b": _BOTTOM},
                "xaxis": thinned(log_axis(theme, low, high), epsilon, 0.3, 280),
                "yaxis": shared | {"ticktext": [""] * len(rows)},
                "annotations": [cursor, *inside],
            }
        },
    }
    return Figure([dots], layout)


def all_lost(epsilons: Array, learnable: float | None, ink: str) -> list[dict[str, Any]]:
    """The accuracy of the larger class as points lost; no line where it is not known."""
    if learnable is None:
        return []
    name = f"{LARGER}: {learnable:.1f} lost"
    return [line([epsilons[0], epsilons[-1]], [learnable] * 2, ink, name, "y", dash="dot")]


def _band(x: Array, low: Array, high: Array, colour: str, name: str) -> list[dict[str, Any]]:
    """What lies between two curves, where both are there."""
    known = np.isfinite(low) & np.isfinite(high)
    edge = {"type": "scatter", "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "x": x[known]}
    upper = edge | {"y": high[known], "showlegend": False}
    fill = {"fill": "tonexty", "fillcolor": with_opacity(colour, 0.2), "name": name, "showlegend": bool(known.any())}
    return [upper, edge | {"y": low[known]} | fill]


def _sure(answer: Range, height: float, end: float, colour: str) -> dict[str, Any]:
    """The answer's interval as a thick line on the threshold; an end that is not reachable goes to the axis's."""
    ends = [answer.low, min(answer.high, end)] if math.isfinite(answer.low) else []
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.array(ends),
        "y": np.full(len(ends), height),
        "line": {"color": colour, "width": 7},
        "opacity": 0.55,
        "name": "the budget, 95% sure",
        "showlegend": bool(ends),
        "hovertemplate": "between ε = %{x:.3~g}<extra></extra>",
    }


def _dot(x: float, y: float, colour: str, theme: Theme) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "cliponaxis": False,
        "x": np.array([x if math.isfinite(x) else math.nan]),
        "y": np.array([y]),
        "marker": {"color": colour, "size": 11, "line": {"color": BACKGROUND[theme], "width": 2}},
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _answer(x: float, y: float, colour: str, theme: Theme) -> dict[str, Any]:
    """An open diamond where the curve meets what can be given up."""
    marker = {"color": BACKGROUND[theme], "size": 13, "symbol": "diamond", "line": {"color": colour, "width": 2.5}}
    # A phone has its words in the legend.
    return _dot(x, y, colour, theme) | {"marker": marker, "name": _smallest(x), "showlegend": math.isfinite(x)}


def _smallest(budget: float) -> str:
    return f"smallest budget: {plain_number(float(f'{budget:.2g}'))}" if math.isfinite(budget) else "smallest budget"


def _words(x: float, y: float, colour: str, panel: tuple[float, float], theme: Theme) -> list[dict[str, Any]]:
    """The budget's words above the diamond, where a falling curve leaves room, tied to it by a thin line."""
    if not math.isfinite(x):
        return []
    power = math.log10(x)
    place = {"xref": "x", "yref": "y", "x": power, "y": y, "xanchor": "left" if power < 0.3 else "right"}
    above = y - panel[0] < 0.7 * (panel[1] - panel[0])
    arrow: dict[str, Any] = {"showarrow": True, "arrowhead": 0, "arrowcolor": colour, "arrowwidth": 1, "ax": 0}
    arrow |= {"ay": -64 if above else 64, "standoff": 8, "bgcolor": BACKGROUND[theme]}
    return [note(_smallest(x), x=0, y=0, colour=colour, size=14) | place | arrow]


def _at(x: Array, y: Array, value: float) -> float:
    """The curve's height at a value, linear in its logarithm; nan outside the curve."""
    known = np.isfinite(y)
    if not known.any():
        return math.nan
    return float(np.interp(math.log(value), np.log(x[known]), y[known], left=math.nan, right=math.nan))


def _top(lost: Array, high: Array, at_most: float, here: float) -> float:
    """Where the axis of points ends: above what can be given up and the cursor, and not so far that they lie flat."""
    drawn = np.concatenate([values[np.isfinite(values)] for values in (lost, high)])
    wanted = max(_CLOSE * at_most, 1.3 * here if math.isfinite(here) else 0.0)
    return min(wanted, max(1.5 * at_most, 1.12 * float(drawn.max(initial=1.0))))


def _epsilon_axis(theme: Theme, epsilons: Array, at: float, width: float) -> dict[str, Any]:
    low, high = math.log10(epsilons[0]), math.log10(epsilons[-1])
    return thinned(log_axis(theme, low, high), at, 58 / width * (high - low), width)


def _narrow(
    theme: Theme, epsilons: Array, at: float, height: int, below: int, drawing: float, marks: list[dict[str, Any]]
) -> dict[str, Any]:
    """What a phone changes: a legend in the place of labels at line ends."""
    return {
        "height": height - _BOTTOM + below,
        "margin": {"l": _LEFT, "r": 40, "t": _TOP, "b": below},
        "xaxis": _epsilon_axis(theme, epsilons, at, 250),
        "annotations": marks,
        "showlegend": True,
        "legend": LEGEND | {"y": -_BOTTOM / drawing},
    }
