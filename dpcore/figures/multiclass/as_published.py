"""The published large-margin classifier, an exhibit: what its output betrays, and when it has one. Never private."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...studies.papers.pathak_raj import Excess, Share
from ...studies.papers.pathak_raj_leak import MembershipLeak
from ..chart import Chart
from ..figure import Figure
from ..style import Theme, pattern

_BINS, _LEAST = 45, -17.5  # of exponents


def membership_leak_figure(found: MembershipLeak, *, theme: Theme, height: int) -> Figure:
    """How far the published output misses an equation of its records: the true ones, and a neighbour of them."""
    chart = Chart(theme, height, right=16)
    edges = np.linspace(_LEAST, 1.0, _BINS + 1)
    ends = 10.0**edges
    for name, values, family, shape in (
        ("the records it was trained on", found.own, "frank_wolfe", ""),
        ("the same with one record replaced", found.other, "reference", "/"),
    ):
        exponents = np.clip(np.log10(np.maximum(values, 1e-300)), _LEAST + 1e-9, 1.0 - 1e-9)
        bars = {
            "type": "bar",
            "x": 0.5 * (ends[1:] + ends[:-1]),  # Plotly takes half the width to either side before the logarithm
            "y": np.histogram(exponents, edges)[0],
            "width": ends[1:] - ends[:-1],
            "name": name,
            "marker": pattern(chart.colours[family], 0.55, shape),
            "hovertemplate": f"{name}: misses by about %{{x:.1e}} in %{{y}} outputs<extra></extra>",
        }
        chart.traces.append(bars)
    ticks = [10.0**k for k in range(-15, 1, 5)]
    words = ["rounding" if k == -15 else f"10<sup>{k}</sup>".replace("-", "−") if k else "1" for k in range(-15, 1, 5)]
    chart.heading("outputs")
    return chart.below(
        chart.log_axis(
            _LEAST, 1.0, tickvals=ticks, ticktext=words, title="how far the output misses the equation", standoff=8
        ),
        chart.axis(rangemode="tozero"),
        drop=50,
        stacked=True,
        barmode="overlay",
        bargap=0,
    )


def existence_figure(found: Sequence[tuple[int, Share]], *, draws: int, theme: Theme, height: int) -> Figure:
    """How often the published objective has a minimiser at all, against the number of columns."""
    chart = Chart(theme, height, "d", left=66, right=16)
    ink = chart.colours["frank_wolfe"]
    d = np.array([columns for columns, _ in found], float)
    share, low, high = np.array([(each.share, each.low, each.high) for _, each in found]).T
    bars = {"type": "data", "symmetric": False, "thickness": 1.2, "width": 4, "color": ink}
    bars |= {"array": high - share, "arrayminus": share - low}
    marks = {"symbol": "diamond", "size": 9, "color": ink}
    chart.level(d, 0.5, chart.muted, "never more than half", dash="dot")
    drawn = np.where(share > 0.0, share, np.nan)
    chart.marked(d, drawn, ink, "has a minimiser", marks, width=3, error_y=bars)
    chart.heading("share of noise draws")
    return chart.below(
        chart.axis("columns d", 8, tickvals=d, range=[d[0] - 0.3, d[-1] + 0.3]),
        chart.log_axis(float(np.log10(max(1.0 / draws, 1e-6)) - 0.2), 0.05),
        drop=50,
        stacked=True,
    )


def theorem_figure(found: Excess, *, theme: Theme, height: int) -> Figure:
    """Theorem 2 where capped traces make sure of a minimiser: share of draws that break it, against the cap."""
    chart = Chart(theme, height, "cap", right=16)
    for name, share, ink, dash in (
        ("breaks the theorem, proved of each draw", found.violated, chart.colours["frank_wolfe"], "solid"),
        ("keeps it, proved of each draw", found.kept, chart.muted, "dash"),
    ):
        marks = {"symbol": "diamond", "size": 9, "color": ink}
        chart.marked(found.caps, share, ink, name, marks, width=3, dash=dash)
    low, high = np.log10(found.caps[0]) - 0.1, np.log10(found.caps[-1]) + 0.1
    chart.heading("share of noise draws")
    return chart.below(
        chart.log_axis(float(low), float(high), title="cap on the trace of each matrix", standoff=8),
        chart.axis(range=[-0.03, 1.03], tickformat=".0%", dtick=0.25),
        drop=50,
        stacked=True,
    )
