"""What a single private release of many classes decides and draws, beside the model without privacy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array
from ...studies.multiclass.decision_regions import Picture
from ..figure import Figure
from ..style import BACKGROUND, FAMILIES, LEGEND, LEGEND_ROW, MUTED, TEXT, Theme, axis, frame, note, with_opacity


def regions_figure(found: Picture, *, theme: Theme, height: int) -> Figure:
    """Which class each point is given by a private release and without privacy; where they differ is shaded. px."""
    private, plain = FAMILIES[theme]["objective"], FAMILIES[theme]["reference"]
    differ = (found.private.argmax(axis=0) != found.plain.argmax(axis=0)).astype(np.uint8)
    shade = {
        "type": "heatmap",
        "x": found.axis,
        "y": found.axis,
        "z": differ,
        "colorscale": [[0.0, with_opacity(private, 0.0)], [1.0, with_opacity(private, 0.22)]],
        "zmin": 0.0,
        "zmax": 1.0,
        "showscale": False,
        "hoverinfo": "skip",
    }
    key = {"symbol": "square", "size": 12, "color": with_opacity(private, 0.22)}
    traces = [
        shade,
        *_borders(found.axis, found.plain, plain, "dash", 1.5),
        *_borders(found.axis, found.private, private, "solid", 2.0),
        _entry("private release", private, "solid"),
        _entry("not private", plain, "dash"),
        {
            "type": "scatter",
            "x": [None],
            "y": [None],
            "mode": "markers",
            "name": "privacy decides otherwise",
            "marker": key,
        },
        *_outlines(found.true, MUTED[theme], "dot", "true ellipses, 2 standard deviations"),
    ]
    return _plane(found, traces, 3 + bool(found.true), theme, height)


def ellipses_figure(found: Picture, *, theme: Theme, height: int) -> Figure:
    """The ellipse of each class in a private release and without privacy, over the true ones where known. px.

    Ellipses of classes whose regions are open may be larger than the picture.
    """
    private, plain = FAMILIES[theme]["objective"], FAMILIES[theme]["reference"]
    traces = [
        *_outlines(found.true, MUTED[theme], "dot", "true ellipses, 2 standard deviations"),
        *_outlines(found.hidden, plain, "dash", "not private"),
        *_outlines(found.ellipses, private, "solid", "private release"),
    ]
    return _plane(found, traces, 2 + bool(found.true), theme, height)


def _borders(at: Array, leads: Array, ink: str, dash: str, width: float) -> list[dict[str, Any]]:
    """A contour around the region of each class but the last; neighbours draw their border twice."""
    look = {"start": 0.0, "end": 0.0, "size": 1.0, "coloring": "none"}
    return [
        {
            "type": "contour",
            "x": at,
            "y": at,
            "z": lead.astype(np.float32),  # half of what the browser is sent, and far finer than a pixel
            "contours": look,
            "line": {"color": ink, "width": width, "dash": dash, "smoothing": 1.0},
            "showscale": False,
            "showlegend": False,
            "hoverinfo": "skip",
        }
        for lead in leads[:-1]
    ]


def _entry(name: str, ink: str, dash: str) -> dict[str, Any]:
    """A line in the legend alone."""
    look = {"color": ink, "width": 2.0, "dash": dash}
    return {"type": "scatter", "x": [None], "y": [None], "mode": "lines", "line": look, "name": name}


def _outlines(outlines: tuple[Array, ...], ink: str, dash: str, name: str) -> list[dict[str, Any]]:
    """All ellipses as one trace, with gaps between them."""
    if not outlines:
        return []
    gap = np.full((1, 2), np.nan)
    points = np.concatenate([part for outline in outlines for part in (outline, gap)])
    look = {"color": ink, "width": 2.0, "dash": dash}
    trace = {"type": "scatter", "mode": "lines", "x": points[:, 0], "y": points[:, 1], "line": look, "name": name}
    return [trace | {"hoverinfo": "skip"}]


def _plane(found: Picture, traces: list[dict[str, Any]], entries: int, theme: Theme, height: int) -> Figure:
    """The square of the first two columns where records are, with names of classes and a legend of so many entries."""
    reach = float(found.axis[-1])
    names = [
        note(name, x=float(at[0]), y=float(at[1]), colour=TEXT[theme], size=14)
        | {
            "xref": "x",
            "yref": "y",
            "xanchor": "center",
            "yanchor": "middle",
            "bgcolor": with_opacity(BACKGROUND[theme], 0.7),
        }
        for name, at in zip(found.names, found.centres, strict=True)
    ]
    below = 30 + entries * LEGEND_ROW
    side = axis(theme) | {"range": [-reach, reach], "constrain": "domain", "nticks": 5, "showgrid": False}
    layout = frame(theme, height) | {
        "margin": {"l": 46, "r": 16, "t": 14, "b": below},
        "showlegend": True,
        "legend": LEGEND | {"orientation": "v", "y": -26 / (height - 14 - below)},
        "xaxis": side,
        "yaxis": side | {"scaleanchor": "x"},
        "annotations": names,
    }
    return Figure(traces, layout | {"meta": {"narrow": {}}})
