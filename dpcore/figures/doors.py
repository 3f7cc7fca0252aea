"""Two doors for the noise: excess risk over the budget and over lam, and the released models themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from scipy.ndimage import map_coordinates

from ..clouds import Cloud, Clouds
from ..types import Array
from .style import (
    BACKGROUND,
    FAMILIES,
    MUTED,
    TEXT,
    Theme,
    axis,
    band,
    decades,
    dot,
    end_labels,
    family_of,
    flag,
    frame,
    line,
    log_axis,
    note,
    plain_number,
    vertical,
    with_opacity,
)

_DOORS = {"output": "answer", "objective": "question"}
_SYMBOLS = {"output": "circle", "objective": "square"}
_NOISES = {"gaussian": "Gaussian", "gamma": "Gamma"}
_TOP, _BOTTOM, _LEFT, _RIGHT = 30, 54, 58, 156
_LEGEND = {
    **{"orientation": "h", "traceorder": "normal", "x": 0, "yanchor": "top"},
    "font": {"size": 13},
}
_LEGEND_ROW = 20  # px; on a phone every entry has its own
_DEPTH = 8.0  # powers of ten: a door that has just opened is far worse than one that is wide open
_APART = 0.12  # of the window: labels of rings from one another and from the best model


def door_of(mechanism: str) -> str:
    """Where a mechanism puts its noise.

    >>> door_of("objective_gamma")
    'question'
    """
    return _DOORS[family_of(mechanism)]


def doors_figure(
    table: pd.DataFrame,
    *,
    epsilon: float,
    theme: Theme,
    height: int,
    bounds: bool = True,
    bias: bool = True,
    rates: Mapping[str, Array] | None = None,
) -> go.Figure:
    """Mean excess risk of several mechanisms against epsilon, with a cursor.

    table: swept over epsilon, as `dpcore.run` gives it. bounds: draw the proved upper bounds. bias: draw what
    regularisation alone costs. rates: name -> a value for each epsilon of the table, an order of growth without
    constants; it is drawn through the first mechanism's curve at the smallest epsilon. height: px.
    """
    words = "privacy budget ε  (smaller = more private)"
    chart = _Curves(table, epsilon, "ε", theme, height, bounds=bounds, bias=bias)
    for name, values in (rates or {}).items():
        chart.rate(name, values)
    phone = chart.below(words, height + chart.legend_height)
    return go.Figure(data=chart.traces, layout=frame(theme, height) | chart.beside(words) | {"meta": {"narrow": phone}})


def valley_figure(table: pd.DataFrame, *, lam: float | None, theme: Theme, height: int) -> go.Figure:
    """Mean excess risk of several mechanisms against lam, over what regularisation alone costs.

    table: swept over lam, as `dpcore.run` gives it. lam: where the cursor stands, None for nowhere. height: px.
    """
    chart = _Curves(table, lam, "λ", theme, height, bounds=False, bias=True)
    return go.Figure(data=chart.traces, layout=frame(theme, height) | chart.below("regularisation λ", height))


class _Curves:
    """Traces of a chart of mean excess risk over a logarithmic axis, and its layout with labels beside or below."""

    def __init__(
        self,
        table: pd.DataFrame,
        cursor: float | None,
        name: str,
        theme: Theme,
        height: int,
        *,
        bounds: bool,
        bias: bool,
    ) -> None:
        self.theme, self.height, self.name, self.cursor = theme, height, name, cursor
        self.places = np.unique(table.x.to_numpy(float))
        excess = table[(table.status == "ok") & (table.metric == "excess_empirical_risk")]
        self.shown = {key: excess[excess.mechanism == key] for key in table.mechanism.unique()}
        columns = ("mean", *(["bound"] if bounds else []), *(["noiseless"] if bias else []))
        self.powers = decades(excess, columns, _DEPTH)
        self.traces: list[dict[str, Any]] = []
        self.ends: list[tuple[str, float, str, str]] = []
        self.closed = [_closed(table, door) for door in _DOORS.values()]
        colours, several = FAMILIES[theme], len({_noise(key) for key in self.shown}) > 1
        common = _is_common(excess.noiseless, excess.x)
        for key, rows in self.shown.items():
            colour, door = colours[family_of(key)], door_of(key)
            name = f"{door}, {_NOISES[_noise(key)]}" if several else f"noise in the {door}"
            if not several:
                self.traces += [edge | {"showlegend": False} for edge in band(rows, colour, "y", 1.0)]
            self._curve(rows, "mean", colour, name, width=3, dash="solid" if _noise(key) == "gaussian" else "dashdot")
            self.traces[-1] |= {"mode": "lines+markers", "marker": _marker(key, colour, theme, 7)}
            if bounds:
                words = f"{name}: bound" if several else f"{door}: proved bound"
                self._curve(rows, "bound", colour, words, dash="dash")
            if bias and not common:
                words = f"{name}: regularisation" if several else f"{door}: regularisation"
                self._curve(rows, "noiseless", colour, words, width=1, dash="dot", label=not several)
        if bias and common and len(excess):
            rows = excess.drop_duplicates("x").sort_values("x")
            self._curve(rows, "noiseless", colours["reference"], "regularisation alone", width=1, dash="dot")
        for key, rows in self.shown.items():
            self.traces.append(dot(rows, cursor, colours[family_of(key)], theme, "y", 1.0))
            self.traces[-1]["marker"] |= {"symbol": _SYMBOLS[family_of(key)], "size": 13}

    def _curve(
        self, rows: pd.DataFrame, column: str, colour: str, words: str, *, label: bool = True, **look: Any
    ) -> None:
        self.traces.append(line(rows.x, rows[column], colour, words, "y", over=self.name, **look))
        if label and len(rows):
            self.ends.append(("y", float(rows[column].iloc[-1]), words, colour))

    def rate(self, words: str, values: Array) -> None:
        first = next(iter(self.shown.values()))
        if len(first):
            values = values * float(first["mean"].iloc[0]) / values[self.places == float(first.x.iloc[0])]
            low, high = self.powers
            self.powers = min(low, math.log10(values.min()) - 0.15), max(high, math.log10(values.max()) + 0.15)
            self.traces.append(line(self.places, values, MUTED[self.theme], words, "y", dash="dash", over=self.name))
            self.ends.append(("y", float(values[-1]), words, MUTED[self.theme]))

    @property
    def legend_height(self) -> int:
        return _LEGEND_ROW * sum(bool(trace["showlegend"]) for trace in self.traces)

    def _layout(self, title: str) -> dict[str, Any]:
        words = {"text": title, "standoff": 10, "font": {"size": 14}}
        low, high = math.log10(self.places[0]), math.log10(self.places[-1])
        shapes = [vertical(self.cursor, MUTED[self.theme])] if self.cursor else []
        notes = [note("excess risk above the best model's", x=0, y=1, yshift=18, colour=TEXT[self.theme], size=14)]
        if self.cursor:
            value = f"{self.name} = {plain_number(float(f'{self.cursor:.2g}'))}"
            notes.append(flag(value, self.cursor, TEXT[self.theme], BACKGROUND[self.theme]))
        for (family, door), interval in zip(_DOORS.items(), self.closed, strict=True):
            if interval:
                colour = FAMILIES[self.theme][family]
                shapes.append(_shade(*interval, colour))
                notes.append(_upright(f"the {door} is refused", interval, colour))
        return {
            "showlegend": False,
            "xaxis": log_axis(self.theme, low, high) | {"title": words},
            "yaxis": log_axis(self.theme, *self.powers),
            "shapes": shapes,
            "annotations": notes,
        }

    def beside(self, title: str) -> dict[str, Any]:
        """The layout with a label behind each curve."""
        layout = self._layout(title)
        labels = end_labels(self.ends, {"y": (self.powers, self.height - _TOP - _BOTTOM)}, ("y",))
        margin = {"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": _BOTTOM}
        return layout | {"margin": margin, "annotations": [*layout["annotations"], *labels]}

    def below(self, title: str, height: int) -> dict[str, Any]:
        """The layout with a legend below the axis, for charts too narrow for labels."""
        bottom = _BOTTOM + self.legend_height
        legend = _LEGEND | {"y": -(_BOTTOM + 2) / (height - _TOP - bottom)}
        margin = {"l": 54, "r": 26, "t": _TOP, "b": bottom}  # half a cursor flag on the right
        return self._layout(title) | {"height": height, "margin": margin, "showlegend": True, "legend": legend}


def cloud_figure(clouds: Clouds, *, theme: Theme, height: int) -> go.Figure:
    """Released models of two parameters as dots over the contours of the excess risk, factors of 10 apart.

    height: px; the window is a square.
    """
    colours = FAMILIES[theme]
    rings = _rings(clouds)
    low, high = (min(rings), max(rings)) if rings else (-1.0, 0.0)
    ground = {
        "type": "contour",
        "x": clouds.x,
        "y": clouds.y,
        "z": np.log10(np.maximum(clouds.excess, 1e-12)),
        "contours": {"start": low, "end": high, "size": 1.0, "coloring": "none"},
        "line": {"color": MUTED[theme], "width": 1, "smoothing": 1.0},
        "showscale": False,
        "showlegend": False,
        "hoverinfo": "skip",
    }
    traces: list[dict[str, Any]] = [ground]
    traces += [_dots(cloud, colours[family_of(cloud.mechanism)], theme) for cloud in clouds.clouds]
    traces += [_cross(cloud, colours[family_of(cloud.mechanism)], theme) for cloud in clouds.clouds]
    edge = {"color": BACKGROUND[theme], "width": 1}
    star = {"symbol": "star", "size": 15, "color": colours["reference"], "line": edge}
    traces.append(_points(clouds.best[None], "best model", star))
    side = axis(theme) | {"title": {"text": "θ₁", "standoff": 4}, "range": [float(clouds.x[0]), float(clouds.x[-1])]}
    upright = axis(theme) | {"title": {"text": "θ₂", "standoff": 4}, "range": [float(clouds.y[0]), float(clouds.y[-1])]}
    legend = _LEGEND_ROW * (1 + len(clouds.clouds))
    layout = frame(theme, height) | {
        "margin": {"l": 46, "r": 8, "t": 8, "b": _BOTTOM + legend - 10},
        "showlegend": True,
        "legend": _LEGEND | {"y": -(_BOTTOM - 8) / (height + 2 - _BOTTOM - legend)},
        "xaxis": side | {"showgrid": False, "constrain": "domain", "nticks": 5},
        "yaxis": upright | {"showgrid": False, "scaleanchor": "x", "constrain": "domain", "nticks": 5},
        "annotations": [_ring(level, place, theme) for level, place in rings.items()],
    }
    return go.Figure(data=traces, layout=layout)


def _dots(cloud: Cloud, colour: str, theme: Theme) -> dict[str, Any]:
    name = f"{door_of(cloud.mechanism)}, {_NOISES[_noise(cloud.mechanism)]}"
    return _points(cloud.thetas, name, _marker(cloud.mechanism, colour, theme, 6) | {"opacity": 0.75})


def _cross(cloud: Cloud, colour: str, theme: Theme) -> dict[str, Any]:
    look = {"symbol": "x", "size": 12, "color": colour, "line": {"color": BACKGROUND[theme], "width": 2}}
    return _points(cloud.theta_hat[None], "without noise", look) | {"showlegend": False}


def _points(thetas: Array, name: str, marker: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": thetas[:, 0],
        "y": thetas[:, 1],
        "name": name,
        "marker": marker,
        "hovertemplate": f"{name}: (%{{x:.3~g}}, %{{y:.3~g}})<extra></extra>",
    }


def _rings(clouds: Clouds) -> dict[float, Array]:
    """Exponent -> where to write it: rings of equal excess risk that are large enough, on a ray from the best model."""
    side, logs = float(np.ptp(clouds.x)), np.log10(np.maximum(clouds.excess, 1e-12))
    corner = np.array([clouds.x[0], clouds.y[0]])
    angles = np.pi * (0.25 + 0.25 * np.arange(8))
    steps = np.linspace(0.0, side, 200)
    rays = [clouds.best + np.outer(steps, [np.cos(angle), np.sin(angle)]) for angle in angles]
    found: dict[float, Array] = {}
    for level in np.arange(-6.0, 1.0 + math.ceil(logs.max())):
        for ray in rays:
            places = (ray - corner) / side
            heights = map_coordinates(logs, (len(clouds.x) - 1) * places.T[::-1], order=1, mode="nearest")
            met = int(np.argmax(heights >= level))  # 0 where it is never met
            away = [np.linalg.norm(ray[met] - other) for other in (clouds.best, *found.values())]
            if met and (np.abs(places[met] - 0.5) < 0.44).all() and min(away) > _APART * side:
                found[float(level)] = ray[met]
                break
    return found


def _ring(level: float, place: Array, theme: Theme) -> dict[str, Any]:
    where = {"xref": "x", "yref": "y", "xanchor": "center", "yanchor": "middle", "bgcolor": BACKGROUND[theme]}
    return note(plain_number(10.0**level), x=float(place[0]), y=float(place[1]), colour=MUTED[theme], size=12) | where


def _noise(mechanism: str) -> str:
    return mechanism.split("_")[1]


def _marker(mechanism: str, colour: str, theme: Theme, size: int) -> dict[str, Any]:
    """The family's symbol; open where the promise is pure."""
    filled = _noise(mechanism) == "gaussian"
    look = {"symbol": _SYMBOLS[family_of(mechanism)], "size": size, "line": {"color": colour, "width": 1.5}}
    return look | {"color": colour if filled else BACKGROUND[theme]}


