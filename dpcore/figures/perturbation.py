"""Output, objective and gradient perturbation: excess risk over the budget and over lam, releases of two parameters,
and releases without noise."""

import math
from typing import Any

import numpy as np
import pandas as pd
from scipy.ndimage import map_coordinates

from ..core.arrays import Array
from ..mechanisms import mechanism_class
from ..studies.hardest.excess import Hardest
from ..studies.perturbation.exact_answers_leak import Fit, Leak
from ..studies.perturbation.release_scatter import ReleaseScatter
from .chart import Chart
from .figure import Figure
from .style import (
    NOISES,
    PERTURBATIONS,
    SYMBOLS,
    Look,
    Theme,
    marker_of,
    note,
    plain_number,
    with_opacity,
)
from .theorems import constants

_AROUND = -2.5, 1.25  # powers of ten of the axis around the loss of learning nothing, whatever ε, n and the mechanism
_HEADING = "excess risk: training loss above F*"
_APART = 0.12  # of the window: labels of rings from one another and from the best model
_CLEAR = "rgba(0,0,0,0)"


def excess_figure(
    table: pd.DataFrame, *, mechanism: str, epsilon: float, theme: Theme, height: int, hardest: Hardest | None = None
) -> Figure:
    """Mean excess risk of perturbations with one law of noise against epsilon, with the bounds of one and a cursor.

    table: swept over epsilon, as `dpcore.run` gives it. mechanism: the key of the one whose upper bound for all records
    and bounds for these are drawn. hardest: of that one.
    """
    chart = Chart(theme, height)
    excess = _excess(table)
    chosen = excess[excess.mechanism == mechanism]
    powers = _window(excess)
    colour, place = chart.colours[mechanism_class(mechanism).family], mechanism_class(mechanism).place
    proved = chosen[chosen.proved_high.notna()]
    floor = 10.0 ** powers[0]
    chart.proved(proved.x, proved.proved_low, proved.proved_high, colour, floor=floor)
    _means(chart, table, excess, epsilon, powers)
    told: Look = {"dash": "dash", "layer": f"upper {mechanism}", "text": constants(chosen)}
    chart.curve(chosen.x, chosen.bound, colour, f"{place}: upper bound", label="upper bound", **told)
    if len(excess):
        rows = excess.groupby("x")[["lower_bound"]].max().reset_index()
        chart.against(rows.x, float(excess.nothing_learned.iloc[0]), rows.lower_bound, excess.lower_source)
    if hardest:
        chart.hardest(hardest.epsilon, hardest.mean, colour, floor=floor)
    chart.cursor(epsilon, f"ε = {plain_number(float(f'{epsilon:.2g}'))}")
    for interval, colour, words in _refused(table, chart):
        if interval:
            chart.shade(*interval, colour, 0.12)
            chart.notes.append(_upright(words, interval, colour, low=0.27))
    across = _across(chart, table, "privacy budget ε  (smaller = more private)")
    return chart.beside([across, across], chart.log_axis(*powers), phone=(54, 26))  # half a cursor flag on the right


def _window(excess: pd.DataFrame) -> tuple[float, float]:
    """Powers of ten of the axis: around the loss of learning nothing, to a quarter, as that moves little with n."""
    nothing = float(excess.nothing_learned.iloc[0]) if len(excess) else math.nan
    middle = round(4.0 * math.log10(nothing)) / 4.0 if nothing > 0.0 else -0.5
    return middle + _AROUND[0], middle + _AROUND[1]


