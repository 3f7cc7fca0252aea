"""Charts of measured excess risk on log axes: means with bands, cursors, and what a phone needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..experiments.summary import Summary
from .figure import Figure
from .style import (
    BACKGROUND,
    LEGEND,
    LEGEND_ROW,
    MUTED,
    TEXT,
    Theme,
    end_labels,
    flag,
    frame,
    last_drawn,
    line,
    log_axis,
    note,
    thinned,
    vertical,
    with_opacity,
    zero_or_below,
)

TOP, BOTTOM, LEFT, RIGHT = 30, 54, 58, 156
_NARROW = {"l": 54, "r": 34, "t": TOP}  # half a cursor flag on the right
_BELOW = 0.6  # powers of ten that an axis goes on below the smallest measured mean, where curves of theory end
_DEPTH = 5.0


def powers_of(must: Sequence[Array], may: Sequence[Array], depth: float = _DEPTH) -> tuple[float, float]:
    """Exponents of a log axis from a little below the smallest positive value of `must` to above the largest of all.

    depth: powers of ten that the axis spans at most.
    """
    low, high = _positive(must), _positive([*must, *may])
    if not len(low):
        return -3.0, 0.0
    top = math.log10(high.max()) + 0.15
    return max(math.log10(low.min()) - _BELOW, top - depth), top


def _positive(curves: Sequence[Array]) -> Array:
    values = np.concatenate([np.asarray(curve, float) for curve in curves])
    return values[np.isfinite(values) & (values > 0)]


def through(shape: Array, values: Array) -> Array:
    """The shape, scaled to meet the first positive value; nan without one."""
    first = np.flatnonzero(values > 0)
    return shape * (values[first[0]] / shape[first[0]]) if len(first) else np.full(len(shape), np.nan)


def band_of(x: Array, measured: Summary, colour: str, floor: float) -> list[dict[str, Any]]:
    """8 of 10 runs, cut at the lower edge of the axis; nothing where there are too few."""
    edge = {"type": "scatter", "mode": "lines", "yaxis": "y", "line": {"width": 0}, "hoverinfo": "skip"}
    drawn = np.isfinite(measured.q10)
    low, high = (np.maximum(quantile[drawn], floor) for quantile in (measured.q10, measured.q90))
    fill = {
        "fill": "tonexty",
        "fillcolor": with_opacity(colour, 0.2),
        "name": "8 of 10 runs",
        "showlegend": bool(drawn.any()),
    }
    return [edge | {"x": x[drawn], "y": high, "showlegend": False}, edge | {"x": x[drawn], "y": low} | fill]


def means(
    x: Array,
    measured: Summary,
    name: str,
    colour: str,
    floor: float,
    cursor: float,
    theme: Theme,
    symbol: str,
    over: str,
    dash: str = "solid",
) -> list[dict[str, Any]]:
    """The means as a curve with markers, the one under the cursor larger; and those at or below 0 on the lower edge."""
    mean = measured.mean
    curve = line(x, np.where(mean > 0, mean, np.nan), colour, name, "y", width=3, dash=dash, over=over)
    marker = {"symbol": symbol, "size": np.where(x == cursor, 13.0, 7.0), "color": colour, "opacity": 1}
    # Plotly outlines markers of several sizes.
    marker["line"] = {"width": 2 if symbol.endswith("-open") else 0, "color": colour}
    below = zero_or_below(x, mean, colour, name, "y", floor, over=over)
    return [curve | {"mode": "lines+markers", "marker": marker, "cliponaxis": False}, below]


def cursor_axis(theme: Theme, span: Sequence[float], cursor: float, width: float) -> dict[str, Any]:
    """A log axis whose tick labels leave room for the cursor's flag on a drawing of `width` px."""
    low, high = math.log10(span[0]) - 0.05, math.log10(span[1]) + 0.05
    return thinned(log_axis(theme, low, high), cursor, 75 / width * (high - low), width)


def with_legend(traces: Sequence[dict[str, Any]], height: int) -> dict[str, Any]:
    """The layout with a legend below the axis, for charts too narrow for labels."""
    rows = LEGEND_ROW * sum(bool(trace["showlegend"]) for trace in traces)
    legend = LEGEND | {"y": -(BOTTOM + 2) / (height - TOP - BOTTOM)}
    return {
        "height": height + rows,
        "margin": _NARROW | {"b": BOTTOM + rows},
        "showlegend": True,
        "legend": legend,
    }


