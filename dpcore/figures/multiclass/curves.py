"""Many classes: accuracy and excess risk of private ellipsoids."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...experiments.summary import Summary
from ...studies.multiclass.curves import Accuracies, Excesses, Tuning
from ...studies.multiclass.one_vs_rest import LearnerKey
from ..figure import Figure
from ..log_chart import BOTTOM, LEFT, RIGHT, TOP, cursor_axis, curves_chart, with_legend
from ..style import (
    BACKGROUND,
    FAMILIES,
    LEGEND,
    LEGEND_ROW,
    MUTED,
    TEXT,
    Theme,
    axis,
    end_labels,
    flag,
    frame,
    last_drawn,
    line,
    note,
    plain_number,
    vertical,
    with_opacity,
)

# name, label behind the curve, family, symbol, dash
LOOKS: dict[LearnerKey, tuple[str, str, str, str, str]] = {
    "ellipsoids": ("ellipsoids, all classes at once", "ellipsoids", "objective", "square", "solid"),
    "pure": ("ellipsoids, δ = 0", "ellipsoids, δ = 0", "objective", "square-open", "dashdot"),
    "answer": ("ellipsoids, noise in the answer", "ellipsoids,<br>noise in the answer", "output", "circle", "solid"),
    "split": ("one against the others", "one against<br>the others", "objective", "x", "dash"),
    "split_answer": (
        "one against the others, noise in the answers",
        "the same,<br>noise in answers",
        "output",
        "x",
        "dash",
    ),
}
_TITLES = {
    "epsilon": ("privacy budget ε  (smaller = more private)", "budget ε"),
    "classes": ("classes C", "classes C"),
    "d": ("columns d", "columns d"),
}
_LETTERS = {"epsilon": "ε", "classes": "C", "d": "d"}


def accuracy_figure(found: Accuracies, *, cursor: float, theme: Theme, height: int) -> Figure:
    """Accuracy on test records along an axis: private learners with their bands, and what is possible without privacy.

    cursor: where the reader stands. height: px.
    """
    letter, x, muted = _LETTERS[found.axis], found.x, MUTED[theme]
    reference = FAMILIES[theme]["reference"]
    thin = [
        ("knowing the law", "knows the law", found.bayes, muted, "dash"),
        ("not private, ellipsoids", "not private", found.plain, reference, "solid"),
        ("not private, logistic regression", "", found.logistic, reference, "dot"),
        ("the largest class", "the largest class", found.chance, muted, "dot"),
    ]
    traces: list[dict[str, Any]] = []
    ends: list[tuple[str, float, str, str]] = []
    for key, measured in found.learners.items():
        legend = not any(trace["showlegend"] for trace in traces)
        traces += _band(x, measured, FAMILIES[theme][LOOKS[key][2]], legend=legend)
    for name, label, heights, ink, dash in thin:
        hover = {"hovertemplate": f"{letter} = %{{x}}<br>{name}: %{{y:.1%}}<extra></extra>"}
        traces.append(line(x, heights, ink, name, "y", dash=dash, over=letter) | hover)
        if label:
            ends.append(("y", last_drawn(heights), label, ink))
    for key, measured in found.learners.items():
        name, label, family, symbol, dash = LOOKS[key]
        ink = FAMILIES[theme][family]
        traces.append(_means(x, measured, name, ink, symbol, dash, cursor, letter))
        ends.append(("y", last_drawn(measured.mean), label, ink))
    low = _lowest(found)
    notes = [note("accuracy on test records", x=0, y=1, yshift=18, colour=TEXT[theme], size=14)]
    across, wide, narrow = _across(found, cursor, theme)
    labels, beyond = end_labels(ends, {"y": ((low, 1.01), height - TOP - BOTTOM)}, theme, ())
    layout = frame(theme, height) | {
        "margin": {"l": LEFT, "r": RIGHT, "t": TOP, "b": BOTTOM},
        "showlegend": False,
        "xaxis": wide,
        "yaxis": axis(theme) | {"range": [low, 1.01], "tickformat": ".0%", "dtick": 0.1},
        "shapes": [vertical(cursor, muted)],
        "annotations": [*notes, *across, *labels],
        "meta": {"narrow": with_legend(traces, height) | {"xaxis": narrow, "annotations": [*notes, *across, *beyond]}},
    }
    return Figure(traces, layout)


def _lowest(found: Accuracies) -> float:
    """Of the vertical axis: the least that is drawn, in steps of 5%."""
    lines = [found.chance, found.plain, found.logistic, found.bayes]
    every = np.concatenate([*lines, *(curve for m in found.learners.values() for curve in (m.mean, m.q10))])
    return math.floor(20.0 * float(np.min(every, where=np.isfinite(every), initial=0.95))) / 20.0


def _across(
    found: Accuracies, cursor: float, theme: Theme
) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]:
    """The cursor's flag, and the horizontal axis on a wide and on a narrow drawing."""
    title, short = _TITLES[found.axis]
    shown = {"standoff": 10, "font": {"size": 14}}
    span = [float(found.x[0]), float(found.x[-1])]
    if found.axis == "epsilon":
        words = flag(f"ε = {plain_number(cursor)}", cursor, TEXT[theme], BACKGROUND[theme])
        sides = [cursor_axis(theme, span, cursor, width) for width in (560.0, 300.0)]
    else:
        words = flag(f"{_LETTERS[found.axis]} = {cursor:g}", 1.0, TEXT[theme], BACKGROUND[theme]) | {"x": cursor}
        room = 0.04 * (span[1] - span[0])
        text = ["" if abs(tick - cursor) <= room else f"{tick:g}" for tick in found.x]
        sides = [axis(theme) | {"range": [span[0] - 0.3, span[1] + 0.3], "tickvals": found.x, "ticktext": text}] * 2
    wide, narrow = (
        side | {"title": shown | {"text": words}} for side, words in zip(sides, (title, short), strict=True)
    )
    return [words], wide, narrow


