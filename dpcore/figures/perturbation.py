"""Output, objective and gradient perturbation: excess risk over the budget and over lam, releases of two parameters,
and releases without noise."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.ndimage import map_coordinates

from ..core.arrays import Array
from ..experiments.summary import LEAST_BANDED
from ..mechanisms import mechanism_class
from ..studies.perturbation.exact_answers_leak import Fit, Leak
from ..studies.perturbation.non_private_descent import DescentCost
from ..studies.perturbation.private_polynomials import Polynomials
from ..studies.perturbation.release_scatter import ReleaseScatter
from .chart import Chart
from .figure import Figure
from .log_chart import decades
from .style import (
    NOISES,
    PERTURBATIONS,
    SYMBOLS,
    Look,
    Theme,
    marker_of,
    note,
    plain_number,
    short_number,
    with_opacity,
)
from .theorems import constants

_DEPTH = 8.0  # powers of ten: where a mechanism just applies it is far worse than elsewhere
_DASHES = {"gaussian": "solid", "gamma": "dashdot"}
_NEAR = 1_000.0  # a lower bound this close to a measurement has its place on the axis
_HEADING = "excess risk: training loss above F*"
_APART = 0.12  # of the window: labels of rings from one another and from the best model
_HIGHEST = 1.6  # |y| on the axis of polynomials fitted to records in [-1, 1]
_CLEAR = "rgba(0,0,0,0)"
_ALONE: Look = {"width": 1, "dash": "dot", "layer": "plain"}  # what regularisation or stopping early costs


def excess_figure(
    table: pd.DataFrame,
    *,
    epsilon: float,
    theme: Theme,
    height: int,
    rates: Mapping[str, Array] | None = None,
) -> Figure:
    """Mean excess risk of several mechanisms against epsilon, with a cursor.

    table: swept over epsilon, as `dpcore.run` gives it. rates: name -> a value for each epsilon of the table, an order
    of growth without constants; it is drawn through the first mechanism's curve at the smallest epsilon.
    """
    chart = Chart(theme, height)
    curves = _Curves(chart, table, epsilon, bounds=True)
    for name, values in (rates or {}).items():
        curves.rate(name, values)
    across, upright = curves.axes("privacy budget ε  (smaller = more private)")
    return chart.beside([across, across], upright, phone=(54, 26))  # half a cursor flag on the right


def valley_figure(table: pd.DataFrame, *, lam: float | None, theme: Theme, height: int) -> Figure:
    """Mean excess risk of several mechanisms against lam, over what regularisation alone costs.

    table: swept over lam, as `dpcore.run` gives it. lam: where the cursor stands, None for nowhere.
    """
    chart = Chart(theme, height, "λ", left=54)
    curves = _Curves(chart, table, lam, bounds=False)
    across, upright = curves.axes("regularisation λ")
    return chart.beside([across, across], upright, phone=(54, 26), wide=curves.wide)


class _Curves:
    def __init__(self, chart: Chart, table: pd.DataFrame, cursor: float | None, *, bounds: bool) -> None:
        self.chart = chart
        self.places = np.unique(table.x.to_numpy(float))
        self.wide: list[Look] = []  # words that only a chart without a legend has
        excess = table[(table.status == "ok") & (table.metric == "excess_empirical_risk")]
        self.shown = {key: excess[excess.mechanism == key] for key in table.mechanism.unique()}
        columns = ("mean", "noiseless", *(["bound", "nothing_learned"] if bounds else []))
        near = excess["lower_bound"].where(excess["lower_bound"] > excess["mean"] / _NEAR) if bounds else []
        self.powers = decades([*(excess[column] for column in columns), near], _DEPTH)
        floor = 10.0 ** self.powers[0]
        classes = {key: mechanism_class(key) for key in self.shown}
        several = len({cls.noise for cls in classes.values()}) > 1
        # Descent does without a regulariser; what it costs without noise is that it stops early.
        regularised = excess[excess.mechanism.map(lambda key: classes[key].family) != "gradient"]
        common = _is_common(regularised.noiseless, regularised.x)
        for key, rows in self.shown.items():
            cls = classes[key]
            colour, descends = chart.colours[cls.family], cls.family == "gradient"
            name = f"{cls.place}, {NOISES[cls.noise]}" if several else PERTURBATIONS[cls.place]
            if not several:
                enough = rows[rows.repetitions >= LEAST_BANDED]
                chart.band(enough.x, enough.q10, enough.q90, colour, floor=floor, legend=False)
            look = {"mode": "lines+markers", "marker": marker_of(cls, chart.theme, 7)}
            self._curve(rows, "mean", colour, name, width=3, dash=_DASHES[cls.noise], **look)
            chart.zero_or_below(rows.x, rows["mean"], colour, name, floor)
            if bounds:
                words = f"{name}: bound" if several else f"{cls.place}: upper bound"
                self._curve(rows, "bound", colour, words, dash="dash", layer=f"upper {key}", text=constants(rows))
            if descends or not common:
                cost = "stopping early" if descends else "regularisation"
                short = f"{cls.place}: {cost}"
                words = f"{name}: {cost}" if several else short
                leaves = (rows.noiseless.tail(1) < floor).any()  # which only a label can say
                label = short if leaves or not several else ""
                self._curve(rows, "noiseless", colour, words, label=label, **_ALONE)
        if common and len(regularised):
            rows = regularised.drop_duplicates("x").sort_values("x")
            self._curve(rows, "noiseless", chart.colours["reference"], "regularisation alone", **_ALONE)
        if bounds and len(excess):
            rows = excess.groupby("x")[["lower_bound"]].max().reset_index()
            chart.against(rows.x, float(excess.nothing_learned.iloc[0]), rows.lower_bound, excess.lower_source)
        for key, rows in self.shown.items():
            here, family = rows[rows.x == cursor], classes[key].family
            chart.dot(here.x, here["mean"], chart.colours[family], symbol=SYMBOLS[family], size=13)
        chart.heading(_HEADING)
        if cursor:
            chart.cursor(cursor, f"{chart.over} = {plain_number(float(f'{cursor:.2g}'))}")
        for place, family in dict.fromkeys((cls.place, cls.family) for cls in classes.values()):
            mine = table[table.mechanism.map(lambda key: classes[key].place) == place]
            interval, colour, words = _closed(mine, self.places), chart.colours[family], f"{place}: refused"
            if interval:
                chart.shade(*interval, colour, 0.12)
            if not bounds:  # a smaller chart, whose legend says it
                square = {"symbol": "square", "size": 14, "color": with_opacity(colour, 0.25)}
                chart.marks([math.nan], [math.nan], square, name=words, showlegend=interval is not None)
            if interval:
                # Along the left edge of the interval, near the bottom, where at most the regularisation's curve begins.
                upright: Look = {"xref": "x", "textangle": -90, "yanchor": "bottom", "xshift": 4}
                low = 0.02 if bounds else 0.12
                said = note(words, x=math.log10(interval[0]), y=low, colour=colour, size=13, **upright)
                (chart.notes if bounds else self.wide).append(said)

    def _curve(self, rows: pd.DataFrame, column: str, colour: str, words: str, **look: Any) -> None:
        self.chart.curve(rows.x, rows[column], colour, words, **{"label": words} | look)

    def rate(self, words: str, values: Array) -> None:
        """Add an order of growth, through the first mechanism's curve at its first place."""
        first = next(iter(self.shown.values()))
        if len(first):
            values = values * float(first["mean"].iloc[0]) / values[self.places == float(first.x.iloc[0])]
            low, high = self.powers
            self.powers = min(low, math.log10(values.min()) - 0.15), max(high, math.log10(values.max()) + 0.15)
            self.chart.curve(self.places, values, self.chart.muted, words, label=words, dash="longdashdot")

    def axes(self, title: str) -> tuple[Look, Look]:
        """Across and upright."""
        ends = math.log10(self.places[0]), math.log10(self.places[-1])
        return self.chart.log_axis(*ends, title=title), self.chart.log_axis(*self.powers)


