"""Charts of measured excess risk on log axes: means with bands over theory, and the cursor."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..experiments.summary import Summary
from .chart import Chart, axis_title
from .figure import Figure
from .style import Look

_BELOW = 0.6  # powers of ten that an axis goes on below the smallest measured mean, where curves of theory end
_DEPTH = 5.0


Line = tuple[str, str, Any, Any, str, float, str, str]  # of `curves_chart`


def powers_of(must: Sequence[Array], may: Sequence[Array], depth: float = _DEPTH) -> tuple[float, float]:
    """Exponents of a log axis from a little below the smallest positive value of `must` to above the largest of all.

    depth: powers of ten that the axis spans at most.
    """
    low, high = positive(must), positive([*must, *may])
    if not len(low):
        return -3.0, 0.0
    top = math.log10(high.max()) + 0.15
    return max(math.log10(low.min()) - _BELOW, top - depth), top


def decades(
    curves: Sequence[Any], depth: float = _DEPTH, empty: tuple[float, float] = (-3.0, 0.0)
) -> tuple[float, float]:
    """Exponents of a log axis that holds the positive values of all curves, `depth` powers of ten at most.

    empty: where there is none.
    """
    values = positive(curves)
    if not len(values):
        return empty
    high = math.log10(values.max())
    return max(math.log10(values.min()), high - depth) - 0.15, high + 0.15


def positive(curves: Sequence[Any]) -> Array:
    """The positive values of all curves."""
    values = np.concatenate([np.asarray(curve, float) for curve in curves]) if curves else np.empty(0)
    return values[np.isfinite(values) & (values > 0)]


def through(shape: Array, values: Array) -> Array:
    """The shape, scaled to meet the first positive value; nan without one."""
    first = np.flatnonzero(values > 0)
    return shape * (values[first[0]] / shape[first[0]]) if len(first) else np.full(len(shape), np.nan)


def add_means(
    chart: Chart,
    x: Array,
    measured: Summary,
    colour: str,
    name: str,
    *,
    label: str,
    floor: float,
    cursor: float | None,
    symbol: str,
    dash: str = "solid",
) -> None:
    """The means as a curve with markers, the one under the cursor larger; and those at or below 0 on the lower edge."""
    mean = measured.mean
    marker = markers(x, cursor, colour, symbol)
    chart.marked(x, np.where(mean >= floor, mean, np.nan), colour, name, marker, width=3, dash=dash)
    chart.end(x, mean, label, colour)
    chart.zero_or_below(x, mean, colour, name, floor)


def markers(x: Array, cursor: float | None, colour: str, symbol: str, small: float = 7.0) -> Look:
    """Markers of which the one under the cursor is larger; plotly would fade and outline those of several sizes."""
    sizes = np.where(x == (math.nan if cursor is None else cursor), 13.0, small)
    outline = {"width": 2 if symbol.endswith("-open") else 0, "color": colour}
    return {"symbol": symbol, "size": sizes, "color": colour, "opacity": 1, "line": outline}


def curves_chart(
    chart: Chart,
    x: Array,
    curves: Sequence[tuple[str, str, Any, str, str, str]],
    lines: Sequence[Line],
    *,
    cursor: float | None,
    title: str,
    short: str = "",
    must: Sequence[Array] = (),
    may: Sequence[Array] = (),
    heading: str,
    proved: tuple[Array, Array, str, str] | None = None,
    bands: bool = True,
    depth: float = _DEPTH,
    window: tuple[float, float] | None = None,
) -> Figure:
    """Measured curves (name, label, MetricCurve or Summary, ink, symbol, dash) over lines (name, label, x, y, ink,
    width, dash, layer or ""), on log axes with labels behind their ends; a line's y may be one number. short: the title
    on a phone. must, may: what the vertical axis holds beside the
    means in any case, and where there is room; proved: ends of the band for given records, its ink, and whose they
    are; bands: whether runs have theirs; depth: see `powers_of`; window: powers of ten in its place, which stay
    whatever the curves are."""
    measured = [(name, label, getattr(curve, "measured", curve), *look) for name, label, curve, *look in curves]
    powers = window or powers_of([*(values.mean for _, _, values, *_ in measured), *must], may, depth)
    floor = 10.0 ** powers[0]
    if proved is not None:
        chart.proved(x, *proved, floor=floor)
    for k, (_, _, values, ink, _, _) in enumerate(measured if bands else ()):
        chart.band(x, values.q10, values.q90, ink, floor=floor, legend=not k)
    for name, label, places, heights, ink, width, dash, layer in lines:
        draw = chart.curve if np.ndim(heights) else chart.level
        draw(places, heights, ink, name, label=label, width=width, dash=dash, floor=floor, layer=layer)
    for name, label, values, ink, symbol, dash in measured:
        add_means(chart, x, values, ink, name, label=label, floor=floor, cursor=cursor, symbol=symbol, dash=dash)
    chart.heading(heading)
    if cursor is not None:
        chart.cursor(cursor, f"{chart.over} = {cursor:,}" if isinstance(cursor, int) else f"{chart.over} = {cursor:g}")
    wide, narrow = chart.cursor_axes(x, cursor or 1e-9, (560, 300))
    return chart.beside([titled(wide, title), titled(narrow, short or title)], chart.log_axis(*powers))


def titled(made: Look, text: str) -> Look:
    """The axis with a title below its tick labels, or below the cursor's flag where the flag leaves no label."""
    low, high = (10.0**edge for edge in made["range"])
    shown = any(label for tick, label in zip(made["tickvals"], made["ticktext"], strict=True) if low <= tick <= high)
    return made | {"title": axis_title(text, 10 if shown else 30)}
