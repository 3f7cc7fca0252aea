"""Idle columns: accuracy, distance and excess risk by noise against p; and the orthant, where sqrt(p) comes back."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..core.arrays import Array
from ..mechanisms import mechanism_class
from ..mechanisms.base import Family
from ..studies.dimension.noise_growth import NoiseGrowth
from ..studies.dimension.orthant import OrthantExample
from .chart import Chart
from .figure import Figure
from .log_chart import positive
from .style import LARGER, NOISES, SYMBOLS, Look, Theme

Lower = Literal["distance", "damage"]

_GUARANTEES = {"gaussian": "guarantee (ε, δ)", "gamma": "guarantee pure ε"}
_LOWER_TITLES = {
    "distance": "distance from the model without privacy",
    "damage": "excess risk caused by the noise",
}
_LEGEND_LINE = 19  # px
_ROOM = {"beyond": 0.1, "room": 55, "spare": 0.15}  # around the cursor's flag


def dimension_figure(
    table: pd.DataFrame,
    growth: Mapping[str, NoiseGrowth],
    *,
    p: int,
    lower: Lower,
    accuracy_title: str,
    theme: Theme,
    height: int,
) -> Figure:
    """Accuracy against p over the model's distance, or over the excess risk by noise beside its bounds.

    table: swept over p, as `dpcore.run` gives it. growth: of the same cells. lower: the quantity of the lower panel;
    the earlier rates beside the excess risk are shapes, anchored at the smallest p. accuracy_title: what is counted, in
    words.
    """
    chart = Chart(theme, height, "p", left=52, upper=0.5)
    plain = chart.colours["reference"]
    ok = table[table.status == "ok"]
    keys = [key for key in growth if key in set(ok.mechanism)]
    span = [float(table.x.min()), float(table.x.max())] if len(table) else [8.0, 8.0]

    right = ok[ok.metric == "accuracy"]
    best, larger = 100 * right[["reference", "nothing_learned"]].iloc[0] if len(keys) else (math.nan, math.nan)
    chart.level(span, best, plain, "without privacy", label="without privacy")
    chart.level(span, larger, chart.muted, LARGER, label=LARGER, dash="dot")
    for key in keys:
        rows = right[right.mechanism == key]
        _curve(chart, key, rows.x, 100 * rows["mean"], curve_name(key), p, label=_guarantee(key))
        _lower_curves(chart, ok, growth[key], lower, p)
    if lower == "distance" and keys:
        name = "‖θ̂‖, its own length"
        chart.level(span, growth[keys[0]].length, plain, name, axis="y2", label=name, dash="dot")
    elif keys:
        excess = ok[(ok.mechanism == keys[0]) & (ok.metric == "excess_empirical_risk")].iloc[0]
        level, name = float(excess.nothing_learned - excess.noiseless), "nothing learned"
        chart.level(span, level, chart.muted, name, axis="y2", label=name, dash="dash")
    chart.heading(accuracy_title)
    chart.heading(_LOWER_TITLES[lower], "y2")
    chart.cursor(p, f"p = {p:,}")
    shown = [trace["y"] for trace in chart.traces if trace["yaxis"] == "y2"]
    return chart.beside(
        chart.cursor_axes(span, p, (500, 250), title="columns p  (8 useful, the rest all zero)", **_ROOM),
        chart.axis(range=[48.0, _top(ok)], dtick=10),
        chart.log_axis(*_decades(shown)),
        phone=(44, 46),  # half a flag on the right
        rows=chart.entries() + 1,
        row=_LEGEND_LINE,
        drop=54,
    )


def orthant_figure(example: OrthantExample, *, p: int, theme: Theme, height: int) -> Figure:
    """The one prediction that matters against p: free, and with the model held in the positive orthant."""
    chart = Chart(theme, height, "p", left=44, right=46, top=26)
    shown: tuple[tuple[Array, Family, str, bool, str], ...] = (
        (example.projected, "output", "output, cut at 0", True, "solid"),
        (example.free_output, "output", "output, free", False, "dot"),
        (example.constrained, "objective", "objective, held ≥ 0", True, "solid"),
        (example.free_objective, "objective", "objective, free", False, "dash"),
    )
    for values, family, name, marked, dash in shown:
        if np.isfinite(values).any():
            colour = chart.colours[family]
            look = _markers(example.p, p, colour, SYMBOLS[family], colour) if marked else {}
            chart.curve(example.p, values, colour, name, width=2.5 if marked else 1.5, dash=dash, **look)
    chart.write("noise in one prediction, E|z|", 0, 1, size=14, yshift=16)
    chart.cursor(p, f"p = {p:,}")
    (across,) = chart.cursor_axes(example.p, p, [230], title="columns p", **_ROOM)
    upright = chart.log_axis(*_decades([trace["y"] for trace in chart.traces]))
    return chart.below(across, upright, rows=4, row=_LEGEND_LINE, drop=54)


def curve_name(mechanism: str) -> str:
    """The name of a curve.

    >>> curve_name("output_gamma")
    'Gamma noise'
    """
    return f"{NOISES[mechanism_class(mechanism).noise]} noise"


def _guarantee(key: str) -> str:
    return f"{curve_name(key)},<br>{_GUARANTEES[mechanism_class(key).noise]}"


def _lower_curves(chart: Chart, ok: pd.DataFrame, growth: NoiseGrowth, lower: Lower, p: int) -> None:
    key, name = growth.mechanism, curve_name(growth.mechanism)
    if lower == "distance":
        _curve(chart, key, growth.p, growth.distance, name, p, axis="y2", label=name, legend=False)
        return
    rows = ok[(ok.mechanism == key) & (ok.metric == "excess_empirical_risk")]
    damage = (rows["mean"] - rows.noiseless).to_numpy(float)
    shown = np.where(damage > 0, damage, np.nan)
    _curve(chart, key, rows.x, shown, name, p, axis="y2", label=name, legend=False)
    colour, bound = chart.colours[mechanism_class(key).family], f"{name}: bound"
    proved = f"upper {key}:over" if mechanism_class(key).place == "output" else "upper"
    chart.curve(growth.p, growth.damage_bound, colour, bound, axis="y2", label=bound, dash="dash", layer=proved)
    if growth.earlier_source:
        shape, earlier = growth.earlier * (damage[0] / growth.earlier[0]), f"{name}: earlier theory, shape only"
        look: Look = {"label": f"{name}: earlier<br>theory, shape only", "width": 1, "dash": "2px 5px"}
        chart.curve(growth.p, shape, colour, earlier, axis="y2", **look)


def _curve(chart: Chart, key: str, x: Any, y: Any, name: str, p: int, **look: Any) -> None:
    """Add a curve: solid with filled markers for Gaussian noise, dash-dot with open ones for Gamma noise."""
    cls = mechanism_class(key)
    colour, gaussian = chart.colours[cls.family], cls.noise == "gaussian"
    marked = _markers(np.asarray(x, float), p, colour, SYMBOLS[cls.family], colour if gaussian else chart.paper)
    chart.curve(x, y, colour, name, width=3, dash="solid" if gaussian else "dashdot", **marked, **look)


def _markers(x: Array, p: int, colour: str, symbol: str, fill: str) -> Look:
    """Markers at the computed points; the one under the cursor is larger."""
    marker = {
        "size": np.where(x == p, 12.0, 6.0),
        "symbol": symbol,
        "color": fill,
        "line": {"color": colour, "width": 2},
        "opacity": 1,  # plotly fades markers of several sizes
    }
    return {"mode": "lines+markers", "marker": marker, "cliponaxis": False}


def _top(ok: pd.DataFrame) -> float:
    """A round number above everything in the accuracy panel."""
    rows = ok[ok.metric == "accuracy"]
    top = 100 * rows[["mean", "reference"]].max().max()  # nan where nothing is drawn
    return 101.0 if math.isnan(top) else min(101.0, 5 * math.ceil((top + 1) / 5) + 0.5)


def _decades(curves: Sequence[Array]) -> tuple[float, float]:
    """Exponents of a log axis that holds every positive value."""
    values = positive(curves)
    if not len(values):
        return -1.0, 1.0
    low, high = math.log10(values.min()), math.log10(values.max())
    room = max(0.3, 0.1 * (high - low))  # for labels and the larger marker at the edges
    return low - room, high + room
