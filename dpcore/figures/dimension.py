"""Idle columns: accuracy and excess risk by noise against p; and the orthant, where sqrt(p) comes back."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..core.arrays import Array
from ..mechanisms import mechanism_class
from ..mechanisms.base import Family
from ..studies.dimension.noise_growth import NoiseGrowth
from ..studies.dimension.orthant import OrthantExample
from .chart import Chart
from .figure import Figure
from .style import LARGER, NOISES, SYMBOLS, Look, Theme

_GUARANTEES = {"gaussian": "(ε, δ)", "gamma": "(pure ε)"}
# The same for all settings, so that these compare: percent, and powers of ten.
_ACCURACY, _DAMAGE, _PREDICTION = (48.0, 86.0), (-5.0, 2.0), (-3.0, 3.0)
_LEGEND_LINE = 19  # px
_ROOM = {"beyond": 0.1, "room": 55, "spare": 0.15}  # around the cursor's flag


def dimension_figure(
    table: pd.DataFrame,
    growth: Mapping[str, NoiseGrowth],
    *,
    p: int,
    accuracy_title: str,
    theme: Theme,
    height: int,
) -> Figure:
    """Accuracy against p over the excess risk by noise beside its bounds.

    table: swept over p, as `dpcore.run` gives it. growth: of the same cells. accuracy_title: what is counted, in words.
    """
    chart = Chart(theme, height, "p", left=52, upper=0.5)
    ok = table[table.status == "ok"]
    keys = [key for key in growth if key in set(ok.mechanism)]
    span = [float(table.x.min()), float(table.x.max())] if len(table) else [8.0, 8.0]

    right, excess = (ok[ok.metric == metric] for metric in ("accuracy", "excess_empirical_risk"))
    for key in keys:
        accuracy, damage, g = right[right.mechanism == key], excess[excess.mechanism == key], growth[key]
        name, above = curve_name(key), (damage["mean"] - damage.noiseless).to_numpy(float)
        _curve(chart, key, accuracy.x, 100 * accuracy["mean"], name, p, label=f"{name},<br>guarantee {guarantee(key)}")
        shown = np.where(above > 0, above, np.nan)
        _curve(chart, key, damage.x, shown, name, p, axis="y2", label=name, legend=False)
        colour, bound = chart.colours[mechanism_class(key).family], f"{name}: bound"
        proved = f"upper {key}:over" if mechanism_class(key).place == "output" else "upper"
        chart.curve(g.p, g.damage_bound, colour, bound, axis="y2", label=bound, dash="dash", layer=proved)
    guess = level = math.nan  # where nothing is released
    if keys:
        guess, least = float(100 * right.nothing_learned.iloc[0]), excess.iloc[0]
        level = float(least.nothing_learned - least.noiseless)
    name = "nothing learned"
    chart.level(span, guess, chart.muted, LARGER, label=name, dash="dash")
    chart.level(span, level, chart.muted, name, axis="y2", label=name, dash="dash")
    chart.heading(accuracy_title)
    chart.heading("excess risk caused by the noise", "y2")
    chart.cursor(p, f"p = {p:,}")
    return chart.beside(
        chart.cursor_axes(span, p, (500, 250), title="columns p  (8 useful, the rest all zero)", **_ROOM),
        chart.axis(range=list(_ACCURACY), dtick=10),
        chart.log_axis(*_DAMAGE),
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
    chart.write("mean noise in one prediction", 0, 1, size=14, yshift=16)
    chart.cursor(p, f"p = {p:,}")
    (across,) = chart.cursor_axes(example.p, p, [230], title="columns p", **_ROOM)
    return chart.below(across, chart.log_axis(*_PREDICTION), rows=4, row=_LEGEND_LINE, drop=54)


def curve_name(mechanism: str) -> str:
    """The name of a curve.

    >>> curve_name("output_gamma")
    'Gamma noise'
    """
    return f"{NOISES[mechanism_class(mechanism).noise]} noise"


def guarantee(mechanism: str) -> str:
    """The kind of its guarantee.

    >>> guarantee("output_gamma")
    '(pure ε)'
    """
    return _GUARANTEES[mechanism_class(mechanism).noise]


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
    return {"mode": "lines+markers", "marker": marker}
