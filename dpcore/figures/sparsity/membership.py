"""How well members are told from strangers by what is released, against epsilon."""

from __future__ import annotations

import math

import numpy as np

from ...experiments.summary import middle
from ...studies.sparsity.l1.membership import Tracing
from ..figure import Figure
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
    line,
    log_axis,
    note,
    plain_number,
    thinned,
    vertical,
    with_opacity,
)

_TOP, _BOTTOM, _LEFT, _RIGHT = 30, 54, 58, 136
_LOW, _HIGH = 0.36, 1.03  # guessing is 0.5, and chance goes below it


def tracing_figure(tracing: Tracing, *, epsilon: float, theme: Theme, height: int) -> Figure:
    """How often a member scores above a stranger (AUC) against epsilon: private releases, the best model, guessing.

    Besides, what no attack on such releases can exceed. epsilon: where the cursor stands. height: px.
    """
    colour, muted = FAMILIES[theme]["frank_wolfe"], MUTED[theme]
    span = [float(tracing.epsilon[0]), float(tracing.epsilon[-1])]
    flat = [
        ("best model, no privacy", tracing.exact, FAMILIES[theme]["reference"], "solid"),
        ("guessing", 0.5, muted, "dot"),
    ]
    measured = line(tracing.epsilon, tracing.auc, colour, "private model", "y", width=3)
    measured |= {
        "mode": "lines+markers",
        "cliponaxis": False,
        "marker": {
            "symbol": "diamond",
            "size": np.where(tracing.epsilon == epsilon, 13.0, 7.0),
            "color": colour,
            "opacity": 1,
            "line": {"width": 0},
        },
        "customdata": np.column_stack([100 * tracing.agreement, tracing.excess]),
        "hovertemplate": "ε = %{x}<br>private model: %{y:.3~g}<br>%{customdata[0]:.0f}% of the common signs"
        "<br>excess risk %{customdata[1]:.2~g}<extra></extra>",
    }
    traces = [
        *_band(tracing, colour),
        *(line(span, [at, at], ink, name, "y", dash=dash) for name, at, ink, dash in flat),
        line(tracing.epsilon, tracing.limit, colour, "proved limit", "y", width=2, dash="dash"),
        measured,
    ]
    ends = [
        ("y", flat[0][1], "best model,<br>no privacy", flat[0][2]),
        ("y", 0.5, "guessing", muted),
        ("y", float(tracing.limit[-1]), "proved limit", colour),
        ("y", float(tracing.auc[-1]), "private model", colour),
    ]
    drawing = height - _TOP - _BOTTOM
    labels, beyond = end_labels(ends, {"y": (_bounds(tracing), drawing)}, theme, ())
    words = "a member scores above a stranger"
    notes = [
        note(words, x=0, y=1, yshift=18, colour=TEXT[theme], size=14),
        flag(f"ε = {plain_number(epsilon)}", epsilon, TEXT[theme], BACKGROUND[theme]),
    ]
    title = {"text": "privacy budget ε  (smaller = more private)", "standoff": 10, "font": {"size": 14}}

    def across(width: float) -> dict[str, object]:
        low, high = math.log10(span[0]) - 0.05, math.log10(span[1]) + 0.05
        return thinned(log_axis(theme, low, high), epsilon, 75 / width * (high - low), width) | {"title": title}

    rows = LEGEND_ROW * sum(bool(trace["showlegend"]) for trace in traces)
    layout = frame(theme, height) | {
        "margin": {"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": _BOTTOM},
        "showlegend": False,
        "xaxis": across(560.0),
        "yaxis": axis(theme) | {"range": _bounds(tracing), "tickformat": ".0%", "dtick": 0.1},
        "shapes": [vertical(epsilon, muted)],
        "annotations": [*notes, *labels],
        "meta": {
            "narrow": {
                "height": height + rows,
                "margin": {"l": 54, "r": 34, "t": _TOP, "b": _BOTTOM + rows},
                "xaxis": across(300.0),
                "annotations": [*notes, *beyond],
                "showlegend": True,
                "legend": LEGEND | {"y": -(_BOTTOM + 2) / drawing},
            }
        },
    }
    return Figure(traces, layout)


def _bounds(tracing: Tracing) -> tuple[float, float]:
    """Of the vertical axis: all that is drawn."""
    lowest = float(np.quantile(tracing.every_auc, 0.1, axis=1).min())
    return max(min(lowest - 0.02, _LOW), 0.0), _HIGH


def _band(tracing: Tracing, colour: str) -> list[dict[str, object]]:
    """8 of 10 runs, where there are enough."""
    low, high = middle(tracing.every_auc, 1)
    edge = {"type": "scatter", "mode": "lines", "x": tracing.epsilon, "yaxis": "y", "line": {"width": 0}}
    edge |= {"hoverinfo": "skip"}
    fill: dict[str, object] = {"fill": "tonexty", "fillcolor": with_opacity(colour, 0.2), "name": "8 of 10 runs"}
    fill |= {"showlegend": bool(np.isfinite(low).any())}
    return [edge | {"y": high, "showlegend": False}, edge | {"y": low} | fill]
