"""The house style of all figures: palette, axes, and the few kinds of mark that charts are made of.

Colour is the mechanism's family and the same on every page, line style is the kind of curve. Traces and annotations
are plain dictionaries with explicit colours; a template would bring its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from ..experiments.summary import LEAST_BANDED

if TYPE_CHECKING:
    from ..mechanisms import Mechanism
    from ..mechanisms.base import Family, Place

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
# Of a family's colour where small text in it would stay below 4.5:1: the same hue, darker or lighter.
INKS = {"#CB7513": "#AA6210", "#6599B3": "#497B94", "#1464C1": "#2781E9"}
GRID: dict[Theme, str] = {"light": "#ECEAE7", "dark": "#2D2B27"}
# Where a mechanism puts its noise, with an article.
PLACES: dict[Place, str] = {
    "answer": "the answer",
    "question": "the question",
    "step": "every step",
    "choice": "every choice",
}
SYMBOLS: dict[Family, str] = {
    "output": "circle",
    "objective": "square",
    "gradient": "triangle-up",
    "sampling": "x",
    "frank_wolfe": "diamond",
    "variance_reduced": "star",
}
NOISES = {"gaussian": "Gaussian", "gamma": "Gamma"}
LABEL_HEIGHT = 16  # px of a line of text behind a curve
LEGEND: dict[str, Any] = {"orientation": "h", "traceorder": "normal", "x": 0, "yanchor": "top", "font": {"size": 13}}
LEGEND_ROW = 20  # px; on a phone every entry has its own


def marker_of(mechanism: type[Mechanism], theme: Theme, size: int) -> dict[str, Any]:
    """The family's symbol in its colour; open where the promise is pure."""
    colour = FAMILIES[theme][mechanism.family]
    fill = colour if mechanism.noise == "gaussian" else BACKGROUND[theme]
    look = {"symbol": SYMBOLS[mechanism.family], "size": size, "line": {"color": colour, "width": 1.5}}
    return look | {"color": fill}


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
    for size, suffix in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{suffix}"
    return f"{value:.10f}".rstrip("0").rstrip(".")


def short_number(value: float) -> str:
    """Two digits for a label, far from 1 with a power of ten: longer decimals would not fit beside an axis.

    >>> short_number(-0.00123), short_number(123456.0), short_number(3e-7), short_number(1e-5)
    ('−0.0012', '120k', '3·10⁻⁷', '10⁻⁵')
    """
    if not value or 1e-4 <= abs(value) < 1e12:
        return plain_number(float(f"{value:.2g}") + 0.0).replace("-", "−")
    digits, power = f"{value:.1e}".split("e")
    return f"{float(digits):g}·{power_of_ten(int(power))}".replace("-", "−").removeprefix("1·")


def power_of_ten(exponent: int) -> str:
    """
    >>> power_of_ten(-7)
    '10⁻⁷'
    """
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def frame(theme: Theme, height: int) -> dict[str, Any]:
    """The layout that every figure starts from."""
    return {
        "height": height,
        "template": {},
        "paper_bgcolor": BACKGROUND[theme],
        "plot_bgcolor": BACKGROUND[theme],
        "font": {"color": TEXT[theme], "size": 14, "family": "Source Sans, Source Sans Pro, sans-serif"},
        "hovermode": "closest",
        "hoverlabel": {"font": {"size": 14}},
        "uirevision": "keep",
    }


def axis(theme: Theme) -> dict[str, Any]:
    return {
        "gridcolor": GRID[theme],
        "linecolor": GRID[theme],
        "tickcolor": GRID[theme],
        "zeroline": False,
        "tickfont": {"color": TEXT[theme], "size": 13},
        "automargin": False,
    }


def log_axis(theme: Theme, low: float, high: float) -> dict[str, Any]:
    decades = range(math.floor(low), math.ceil(high) + 1)
    # An axis that shows one power of ten at most needs ticks between them.
    mantissas = (1.0,) if sum(low <= k <= high for k in decades) > 1 else (1.0, 2.0, 5.0)
    ticks = [mantissa * 10.0**k for k in decades for mantissa in mantissas]
    return axis(theme) | {
        "type": "log",
        "range": [low, high],
        "tickvals": ticks,
        "ticktext": [short_number(tick) for tick in ticks],
    }