def _band(x: Array, measured: Summary, colour: str, *, legend: bool) -> list[dict[str, Any]]:
    drawn = np.isfinite(measured.q10)
    edge = {"type": "scatter", "mode": "lines", "x": x[drawn], "line": {"width": 0}, "hoverinfo": "skip"}
    fill = {
        "fill": "tonexty",
        "fillcolor": with_opacity(colour, 0.15),
        "name": "8 of 10 runs",
        "showlegend": legend and bool(drawn.any()),
    }
    return [edge | {"y": measured.q90[drawn], "showlegend": False}, edge | {"y": measured.q10[drawn]} | fill]


def _means(
    x: Array, measured: Summary, name: str, ink: str, symbol: str, dash: str, cursor: float, letter: str
) -> dict[str, Any]:
    curve = line(x, measured.mean, ink, name, "y", width=3, dash=dash, over=letter)
    marker = {"symbol": symbol, "size": np.where(x == cursor, 13.0, 7.0), "color": ink, "opacity": 1}
    marker["line"] = {"width": 2 if symbol.endswith("-open") else 0, "color": ink}
    hover = f"{letter} = %{{x}}<br>{name}: %{{y:.1%}}<extra></extra>"
    return curve | {"mode": "lines+markers", "marker": marker, "cliponaxis": False, "hovertemplate": hover}


