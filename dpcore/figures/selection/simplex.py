"""Simplex sampling: excess risk against m and p, and one release."""

import math

import numpy as np

from ...studies.hardest.excess import Hardest
from ...studies.selection.simplex.beside_others import ExcessByColumns
from ...studies.selection.simplex.excess_by_draws import On, Valley
from ...studies.selection.simplex.single_release import Support
from ..chart import LEGEND_ROW, Chart
from ..figure import Figure
from ..log_chart import add_means, through
from ..style import Look, Theme, plain_number

# The same for all settings, so that these compare: powers of ten.
_WINDOW, _BY_COLUMNS = (-3.0, 0.5), (-4.0, 0.0)
_ON = {"training": "on the training records", "fresh": "on fresh records"}
_SYMBOL = "x"


def draws_figure(
    valley: Valley, *, m: int, on: On, theme: Theme, height: int, hardest: Hardest | None = None
) -> Figure:
    """Mean excess risk against m, with its bound.

    on: the records on which excess is measured. A mean at or below 0, which a logarithmic axis cannot hold, is a
    triangle on the lower edge. hardest: of m draws, at one budget.
    """
    chart = Chart(theme, height, "m")
    colour = chart.colours["sampling"]
    measured, bound = valley.measured(on), valley.bounds[on]
    nothing, floor = valley.nothing[on], 10.0 ** _WINDOW[0]
    if on == "training":
        chart.proved(valley.m, measured.noiseless, valley.proved, colour, floor=floor)
    else:
        chart.band(valley.m, measured.q10, measured.q90, colour, floor=floor)
    chart.traces[-1]["showlegend"] = False  # the caption says what is shaded
    plain = chart.colours["reference"]
    for name, values, ink, width, dash, layer in (
        ("upper bound", bound, colour, 2.0, "dash", f"upper simplex_sampling:{on}"),
        ("non-private, before sampling", measured.noiseless, plain, 1.5, "solid", ""),
    ):
        look: Look = {"width": width, "dash": dash, "floor": floor, "layer": layer}
        chart.curve(valley.m, values, ink, name, label=name.removeprefix("non-private, "), **look)
    if math.isfinite(nothing):
        look = {"label": "nothing learned", "dash": "dash"}
        chart.level(valley.m, nothing, chart.muted, "nothing learned, uniform mixture", **look)
    name = "measured mean"
    add_means(chart, valley.m, measured, colour, name, label=name, floor=floor, cursor=m, symbol=_SYMBOL)

    if hardest:
        look = {"mode": "markers", "marker": {"symbol": "diamond-open", "size": 10, "color": colour}}
        chart.hardest([m], hardest.mean, colour, floor=floor, **look)
    chart.heading(f"excess risk {_ON[on]}")
    refused = _closed(valley)
    for interval, _ in refused:
        chart.shade(*interval, chart.muted, 0.14)
    chart.cursor(m, f"m = {m:,}")
    for interval, text in refused:  # in the upper right corner, where no curve is
        place: Look = {"xref": "x", "xanchor": "right", "yanchor": "top", "xshift": -4}
        chart.write(text, math.log10(interval[1]), 0.99, **place)
    cost = "larger λ" if valley.lam_is_free else "larger ε"
    return chart.beside(
        chart.cursor_axes(valley.m, m, (560, 300), title=f"draws m  (more: less sampling error, {cost})"),
        chart.log_axis(*_WINDOW),
    )


def columns_figure(by_p: ExcessByColumns, *, p: int, theme: Theme, height: int) -> Figure:
    """Mean excess risk against p: simplex sampling beside objective perturbation.

    ln p and sqrt(p) are shapes, drawn through the first measured point of either. A mean at or below 0 is a triangle on
    the lower edge.
    """
    chart = Chart(theme, height, "p")
    sampling, objective = chart.colours["sampling"], chart.colours["objective"]
    shapes = [
        ("ln p, shape only", through(np.log(by_p.p), by_p.sampling.mean), sampling),
        ("√p, shape only", through(np.sqrt(by_p.p), by_p.objective.mean), objective),
    ]
    floor = 10.0 ** _BY_COLUMNS[0]
    chart.band(by_p.p, by_p.sampling.q10, by_p.sampling.q90, sampling, floor=floor)
    chart.band(by_p.p, by_p.objective.q10, by_p.objective.q90, objective, floor=floor, legend=False)
    for name, values, ink in shapes:
        chart.curve(by_p.p, values, ink, name, label=name, dash="dash")
    nothing: Look = {"label": "nothing learned", "dash": "dash"}
    chart.curve(by_p.p, by_p.nothing, chart.muted, "nothing learned, θ = 0", **nothing)
    projected = "objective, projected"
    for name, label, curve, ink, symbol, dash in (
        (projected, projected.replace(", ", ",<br>"), by_p.projected, objective, "square-open", "dashdot"),
        ("objective perturbation", "objective", by_p.objective, objective, "square", "solid"),
        ("simplex sampling", "sampling", by_p.sampling, sampling, _SYMBOL, "solid"),
    ):
        look = {"label": label, "floor": floor, "cursor": p, "symbol": symbol, "dash": dash}
        add_means(chart, by_p.p, curve, ink, name, **look)
    chart.heading("excess risk on the training records")
    chart.cursor(p, f"p = {p:,}")
    return chart.beside(chart.cursor_axes(by_p.p, p, (560, 300), title="dimension p"), chart.log_axis(*_BY_COLUMNS))


