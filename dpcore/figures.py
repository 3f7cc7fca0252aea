"""Pure functions from an experiment's table to a plotly figure: the only place that imports plotly.

Colour is the mechanism's family and the same on every page, line style is the kind of curve. Every figure carries
explicit colours and axes (no template), a stable trace order and `uirevision`, and a `layout.meta["narrow"]` with the
changes a phone needs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

Theme = Literal["light", "dark"]

# Computed for contrast >= 3:1 on the background and CIEDE2000 >= 15.9 between all pairs, also under protanopia,
# deuteranopia and tritanopia; a test keeps it so.
FAMILIES: dict[Theme, dict[str, str]] = {
    "light": {
        "reference": "#222222",
        "output": "#CB7513",
        "objective": "#002B95",
        "gradient": "#1A7060",
        "frank_wolfe": "#963114",
        "sampling": "#7A56D8",
        "variance_reduced": "#6599B3",
    },
    "dark": {
        "reference": "#EDEBE8",
        "output": "#FDA557",
        "objective": "#1464C1",
        "gradient": "#12B499",
        "frank_wolfe": "#DE5242",
        "sampling": "#A482FF",
        "variance_reduced": "#B7C0EF",
    },
}
BACKGROUND: dict[Theme, str] = {"light": "#FFFFFF", "dark": "#171614"}
TEXT: dict[Theme, str] = {"light": "#2F2D2B", "dark": "#EDEBE8"}
MUTED: dict[Theme, str] = {"light": "#6B6864", "dark": "#A8A49E"}
GRID: dict[Theme, str] = {"light": "#ECEAE7", "dark": "#2D2B27"}

_TOP, _BOTTOM, _RIGHT, _LEFT, _GAP = 30, 54, 150, 52, 62
_SHARE = 0.6  # of the drawing height for the upper panel
_LABEL_HEIGHT = 16


def family_of(mechanism: str) -> str:
    """The colour family of a mechanism key.

    >>> family_of("output_gaussian")
    'output'
    """
    return {"output": "output"}[mechanism.split("_")[0]]


def with_opacity(colour: str, opacity: float) -> str:
    """#RRGGBB as an rgba() string.

    >>> with_opacity("#FF0000", 0.2)
    'rgba(255,0,0,0.2)'
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def plain_number(value: float) -> str:
    """A decimal without exponent for axis ticks and flags: 0.001, 0.1, 1, 10, 1k, 1M.

    >>> plain_number(0.001), plain_number(1.5), plain_number(20000)
    ('0.001', '1.5', '20k')
    """
    for size, suffix in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{suffix}"
    return f"{value:.10f}".rstrip("0").rstrip(".")


