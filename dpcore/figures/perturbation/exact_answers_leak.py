"""Door zero: records on a line with what is published, and a curve through every record, before and after."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...studies.perturbation.exact_answers_leak import Fit, Leak
from ..chart import Chart
from ..figure import Figure
from ..style import Theme

_CLEAR = "rgba(0,0,0,0)"


def leak_figure(leak: Leak, *, marks: tuple[Array, Array], title: str, theme: Theme, height: int) -> Figure:
    """Records on two lines, before (above) and after one was replaced, each with what is published.

    marks: where vertical marks stand before and after, [k] each, in the unit of the records. title: of the axis.
    """
    chart = Chart(theme, height, left=8, right=8, top=24)
    red = chart.colours["frank_wolfe"]
    _records(chart, leak.before, 1.0, leak.owner_before, leak.replaced)
    _records(chart, leak.after, 0.0, leak.owner_after, leak.replaced)
    for y, places, words in ((1.0, marks[0], "before"), (0.0, marks[1], "after one record is replaced")):
        chart.write(words, 0, y, yref="y", yshift=50)
        for x in places:
            mark = {"type": "line", "xref": "x", "yref": "y", "x0": x, "x1": x, "y0": y - 0.3, "y1": y + 0.3}
            chart.shapes.append(mark | {"line": {"color": red, "width": 2}})
    everything = np.concatenate([leak.before, leak.after])
    spare = 0.06 * np.ptp(everything)
    sides = [everything.min() - spare, everything.max() + spare]
    return chart.figure(
        chart.axis(title, 8, range=sides, nticks=6),
        chart.axis(range=[-0.6, 1.6], showticklabels=False, showgrid=False),
    )


def _records(chart: Chart, values: Array, y: float, owner: int, replaced: int) -> None:
    """Hollow dots; the one that was printed is filled, the one that is replaced is a diamond."""
    numbers, red, rest = np.arange(len(values)), chart.colours["frank_wolfe"], chart.colours["reference"]
    marker = {
        "size": 13,
        "symbol": np.where(numbers == replaced, "diamond", "circle").tolist(),
        "color": np.where(numbers == owner, red, _CLEAR).tolist(),
        "line": {"color": np.where(numbers == owner, red, rest).tolist(), "width": 2},
    }
    chart.marks(values, np.full(len(values), y), marker, hovertemplate="record: %{x}<extra></extra>")


def fit_figure(fit: Fit, *, theme: Theme, height: int) -> Figure:
    """The curve through all records before (thin) and after one was replaced (thick), which it follows."""
    chart = Chart(theme, height, left=40, right=8, top=8, bottom=112)
    red, muted = chart.colours["frank_wolfe"], chart.muted
    for y, colour, width, name in ((fit.curve_before, muted, 1.5, "before"), (fit.curve_after, red, 3, "after")):
        look = {"mode": "lines", "line": {"color": colour, "width": width}, "name": name}
        chart.traces.append({"type": "scatter", "x": fit.grid, "y": y} | look)
    others, replaced = np.arange(len(fit.x)) != fit.replaced, [fit.replaced]
    for chosen, heights, colour, name in (
        (others, fit.before, chart.colours["reference"], "other records"),
        (replaced, fit.before, muted, "the record, before"),
        (replaced, fit.after, red, "the record, after"),
    ):
        hollow = {"size": 11, "color": _CLEAR, "line": {"color": colour, "width": 2}}
        chart.marks(fit.x[chosen], heights[chosen], hollow, name=name)
    return chart.below(
        chart.axis(range=[-1.05, 1.05], nticks=5) | {"title": {"text": "time", "standoff": 8}},
        chart.axis(nticks=6),
        rows=0,
        drop=48,
    )