def _closed(valley: Valley) -> list[tuple[tuple[float, float], str]]:
    """Intervals of m outside the budget, up to half-way to those within it, and their labels."""
    edges = np.concatenate([valley.m[:1], np.sqrt(valley.m[:-1] * valley.m[1:]), valley.m[-1:]])
    refused = np.isnan(valley.training.mean)
    dear = ~valley.affordable & ~refused
    found = []
    for chosen, words in ((dear, f"privacy spent above ε = {plain_number(valley.epsilon)}"), (refused, "refused")):
        if chosen.any():
            first, last = np.flatnonzero(chosen)[[0, -1]]
            found.append(((float(edges[first]), float(edges[last + 1])), words))
    return found


def support_figure(support: Support, *, theme: Theme, height: int) -> Figure:
    """Shares of the weight, column by column: the truth, the model before sampling, and one release of m draws.

    Columns that are not listed are summed, and so are those that are zero in every record.
    """
    chart = Chart(theme, height, left=48, right=16, bottom=70)
    groups = [(group, word) for group, word in ((support.others, "others"), (support.idle, "zero")) if group.columns]
    listed = [f"{column + 1:,}" for column in support.columns]
    names = listed + [f"{word}<br>({group.columns:,})" for group, word in groups]
    # On one line they would collide; the last one listed is above the words of a group.
    turns = [f"<br>{name}" if (len(listed) - k) % 2 == 0 else name for k, name in enumerate(listed)]
    short = turns + [f"<br>{word.replace('others', 'rest')}" for _, word in groups]
    truth = np.append(support.truth, np.zeros(len(groups)))
    weights = np.append(support.weights, [group.weight for group, _ in groups])
    drawn = np.append(support.drawn, [group.drawn for group, _ in groups])
    places = np.arange(float(len(names)))
    plural = "draw" if support.plan.steps == 1 else "draws"
    columns = [name.replace("<br>", " ") for name in names]
    hover = "column %{customdata}<br>%{fullData.name}: %{y:.3~f}"
    for y, width, name, look in (
        (drawn, 0.44, f"one release, {support.plan.steps:,} {plural}", {"color": chart.colours["sampling"]}),
        (truth, 0.74, "the truth", {"color": "rgba(0,0,0,0)", "line": {"color": chart.muted, "width": 1.5}}),
    ):
        chart.bars(places, y, width, look, name, hover, customdata=columns)
    dash = {"symbol": "line-ew", "size": 18, "line": {"color": chart.colours["reference"], "width": 3}}
    told: Look = {"customdata": columns, "hovertemplate": f"{hover}<extra></extra>"}
    chart.marks(places, weights, dash, name="before sampling", **told)
    top = 1.08 * float(max(truth.max(), weights.max(), drawn.max()))
    chart.heading("share of the weight, by column")
    across = chart.axis("column", 6, tickvals=places, range=[-0.6, len(names) - 0.4], showgrid=False)
    ticks = {"ticktext": short, "tickangle": 0, "tickfont": {"color": chart.text, "size": 12}}
    narrow = chart.legend(height + 2 * LEGEND_ROW, 3 * LEGEND_ROW, drop=72, sides=(44, 8))
    return chart.below(
        across | {"ticktext": names},
        chart.axis(range=[0.0, top], tickformat=".0%"),
        rows=1,
        drop=72,
        barmode="overlay",
        narrow=narrow | {"xaxis": across | ticks},
    )
