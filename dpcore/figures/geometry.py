"""The geometry of l_p balls: excess against the norm order and n, the ball and its noise, rates, fingerprinting."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..mechanisms import mechanism_class
from ..studies.geometry.excess_by_n import ExcessByN
from ..studies.geometry.excess_by_norm import AgainstOrder, order_text
from ..studies.geometry.hardest_data import Tracing
from ..studies.geometry.noise import BallPicture
from ..studies.geometry.table_1 import Row
from .chart import Chart
from .figure import Figure
from .labels import LABEL_HEIGHT
from .log_chart import curves_chart, markers, powers_of, through
from .style import SYMBOLS, Look, Theme, plain_number, short_number, with_opacity

# Norm orders whose tick labels have room; the places are 1/q* = 1 - 1/p.
_TICKS = {
    1.0: "1<br>L1 ball",
    1.1: "1.1",
    1.25: "1.25",
    1.5: "1.5",
    2.0: "2<br>L2 ball",
    4.0: "4",
    math.inf: "∞<br>box",
}


REACH = 1.7  # of the ball's drawing, whatever the noise
_EXCESS = (-4.3, 0.35)  # powers of ten of excess risk, whatever ε, n and d


def place(p_norm: float) -> float:
    """Place of a norm order on the axis: 1 - 1/p, from 0 at p = 1 to 1 at the box.

    >>> [place(p) for p in (1.0, 2.0, math.inf)]
    [0.0, 0.5, 1.0]
    """
    return 1.0 - 1.0 / p_norm


def order_figure(
    found: AgainstOrder, others: Sequence[AgainstOrder] = (), *, p_norm: float, theme: Theme, height: int
) -> Figure:
    """Excess of linear losses against the norm order: exponential mechanism, Gaussian noise, and nothing learned.

    others: the same at other d, the smallest first, of which the mechanism with the smaller bound is drawn thin.
    """
    chart = _order_chart(theme, height)
    for k, other in enumerate(reversed(others)):  # the most columns first, as the curves lie
        dash = ("solid", "dashdot", "longdashdot", "longdash")[k % 4]  # all that tells them apart on a phone
        name = f"smaller bound, d = {other.d:,}"
        _curve(chart, other.p_norm, other.mean, chart.muted, name, label=f"d = {other.d:,}", width=1.2, dash=dash)
    for side, name, family, symbol in (
        (found.gaussian, "Gaussian noise", "gradient", "triangle-up"),
        (found.vertices, "exponential mechanism", "frank_wolfe", "diamond"),
    ):
        ink, dashed = chart.colours[family], {"label": "upper bound", "dash": "dash", "layer": f"upper order_{family}"}
        _curve(chart, found.p_norm, side.bound, ink, f"{name}: upper bound", **dashed)
        bars = {"type": "data", "array": 2.0 * side.se, "thickness": 1.2, "width": 0, "color": ink}
        look = {"mode": "lines+markers", "marker": markers(found.p_norm, p_norm, ink, symbol, 8.0), "error_y": bars}
        label = name.replace(" ", "<br>")
        _curve(chart, found.p_norm, side.mean, ink, f"{name}, mean", label=label, width=3, cliponaxis=False, **look)
        if side.mean[0] < 10.0 ** _EXCESS[0]:
            below: Look = {"xref": "x", "yref": "y", "xanchor": "left", "yanchor": "bottom", "xshift": 6}
            below["yshift"] = LABEL_HEIGHT * len(chart.notes)  # above that of the other
            chart.write(f"↓ {short_number(side.mean[0])}", place(found.p_norm[0]), _EXCESS[0], ink, 13, **below)
    nothing, least = "nothing learned", "lower bound in the ball, hardest data"
    _curve(chart, found.p_norm, found.signal, chart.muted, nothing, label=nothing, dash="dash")
    look = {"label": "lower bound,<br>hardest data", "dash": "dot", "layer": "lower linear_packing"}
    _curve(chart, found.p_norm, found.least, chart.muted, least, **look)
    last = float(found.p_norm[-1])
    return _over_orders(chart, "excess risk on the records, linear losses", _EXCESS, p_norm, last)


def rates_figure(rows: Sequence[Row], *, p_norm: float, theme: Theme, height: int) -> Figure:
    """Table 1 along the norm order, shape only: cost of sampling, cost of privacy, and the lower bound."""
    chart = _order_chart(theme, height)
    orders = np.array([row.p_norm for row in rows])
    curves = [
        ("cost of privacy", [row.privacy for row in rows], chart.colours["gradient"], 3.0, "solid"),
        ("cost of sampling", [row.sampling for row in rows], chart.colours["reference"], 2.0, "solid"),
        ("lower bound,<br>hardest data", [row.least for row in rows], chart.muted, 1.5, "dot"),
    ]
    for name, values, ink, width, dash in curves:
        plain = name.replace("<br>", " ")
        _curve(chart, orders, np.minimum(values, 1.0), ink, plain, label=name, width=width, dash=dash)
    powers = powers_of([trace["y"] for trace in chart.traces], [np.ones(1)])
    return _over_orders(chart, "reconstructed rates / (L₀D), shape only", powers, p_norm, math.inf)


def members_figure(found: Tracing, *, epsilon: float, theme: Theme, height: int) -> Figure:
    """AUC of a membership attack on the hardest records, and the excess."""
    chart = Chart(theme, height)
    ink, x = chart.colours["frank_wolfe"], found.epsilon
    share = np.minimum(found.excess / found.signal, 1.2)
    bars = {"type": "data", "array": 2.0 * found.auc_se, "thickness": 1.2, "width": 0, "color": ink}
    chart.level(x, 0.5, chart.muted, "guessing", label="guessing", dash="dot")
    chart.curve(x, found.limit, ink, "limit of every attack", label="limit of<br>every attack", width=2, dash="dash")
    above: Look = {"label": "attack's AUC", "width": 3, "error_y": bars}
    chart.curve(x, found.auc, ink, "AUC: a member scores above a non-member", **above)
    excess = "excess, share of “nothing learned”"
    chart.curve(
        x, share, chart.colours["reference"], excess, label=excess.replace("share of ", "share of<br>"), width=2
    )
    chart.heading("AUC of the attack, and excess risk")
    chart.cursor(epsilon, f"ε = {plain_number(epsilon)}")
    return chart.beside(
        chart.cursor_axes(x, epsilon, (320, 280), title="privacy budget ε"),
        chart.axis(range=[-0.03, 1.25], tickformat=".0%", dtick=0.25),
    )


def ball_figure(found: BallPicture, *, theme: Theme, height: int) -> Figure:
    """The unit ball, noisy means of a few records, and the models they lead to."""
    chart = Chart(theme, height, left=34, right=16, bottom=30)
    ink, model = chart.colours["gradient"], chart.colours["frank_wolfe"]
    spots, times = np.unique(found.models.round(9), axis=0, return_counts=True)
    sizes = 6.0 + 26.0 * np.sqrt(times / times.sum())
    look: Look = {"showlegend": False, "hoverinfo": "skip", "fill": "toself"}
    look |= {"fillcolor": with_opacity(chart.muted, 0.08)}
    chart.line(found.ball[:, 0], found.ball[:, 1], chart.text, "the ball", 3.0, "solid", **look)
    cross = {"symbol": "x-thin", "size": 13, "line": {"width": 3, "color": chart.text}}
    for points, name, marker, clipped in (
        (found.noisy, "noisy means", _spots(ink, 5.0, 0.45, "circle"), True),
        (spots, "their models", _spots(model, sizes, 0.6, "diamond"), False),
        (found.best[None], "the best model", cross, False),
    ):
        told: Look = {"showlegend": True, "hoverinfo": "skip", "cliponaxis": clipped}
        chart.marks(points[:, 0], points[:, 1], marker, name=name, **told)
    hover = "model (%{x:.2f}, %{y:.2f})<br>of %{customdata} noisy means<extra></extra>"
    chart.traces[-2] |= {"customdata": times, "hovertemplate": hover}
    both = chart.axis(range=[-REACH, REACH], tickvals=[-1.0, 0.0, 1.0], constrain="domain")
    chart.heading(f"the ball ‖x‖ ≤ 1 in two dimensions, p = {order_text(found.p_norm)}")
    return chart.below(both, both | {"scaleanchor": "x"}, drop=28, rows=1)


def _spots(ink: str, size: Any, opacity: float, symbol: str) -> Look:
    return {"color": with_opacity(ink, opacity), "size": size, "symbol": symbol, "line": {"width": 0}, "opacity": 1}


def learners_figure(found: ExcessByN, *, n: int, theme: Theme, height: int) -> Figure:
    """Excess on fresh records against n: with noise, without and in many passes; upper bounds on mean and most runs."""
    chart, family = Chart(theme, height, "n"), mechanism_class(found.mechanism).family
    ink, plain, muted = chart.colours[family], chart.colours["reference"], chart.muted
    shape = through(found.rate, found.private.mean)
    upper = f"upper {found.mechanism}"
    lines = [
        ("upper bound", "upper bound", found.n, found.bound, ink, 2.0, "dash", upper),
        ("upper bound, 95% of runs", "upper, 95% of runs", found.n, found.tail, ink, 1.2, "dash", f"{upper}:runs"),
        ("reconstructed rate, shape only", "rate, shape only", found.n, shape, muted, 1.5, "longdashdot", ""),
        ("non-private, the same without noise", "non-private", found.n, found.plain, plain, 1.5, "solid", ""),
        ("nothing learned", "nothing learned", found.n, found.nothing, muted, 1.5, "dash", ""),
    ]
    if found.passes is not None:
        lines.append(("private, many passes, mean", "many passes", found.n, found.passes, ink, 1.5, "dot", ""))
    return curves_chart(
        chart,
        found.n,
        [("private, mean", "private", found.private, ink, SYMBOLS[family], "solid")],
        lines,
        cursor=n,
        title="records n",
        may=(),
        window=_EXCESS,
        heading="excess risk on fresh records",
        proved=(np.full(len(found.n), -np.inf), found.proved, ink, "such records"),
    )


def _order_chart(theme: Theme, height: int) -> Chart:
    """A chart with room for tick labels of two lines."""
    return Chart(theme, height, "p", bottom=70)


def _curve(chart: Chart, orders: Array, y: Any, ink: str, name: str, **look: Any) -> None:
    hover = f"p = %{{customdata}}<br>{name}: %{{y:.3~g}}<extra></extra>"
    told: Look = {"customdata": [order_text(p) for p in orders], "hovertemplate": hover}
    chart.curve([place(p) for p in orders], y, ink, name, **told, **look)


def _over_orders(chart: Chart, heading: str, powers: tuple[float, float], p_norm: float, last: float) -> Figure:
    """The figure, with the cursor at a norm order, and tick labels that leave room for its flag."""
    at, end = place(p_norm), place(last)
    chart.heading(heading)
    chart.cursor(at, _TICKS.get(p_norm, "").partition("<br>")[2] or f"p = {order_text(p_norm)}", logarithmic=False)
    axes = []
    for width in (560.0, 280.0):  # of the drawing, px
        ticks = {place(p): text for p, text in _TICKS.items() if p <= last and abs(place(p) - at) > 62.0 * end / width}
        ticks = {x: text for x, text in ticks.items() if width > 400 or "<br>" in text}
        across = {"range": [-0.04 * end, 1.04 * end], "tickvals": list(ticks), "ticktext": list(ticks.values())}
        axes.append(chart.axis("norm order p", 6, **across))
    return chart.beside(axes, chart.log_axis(*powers), taken=6, drop=78)