def _is_common(values: pd.Series, x: pd.Series) -> bool:
    """True if all mechanisms have the same value at each x, up to the accuracy of their solvers."""
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


def descent_cost_figure(made: DescentCost, *, theme: Theme, height: int) -> Figure:
    """Excess risk against the gradients computed, by all records a step and by one, each with its bound."""
    chart = Chart(theme, height, "gradients", right=12)
    for progress, name, colour in (
        (made.full, "all records a step", chart.colours["gradient"]),
        (made.single, "one record a step", chart.colours["reference"]),
    ):
        excess = np.where(progress.risks > made.best, progress.risks - made.best, np.nan)
        chart.curve(progress.gradients, excess, colour, name, label=name, width=3)
        chart.curve(progress.gradients, made.bound, colour, f"{name}: bound", dash="dash")
    chart.heading(_HEADING)
    last = math.log10(made.full.gradients[-1]) + 0.1
    return chart.below(
        chart.log_axis(0.0, last, title="gradients of one record, computed so far"),
        chart.log_axis(*decades([trace["y"] for trace in chart.traces], _DEPTH)),
    )


def release_scatter_figure(scatter: ReleaseScatter, *, theme: Theme, height: int) -> Figure:
    """Released models of two parameters as dots over the contours of the excess risk, factors of 10 apart.

    height: px; the window is a square.
    """
    chart = Chart(theme, height, left=46, right=8, top=12, bottom=44)
    rings = _rings(scatter)
    low, high = (min(rings), max(rings)) if rings else (-1.0, 0.0)
    heights = np.log10(np.maximum(scatter.excess, 1e-12))
    chart.contours(scatter.x, scatter.y, heights, low, high, {"color": chart.muted, "width": 1})
    classes = {each.mechanism: mechanism_class(each.mechanism) for each in scatter.mechanisms}
    inks = {key: chart.colours[cls.family] for key, cls in classes.items()}
    for each in scatter.mechanisms:
        cls = classes[each.mechanism]
        look = marker_of(cls, theme, 6) | {"opacity": 0.75}
        _points(chart, each.thetas, f"{cls.place}, {NOISES[cls.noise]}", look)
    for each in scatter.mechanisms:
        edge = {"color": chart.paper, "width": 2}
        cross = {"symbol": "x", "size": 12, "color": inks[each.mechanism], "line": edge}
        name = f"{classes[each.mechanism].place}, without noise"
        _points(chart, each.theta_hat[None], name, cross, showlegend=False)
    for each in scatter.mechanisms:
        if each.path is not None and each.quiet_path is not None:
            for path, name, colour, dash in (
                (each.path, "one run, step by step", inks[each.mechanism], "solid"),
                (each.quiet_path, "the same without noise", chart.colours["reference"], "dot"),
            ):
                chart.line(path[:, 0], path[:, 1], colour, name, 1, dash, hoverinfo="skip")
    edge = {"color": chart.paper, "width": 1}
    star = {"symbol": "star", "size": 15, "color": chart.colours["reference"], "line": edge}
    _points(chart, scatter.best[None], "best model", star)
    where = {"xref": "x", "yref": "y", "xanchor": "center", "yanchor": "middle", "bgcolor": chart.paper}
    for level, (x, y) in rings.items():
        chart.write(plain_number(10.0**level), float(x), float(y), chart.muted, 12, **where)
    x, y = (
        chart.axis(name, 4, range=[float(at[0]), float(at[-1])], showgrid=False, constrain="domain", nticks=5)
        for at, name in ((scatter.x, "θ₁"), (scatter.y, "θ₂"))
    )
    return chart.below(x, y | {"scaleanchor": "x"}, drop=46)


