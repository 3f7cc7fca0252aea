"""Many classes: accuracy and excess risk of private ellipsoids."""

from __future__ import annotations

import math

import numpy as np

from ...studies.multiclass.curves import Accuracies, Excesses, Tuning
from ...studies.multiclass.one_vs_rest import LearnerKey
from ..chart import Chart, axis_title
from ..figure import Figure
from ..log_chart import curves_chart, markers
from ..style import Look, Theme, plain_number

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
    """Accuracy on test records along an axis: private learners with their bands, and models without privacy."""
    letter = _LETTERS[found.axis]
    chart = Chart(theme, height, letter)
    inks = {key: chart.colours[LOOKS[key][2]] for key in found.learners}
    for key, measured in found.learners.items():
        named = any(trace["showlegend"] for trace in chart.traces)
        chart.band(found.x, measured.q10, measured.q90, inks[key], legend=not named, opacity=0.15)
    for name, label, heights, ink, dash in (
        ("knowing the law", "knows the law", found.bayes, chart.muted, "dash"),
        ("not private, ellipsoids", "not private", found.plain, chart.colours["reference"], "solid"),
        ("not private, logistic regression", "", found.logistic, chart.colours["reference"], "dot"),
        ("the largest class", "the largest class", found.chance, chart.muted, "dot"),
    ):
        chart.curve(found.x, heights, ink, name, label=label, dash=dash, hovertemplate=_share(letter, name))
    for key, measured in found.learners.items():
        name, label, _, symbol, dash = LOOKS[key]
        look = {"label": label, "width": 3, "dash": dash, "hovertemplate": _share(letter, name)}
        chart.marked(found.x, measured.mean, inks[key], name, markers(found.x, cursor, inks[key], symbol), **look)
    chart.heading("accuracy on test records")
    title, short = _TITLES[found.axis]
    if found.axis == "epsilon":
        chart.cursor(cursor, f"ε = {plain_number(cursor)}")
        wide, narrow = chart.cursor_axes(found.x, cursor, (560, 300))
    else:
        chart.cursor(cursor, f"{letter} = {cursor:g}", logarithmic=False)
        start, end = float(found.x[0]), float(found.x[-1])
        text = ["" if abs(tick - cursor) <= 0.04 * (end - start) else f"{tick:g}" for tick in found.x]
        wide = narrow = chart.axis(range=[start - 0.3, end + 0.3], tickvals=found.x, ticktext=text)
    return chart.beside(
        [wide | {"title": axis_title(title, 10)}, narrow | {"title": axis_title(short, 10)}],
        chart.axis(range=[_lowest(found), 1.01], tickformat=".0%", dtick=0.1),
    )


def _share(letter: str, name: str) -> str:
    return f"{letter} = %{{x}}<br>{name}: %{{y:.1%}}<extra></extra>"


def _lowest(found: Accuracies) -> float:
    """Of the vertical axis: the least that is drawn, in steps of 5%."""
    lines = [found.chance, found.plain, found.logistic, found.bayes]
    every = np.concatenate([*lines, *(curve for m in found.learners.values() for curve in (m.mean, m.q10))])
    return math.floor(20.0 * float(np.min(every, where=np.isfinite(every), initial=0.95))) / 20.0


def classes_excess_figure(found: Excesses, *, epsilon: float, theme: Theme, height: int) -> Figure:
    """Excess loss against epsilon, over the best model in the ball and over the regularised optimum, with bounds."""
    _, _, family, symbol, dash = LOOKS["ellipsoids"]
    chart = Chart(theme, height)
    ink, muted = chart.colours[family], chart.muted
    best, regularised = "proved bound, over the best", "proved bound, over the regularised"
    lines = [
        (best, best.replace(", ", ",<br>"), found.epsilon, found.bound, ink, 2.0, "dash"),
        (regularised, regularised.replace(", ", ",<br>"), found.epsilon, found.over_bound, muted, 2.0, "dash"),
        ("Φ = 0, nothing learned", "nothing learned", found.epsilon, found.nothing, muted, 1.5, "dot"),
    ]
    curves = [
        ("over the regularised optimum, mean", "over the regularised", found.over, muted, "diamond", "solid"),
        ("over the best model, mean", "over the best", found.excess, ink, symbol, dash),
    ]
    return curves_chart(
        chart,
        found.epsilon,
        curves,
        lines,
        cursor=epsilon,
        title="privacy budget ε  (smaller = more private)",
        short="budget ε",
        may=[found.bound, found.over_bound],
        heading="excess loss on the training records",
    )


def tuning_figure(found: Tuning, *, theme: Theme, height: int) -> Figure:
    """Accuracy against lam in multiples of the default, a curve for each epsilon; the best is an oracle's."""
    chart = Chart(theme, height, right=16)
    ink, reference = chart.colours["objective"], chart.colours["reference"]
    for k, (epsilon, row) in enumerate(zip(found.epsilon, found.accuracy, strict=True)):
        hover = f"ε = {epsilon:g}, %{{x}} times: %{{y:.1%}}<extra></extra>"
        look: Look = {"width": 1.5 + k, "dash": ("dot", "dash", "solid")[k % 3]}
        chart.curve(found.factor, row, ink, f"ε = {epsilon:g}", hovertemplate=hover, **look)
    best = found.factor[np.where(np.isnan(found.accuracy), -1.0, found.accuracy).argmax(axis=1)]
    for name, x, y, symbol, colour in (
        ("default λ", np.ones(len(found.epsilon)), found.default, "square", ink),
        ("oracle, not private", best, found.oracle, "star-open", reference),
    ):
        look = {"symbol": symbol, "size": 11, "color": colour, "line": {"width": 2, "color": colour}}
        chart.marks(x, y, look, name=name, hoverinfo="skip")
    hover = "the largest class: %{y:.1%}<extra></extra>"
    chart.level(found.factor, found.chance, chart.muted, "the largest class", dash="dot", hovertemplate=hover)
    least = float(np.min(found.accuracy, where=np.isfinite(found.accuracy), initial=found.chance))
    low, high = math.log10(found.factor[0]) - 0.1, math.log10(found.factor[-1]) + 0.1
    ticks = {"tickvals": found.factor, "ticktext": [plain_number(factor) for factor in found.factor]}
    chart.heading("accuracy on test records")
    return chart.below(
        chart.log_axis(low, high, title="λ, times the default", standoff=8, **ticks),
        chart.axis(range=[math.floor(10.0 * least) / 10.0, 1.01], tickformat=".0%", dtick=0.1),
        drop=50,
        stacked=True,
    )