def thinned(made: dict[str, Any], at: float, room: float, width: float) -> dict[str, Any]:
    """A log axis without the tick labels that are closer than `room` powers of ten to the cursor `at`; on a drawing
    narrower than 300 px, without every other one."""
    every = 2 if width < 300 else 1
    shown = [
        text if abs(math.log10(tick) - math.log10(at)) > room and k % every == 0 else ""
        for k, (tick, text) in enumerate(zip(made["tickvals"], made["ticktext"], strict=True))
    ]
    return made | {"ticktext": shown}


def last_drawn(values: Any) -> float:
    """The last value of a curve that is drawn, nan without one."""
    drawn = values[np.isfinite(values)]
    return float(drawn[-1]) if len(drawn) else math.nan


def decades(
    rows: pd.DataFrame, columns: Sequence[str] = ("mean", "bound", "noiseless"), depth: float = 5.0
) -> tuple[float, float]:
    """Exponents of a log axis that holds the positive values of these columns, `depth` powers of ten at most."""
    values = np.concatenate([rows[c].to_numpy(float) for c in columns])
    values = values[values > 0]
    if not len(values):
        return -3.0, 0.0
    high = math.log10(values.max())
    return max(math.log10(values.min()), high - depth) - 0.15, high + 0.15


def line(
    x: Any,
    y: Any,
    colour: str,
    name: str,
    axis: str,
    *,
    width: float = 1.5,
    dash: str = "solid",
    legend: bool = True,
    over: str = "ε",
) -> dict[str, Any]:
    """A curve; `over` names what its x-axis holds. One without any point has no place in the legend."""
    heights = np.asarray(y, float)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.asarray(x, float),
        "y": heights,
        "yaxis": axis,
        "name": name,
        "line": {"color": colour, "width": width, "dash": dash},
        "showlegend": legend and bool(np.isfinite(heights).any()),
        "hovertemplate": f"{over} = %{{x}}<br>{name}: %{{y:.3~g}}<extra></extra>",
    }


LARGER = "always the larger class"


def band(rows: pd.DataFrame, colour: str, axis: str, unit: float, floor: float = -math.inf) -> list[dict[str, Any]]:
    """8 of 10 runs where there are enough, cut at `floor`: a log axis would leave out the edge at or below 0."""
    rows = rows[rows.repetitions >= LEAST_BANDED]
    edge = {"type": "scatter", "mode": "lines", "yaxis": axis, "line": {"width": 0}, "hoverinfo": "skip"}
    x = rows.x.to_numpy(float)
    upper = edge | {"x": x, "y": np.maximum(unit * rows.q90.to_numpy(float), floor), "showlegend": False}
    lower = edge | {
        "x": x,
        "y": np.maximum(unit * rows.q10.to_numpy(float), floor),
        "fill": "tonexty",
        "fillcolor": with_opacity(colour, 0.2),
        "name": "8 of 10 runs",
        "showlegend": axis == "y" and len(rows) > 0,
    }
    return [upper, lower]


def zero_or_below(
    x: Any, values: Any, colour: str, name: str, axis: str, floor: float, *, legend: bool = True, over: str = "ε"
) -> dict[str, Any]:
    """Triangles on the lower edge of a log axis where a curve is at or below 0; the hover text has the true value."""
    x, heights = np.asarray(x, float), np.asarray(values, float)
    hidden = heights <= 0
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x[hidden],
        "y": np.full(int(hidden.sum()), floor),
        "yaxis": axis,
        "customdata": heights[hidden],
        "name": f"{name}: 0 or below",
        "showlegend": legend and bool(hidden.any()),
        "cliponaxis": False,
        "marker": {"symbol": "triangle-down-open", "size": 11, "color": colour, "line": {"width": 2}},
        "hovertemplate": f"{over} = %{{x}}<br>{name}: %{{customdata:.3~g}}<extra></extra>",
    }