def _points(chart: Chart, thetas: Array, name: str, marker: Look, **more: Any) -> None:
    hover = f"{name}: (%{{x:.3~g}}, %{{y:.3~g}})<extra></extra>"
    chart.marks(thetas[:, 0], thetas[:, 1], marker, name=name, hovertemplate=hover, **more)


def _rings(scatter: ReleaseScatter) -> dict[float, Array]:
    """Exponent -> where to write it: rings of equal excess risk that are large enough, on a ray from the best model."""
    side, logs = float(np.ptp(scatter.x)), np.log10(np.maximum(scatter.excess, 1e-12))
    corner = np.array([scatter.x[0], scatter.y[0]])
    angles = np.pi * (0.25 + 0.25 * np.arange(8))
    steps = np.linspace(0.0, side, 200)
    rays = [scatter.best + np.outer(steps, [np.cos(angle), np.sin(angle)]) for angle in angles]
    found: dict[float, Array] = {}
    for level in np.arange(-6.0, 1.0 + math.ceil(logs.max())):
        for ray in rays:
            places = (ray - corner) / side
            heights = map_coordinates(logs, (len(scatter.x) - 1) * places.T[::-1], order=1, mode="nearest")
            met = int(np.argmax(heights >= level))  # 0 where it is never met
            away = [np.linalg.norm(ray[met] - other) for other in (scatter.best, *found.values())]
            if met and (np.abs(places[met] - 0.5) < 0.44).all() and min(away) > _APART * side:
                found[float(level)] = ray[met]
                break
    return found


