"""How many draws a theorem allows, against the number of people."""

from __future__ import annotations

import math

import numpy as np

from ...studies.sparsity.simplex.published_draws import PublishedDraws
from ..figure import Figure
from ..style import (
    BACKGROUND,
    FAMILIES,
    LEGEND,
    LEGEND_ROW,
    MUTED,
    TEXT,
    Theme,
    end_labels,
    flag,
    frame,
    line,
    log_axis,
    note,
    thinned,
    vertical,
    with_opacity,
)

_TOP, _BOTTOM, _LEFT, _RIGHT = 30, 54, 62, 108


def people_figure(draws: PublishedDraws, *, n: int, theme: Theme, height: int) -> Figure:
    """Draws m against people, on log axes: Theorem 4 as printed, and proved here; below one draw nothing is released.

    n: where the cursor stands. height: px.
    """
    colour, muted = FAMILIES[theme]["sampling"], MUTED[theme]
    curves = [
        ("proved here", draws.ours, "solid", 3.0),
        ("as printed", draws.published, "dash", 2.0),
    ]
    traces = [
        line(draws.n, values, colour, name, "y", width=width, dash=dash, over="n")
        for name, values, dash, width in curves
    ]
    both = np.concatenate([draws.ours, draws.published])
    low = math.log10(np.min(both, where=np.isfinite(both), initial=1.0)) - 0.3
    powers = low, math.log10(np.max(both, where=np.isfinite(both), initial=10.0)) + 0.3
    span = math.log10(draws.n[0]) - 0.05, math.log10(draws.n[-1]) + 0.05
    less = {
        "type": "rect",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "yref": "y",
        "y0": 10.0**low,
        "y1": 1.0,
        "layer": "below",
    }
    notes = [
        note("random draws m", x=0, y=1, yshift=18, colour=TEXT[theme], size=14),
        note("less than one draw: no release", x=1, y=0, xanchor="right", yshift=10, xshift=-6, colour=muted, size=13),
        flag(f"n = {n:,}", n, TEXT[theme], BACKGROUND[theme]),
    ]
    drawing = height - _TOP - _BOTTOM
    ends = [
        ("y", float(values[np.isfinite(values)][-1]), name, colour)
        for name, values, _, _ in curves
        if np.isfinite(values).any()
    ]
    labels, beyond = end_labels(ends, {"y": (powers, drawing)}, theme, ("y",))
    title = {"text": "people n", "standoff": 10, "font": {"size": 14}}

    def over(width: float) -> dict[str, object]:
        made = thinned(log_axis(theme, *span), n, 75 / width * (span[1] - span[0]), width)
        return made | {
            "title": title,
            "ticktext": [t if k % 2 == 0 else "" for k, t in enumerate(made["ticktext"])],
        }

    rows = LEGEND_ROW * len(traces)
    layout = frame(theme, height) | {
        "margin": {"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": _BOTTOM},
        "showlegend": False,
        "xaxis": over(360.0),
        "yaxis": log_axis(theme, *powers),
        "shapes": [less | {"fillcolor": with_opacity(muted, 0.14), "line": {"width": 0}}, vertical(n, muted)],
        "annotations": [*notes, *labels],
        "meta": {
            "narrow": {
                "height": height + rows,
                "margin": {"l": 58, "r": 30, "t": _TOP, "b": _BOTTOM + rows},
                "xaxis": over(280.0),
                "annotations": [*notes, *beyond],
                "showlegend": True,
                "legend": LEGEND | {"y": -(_BOTTOM + 2) / drawing},
            }
        },
    }
    return Figure(traces, layout)
