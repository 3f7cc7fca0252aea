"""Doors for the noise: excess risk over the budget and over lam."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import Array
from ...mechanisms import mechanism_class
from ..figure import Figure
from ..style import (
    BACKGROUND,
    FAMILIES,
    LEGEND,
    LEGEND_ROW,
    MUTED,
    NOISES,
    PLACES,
    SYMBOLS,
    TEXT,
    Theme,
    band,
    decades,
    dot,
    end_labels,
    flag,
    frame,
    line,
    log_axis,
    marker_of,
    note,
    plain_number,
    vertical,
    with_opacity,
    zero_or_below,
)

_TOP, _BOTTOM, _LEFT, _RIGHT = 30, 54, 58, 156
_DEPTH = 8.0  # powers of ten: a door that has just opened is far worse than one that is wide open


def doors_figure(
    table: pd.DataFrame,
    *,
    epsilon: float,
    theme: Theme,
    height: int,
    bounds: bool = True,
    bias: bool = True,
    rates: Mapping[str, Array] | None = None,
    exhibits: Mapping[str, pd.DataFrame] | None = None,
) -> Figure:
    """Mean excess risk of several mechanisms against epsilon, with a cursor.

    table: swept over epsilon, as `dpcore.run` gives it. bounds: draw the proved upper bounds. bias: draw what
    regularisation alone costs. rates: name -> a value for each epsilon of the table, an order of growth without
    constants; it is drawn through the first mechanism's curve at the smallest epsilon. exhibits: name -> a table of one
    mechanism whose promise is another; a curve without markers. height: px.
    """
    words = "privacy budget ε  (smaller = more private)"
    chart = _Curves(table, epsilon, "ε", theme, height, bounds=bounds, bias=bias)
    for name, values in (rates or {}).items():
        chart.rate(name, values)
    for name, exhibit in (exhibits or {}).items():
        chart.exhibit(name, exhibit)
    phone = chart.below(words, height + chart.legend_height)
    return Figure(chart.traces, frame(theme, height) | chart.beside(words) | {"meta": {"narrow": phone}})


def valley_figure(table: pd.DataFrame, *, lam: float | None, theme: Theme, height: int) -> Figure:
    """Mean excess risk of several mechanisms against lam, over what regularisation alone costs.

    table: swept over lam, as `dpcore.run` gives it. lam: where the cursor stands, None for nowhere. height: px.
    """
    chart = _Curves(table, lam, "λ", theme, height, bounds=False, bias=True)
    return Figure(chart.traces, frame(theme, height) | chart.below("regularisation λ", height))


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
        floor = 10.0 ** self.powers[0]
        self.traces: list[dict[str, Any]] = []
        self.ends: list[tuple[str, float, str, str]] = []
        classes = {key: mechanism_class(key) for key in self.shown}
        self.closed: list[tuple[str, str, tuple[float, float]]] = []
        for place, family in dict.fromkeys((cls.place, cls.family) for cls in classes.values()):
            if interval := _closed(table[table.mechanism.map(lambda key: classes[key].place) == place], self.places):
                self.closed.append((place, FAMILIES[theme][family], interval))
        several = len({cls.noise for cls in classes.values()}) > 1
        # Descent does without a regulariser; what it costs without noise is that it stops early.
        regularised = excess[excess.mechanism.map(lambda key: classes[key].family) != "gradient"]
        common = _is_common(regularised.noiseless, regularised.x)
        for key, rows in self.shown.items():
            cls = classes[key]
            colour, descends = FAMILIES[theme][cls.family], cls.family == "gradient"
            name = f"{cls.place}, {NOISES[cls.noise]}" if several else f"noise in {PLACES[cls.place]}"
            if not several:
                self.traces += [edge | {"showlegend": False} for edge in band(rows, colour, "y", 1.0, floor)]
            self._curve(rows, "mean", colour, name, width=3, dash="solid" if cls.noise == "gaussian" else "dashdot")
            self.traces[-1] |= {"mode": "lines+markers", "marker": marker_of(cls, theme, 7)}
            self.traces.append(zero_or_below(rows.x, rows["mean"], colour, name, "y", floor, over=self.name))
            if bounds:
                words = f"{name}: bound" if several else f"{cls.place}: proved bound"
                self._curve(rows, "bound", colour, words, dash="dash")
            if bias and (descends or not common):
                cost = "stopping early" if descends else "regularisation"
                words = f"{name}: {cost}" if several else f"{cls.place}: {cost}"
                self._curve(rows, "noiseless", colour, words, width=1, dash="dot", label=not several)
        if bias and common and len(regularised):
            rows = regularised.drop_duplicates("x").sort_values("x")
            self._curve(rows, "noiseless", FAMILIES[theme]["reference"], "regularisation alone", width=1, dash="dot")
        for key, rows in self.shown.items():
            family = classes[key].family
            self.traces.append(dot(rows, cursor, FAMILIES[theme][family], theme, "y", 1.0))
            self.traces[-1]["marker"] |= {"symbol": SYMBOLS[family], "size": 13}

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

    def exhibit(self, words: str, table: pd.DataFrame) -> None:
        rows = table[(table.status == "ok") & (table.metric == "excess_empirical_risk")]
        if len(rows):
            low, high = decades(rows, ("mean",), _DEPTH)
            self.powers = min(self.powers[0], low), max(self.powers[1], high)
            colour = FAMILIES[self.theme][mechanism_class(rows.mechanism.iloc[0]).family]
            self._curve(rows, "mean", colour, words, dash="longdashdot")

    @property
    def legend_height(self) -> int:
        return LEGEND_ROW * sum(bool(trace["showlegend"]) for trace in self.traces)

    def _layout(self, title: str) -> dict[str, Any]:
        words = {"text": title, "standoff": 10, "font": {"size": 14}}
        low, high = math.log10(self.places[0]), math.log10(self.places[-1])
        shapes = [vertical(self.cursor, MUTED[self.theme])] if self.cursor else []
        notes = [note("excess risk above the best model's", x=0, y=1, yshift=18, colour=TEXT[self.theme], size=14)]
        if self.cursor:
            value = f"{self.name} = {plain_number(float(f'{self.cursor:.2g}'))}"
            notes.append(flag(value, self.cursor, TEXT[self.theme], BACKGROUND[self.theme]))
        for place, colour, interval in self.closed:
            shapes.append(_shade(*interval, colour))
            notes.append(_upright(f"the {place} is refused", interval, colour))
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
        labels, _ = self._end_labels()
        margin = {"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": _BOTTOM}
        return layout | {"margin": margin, "annotations": [*layout["annotations"], *labels]}

    def below(self, title: str, height: int) -> dict[str, Any]:
        """The layout with a legend below the axis, for charts too narrow for labels."""
        bottom = _BOTTOM + self.legend_height
        legend = LEGEND | {"y": -(_BOTTOM + 2) / (height - _TOP - bottom)}
        margin = {"l": 54, "r": 26, "t": _TOP, "b": bottom}  # half a cursor flag on the right
        layout, (_, beyond) = self._layout(title), self._end_labels()
        shown = {"showlegend": True, "legend": legend, "annotations": [*layout["annotations"], *beyond]}
        return layout | {"height": height, "margin": margin} | shown

    def _end_labels(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        return end_labels(self.ends, {"y": (self.powers, self.height - _TOP - _BOTTOM)}, self.theme, ("y",))


def _is_common(values: pd.Series, x: pd.Series) -> bool:
    """Whether all mechanisms have the same value at each x, up to what their solvers leave open."""
    groups = values.astype(float).groupby(x.to_numpy(float))
    return bool(((groups.max() - groups.min()) <= 1e-3 * groups.max().abs()).all())


def _closed(table: pd.DataFrame, places: Array) -> tuple[float, float] | None:
    """The interval of x where not all mechanisms of a table apply, up to half-way to the next point where they do."""
    refused = table[table.status != "ok"].x.to_numpy(float)
    if not len(refused):
        return None
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