def dot(rows: pd.DataFrame, epsilon: float | None, colour: str, theme: Theme, axis: str, unit: float) -> dict[str, Any]:
    here = rows[rows.x == epsilon] if epsilon is not None else rows.iloc[:0]
    return {
        "type": "scatter",
        "mode": "markers",
        "cliponaxis": False,
        "x": here.x.to_numpy(float),
        "y": unit * here["mean"].to_numpy(float),
        "yaxis": axis,
        "marker": {"color": colour, "size": 11, "line": {"color": BACKGROUND[theme], "width": 2}},
        "showlegend": False,
        "hoverinfo": "skip",
    }


def note(text: str, *, x: float, y: float, colour: str, size: int, **more: Any) -> dict[str, Any]:
    place = {"xref": "paper", "yref": "paper", "x": x, "y": y, "xanchor": "left", "showarrow": False}
    return place | {"text": text, "font": {"color": INKS.get(colour, colour), "size": size}} | more


def flag(text: str, x: float, colour: str, background: str) -> dict[str, Any]:
    """The cursor's value on a logarithmic axis, in the place of a tick label.

    By the name "cursor" a browser finds it, and its line, to move them while a slider is dragged.
    """
    place = {"name": "cursor", "xref": "x", "x": math.log10(x), "xanchor": "center", "yanchor": "top", "borderpad": 3}
    return note(text, x=0, y=0, yshift=-3, colour=background, size=13, bgcolor=INKS.get(colour, colour)) | place


def vertical(x: float, colour: str) -> dict[str, Any]:
    place = {"name": "cursor", "type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1}
    return place | {"line": {"color": colour, "width": 1.5}}


def end_labels(
    ends: list[tuple[str, float, str, str]],
    panels: dict[str, tuple[tuple[float, float], float]],
    theme: Theme,
    logarithmic: Sequence[str] = ("y2",),
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One label behind the right end of each curve, pushed apart where they would overlap; and what is still to be
    said where a legend takes the place of labels.

    ends: (axis, value, text, colour). panels: axis -> (its range, its height in px). logarithmic: axes that are.
    A curve that ends outside its axis has its label at the edge, with an arrow and its last value. So it has beside a
    legend, in one line inside the drawing.
    """
    labels, beyond = [], []
    for axis, ((low, high), size) in panels.items():
        placed = []
        rows = {"↑": 0, "↓": 0}
        for on, value, text, colour in ends:
            if on != axis or math.isnan(value):
                continue
            position = value
            if axis in logarithmic:
                position = math.log10(value) if value > 0 else -math.inf
            if not low - 1e-9 <= position <= high + 1e-9:
                arrow, last = "↑" if position > high else "↓", short_number(value)
                position = min(max(position, low), high)
                words = f"{arrow} {text.replace('<br>', ' ')} ({last})"
                beyond.append(at_edge(words, axis, position, colour, theme, rows[arrow]))
                rows[arrow] += 1
                text = f"{arrow} {text}<br>{last}"
            placed.append(((position - low) / (high - low) * size, position, text, colour))
        placed.sort()
        heights = [LABEL_HEIGHT * (1 + text.count("<br>")) for _, _, text, _ in placed]
        # None reaches further below the axis than one line would.
        centres = [max(p[0], (height - LABEL_HEIGHT) / 2) for p, height in zip(placed, heights, strict=True)]
        for (pixel, position, text, colour), shown in zip(placed, spread(centres, heights, size), strict=True):
            place = {"yref": axis, "y": position, "align": "left", "yanchor": "middle", "xshift": 6}
            labels.append(note(text, x=1, y=0, colour=colour, size=13, yshift=shown - pixel) | place)
    return labels, beyond


def at_edge(text: str, axis: str, edge: float, colour: str, theme: Theme, row: int = 0) -> dict[str, Any]:
    """Words that begin with an arrow, inside the drawing, at the right end of the axis's upper or lower edge.

    row: lines of text from there.
    """
    anchor, away = ("top", -1) if text.startswith("↑") else ("bottom", 1)
    place = {"yref": axis, "y": edge, "xanchor": "right", "yanchor": anchor, "xshift": -4, "borderpad": 0}
    shift = away * (3 + LABEL_HEIGHT * row)
    paper = with_opacity(BACKGROUND[theme], 0.8)
    return note(text, x=1, y=0, colour=colour, size=12, yshift=shift, bgcolor=paper) | place


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