def curves_chart(
    x: Array,
    curves: Sequence[tuple[str, str, Any, str, str, str]],
    lines: Sequence[tuple[str, str, Any, Array, str, float, str]],
    *,
    over: str,
    cursor: float | None,
    title: str,
    short: str = "",
    mark: tuple[float, str] | None = None,
    must: Sequence[Array],
    may: Sequence[Array],
    heading: str,
    theme: Theme,
    height: int,
    depth: float = _DEPTH,
) -> Figure:
    """Measured curves (name, label, MetricCurve or Summary, ink, symbol, dash) over lines (name, label, x, y, ink,
    width, dash), on log axes with labels behind their ends. short: the title on a phone. mark: a place on the axis, and
    what begins there. must, may: what the vertical axis holds in any case, and where there is room; depth: see
    `powers_of`."""
    powers = powers_of(must, may, depth)
    floor, muted = 10.0 ** powers[0], MUTED[theme]
    traces: list[dict[str, Any]] = []
    ends: list[tuple[str, float, str, str]] = []
    measured = [(name, label, getattr(curve, "measured", curve), *look) for name, label, curve, *look in curves]
    for k, (_, _, values, ink, _, _) in enumerate(measured):
        band = band_of(x, values, ink, floor)
        if k:
            band[1]["showlegend"] = False
        traces += band
    for name, label, places, heights, ink, width, dash in lines:
        inside = np.where(heights >= floor, heights, np.nan)
        traces.append(line(places, inside, ink, name, "y", width=width, dash=dash, over=over))
        ends.append(("y", last_drawn(heights), label, ink))
    for name, label, values, ink, symbol, dash in measured:
        traces += means(x, values, name, ink, floor, cursor or -1, theme, symbol, over, dash)
        ends.append(("y", last_drawn(values.mean), label, ink))
    span = [float(x[0]), float(x[-1])]
    notes = [note(heading, x=0, y=1, yshift=18, colour=TEXT[theme], size=14)]
    if cursor is not None:
        words = f"{cursor:,}" if isinstance(cursor, int) else f"{cursor:g}"
        notes.append(flag(f"{over} = {words}", cursor, TEXT[theme], BACKGROUND[theme]))
    shapes = [] if cursor is None else [vertical(cursor, muted)]
    if mark and span[0] <= mark[0] <= span[1]:
        shapes.append(vertical(mark[0], muted) | {"line": {"color": muted, "width": 1, "dash": "dot"}})
        place = {"xref": "x", "x": math.log10(mark[0]), "xanchor": "right", "xshift": -4, "yanchor": "top"}
        notes.append(note(mark[1], x=0, y=1, colour=TEXT[theme], size=13) | place)
    at = cursor if cursor is not None else 1e-9
    labels, beyond = end_labels(ends, {"y": (powers, height - TOP - BOTTOM)}, theme, ("y",))
    layout = frame(theme, height) | {
        "margin": {"l": LEFT, "r": RIGHT, "t": TOP, "b": BOTTOM},
        "showlegend": False,
        "xaxis": titled(cursor_axis(theme, span, at, 560), title),
        "yaxis": log_axis(theme, *powers),
        "shapes": shapes,
        "annotations": [*notes, *labels],
    }
    narrow = with_legend(traces, height) | {
        "xaxis": titled(cursor_axis(theme, span, at, 300), short or title),
        "annotations": [*notes, *beyond],
    }
    return Figure(traces, layout | {"meta": {"narrow": narrow}})


def titled(made: dict[str, Any], title: str) -> dict[str, Any]:
    """The axis with a title below its tick labels, or below the cursor's flag where the flag leaves no label."""
    low, high = (10.0**edge for edge in made["range"])
    shown = any(text for tick, text in zip(made["tickvals"], made["ticktext"], strict=True) if low <= tick <= high)
    return made | {"title": {"text": title, "standoff": 10 if shown else 30, "font": {"size": 14}}}
