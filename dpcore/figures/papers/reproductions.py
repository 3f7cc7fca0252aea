"""Figures of the papers' claims done again: lines beside published ones, fitted exponents, perturbations, a table."""

import math
from collections.abc import Sequence

import numpy as np

from ...experiments.summary import LEAST_BANDED
from ...mechanisms import mechanism_class
from ...studies.papers.reproductions import base
from ...studies.papers.reproductions.base import (
    AccuracyOfClassifiers,
    ExcessAgainstOrder,
    ExcessOfMechanisms,
    Exponent,
    RightAgainst,
)
from ..chart import LEGEND_ROW, Chart
from ..figure import Figure
from ..geometry import order_figure
from ..log_chart import curves_chart
from ..multiclass import accuracy_figure
from ..named_bars import beside_names
from ..style import LARGER, NOISES, PERTURBATIONS, SYMBOLS, Look, Theme

_PLOT, _FLOOR = 340, 38.0  # px of a plot of accuracies, and where its axis begins


def reproduction_figure(given: base.Chart, *, theme: Theme) -> Figure:
    """The figure of a reproduction."""
    match given:
        case RightAgainst():
            return _right_figure(given, theme)
        case tuple():
            return _exponents_figure(given, theme, 360)
        case ExcessOfMechanisms():
            return _excess_figure(given, theme, 430)
        case ExcessAgainstOrder(found, others, p_norm):
            return order_figure(found, others, p_norm=p_norm, theme=theme, height=430)
        case AccuracyOfClassifiers(accuracies, epsilon):
            return accuracy_figure(accuracies, cursor=epsilon, theme=theme, height=430)


def _exponents_figure(given: Sequence[Exponent], theme: Theme, height: int) -> Figure:
    """A row for each curve: its fitted exponent with two standard errors, and the claimed one."""
    chart = Chart(theme, height, left=250, right=24)
    names, places = [fit.curve for fit in given], np.arange(len(given))[::-1]
    ink, muted = chart.colours["frank_wolfe"], chart.muted
    chart.marks(
        np.array([fit.claimed for fit in given]),
        places,
        {"symbol": "line-ns-open", "size": 18, "color": muted, "line": {"width": 3, "color": muted}},
        customdata=names,
        name="as published",
        hovertemplate="%{customdata}<br>as published: %{x:.3f}<extra></extra>",
    )
    errors = 2.0 * np.array([fit.se for fit in given])
    chart.marks(
        np.array([fit.mean for fit in given]),
        places,
        {"symbol": "diamond", "size": 10, "color": ink},
        customdata=names,
        name="found here, ± 2 standard errors",
        error_x={"type": "data", "array": errors, "thickness": 1.5, "width": 4, "color": ink},
        hovertemplate="%{customdata}<br>found: %{x:.3f}<extra></extra>",
    )
    return beside_names(chart, names, chart.axis("fitted exponent", 8, nticks=5), size=13, small=13, above=20, room=0.4)


def _excess_figure(given: ExcessOfMechanisms, theme: Theme, height: int) -> Figure:
    """Excess risk against epsilon; a second mechanism of a family is dashed."""
    chart, curves, seen = Chart(theme, height), [], set()
    for name, (mechanism, measured) in given.measured.items():
        family = mechanism_class(mechanism).family
        look = (chart.colours[family], SYMBOLS[family], "dash" if family in seen else "solid")
        curves.append((name, name.replace(", ", ",<br>"), measured, *look))
        seen.add(family)
    return curves_chart(
        chart,
        given.epsilon,
        curves,
        [("nothing learned", "nothing learned", given.epsilon, given.nothing, chart.muted, 1.5, "dot", "")],
        cursor=None,
        title="privacy budget ε  (smaller = more private)",
        short="budget ε",
        may=[np.array([given.nothing])],
        heading="excess risk on the training records",
        depth=math.inf,  # Lemma 1's noise must not push the others off the axis
    )


def _right_figure(given: RightAgainst, theme: Theme) -> Figure:
    """Accuracy in % against x: the mean, all runs but the outer tenths where there are enough, what the paper prints as
    open marks, and the larger class; a cross at the bottom is a refusal."""
    table, chart = given.table, Chart(theme, _PLOT, given.over, right=24)
    groups = table.groupby(["mechanism", "x"])["right"]
    means, enough = groups.mean(), groups.count() >= LEAST_BANDED
    lows, highs = groups.quantile(0.1).where(enough), groups.quantile(0.9).where(enough)
    for nth, key in enumerate(table.mechanism.unique()):
        colour = chart.colours["reference" if key == "none" else mechanism_class(key).family]
        symbol = "diamond" if key == "none" else SYMBOLS[mechanism_class(key).family]
        width, dash = 1.5 if key == "none" else 3.0, "dashdot" if key.endswith("_gamma") else "solid"
        mean, name = means[key], _named(key)
        chart.band(mean.index, lows[key], highs[key], colour, legend=False, opacity=0.12)
        chart.curve(mean.index, mean, colour, name, width=width, dash=dash)
        if marks := given.published.get(key):
            open_mark = f"{symbol}-open{'-dot' if key.endswith('_gamma') else ''}"
            _dots(chart, marks, f"{name}, as published", open_mark, colour)
        if refused := [(x, _FLOOR + 1.0 + nth) for x in mean.index[mean.isna()]]:
            _dots(chart, refused, f"{name}, refused here", "x-thin-open", colour)
    larger = table.groupby("x").larger_class.mean()
    chart.curve(larger.index, larger, chart.muted, LARGER, dash="dot")
    places = larger.index.to_list()
    logarithmic = places[-1] / places[0] > 100 and places[0] < 1
    few = [x for x in places if math.log10(x).is_integer()] if logarithmic else places[::2]  # as a phone has room for
    rows, entries = math.ceil(chart.entries() / 2), chart.entries()
    chart.height += chart.top + chart.bottom + LEGEND_ROW * rows
    chart.heading("accuracy, %")
    tall = chart.height + LEGEND_ROW * (entries - rows)
    legend = chart.legend(chart.height, LEGEND_ROW * rows, drop=54)["legend"]
    return chart.below(
        chart.axis(given.over, 8, type="log" if logarithmic else "linear", **_ticks(places, logarithmic=logarithmic)),
        chart.axis(range=[_FLOOR, 100.0], dtick=10),
        rows=rows,
        drop=54,
        legend=legend | {"entrywidth": 232, "font": {"size": 12}},  # two columns or more
        narrow=chart.legend(tall, LEGEND_ROW * entries, drop=54, stacked=True)
        | {"xaxis": _ticks(few, logarithmic=logarithmic)},
    )


def _ticks(places: Sequence[float], *, logarithmic: bool) -> Look:
    return {"tickvals": places, "ticktext": [f"{x:,g}" if logarithmic else f"{x:,.0f}" for x in places]}


def _named(key: str) -> str:
    if key == "none":
        return "without privacy"
    cls = mechanism_class(key)
    return "sampling of columns" if cls.family == "sampling" else f"{PERTURBATIONS[cls.place]}, {NOISES[cls.noise]}"


def _dots(chart: Chart, marks: Sequence[tuple[float, float]], name: str, symbol: str, colour: str) -> None:
    x, y = np.array(marks).T
    look = {"symbol": symbol, "size": 9, "color": colour, "line": {"width": 1.5, "color": colour}}
    hover = f"{name}<br>%{{x}}: %{{y:.1f}}<extra></extra>"
    chart.marks(x, y, look, name=name, showlegend=True, hovertemplate=hover)