def valley_figure(table: pd.DataFrame, *, lam: float | None, theme: Theme, height: int) -> Figure:
    """Mean excess risk of perturbations with one law of noise against lam, over what regularisation alone costs.

    table: swept over lam, as `dpcore.run` gives it. lam: where the cursor stands, None for nowhere.
    """
    chart = Chart(theme, height, "λ", left=54)
    excess = _excess(table)
    powers = _window(excess)
    _means(chart, table, excess, lam, powers)
    # Descent does without a regulariser.
    regularised = excess[[mechanism_class(key).family != "gradient" for key in excess.mechanism]]
    if len(regularised):
        rows, words = regularised.drop_duplicates("x").sort_values("x"), "regularisation alone"
        chart.curve(rows.x, rows.noiseless, chart.colours["reference"], words, label=words, width=1, dash="dot")
    if lam:
        chart.cursor(lam, f"λ = {plain_number(float(f'{lam:.2g}'))}")
    wide = []
    for interval, colour, words in _refused(table, chart):
        square = {"symbol": "square", "size": 14, "color": with_opacity(colour, 0.25)}
        # Always a trace, for a narrow chart's legend: the browser keeps traces by their order.
        chart.marks([math.nan], [math.nan], square, name=words, showlegend=interval is not None)
        if interval:
            chart.shade(*interval, colour, 0.12)
            wide.append(_upright(words, interval, colour, low=0.12))
    across = _across(chart, table, "regularisation λ")
    return chart.beside([across, across], chart.log_axis(*powers), phone=(54, 26), wide=wide)


def _excess(table: pd.DataFrame) -> pd.DataFrame:
    return table[(table.status == "ok") & (table.metric == "excess_empirical_risk")]


def _means(
    chart: Chart, table: pd.DataFrame, excess: pd.DataFrame, cursor: float | None, powers: tuple[float, float]
) -> None:
    """Add the mean of each mechanism and a dot at the cursor."""
    shown = {key: excess[excess.mechanism == key] for key in table.mechanism.unique()}
    for key, rows in shown.items():
        cls = mechanism_class(key)
        colour, name = chart.colours[cls.family], PERTURBATIONS[cls.place]
        look: Look = {"mode": "lines+markers", "marker": marker_of(cls, chart.theme, 7)}
        chart.curve(rows.x, rows["mean"], colour, name, label=cls.place, width=3, **look)
        chart.zero_or_below(rows.x, rows["mean"], colour, name, 10.0 ** powers[0])
    for key, rows in shown.items():
        drawn = rows["mean"].between(10.0 ** powers[0], 10.0 ** powers[1])
        here, family = rows[drawn & (rows.x == cursor)], mechanism_class(key).family
        chart.dot(here.x, here["mean"], chart.colours[family], symbol=SYMBOLS[family], size=13)
    chart.heading(_HEADING)


def _across(chart: Chart, table: pd.DataFrame, title: str) -> Look:
    return chart.log_axis(math.log10(table.x.min()), math.log10(table.x.max()), title=title)


def _refused(table: pd.DataFrame, chart: Chart) -> list[tuple[tuple[float, float] | None, str, str]]:
    """For each mechanism the interval where it does not apply, if there is one, its colour and words."""
    places, found = np.unique(table.x.to_numpy(float)), []
    for key in table.mechanism.unique():
        interval = _closed(table[table.mechanism == key], places)
        found.append((interval, chart.muted, f"{mechanism_class(key).place}: refused"))
    return found


def _upright(words: str, interval: tuple[float, float], colour: str, low: float) -> Look:
    """Words along the left edge of an interval, near the bottom."""
    place: Look = {"xref": "x", "textangle": -90, "yanchor": "bottom", "xshift": 4}
    return note(words, x=math.log10(interval[0]), y=low, colour=colour, size=13, **place)


def _closed(table: pd.DataFrame, places: Array) -> tuple[float, float] | None:
    """The interval of x where not all mechanisms of a table apply, up to half-way to the next point where they do."""
    refused = table[table.status != "ok"].x.to_numpy(float)
    if not len(refused):
        return None
    edges = np.concatenate([places[:1], np.sqrt(places[:-1] * places[1:]), places[-1:]])
    first, last = np.searchsorted(places, [refused.min(), refused.max()])
    return float(edges[first]), float(edges[last + 1])


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