def classes_excess_figure(found: Excesses, *, epsilon: float, theme: Theme, height: int) -> Figure:
    """Excess loss against epsilon: over the best model in the ball and over the regularised optimum, with their bounds.

    epsilon: where the cursor stands. height: px.
    """
    _, _, family, symbol, dash = LOOKS[found.learner]
    ink, muted = FAMILIES[theme][family], MUTED[theme]
    span = [float(found.epsilon[0]), float(found.epsilon[-1])]
    lines = [
        ("proved bound, over the best", "proved bound,<br>over the best", found.epsilon, found.bound, ink, 2.0, "dash"),
        (
            "proved bound, over the regularised",
            "proved bound,<br>over the regularised",
            found.epsilon,
            found.over_bound,
            muted,
            2.0,
            "dash",
        ),
        ("Φ = 0, nothing learned", "nothing learned", span, np.full(2, found.nothing), muted, 1.5, "dot"),
    ]
    curves = [
        ("over the regularised optimum, mean", "over the regularised", found.over, muted, "diamond", "solid"),
        ("over the best model, mean", "over the best", found.excess, ink, symbol, dash),
    ]
    return curves_chart(
        found.epsilon,
        curves,
        lines,
        over="ε",
        cursor=epsilon,
        title="privacy budget ε  (smaller = more private)",
        short="budget ε",
        must=[found.excess.mean, found.over.mean],
        may=[found.bound, found.over_bound],
        heading="excess loss on the training records",
        theme=theme,
        height=height,
    )


def tuning_figure(found: Tuning, *, theme: Theme, height: int) -> Figure:
    """Accuracy against lam in multiples of the default, a curve for each epsilon; the best is an oracle's. The largest
    class is a line. px."""
    ink, reference = FAMILIES[theme]["objective"], FAMILIES[theme]["reference"]
    traces: list[dict[str, Any]] = []
    for k, (epsilon, row) in enumerate(zip(found.epsilon, found.accuracy, strict=True)):
        width, dash = 1.5 + k, ("dot", "dash", "solid")[k % 3]
        curve = line(found.factor, row, ink, f"ε = {epsilon:g}", "y", width=width, dash=dash, over="factor")
        traces.append(curve | {"hovertemplate": f"ε = {epsilon:g}, %{{x}} times: %{{y:.1%}}<extra></extra>"})
    best = found.factor[np.where(np.isnan(found.accuracy), -1.0, found.accuracy).argmax(axis=1)]
    for name, x, y, symbol, colour in (
        ("default λ", np.ones(len(found.epsilon)), found.default, "square", ink),
        ("oracle, not private", best, found.oracle, "star-open", reference),
    ):
        marks = {"symbol": symbol, "size": 11, "color": colour, "line": {"width": 2, "color": colour}}
        traces.append(
            {"type": "scatter", "mode": "markers", "x": x, "y": y, "name": name, "marker": marks, "hoverinfo": "skip"}
        )
    edge = found.factor[[0, -1]]
    chance = line(edge, [found.chance] * 2, MUTED[theme], "the largest class", "y", dash="dot", over="factor")
    traces.append(chance | {"hovertemplate": "the largest class: %{y:.1%}<extra></extra>"})
    rows = LEGEND_ROW * len(traces)
    title = {"text": "λ, times the default", "standoff": 8, "font": {"size": 14}}
    ticks = {"tickvals": found.factor, "ticktext": [plain_number(factor) for factor in found.factor]}
    edges = [math.log10(found.factor[0]) - 0.1, math.log10(found.factor[-1]) + 0.1]
    low = (
        math.floor(10.0 * float(np.min(found.accuracy, where=np.isfinite(found.accuracy), initial=found.chance))) / 10.0
    )
    layout = frame(theme, height) | {
        "margin": {"l": LEFT, "r": 16, "t": TOP, "b": BOTTOM + rows},
        "showlegend": True,
        "legend": LEGEND | {"orientation": "v", "y": -(BOTTOM - 4) / (height - TOP - BOTTOM - rows)},
        "xaxis": axis(theme) | ticks | {"type": "log", "range": edges, "title": title},
        "yaxis": axis(theme) | {"range": [low, 1.01], "tickformat": ".0%", "dtick": 0.1},
        "annotations": [note("accuracy on test records", x=0, y=1, yshift=18, colour=TEXT[theme], size=14)],
        "meta": {"narrow": {}},
    }
    return Figure(traces, layout)
