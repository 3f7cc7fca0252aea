"""Figures of the page Decide: accuracy loss and equivalent sample size against epsilon, and budgets of deployments."""

import math
from collections.abc import Sequence

import numpy as np

from ..core.arrays import Array
from ..studies.decide.deployments import Deployment
from ..studies.decide.threshold_interval import Answer
from .chart import Chart, thinned
from .figure import Figure
from .log_chart import positive
from .style import LARGER, Look, Theme, note, plain_number

_ROW = 34  # px of a deployment
_CLOSE = 6.0  # times the acceptable loss are on the axis
_LOSS, _EQUIVALENT, _SURE = "accuracy loss, percentage points", "records without privacy", "95% interval"
_AXIS_TITLE = "privacy budget ε  (smaller = more private)"


def budget_figure(
    epsilons: Array,
    lost: Array,
    low: Array,
    high: Array,
    *,
    at_most: float,
    answer: Answer,
    epsilon: float,
    family: str,
    theme: Theme,
    height: int,
    learnable: float | None = None,
    most: Array | None = None,
) -> Figure:
    """Accuracy loss against epsilon with its interval, the acceptable loss, and the smallest budget that keeps to it.

    lost, low, high: percentage points, [K] as epsilons; nan where nothing is released. at_most: points. answer: of the
    budget question. family: of colours. learnable: points above the larger class; a model that loses them is useless.
    most: points that nine of ten single releases lose less than, [K].
    """
    chart = Chart(theme, height, left=56, right=158)
    colour, accepted = chart.colours[family], f"acceptable loss: {plain_number(at_most)}"
    here = _at(epsilons, lost, epsilon)
    top = _top(lost, high, at_most, here)
    bottom = min(0.0, float(np.nanmin(np.concatenate([low, [0.0, learnable or 0.0]]))))
    panel = (bottom - 0.02 * top, top)
    chart.band(epsilons, low, high, colour, _SURE)
    chart.curve(epsilons, lost, colour, "accuracy loss, mean", width=3)
    chart.end(lost, f"accuracy loss<br>(band: {_SURE})", colour)
    if most is not None:
        chart.curve(epsilons, most, colour, "nine of ten releases lose less", dash="dot")
    chart.level(epsilons, at_most, chart.colours["reference"], accepted, label=accepted, dash="dash")
    if learnable is not None:
        chart.level(epsilons, learnable, chart.muted, f"{LARGER}: loss {_tenths(learnable)}", dash="dot")
        chart.end([learnable], LARGER if learnable > top else f"{LARGER}:<br>loss {_tenths(learnable)}", chart.muted)
    _sure(chart, answer, at_most, float(epsilons[-1]), colour)
    chart.dot([epsilon], [here], colour)
    # An open diamond where nine of ten releases keep to the acceptable loss; a phone has its words in the legend.
    found = math.isfinite(answer.value)
    smallest = f"smallest budget: ε = {plain_number(float(f'{answer.value:.2g}'))}" if found else "smallest budget"
    diamond: Look = {"color": chart.paper, "size": 13, "symbol": "diamond", "line": {"color": colour, "width": 2.5}}
    chart.dot([answer.value if found else math.nan], [at_most], colour, **diamond)
    chart.traces[-1] |= {"name": smallest, "showlegend": found}
    chart.heading(_LOSS)
    chart.cursor(epsilon, f"ε = {plain_number(epsilon)}")
    return chart.beside(
        chart.cursor_axes(epsilons, epsilon, (600, 250), beyond=0, room=58, title=_AXIS_TITLE),
        chart.axis(range=list(panel)),
        phone=(56, 40),
        drop=54,
        wide=[_words(smallest, answer.value, at_most, colour, panel, chart.paper)] if found else [],
    )


def equivalent_figure(
    epsilons: Array,
    size: Array,
    low: Array,
    high: Array,
    *,
    n: int,
    metric: str,
    epsilon: float,
    family: str,
    theme: Theme,
    height: int,
) -> Figure:
    """Equivalent sample size of n records against epsilon, on logarithmic axes.

    size, low, high: [K] as epsilons; nan below the smallest size that was tried. metric: by which they are equivalent.
    """
    chart = Chart(theme, height, left=56, right=76)
    colour, everyone = chart.colours[family], f"all {n:,}"
    chart.band(epsilons, low, high, colour, _SURE)
    chart.curve(epsilons, size, colour, "equivalent sample size", label=f"{metric}<br>reached", width=3)
    chart.level(epsilons, n, chart.colours["reference"], everyone, label=everyone)
    chart.dot([epsilon], [_at(epsilons, size, epsilon)], colour)
    least = min(positive([size, low]).min(initial=float(n)), n / 3)
    chart.heading(_EQUIVALENT)
    chart.cursor(epsilon, f"ε = {plain_number(epsilon)}")
    return chart.beside(
        chart.cursor_axes(epsilons, epsilon, (300, 250), beyond=0, room=58, title="privacy budget ε"),
        chart.log_axis(math.log10(least) - 0.1, math.log10(n) + 0.12),
        phone=(56, 40),
        drop=54,
    )


