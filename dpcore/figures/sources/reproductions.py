"""Figures of the papers' claims done again: lines beside printed ones, fitted exponents, three doors, one table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...experiments.summary import LEAST_BANDED
from ...mechanisms import mechanism_class
from ...studies.papers.reproductions.charts import (
    AccuracyOfClassifiers,
    Chart,
    ExcessAgainstOrder,
    ExcessOfMechanisms,
    Exponents,
    RightAgainst,
    ScoresOfMechanisms,
)
from ..figure import Figure
from ..geometry import order_figure
from ..log_chart import BOTTOM, LEFT, TOP, curves_chart
from ..multiclass.curves import accuracy_figure
from ..style import (
    FAMILIES,
    LARGER,
    LEGEND,
    LEGEND_ROW,
    MUTED,
    NOISES,
    PLACES,
    SYMBOLS,
    TEXT,
    Theme,
    axis,
    frame,
    line,
    log_axis,
    note,
    with_opacity,
)

_NAMES = 250  # px for the names of rows
_PLOT, _FLOOR = 340, 38.0  # px of a plot of accuracies, and where its axis begins
_DASHES = ("solid", "dash", "dot", "dashdot")


def reproduction_figure(chart: Chart, *, theme: Theme) -> Figure:
    """The figure of a reproduction."""
    match chart:
        case RightAgainst():
            return _right_figure(chart, theme)
        case Exponents():
            return _exponents_figure(chart, theme, 360)
        case ExcessOfMechanisms():
            return _excess_figure(chart, theme, 430)
        case ScoresOfMechanisms():
            return _scores_figure(chart, theme, 640)
        case ExcessAgainstOrder(found, others, p_norm):
            return order_figure(found, others, p_norm=p_norm, theme=theme, height=430)
        case AccuracyOfClassifiers(accuracies, epsilon):
            return accuracy_figure(accuracies, cursor=epsilon, theme=theme, height=430)


def _exponents_figure(chart: Exponents, theme: Theme, height: int) -> Figure:
    """A row for each curve: its fitted exponent with two standard errors, and the claimed one."""
    names, found, errors, claimed = chart.names, chart.found, chart.errors, chart.claimed
    rows, ink, muted = np.arange(len(names), 0.0, -1.0), FAMILIES[theme]["frank_wolfe"], MUTED[theme]
    shared = {"type": "scatter", "mode": "markers", "y": rows, "customdata": list(names), "showlegend": True}
    traces = [
        shared
        | {
            "x": claimed,
            "name": "as printed",
            "marker": {"symbol": "line-ns-open", "size": 18, "color": muted, "line": {"width": 3, "color": muted}},
            "hovertemplate": "%{customdata}<br>as printed: %{x:.3f}<extra></extra>",
        },
        shared
        | {
            "x": found,
            "name": "found here, ± 2 standard errors",
            "marker": {"symbol": "diamond", "size": 10, "color": ink},
            "error_x": {"type": "data", "array": 2.0 * errors, "thickness": 1.5, "width": 4, "color": ink},
            "hovertemplate": "%{customdata}<br>found: %{x:.3f}<extra></extra>",
        },
    ]
    bottom = BOTTOM + LEGEND_ROW * len(traces)
    taller = 12 * len(names)  # px: on a phone a name stands above its marks
    title = {"text": "exponent", "standoff": 8, "font": {"size": 14}}
    heading = note("fitted exponents", x=0, y=1, yshift=18, colour=TEXT[theme], size=14)
    above = [
        note(name, x=0, y=0, yshift=20, colour=TEXT[theme], size=13) | {"yref": "y", "y": row}
        for name, row in zip(names, rows, strict=True)
    ]
    layout = frame(theme, height) | {
        "margin": {"l": _NAMES, "r": 24, "t": TOP, "b": bottom},
        "showlegend": True,
        "legend": LEGEND | {"orientation": "v", "y": -BOTTOM / (height - TOP - bottom)},
        "xaxis": axis(theme) | {"title": title},
        "yaxis": axis(theme)
        | {"tickvals": rows, "ticktext": list(names), "range": [0.4, len(names) + 0.6], "showgrid": False},
        "annotations": [heading],
        "meta": {
            "narrow": {
                "height": height + taller,
                "margin": {"l": 24},
                "legend": {"y": -BOTTOM / (height + taller - TOP - bottom)},
                "xaxis": {"nticks": 5},
                "yaxis": {"showticklabels": False},
                "annotations": [heading, *above],
            }
        },
    }
    return Figure(traces, layout)


def _excess_figure(chart: ExcessOfMechanisms, theme: Theme, height: int) -> Figure:
    """Excess risk against epsilon; a second mechanism of a family is dashed."""
    epsilon, nothing = chart.epsilon, chart.nothing
    curves, seen = [], set()
    for name, (mechanism, measured) in chart.measured.items():
        family = mechanism_class(mechanism).family
        look = (FAMILIES[theme][family], SYMBOLS[family], "dash" if family in seen else "solid")
        curves.append((name, name.replace(", ", ",<br>"), measured, *look))
        seen.add(family)
    span = np.array([epsilon[0], epsilon[-1]])
    lines = [("nothing learned", "nothing learned", span, np.full(2, nothing), MUTED[theme], 1.5, "dot")]
    return curves_chart(
        epsilon,
        curves,
        lines,
        over="ε",
        cursor=None,
        title="privacy budget ε  (smaller = more private)",
        short="budget ε",
        must=[measured.mean for _, measured in chart.measured.values()],
        may=[np.array([nothing])],
        heading="excess risk on the training records",
        theme=theme,
        height=height,
        depth=math.inf,  # Lemma 1's noise must not push the others off the axis
    )


def _scores_figure(chart: ScoresOfMechanisms, theme: Theme, height: int) -> Figure:
    """Accuracy on test records against epsilon, a curve for each mechanism that applies."""
    epsilon, labels = chart.epsilon, chart.labels
    traces: list[dict[str, Any]] = []
    for level, ink, name, dash in (
        (chart.plain, FAMILIES[theme]["reference"], "not private", "solid"),
        (chart.larger, MUTED[theme], LARGER, "dot"),
    ):
        hover = {"hovertemplate": f"{name}: %{{y:.1%}}<extra></extra>"}
        traces.append(line(epsilon, np.full(len(epsilon), level), ink, name, "y", dash=dash) | hover)
    used: dict[str, int] = {}
    for mechanism, values in chart.scores.items():
        family = mechanism_class(mechanism).family
        ink, nth = FAMILIES[theme][family], used.get(family, 0)
        used[family] = nth + 1
        curve = line(epsilon, values, ink, labels[mechanism], "y", width=2, dash=_DASHES[nth % len(_DASHES)])
        marker = {"symbol": SYMBOLS[family] + ("-open" if nth else ""), "size": 8, "color": ink}
        hover = {"hovertemplate": f"ε = %{{x}}<br>{labels[mechanism]}: %{{y:.1%}}<extra></extra>"}
        traces.append(curve | hover | {"mode": "lines+markers", "marker": marker})
    bottom = BOTTOM + LEGEND_ROW * len(traces)
    edges = np.log10(epsilon[0]) - 0.1, np.log10(epsilon[-1]) + 0.1
    title = {"text": "privacy budget ε  (smaller = more private)", "standoff": 8, "font": {"size": 14}}
    layout = frame(theme, height) | {
        "margin": {"l": LEFT, "r": 24, "t": TOP, "b": bottom},
        "showlegend": True,
        "legend": LEGEND | {"orientation": "v", "y": -BOTTOM / max(height - TOP - bottom, 1)},
        "xaxis": log_axis(theme, *map(float, edges)) | {"title": title},
        "yaxis": axis(theme) | {"tickformat": ".0%"},
        "annotations": [note("accuracy on test records", x=0, y=1, yshift=18, colour=TEXT[theme], size=14)],
    }
    return Figure(traces, layout | {"meta": {"narrow": {}}})


def _right_figure(chart: RightAgainst, theme: Theme) -> Figure:
    """Right of 100 against x: the mean, all runs but the outer tenths where there are enough, what the paper prints as
    open marks, and the larger class; a cross at the bottom is a refusal."""
    table, over = chart.table, chart.over
    groups = table.groupby(["mechanism", "x"])["right"]
    means, enough = groups.mean(), groups.count() >= LEAST_BANDED
    lows, highs = groups.quantile(0.1).where(enough), groups.quantile(0.9).where(enough)
    traces: list[dict[str, Any]] = []
    for nth, key in enumerate(table.mechanism.unique()):
        colour = FAMILIES[theme]["reference" if key == "none" else mechanism_class(key).family]
        symbol = "diamond" if key == "none" else SYMBOLS[mechanism_class(key).family]
        width, dash = 1.5 if key == "none" else 3.0, "dashdot" if key.endswith("_gamma") else "solid"
        mean, name = means[key], _named(key)
        edge = {"type": "scatter", "mode": "lines", "line": {"width": 0}, "showlegend": False, "hoverinfo": "skip"}
        traces.append(edge | {"x": highs[key].index.to_numpy(float), "y": highs[key].to_numpy(float)})
        fill = {"fill": "tonexty", "fillcolor": with_opacity(colour, 0.12)}
        traces.append(edge | fill | {"x": lows[key].index.to_numpy(float), "y": lows[key].to_numpy(float)})
        traces.append(line(mean.index, mean, colour, name, "y", width=width, dash=dash, over=over))
        if marks := chart.printed.get(key):
            open_mark = f"{symbol}-open{'-dot' if key.endswith('_gamma') else ''}"
            traces.append(_dots(marks, f"{name}, as printed", open_mark, colour))
        if refused := [(x, _FLOOR + 1.0 + nth) for x in mean.index[mean.isna()]]:
            traces.append(_dots(refused, f"{name}, refused here", "x-thin-open", colour))
    larger = table.groupby("x").larger_class.mean()
    traces.append(line(larger.index, larger, MUTED[theme], LARGER, "y", dash="dot", over=over))
    places = larger.index.to_list()
    logarithmic = places[-1] / places[0] > 100 and places[0] < 1
    few = [x for x in places if math.log10(x).is_integer()] if logarithmic else places[::2]  # as a phone has room for
    bottom = BOTTOM + LEGEND_ROW * sum(bool(trace["showlegend"]) for trace in traces)
    height = _PLOT + TOP + bottom
    title = {"text": over, "standoff": 8, "font": {"size": 14}}
    layout = frame(theme, height) | {
        "margin": {"l": LEFT, "r": 24, "t": TOP, "b": bottom},
        "showlegend": True,
        "legend": LEGEND | {"orientation": "v", "y": -BOTTOM / _PLOT},
        "xaxis": axis(theme)
        | {
            "title": title,
            "type": "log" if logarithmic else "linear",
            **_ticks(places, logarithmic=logarithmic),
        },
        "yaxis": axis(theme) | {"range": [_FLOOR, 100.0], "dtick": 10},
        "annotations": [note("right, of 100", x=0, y=1, yshift=18, colour=TEXT[theme], size=14)],
    }
    narrow = {"xaxis": _ticks(few, logarithmic=logarithmic)}
    return Figure(traces, layout | {"meta": {"narrow": narrow}})


def _ticks(places: Sequence[float], *, logarithmic: bool) -> dict[str, Any]:
    return {"tickvals": places, "ticktext": [f"{x:,g}" if logarithmic else f"{x:,.0f}" for x in places]}


def _named(key: str) -> str:
    if key == "none":
        return "without privacy"
    cls = mechanism_class(key)
    return "sampling of columns" if cls.family == "sampling" else f"{NOISES[cls.noise]} noise in {PLACES[cls.place]}"


def _dots(marks: Sequence[tuple[float, float]], name: str, symbol: str, colour: str) -> dict[str, Any]:
    x, y = np.array(marks).T
    look = {"symbol": symbol, "size": 9, "color": colour, "line": {"width": 1.5, "color": colour}}
    hover = f"{name}<br>%{{x}}: %{{y:.1f}}<extra></extra>"
    shared = {"type": "scatter", "mode": "markers", "name": name, "showlegend": True, "hovertemplate": hover}
    return shared | {"x": x, "y": y, "marker": look}
