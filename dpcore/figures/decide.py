"""Figures of the page Decide: loss of a release, equivalent sample size, and budgets of deployments."""

import math
from collections.abc import Sequence

import numpy as np

from ..core.arrays import Array
from ..studies.decide.deployments import Deployment
from ..studies.decide.smallest_epsilon import SmallestEpsilon
from .chart import Chart, thinned
from .figure import Figure
from .log_chart import positive
from .style import LARGER, Look, Theme, note, plain_number

_ROW = 34  # px of a deployment
_CLOSE = 6.0  # times the acceptable loss are on the axis
_EQUIVALENT, _SURE = "records without privacy", "95% interval"
_AXIS_TITLE = "privacy budget ε  (smaller = more private)"
_LOSSES = {"accuracy": "accuracy loss", "auc": "AUC loss", "r_squared": "loss of explained variance"}


def budget_figure(answer: SmallestEpsilon, *, family: str, theme: Theme, height: int) -> Figure:
    """Loss of single releases against epsilon, what may be lost, and the budget at which nine of ten keep to it.

    family: of colours.
    """
    chart, curve = Chart(theme, height, left=56, right=158), answer.curve
    colour, loss = chart.colours[family], _LOSSES[curve.setting.metric]
    epsilons, at_most, epsilon, gain = curve.epsilons, max(answer.at_most, 0.0), answer.epsilon, answer.gain
    half = curve.quantile(0.5)
    top = _top(curve.most, at_most)
    bottom = min(0.0, gain, float(half.min()))
    panel = (bottom - 0.02 * top, top)
    chart.band(epsilons, half, curve.most, colour, "between half and nine of ten releases")
    chart.curve(epsilons, curve.most, colour, "nine of ten releases lose less", width=3)
    chart.end(epsilons, curve.most, "nine of ten releases<br>lose less", colour)
    chart.curve(epsilons, curve.smooth, colour, "mean loss", dash="dot")
    accepted = f"may be lost: {_tenths(at_most)}"
    chart.level(epsilons, at_most, chart.colours["reference"], accepted, label=accepted, dash="dash")
    nothing = LARGER if curve.setting.metric == "accuracy" else "nothing learned"
    chart.level(epsilons, gain, chart.muted, f"{nothing}: loss {_tenths(gain)}", dash="dot")
    chart.end(epsilons[-1:], [gain], nothing if gain > top else f"{nothing}:<br>loss {_tenths(gain)}", chart.muted)
    told, found = f"sign ε = {plain_number(epsilon)}", answer.found if answer.useful else None
    ends = [found.low, min(found.high, float(epsilons[-1]))] if found else []
    look: Look = {"width": 7, "opacity": 0.55, "hovertemplate": "between ε = %{x:.3~g}<extra></extra>"}
    chart.curve(ends, [at_most] * len(ends), colour, f"smallest budget, {_SURE}", **look)
    # A phone has the diamond's words in the legend.
    diamond: Look = {"color": chart.paper, "size": 13, "symbol": "diamond", "line": {"color": colour, "width": 2.5}}
    chart.dot([epsilon if found else math.nan], [at_most], colour, **diamond)
    chart.traces[-1] |= {"name": told, "showlegend": found is not None}
    chart.heading(f"{loss} of one release, points")
    across = chart.log_axis(math.log10(epsilons[0]), math.log10(epsilons[-1]), title=_AXIS_TITLE)
    return chart.beside(
        [across, across],
        chart.axis(range=list(panel)),
        phone=(56, 40),
        drop=54,
        wide=[_words(told, epsilon, at_most, colour, panel, chart.paper)] if found else [],
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


def _top(most: Array, at_most: float) -> float:
    """Upper end of the loss axis: above what may be lost, but not so far that the curve lies flat."""
    return min(max(_CLOSE * at_most, 1.0), max(1.5 * at_most, 1.12 * float(most.max(initial=1.0))))


def _tenths(value: float) -> str:
    return f"{value:.1f}".replace("-", "−")
