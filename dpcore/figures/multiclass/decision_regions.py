"""What a single private release of many classes decides and draws, beside the model without privacy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array
from ...studies.multiclass.decision_regions import Picture
from ..chart import Chart
from ..figure import Figure
from ..style import Theme, with_opacity

_TRUE = "true ellipses, 2 standard deviations"


def regions_figure(found: Picture, *, theme: Theme, height: int) -> Figure:
    """Which class each point is given by a private release and without privacy; where they differ is shaded."""
    chart = _plane(found, theme, height)
    private, plain = chart.colours["objective"], chart.colours["reference"]
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
    chart.traces.append(shade)
    _borders(chart, found.axis, found.plain, plain, "dash", 1.5)
    _borders(chart, found.axis, found.private, private, "solid", 2.0)
    for name, ink, dash in (("private release", private, "solid"), ("not private", plain, "dash")):
        _lines(chart, [None], [None], ink, dash, name)  # in the legend alone
    chart.marks(
        [None],
        [None],
        {"symbol": "square", "size": 12, "color": with_opacity(private, 0.22)},
        name="privacy decides otherwise",
    )
    _outlines(chart, found.true, chart.muted, "dot", _TRUE)
    return _square(chart, found, 3 + bool(found.true))


def ellipses_figure(found: Picture, *, theme: Theme, height: int) -> Figure:
    """The ellipse of each class in a private release and without privacy, over the true ones where known.

    Ellipses of classes whose regions are open may be larger than the picture.
    """
    chart = _plane(found, theme, height)
    _outlines(chart, found.true, chart.muted, "dot", _TRUE)
    _outlines(chart, found.hidden, chart.colours["reference"], "dash", "not private")
    _outlines(chart, found.ellipses, chart.colours["objective"], "solid", "private release")
    return _square(chart, found, 2 + bool(found.true))


def _borders(chart: Chart, at: Array, leads: Array, ink: str, dash: str, width: float) -> None:
    """A contour around the region of each class but the last; neighbours draw their border twice."""
    for lead in leads[:-1]:
        border = {
            "type": "contour",
            "x": at,
            "y": at,
            "z": lead.astype(np.float32),  # half of what the browser is sent, and far finer than a pixel
            "contours": {"start": 0.0, "end": 0.0, "size": 1.0, "coloring": "none"},
            "line": {"color": ink, "width": width, "dash": dash, "smoothing": 1.0},
            "showscale": False,
            "showlegend": False,
            "hoverinfo": "skip",
        }
        chart.traces.append(border)


def _lines(chart: Chart, x: Any, y: Any, ink: str, dash: str, name: str, **more: Any) -> None:
    look = {"color": ink, "width": 2.0, "dash": dash}
    chart.traces.append({"type": "scatter", "mode": "lines", "x": x, "y": y, "line": look, "name": name} | more)


def _outlines(chart: Chart, outlines: tuple[Array, ...], ink: str, dash: str, name: str) -> None:
    """All ellipses as one trace, with gaps between them."""
    if outlines:
        gap = np.full((1, 2), np.nan)
        points = np.concatenate([part for outline in outlines for part in (outline, gap)])
        _lines(chart, points[:, 0], points[:, 1], ink, dash, name, hoverinfo="skip")


def _plane(found: Picture, theme: Theme, height: int) -> Chart:
    """The square of the first two columns where records are, with the names of classes."""
    chart = Chart(theme, height, left=46, right=16, top=14, bottom=30)
    place = {"xref": "x", "yref": "y", "xanchor": "center", "yanchor": "middle"}
    for name, (x, y) in zip(found.names, found.centres, strict=True):
        chart.write(name, float(x), float(y), size=14, bgcolor=with_opacity(chart.paper, 0.7), **place)
    return chart


def _square(chart: Chart, found: Picture, entries: int) -> Figure:
    """The figure, with a legend of so many entries."""
    reach = float(found.axis[-1])
    side = chart.axis(range=[-reach, reach], constrain="domain", nticks=5, showgrid=False)
    return chart.below(side, side | {"scaleanchor": "x"}, rows=entries, drop=26, stacked=True)