def cost_figure(
    table: pd.DataFrame,
    *,
    epsilon: float,
    accuracy_title: str,
    theme: Theme,
    height: int,
    decision: float | None = None,
) -> go.Figure:
    """Accuracy against epsilon over excess empirical risk against epsilon, with band, bound and a cursor.

    table: of one mechanism swept over epsilon, as `dpcore.run` gives it. epsilon: where the cursor stands.
    accuracy_title: what is counted, in words. decision: epsilon to mark as the budget question's answer. height: px.
    """
    colours = FAMILIES[theme]
    ok = table[table.status == "ok"]
    accuracy = ok[ok.metric == "accuracy"]
    excess = ok[ok.metric == "excess_empirical_risk"]
    main = colours[family_of(table.mechanism.iloc[0])]
    drawing = height - _TOP - _BOTTOM - _GAP
    split = 1 - _SHARE * drawing / (height - _TOP - _BOTTOM)  # lower edge of the upper panel, paper units
    low_top = (1 - _SHARE) * drawing / (height - _TOP - _BOTTOM)

    percent = _accuracy_range(accuracy)
    decades = _decades(excess)
    traces = [
        *_band(accuracy, main, "y", 100.0),
        _line(accuracy.x, 100 * accuracy["mean"], main, "private, on average", "y", width=3),
        _line(table.x, [100 * _reference(accuracy)] * len(table), colours["reference"], "without privacy", "y"),
        *_band(excess, main, "y2", 1.0),
        _line(excess.x, excess["mean"], main, "private, on average", "y2", width=3, legend=False),
        _line(excess.x, excess.bound, main, "upper bound, proved", "y2", dash="dash"),
        _line(excess.x, excess.noiseless, colours["reference"], "regularisation alone", "y2", dash="dot"),
        _dot(accuracy, epsilon, main, theme, "y", 100.0),
        _dot(excess, epsilon, main, theme, "y2", 1.0),
        _decision(accuracy, decision, main, theme),
    ]
    ends = [
        ("y", 100 * _reference(accuracy), "without privacy", colours["reference"]),
        ("y", 100 * _last(accuracy, "mean"), "private, on average<br>(band: 8 of 10 runs)", main),
        ("y2", _last(excess, "bound"), "upper bound, proved", main),
        ("y2", _last(excess, "mean"), "private, on average", main),
        ("y2", _last(excess, "noiseless"), "regularisation alone", colours["reference"]),
    ]
    panels = {"y": (percent, _SHARE * drawing), "y2": (decades, (1 - _SHARE) * drawing)}
    titles = [
        _text(accuracy_title, x=0, y=1, yshift=18, colour=TEXT[theme], size=14),
        _text("excess risk above the best model's", x=0, y=low_top, yshift=18, colour=TEXT[theme], size=14),
    ]
    flag = _flag(f"ε = {plain_number(epsilon)}", epsilon, TEXT[theme], BACKGROUND[theme])
    flags = [flag, *_decision_label(accuracy, decision, main, percent)]
    labels = _end_labels(ends, panels)
    layout = {
        "height": height,
        "template": {},
        "paper_bgcolor": BACKGROUND[theme],
        "plot_bgcolor": BACKGROUND[theme],
        "font": {"color": TEXT[theme], "size": 14, "family": "Source Sans, Source Sans Pro, sans-serif"},
        "margin": {"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": _BOTTOM},
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {"font": {"size": 14}},
        "uirevision": "keep",
        "xaxis": _log_axis(theme, -2, 1)
        | {
            "anchor": "y2",
            "title": {"text": "privacy budget ε  (smaller = more private)", "standoff": 10, "font": {"size": 14}},
        },
        "yaxis": _axis(theme) | {"domain": [split, 1], "range": list(percent), "ticksuffix": "", "dtick": 10},
        "yaxis2": _log_axis(theme, *decades) | {"domain": [0, low_top]},
        "shapes": [_vertical(epsilon, MUTED[theme])],
        "annotations": [*titles, *flags, *labels],
        "meta": {
            "narrow": {
                "height": height + 60,
                "margin": {"l": 44, "r": 26, "t": _TOP, "b": 128},  # half a cursor flag on the right
                "annotations": [*titles, *flags],
                "showlegend": True,
                "legend": {
                    **{"orientation": "h", "traceorder": "normal", "x": 0, "y": -0.18, "yanchor": "top"},
                    "font": {"size": 13},
                },
            }
        },
    }
    return go.Figure(data=traces, layout=layout)


def _accuracy_range(rows: pd.DataFrame) -> tuple[float, float]:
    """From a coin's 50% to a round number above everything that is drawn."""
    top = 100 * max(rows["mean"].max(), rows.q90.max(), _reference(rows)) if len(rows) else 100.0
    return 50.0, min(101.0, 5 * math.ceil((top + 1) / 5) + 0.5)


def _decades(rows: pd.DataFrame) -> tuple[float, float]:
    """Exponents of a log axis that holds the mean, the bound and the bias wherever they are positive."""
    values = np.concatenate([rows[c].to_numpy(float) for c in ("mean", "bound", "noiseless")])
    values = values[values > 0]
    if not len(values):
        return -3.0, 0.0
    return math.log10(values.min()) - 0.15, math.log10(values.max()) + 0.15


def _reference(rows: pd.DataFrame) -> float:
    return float(rows.reference.iloc[0]) if len(rows) else math.nan


def _last(rows: pd.DataFrame, column: str) -> float:
    return float(rows[column].iloc[-1]) if len(rows) else math.nan


def _axis(theme: Theme) -> dict[str, Any]:
    return {
        "gridcolor": GRID[theme],
        "linecolor": GRID[theme],
        "tickcolor": GRID[theme],
        "zeroline": False,
        "tickfont": {"color": TEXT[theme], "size": 13},
        "automargin": False,
    }


def _log_axis(theme: Theme, low: float, high: float) -> dict[str, Any]:
    decades = range(math.floor(low), math.ceil(high) + 1)
    return _axis(theme) | {
        "type": "log",
        "range": [low, high],
        "tickvals": [10.0**k for k in decades],
        "ticktext": [plain_number(10.0**k) for k in decades],
    }


def _line(
    x: Any, y: Any, colour: str, name: str, axis: str, *, width: float = 1.5, dash: str = "solid", legend: bool = True
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.asarray(x, float),
        "y": np.asarray(y, float),
        "yaxis": axis,
        "name": name,
        "line": {"color": colour, "width": width, "dash": dash},
        "showlegend": legend,
        "hovertemplate": f"ε = %{{x}}<br>{name}: %{{y:.3~g}}<extra></extra>",
    }


