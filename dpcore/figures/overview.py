"""The price of privacy against epsilon, and two bells that say how far an attacker can tell two records apart."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import ndtri

from ..mechanisms import mechanism_class
from ..mechanisms.base import Family
from .chart import Chart
from .figure import Figure
from .style import Look, Theme, note, plain_number, short_number, with_opacity
from .theorems import constants

_LEAST_TOP = 0.1  # of the axis of excess risk, which is doubled until it ends above "learns nothing"
_WIDEST = 7.0  # the axis of the bells to both sides, in standard deviations


def price_figure(
    table: pd.DataFrame,
    *,
    epsilon: float,
    theme: Theme,
    height: int,
    released: Sequence[tuple[float, float]] = (),
) -> Figure:
    """Excess empirical risk against epsilon, from 0 to a little above that of a model that learns nothing.

    table: of one mechanism swept over epsilon, as `dpcore.run` gives it. At the cursor a bar parts the excess into what
    would remain without noise and what the noise adds, in percent of what can be learned. released: (epsilon,
    excess) of single releases.
    """
    chart = Chart(theme, height, left=52, right=150)
    excess = table[(table.metric == "excess_empirical_risk") & (table.status == "ok")]
    kind = mechanism_class(str(table.mechanism.iloc[0]))
    main, budgets = chart.colours[kind.family], table.x.unique()
    nothing = float(excess.nothing_learned.iloc[0]) if len(excess) else math.nan
    top = _LEAST_TOP * 2.0 ** math.ceil(math.log2(1.1 * nothing / _LEAST_TOP)) if nothing > 0.0 else 1.0
    proved = excess[excess.proved_high.notna()]

    chart.cursor(epsilon, f"ε = {plain_number(epsilon)}")
    if nothing > 0.0:
        above: Look = {"type": "rect", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": nothing, "y1": top}
        look = {"layer": "below", "fillcolor": with_opacity(chart.muted, 0.12), "line": {"width": 0}}
        chart.shapes.append(above | look)
    refused = [x for x in budgets if x not in set(excess.x)]
    if refused:
        chart.write("no guarantee", math.log10(min(refused)), 0.5 * top, main, 13, xref="x", yref="y")
    chart.proved(proved.x, proved.proved_low, proved.proved_high, main, floor=0.0)
    bound: Look = {"dash": "dash", "layer": f"upper {kind.key}", "text": constants(excess)}
    chart.curve(excess.x, excess.bound, main, "upper bound", label="upper bound", **bound)
    chart.curve(excess.x, excess["mean"], main, "measured", label="measured", width=3)
    if math.isfinite(nothing):
        chart.level(budgets, nothing, chart.muted, "learns nothing", label="learns nothing", dash="dash")
    for row in excess.itertuples():
        mean, floor = min(float(row.mean), top), min(float(row.noiseless), top)
        left, shift = ("right", -14) if row.x > 2.0 else ("left", 14)  # within a phone's chart
        costs = row.mean - row.noiseless, row.noiseless
        noise, kept = (f"{short_number(100 * max(each, 0.0) / nothing)}%" for each in costs)
        told = f"<b>{'↑ ' if row.mean > top else ''}noise {noise}</b><br>floor {kept}"
        place: Look = {"xref": "x", "yref": "y", "xanchor": left, "xshift": shift, "yanchor": "bottom", "yshift": 16}
        place |= {"align": "left", "bgcolor": with_opacity(chart.paper, 0.85)}
        words = note(told, x=math.log10(row.x), y=min(mean, 0.7 * top), colour=main, size=13, **place)
        chart.elsewhere.append(words)
        if row.x == epsilon:
            chart.notes.append(words)
            bar: Look = {"type": "line", "xref": "x", "yref": "y", "x0": epsilon, "x1": epsilon, "layer": "below"}
            chart.shapes.append(bar | {"y0": 0.0, "y1": floor, "line": {"color": chart.muted, "width": 9}})
            chart.shapes.append(bar | {"y0": floor, "y1": mean, "line": {"color": main, "width": 9}})
    here = excess[(excess.x == epsilon) & (excess["mean"] <= top)]
    chart.dot(here.x, here["mean"], main)
    diamond: Look = {"color": chart.paper, "symbol": "diamond", "size": 9, "line": {"color": main, "width": 2}}
    places, heights = np.array(released, float).reshape(-1, 2).T
    chart.marks(places, np.minimum(heights, top), diamond, name="single releases", showlegend=bool(len(places)))

    chart.heading("excess risk above the best model's")
    across = chart.log_axis(-2, 1, title="privacy budget ε  (smaller = more private)")
    return chart.beside([across] * 2, chart.axis(range=[0, top]), phone=(48, 26))


def bells_figure(limit: float, *, family: Family, theme: Theme, height: int) -> Figure:
    """Two normal laws of unit variance, so far apart that the best guess between them is right with this probability.

    limit: of an attacker's success at 50:50 odds, from 0.5 to 1. family: whose colour the law with the attacked
    record has. The axis is the same for every limit.
    """
    chart = Chart(theme, height, left=12, right=12, top=34, bottom=30)
    colour = chart.colours[family]
    apart = min(2.0 * float(ndtri(limit)), 2.0 * _WIDEST - 6.0)
    x = np.linspace(-_WIDEST, _WIDEST, 281)
    for name, centre, ink, side, shift in (
        ("a substitute", -apart / 2, chart.muted, "right", -18),
        ("your record", apart / 2, colour, "left", 18),
    ):
        law = np.exp(-0.5 * (x - centre) ** 2)
        chart.line(x, law, ink, "", 2.5, "solid", fill="tozeroy", fillcolor=with_opacity(ink, 0.2), hoverinfo="skip")
        place: Look = {"xref": "x", "yref": "y", "xanchor": side, "yanchor": "bottom", "xshift": shift, "yshift": -8}
        chart.write(name, centre, 1.0, ink, 14, **place)
    chart.write("guess: a substitute", 0.02, 0, chart.muted, 12, yanchor="top", yshift=-6)
    chart.write("guess: your record", 0.98, 0, colour, 12, xanchor="right", yanchor="top", yshift=-6)
    chart.shapes.append(
        {"type": "line", "xref": "x", "yref": "paper", "x0": 0, "x1": 0, "y0": 0, "y1": 0.9}
        | {"line": {"color": chart.muted, "width": 1.5, "dash": "dot"}}
    )
    hidden: Look = {"showticklabels": False, "showgrid": False}
    across = chart.axis(range=[-_WIDEST, _WIDEST], **hidden)
    return chart.figure(across, chart.axis(range=[0, 1.25], **hidden))