def polynomials_figure(made: Polynomials, *, theme: Theme, height: int) -> Figure:
    """Records as dots, the private curves of each mechanism (thin), and the best curve without privacy (thick).

    Below the axis stands how far curves reach that leave it.
    """
    chart = Chart(theme, height, left=46, right=8, top=12, bottom=44)
    chart.marks(made.x, made.y, {"size": 4, "color": chart.muted, "opacity": 0.5}, name="records", hoverinfo="skip")
    for fit in made.fits:
        cls = mechanism_class(fit.mechanism)
        name, colour = f"{cls.place}, {NOISES[cls.noise]}", chart.colours[cls.family]
        for r, curve in enumerate(fit.curves):
            look = {"opacity": 0.7, "hoverinfo": "skip", "legendgroup": name, "showlegend": r == 0}
            chart.line(made.grid, curve, colour, name, 1.5, _DASHES[cls.noise], **look)
        farthest = float(np.abs(fit.curves).max(initial=0.0))
        if farthest > _HIGHEST:
            chart.leaves(f"↑↓ {name}: up to ±{short_number(farthest)}", colour)
    chart.line(made.grid, made.best, chart.colours["reference"], "best curve", 3, "solid", hoverinfo="skip")
    across, upright = chart.axis("x", 4, range=[-1.0, 1.0], nticks=5), chart.axis("y", 4, range=[-_HIGHEST, _HIGHEST])
    return chart.below(across, upright, drop=46)


def leak_figure(leak: Leak, *, marks: tuple[Array, Array], title: str, theme: Theme, height: int) -> Figure:
    """Records on two lines, before (above) and after one was replaced, each with what is published.

    marks: where vertical marks stand before and after, [k] each, in the unit of the records. title: of the axis.
    """
    chart = Chart(theme, height, left=8, right=8, top=24)
    red = chart.colours["frank_wolfe"]
    _records(chart, leak.before, 1.0, leak.owner_before, leak.replaced)
    _records(chart, leak.after, 0.0, leak.owner_after, leak.replaced)
    for y, places, words in ((1.0, marks[0], "before"), (0.0, marks[1], "after one record is replaced")):
        chart.write(words, 0, y, yref="y", yshift=50)
        for x in places:
            mark = {"type": "line", "xref": "x", "yref": "y", "x0": x, "x1": x, "y0": y - 0.3, "y1": y + 0.3}
            chart.shapes.append(mark | {"line": {"color": red, "width": 2}})
    everything = np.concatenate([leak.before, leak.after])
    spare = 0.06 * np.ptp(everything)
    sides = [everything.min() - spare, everything.max() + spare]
    return chart.figure(
        chart.axis(title, 8, range=sides, nticks=6),
        chart.axis(range=[-0.6, 1.6], showticklabels=False, showgrid=False),
    )


def _records(chart: Chart, values: Array, y: float, owner: int, replaced: int) -> None:
    """Hollow dots; the one that was published is filled, the one that is replaced is a diamond."""
    numbers, red, rest = np.arange(len(values)), chart.colours["frank_wolfe"], chart.colours["reference"]
    marker = {
        "size": 13,
        "symbol": np.where(numbers == replaced, "diamond", "circle").tolist(),
        "color": np.where(numbers == owner, red, _CLEAR).tolist(),
        "line": {"color": np.where(numbers == owner, red, rest).tolist(), "width": 2},
    }
    chart.marks(values, np.full(len(values), y), marker, hovertemplate="record: %{x}<extra></extra>")


def fit_figure(fit: Fit, *, theme: Theme, height: int) -> Figure:
    """The curve through all records before (thin) and after one was replaced (thick), which it follows."""
    chart = Chart(theme, height, left=40, right=8, top=8, bottom=112)
    red, muted = chart.colours["frank_wolfe"], chart.muted
    for y, colour, width, name in ((fit.curve_before, muted, 1.5, "before"), (fit.curve_after, red, 3, "after")):
        look = {"mode": "lines", "line": {"color": colour, "width": width}, "name": name}
        chart.traces.append({"type": "scatter", "x": fit.grid, "y": y} | look)
    others, replaced = np.arange(len(fit.x)) != fit.replaced, [fit.replaced]
    for chosen, heights, colour, name in (
        (others, fit.before, chart.colours["reference"], "other records"),
        (replaced, fit.before, muted, "the record, before"),
        (replaced, fit.after, red, "the record, after"),
    ):
        hollow = {"size": 11, "color": _CLEAR, "line": {"color": colour, "width": 2}}
        chart.marks(fit.x[chosen], heights[chosen], hollow, name=name)
    return chart.below(
        chart.axis("time", 8, range=[-1.05, 1.05], nticks=5),
        chart.axis(nticks=6),
        rows=0,
        drop=48,
    )