def uses_figure(uses: Sequence[Deployment], *, epsilon: float, theme: Theme) -> Figure:
    """Budgets of deployments, the smallest first, each in its own row, with the cursor's epsilon across."""
    rows = sorted(uses, key=lambda use: use.epsilon)
    chart = Chart(theme, _ROW * len(rows) + 74, left=300, right=40, top=20)
    x, y = np.array([use.epsilon for use in rows]), np.arange(len(rows), dtype=float)
    chart.marks(
        x,
        y,
        {"color": chart.colours["sampling"], "size": 11},
        mode="markers+text",
        text=[plain_number(float(f"{value:.3g}")) for value in x],
        textposition="middle right",
        textfont={"color": chart.text, "size": 13},
        name="budget",
        cliponaxis=False,
        showlegend=False,
        customdata=[use.what for use in rows],
        hovertemplate="%{customdata}: ε = %{x:.3~g}<extra></extra>",
    )
    chart.cursor(epsilon, f"ε = {plain_number(epsilon)}")
    low, high = math.log10(min(epsilon, *x)) - 0.15, math.log10(max(epsilon, *x)) + 0.35
    across = chart.log_axis(low, high, title="privacy budget ε of one unit")
    upright = chart.axis(tickvals=y, range=[len(rows) - 0.5, -0.5])
    small = f"<br><span style='color:{chart.muted};font-size:12px'>"
    names = [f"{use.who}, {use.date[:4]}{small}per {use.unit}, {use.model}</span>" for use in rows]
    place = {"yref": "y", "yanchor": "bottom", "yshift": 7, "align": "left", "bgcolor": chart.paper}
    inside = [note(name, x=0, y=k, colour=chart.text, size=13, **place) for k, name in enumerate(names)]
    narrow = {
        "height": 2 * _ROW * len(rows) + 114,
        "margin": {"l": 14, "r": 24, "t": 60, "b": chart.bottom},
        "xaxis": thinned(across, epsilon, 0.3, 280),
        "yaxis": upright | {"ticktext": [""] * len(rows)},
        "annotations": [*chart.notes, *inside],
    }
    return chart.figure(thinned(across, epsilon, 0.12, 600), upright | {"ticktext": names}, narrow=narrow)


def _sure(chart: Chart, answer: Answer, height: float, end: float, colour: str) -> None:
    """Add the answer's interval as a thick line on the threshold; an open end goes to the end of the axis."""
    ends = [answer.low, min(answer.high, end)] if math.isfinite(answer.low) else []
    look: Look = {"width": 7, "opacity": 0.55, "hovertemplate": "between ε = %{x:.3~g}<extra></extra>"}
    chart.curve(ends, [height] * len(ends), colour, f"smallest budget, {_SURE}", **look)


def _words(text: str, x: float, y: float, colour: str, panel: tuple[float, float], paper: str) -> Look:
    """Words beside the diamond with a thin line to it, where a falling curve leaves room: above it on its right, or,
    near the right end, just below it on its left."""
    power = math.log10(x)
    on_right = power < 0.3
    above = y - panel[0] < 0.7 * (panel[1] - panel[0])
    away = (-64 if above else 64) if on_right else 26
    place = {"xref": "x", "yref": "y", "xanchor": "left" if on_right else "right", "bgcolor": paper}
    line = {
        "showarrow": True,
        "arrowhead": 0,
        "arrowcolor": colour,
        "arrowwidth": 1,
        "ax": 0,
        "ay": away,
        "standoff": 8,
    }
    return note(text, x=power, y=y, colour=colour, size=14, **place, **line)


def _at(x: Array, y: Array, value: float) -> float:
    """The curve's height at a value, linear in its logarithm; nan outside the curve."""
    known = np.isfinite(y)
    if not known.any():
        return math.nan
    return float(np.interp(math.log(value), np.log(x[known]), y[known], left=math.nan, right=math.nan))


def _top(lost: Array, high: Array, at_most: float, here: float) -> float:
    """Upper end of the loss axis: above the acceptable loss and the cursor, but not so far that both lie flat."""
    drawn = np.concatenate([values[np.isfinite(values)] for values in (lost, high)])
    wanted = max(_CLOSE * at_most, 1.3 * here if math.isfinite(here) else 0.0)
    return min(wanted, max(1.5 * at_most, 1.12 * float(drawn.max(initial=1.0))))


def _tenths(value: float) -> str:
    return f"{value:.1f}".replace("-", "−")
