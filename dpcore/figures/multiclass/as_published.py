"""The published large-margin classifier, an exhibit: what its output betrays, and when it has one. Never private."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...studies.papers.pathak_raj import Excess, Share
from ...studies.papers.pathak_raj_leak import Betrayal
from ..figure import Figure
from ..log_chart import BOTTOM, TOP
from ..style import FAMILIES, LEGEND, LEGEND_ROW, MUTED, TEXT, Theme, axis, frame, line, log_axis, note, with_opacity

_BINS, _LEAST = 45, -17.5  # of exponents


def betrayal_figure(found: Betrayal, *, theme: Theme, height: int) -> Figure:
    """How far the published output misses an equation of its records: the true ones, and a neighbour of them. px."""
    true, other = FAMILIES[theme]["frank_wolfe"], FAMILIES[theme]["reference"]
    edges = np.linspace(_LEAST, 1.0, _BINS + 1)
    ends, traces = 10.0**edges, []
    for name, values, ink, shape in (
        ("the records it was trained on", found.own, true, ""),
        ("the same with one record replaced", found.other, other, "/"),
    ):
        exponents = np.clip(np.log10(np.maximum(values, 1e-300)), _LEAST + 1e-9, 1.0 - 1e-9)
        traces.append(
            {
                "type": "bar",
                "x": 0.5 * (ends[1:] + ends[:-1]),  # Plotly takes half the width to either side before the logarithm
                "y": np.histogram(exponents, edges)[0],
                "width": ends[1:] - ends[:-1],
                "name": name,
                "marker": {
                    "color": with_opacity(ink, 0.55),
                    "line": {"color": ink, "width": 1},
                    "pattern": {"shape": shape, "fgcolor": ink, "size": 6, "solidity": 0.25},
                },
                "hovertemplate": f"{name}: misses by about %{{x:.1e}} in %{{y}} outputs<extra></extra>",
            }
        )
    ticks = [10.0**k for k in range(-15, 1, 5)]
    words = ["rounding" if k == -15 else f"10<sup>{k}</sup>".replace("-", "−") if k else "1" for k in range(-15, 1, 5)]
    rows = LEGEND_ROW * len(traces)
    title = {"text": "how far the output misses the equation", "standoff": 8, "font": {"size": 14}}
    layout = frame(theme, height) | {
        "margin": {"l": 58, "r": 16, "t": TOP, "b": BOTTOM + rows},
        "barmode": "overlay",
        "bargap": 0,
        "showlegend": True,
        "legend": LEGEND | {"orientation": "v", "y": -(BOTTOM - 4) / (height - TOP - BOTTOM - rows)},
        "xaxis": axis(theme)
        | {"type": "log", "range": [_LEAST, 1.0], "tickvals": ticks, "ticktext": words, "title": title},
        "yaxis": axis(theme) | {"rangemode": "tozero"},
        "annotations": [note("outputs", x=0, y=1, yshift=18, colour=TEXT[theme], size=14)],
        "meta": {"narrow": {}},
    }
    return Figure(traces, layout)


def existence_figure(found: Sequence[tuple[int, Share]], *, draws: int, theme: Theme, height: int) -> Figure:
    """How often the published objective has a minimiser at all, against the number of columns. px."""
    ink = FAMILIES[theme]["frank_wolfe"]
    d = np.array([columns for columns, _ in found], float)
    share = np.array([each.share for _, each in found])
    bars = {"type": "data", "symmetric": False, "thickness": 1.2, "width": 4, "color": ink}
    bars |= {
        "array": np.array([each.high for _, each in found]) - share,
        "arrayminus": share - np.array([each.low for _, each in found]),
    }
    marks = {"symbol": "diamond", "size": 9, "color": ink}
    shown = line(d, np.where(share > 0.0, share, np.nan), ink, "has a minimiser", "y", width=3, over="d")
    half = line([d[0], d[-1]], [0.5, 0.5], MUTED[theme], "never more than half", "y", dash="dot", over="d")
    traces = [half, shown | {"mode": "lines+markers", "marker": marks, "error_y": bars, "cliponaxis": False}]
    rows = LEGEND_ROW * len(traces)
    title = {"text": "columns d", "standoff": 8, "font": {"size": 14}}
    least = np.log10(max(1.0 / draws, 1e-6)) - 0.2
    layout = frame(theme, height) | {
        "margin": {"l": 66, "r": 16, "t": TOP, "b": BOTTOM + rows},
        "showlegend": True,
        "legend": LEGEND | {"orientation": "v", "y": -(BOTTOM - 4) / (height - TOP - BOTTOM - rows)},
        "xaxis": axis(theme) | {"tickvals": d, "range": [d[0] - 0.3, d[-1] + 0.3], "title": title},
        "yaxis": log_axis(theme, float(least), 0.05),
        "annotations": [note("share of noise draws", x=0, y=1, yshift=18, colour=TEXT[theme], size=14)],
        "meta": {"narrow": {}},
    }
    return Figure(traces, layout)


def theorem_figure(found: Excess, *, theme: Theme, height: int) -> Figure:
    """Theorem 2 where capped traces make sure of a minimiser: share of draws that break it, against the cap. px."""
    ink, muted = FAMILIES[theme]["frank_wolfe"], MUTED[theme]
    curves: list[tuple[str, Any, str, str]] = [
        ("breaks the theorem, proved of each draw", found.violated, ink, "solid"),
        ("keeps it, proved of each draw", found.kept, muted, "dash"),
    ]
    traces = [
        line(found.caps, share, colour, name, "y", width=3, dash=dash, over="cap")
        | {"mode": "lines+markers", "marker": {"symbol": "diamond", "size": 9, "color": colour}, "cliponaxis": False}
        for name, share, colour, dash in curves
    ]
    rows = LEGEND_ROW * len(traces)
    title = {"text": "cap on the trace of each matrix", "standoff": 8, "font": {"size": 14}}
    low, high = np.log10(found.caps[0]) - 0.1, np.log10(found.caps[-1]) + 0.1
    layout = frame(theme, height) | {
        "margin": {"l": 58, "r": 16, "t": TOP, "b": BOTTOM + rows},
        "showlegend": True,
        "legend": LEGEND | {"orientation": "v", "y": -(BOTTOM - 4) / (height - TOP - BOTTOM - rows)},
        "xaxis": log_axis(theme, float(low), float(high)) | {"title": title},
        "yaxis": axis(theme) | {"range": [-0.03, 1.03], "tickformat": ".0%", "dtick": 0.25},
        "annotations": [note("share of noise draws", x=0, y=1, yshift=18, colour=TEXT[theme], size=14)],
        "meta": {"narrow": {}},
    }
    return Figure(traces, layout)
