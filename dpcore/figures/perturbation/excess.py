"""Doors for the noise: excess risk over the budget and over lam."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import Array
from ...experiments.summary import LEAST_BANDED
from ...mechanisms import mechanism_class
from ..chart import Chart
from ..figure import Figure
from ..log_chart import decades
from ..style import NOISES, PLACES, SYMBOLS, Look, Theme, marker_of, plain_number

_DEPTH = 8.0  # powers of ten: a door that has just opened is far worse than one that is wide open
_DASHES = {"gaussian": "solid", "gamma": "dashdot"}


def excess_figure(
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
    mechanism whose promise is another; a curve without markers.
    """
    chart = Chart(theme, height)
    curves = _Curves(chart, table, epsilon, bounds=bounds, bias=bias)
    for name, values in (rates or {}).items():
        curves.rate(name, values)
    for name, exhibit in (exhibits or {}).items():
        curves.exhibit(name, exhibit)
    across, upright = curves.axes("privacy budget ε  (smaller = more private)")
    return chart.beside([across, across], upright, phone=(54, 26))  # half a cursor flag on the right


def valley_figure(table: pd.DataFrame, *, lam: float | None, theme: Theme, height: int) -> Figure:
    """Mean excess risk of several mechanisms against lam, over what regularisation alone costs.

    table: swept over lam, as `dpcore.run` gives it. lam: where the cursor stands, None for nowhere.
    """
    chart = Chart(theme, height, "λ", left=54, right=26)
    return chart.below(*_Curves(chart, table, lam, bounds=False, bias=True).axes("regularisation λ"))


class _Curves:
    """Mean excess risk of several mechanisms over a logarithmic axis."""

    def __init__(self, chart: Chart, table: pd.DataFrame, cursor: float | None, *, bounds: bool, bias: bool) -> None:
        self.chart = chart
        self.places = np.unique(table.x.to_numpy(float))
        excess = table[(table.status == "ok") & (table.metric == "excess_empirical_risk")]
        self.shown = {key: excess[excess.mechanism == key] for key in table.mechanism.unique()}
        columns = ("mean", *(["bound"] if bounds else []), *(["noiseless"] if bias else []))
        self.powers = decades([excess[column] for column in columns], _DEPTH)
        floor = 10.0 ** self.powers[0]
        classes = {key: mechanism_class(key) for key in self.shown}
        several = len({cls.noise for cls in classes.values()}) > 1
        # Descent does without a regulariser; what it costs without noise is that it stops early.
        regularised = excess[excess.mechanism.map(lambda key: classes[key].family) != "gradient"]
        common = _is_common(regularised.noiseless, regularised.x)
        for key, rows in self.shown.items():
            cls = classes[key]
            colour, descends = chart.colours[cls.family], cls.family == "gradient"
            name = f"{cls.place}, {NOISES[cls.noise]}" if several else f"noise in {PLACES[cls.place]}"
            if not several:
                enough = rows[rows.repetitions >= LEAST_BANDED]
                chart.band(enough.x, enough.q10, enough.q90, colour, floor=floor, legend=False)
            look = {"mode": "lines+markers", "marker": marker_of(cls, chart.theme, 7)}
            self._curve(rows, "mean", colour, name, width=3, dash=_DASHES[cls.noise], **look)
            chart.zero_or_below(rows.x, rows["mean"], colour, name, floor)
            if bounds:
                words = f"{name}: bound" if several else f"{cls.place}: proved bound"
                self._curve(rows, "bound", colour, words, dash="dash")
            if bias and (descends or not common):
                cost = "stopping early" if descends else "regularisation"
                words = f"{name}: {cost}" if several else f"{cls.place}: {cost}"
                self._curve(rows, "noiseless", colour, words, width=1, dash="dot", label="" if several else words)
        if bias and common and len(regularised):
            rows = regularised.drop_duplicates("x").sort_values("x")
            self._curve(rows, "noiseless", chart.colours["reference"], "regularisation alone", width=1, dash="dot")
        for key, rows in self.shown.items():
            here, family = rows[rows.x == cursor], classes[key].family
            chart.dot(here.x, here["mean"], chart.colours[family], symbol=SYMBOLS[family], size=13)
        chart.heading("excess risk above the best model's")
        if cursor:
            chart.cursor(cursor, f"{chart.over} = {plain_number(float(f'{cursor:.2g}'))}")
        for place, family in dict.fromkeys((cls.place, cls.family) for cls in classes.values()):
            mine = table[table.mechanism.map(lambda key: classes[key].place) == place]
            if interval := _closed(mine, self.places):
                colour = chart.colours[family]
                chart.shade(*interval, colour, 0.12)
                # Along the left edge of the interval, from the bottom, where no curve is.
                upright: Look = {"xref": "x", "textangle": -90, "yanchor": "bottom", "xshift": 4}
                chart.write(f"the {place} is refused", math.log10(interval[0]), 0.02, colour, **upright)

    def _curve(self, rows: pd.DataFrame, column: str, colour: str, words: str, **look: Any) -> None:
        self.chart.curve(rows.x, rows[column], colour, words, **{"label": words} | look)

    def rate(self, words: str, values: Array) -> None:
        """Add an order of growth, through the first mechanism's curve at its first place."""
        first = next(iter(self.shown.values()))
        if len(first):
            values = values * float(first["mean"].iloc[0]) / values[self.places == float(first.x.iloc[0])]
            low, high = self.powers
            self.powers = min(low, math.log10(values.min()) - 0.15), max(high, math.log10(values.max()) + 0.15)
            self.chart.curve(self.places, values, self.chart.muted, words, label=words, dash="dash")

    def exhibit(self, words: str, table: pd.DataFrame) -> None:
        """Add a mechanism whose promise is another, as a curve without markers."""
        rows = table[(table.status == "ok") & (table.metric == "excess_empirical_risk")]
        if len(rows):
            low, high = decades([rows["mean"]], _DEPTH)
            self.powers = min(self.powers[0], low), max(self.powers[1], high)
            colour = self.chart.colours[mechanism_class(rows.mechanism.iloc[0]).family]
            self._curve(rows, "mean", colour, words, dash="longdashdot")

    def axes(self, title: str) -> tuple[Look, Look]:
        """Across and upright."""
        ends = math.log10(self.places[0]), math.log10(self.places[-1])
        return self.chart.log_axis(*ends, title=title), self.chart.log_axis(*self.powers)


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