def _is_common(values: pd.Series, x: pd.Series) -> bool:
    """Whether all mechanisms have the same value at each x, up to what their solvers leave open."""
    groups = values.astype(float).groupby(x.to_numpy(float))
    return bool(((groups.max() - groups.min()) <= 1e-3 * groups.max().abs()).all())


def _closed(table: pd.DataFrame, door: str) -> tuple[float, float] | None:
    """The interval of x where not all of a door's mechanisms apply, up to half-way to the next point where they do."""
    mine = table[[door_of(key) == door for key in table.mechanism]]
    refused = mine[mine.status != "ok"].x.to_numpy(float)
    if not len(refused):
        return None
    places = np.unique(table.x.to_numpy(float))
    edges = np.concatenate([places[:1], np.sqrt(places[:-1] * places[1:]), places[-1:]])
    first, last = np.searchsorted(places, [refused.min(), refused.max()])
    return float(edges[first]), float(edges[last + 1])


def _shade(low: float, high: float, colour: str) -> dict[str, Any]:
    place = {"type": "rect", "xref": "x", "yref": "paper", "x0": low, "x1": high, "y0": 0, "y1": 1, "layer": "below"}
    return place | {"fillcolor": with_opacity(colour, 0.12), "line": {"width": 0}}


def _upright(text: str, interval: tuple[float, float], colour: str) -> dict[str, Any]:
    """Words along the left edge of a shaded interval, from the bottom, where no curve is."""
    place = {"xref": "x", "x": math.log10(interval[0]), "textangle": -90, "yanchor": "bottom", "xshift": 4}
    return note(text, x=0, y=0.02, colour=colour, size=13) | place