def _band(rows: pd.DataFrame, colour: str, axis: str, unit: float) -> list[dict[str, Any]]:
    edge = {"type": "scatter", "mode": "lines", "yaxis": axis, "line": {"width": 0}, "hoverinfo": "skip"}
    x = rows.x.to_numpy(float)
    upper = edge | {"x": x, "y": unit * rows.q90.to_numpy(float), "showlegend": False}
    lower = edge | {
        "x": x,
        "y": unit * rows.q10.to_numpy(float),
        "fill": "tonexty",
        "fillcolor": with_opacity(colour, 0.2),
        "name": "8 of 10 runs",
        "showlegend": axis == "y",
    }
    return [upper, lower]


def _dot(
    rows: pd.DataFrame, epsilon: float | None, colour: str, theme: Theme, axis: str, unit: float
) -> dict[str, Any]:
    here = rows[rows.x == epsilon] if epsilon is not None else rows.iloc[:0]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": here.x.to_numpy(float),
        "y": unit * here["mean"].to_numpy(float),
        "yaxis": axis,
        "marker": {"color": colour, "size": 11, "line": {"color": BACKGROUND[theme], "width": 2}},
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _text(text: str, *, x: float, y: float, colour: str, size: int, **more: Any) -> dict[str, Any]:
    place = {"xref": "paper", "yref": "paper", "x": x, "y": y, "xanchor": "left", "showarrow": False}
    return place | {"text": text, "font": {"color": colour, "size": size}} | more


def _flag(text: str, epsilon: float, colour: str, background: str) -> dict[str, Any]:
    """The cursor's value on the axis, in the place of a tick label."""
    place = {"xref": "x", "x": math.log10(epsilon), "xanchor": "center", "yanchor": "top", "borderpad": 3}
    return _text(text, x=0, y=0, yshift=-3, colour=background, size=13, bgcolor=colour) | place


def _vertical(epsilon: float, colour: str) -> dict[str, Any]:
    place = {"type": "line", "xref": "x", "yref": "paper", "x0": epsilon, "x1": epsilon, "y0": 0, "y1": 1}
    return place | {"line": {"color": colour, "width": 1.5}}


def _decision(rows: pd.DataFrame, epsilon: float | None, colour: str, theme: Theme) -> dict[str, Any]:
    """A diamond on the accuracy curve where the budget question is answered."""
    marker = {"color": BACKGROUND[theme], "size": 11, "symbol": "diamond", "line": {"color": colour, "width": 2}}
    return _dot(rows, epsilon, colour, theme, "y", 100.0) | {"marker": marker}


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
    return [_text("good enough", x=0, y=0, colour=colour, size=14) | place | arrow]


def _end_labels(
    ends: list[tuple[str, float, str, str]], panels: dict[str, tuple[tuple[float, float], float]]
) -> list[dict[str, Any]]:
    """One label behind the right end of each curve, pushed apart where they would overlap.

    ends: (axis, value, text, colour). panels: axis -> (its range, its height in px); "y2" is logarithmic.
    """
    labels = []
    for axis, ((low, high), size) in panels.items():
        placed = []
        for on, value, text, colour in ends:
            if on == axis and not math.isnan(value) and (axis == "y" or value > 0):
                position = math.log10(value) if axis == "y2" else value
                placed.append(((position - low) / (high - low) * size, position, text, colour))
        placed.sort()
        heights = [_LABEL_HEIGHT * (1 + text.count("<br>")) for _, _, text, _ in placed]
        for (pixel, position, text, colour), shown in zip(
            placed, spread([p[0] for p in placed], heights, size), strict=True
        ):
            place = {"yref": axis, "y": position, "align": "left", "yanchor": "middle", "xshift": 6}
            labels.append(_text(text, x=1, y=0, colour=colour, size=13, yshift=shown - pixel) | place)
    return labels


def spread(centres: list[float], heights: Sequence[float], size: float) -> list[float]:
    """Move sorted label centres apart until none overlaps its neighbour and the last stays below `size`.

    >>> spread([10.0, 12.0], [16, 16], 100.0)
    [10.0, 26.0]
    """
    moved: list[float] = []
    for i, centre in enumerate(centres):
        floor = moved[-1] + (heights[i - 1] + heights[i]) / 2 if moved else centre
        moved.append(max(centre, floor))
    ceiling = size
    for i in reversed(range(len(moved))):
        moved[i] = min(moved[i], ceiling)
        ceiling = moved[i] - (heights[i] + heights[i - 1]) / 2 if i else ceiling
    return moved
