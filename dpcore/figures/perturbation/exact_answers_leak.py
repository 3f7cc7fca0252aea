"""Door zero: records on a line with what is published, and a curve through every record, before and after."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array
from ...studies.perturbation.exact_answers_leak import Fit, Leak
from ..figure import Figure
from ..style import FAMILIES, MUTED, TEXT, Theme, axis, frame, note


def leak_figure(leak: Leak, *, marks: tuple[Array, Array], title: str, theme: Theme, height: int) -> Figure:
    """Records on two lines, before (above) and after one was replaced, each with what is published.

    marks: where vertical marks stand before and after, [k] each, in the unit of the records. title: of the axis.
    """
    red, rest = FAMILIES[theme]["frank_wolfe"], FAMILIES[theme]["reference"]
    traces = [
        _records(leak.before, 1.0, leak.owner_before, leak.replaced, red, rest),
        _records(leak.after, 0.0, leak.owner_after, leak.replaced, red, rest),
    ]
    everything = np.concatenate([leak.before, leak.after])
    spare = 0.06 * np.ptp(everything)
    shapes, notes = [], []
    for y, places, words in ((1.0, marks[0], "before"), (0.0, marks[1], "after one record is replaced")):
        notes.append(note(words, x=0, y=y, yref="y", yshift=50, colour=TEXT[theme], size=13))
        for x in places:
            mark = {"type": "line", "xref": "x", "yref": "y", "x0": x, "x1": x, "y0": y - 0.3, "y1": y + 0.3}
            shapes.append(mark | {"line": {"color": red, "width": 2}})
    sides = axis(theme) | {"range": [everything.min() - spare, everything.max() + spare], "nticks": 6}
    layout = frame(theme, height) | {
        "margin": {"l": 8, "r": 8, "t": 24, "b": 54},
        "showlegend": False,
        "xaxis": sides | {"title": {"text": title, "standoff": 8, "font": {"size": 14}}},
        "yaxis": axis(theme) | {"range": [-0.6, 1.6], "showticklabels": False, "showgrid": False},
        "shapes": shapes,
        "annotations": notes,
    }
    return Figure(traces, layout)


def _records(values: Array, y: float, owner: int, replaced: int, red: str, rest: str) -> dict[str, Any]:
    """Hollow dots; the one that was printed is filled, the one that is replaced is a diamond."""
    numbers = np.arange(len(values))
    return {
        "type": "scatter",
        "mode": "markers",
        "x": values,
        "y": np.full(len(values), y),
        "marker": {
            "size": 13,
            "symbol": np.where(numbers == replaced, "diamond", "circle").tolist(),
            "color": np.where(numbers == owner, red, "rgba(0,0,0,0)").tolist(),
            "line": {"color": np.where(numbers == owner, red, rest).tolist(), "width": 2},
        },
        "hovertemplate": "record: %{x}<extra></extra>",
    }


def fit_figure(fit: Fit, *, theme: Theme, height: int) -> Figure:
    """The curve through all records before (thin) and after one was replaced (thick), which it follows."""
    red, rest = FAMILIES[theme]["frank_wolfe"], FAMILIES[theme]["reference"]
    others = np.arange(len(fit.x)) != fit.replaced
    look = {"type": "scatter", "mode": "lines", "x": fit.grid}
    traces = [
        look | {"y": fit.curve_before, "line": {"color": MUTED[theme], "width": 1.5}, "name": "before"},
        look | {"y": fit.curve_after, "line": {"color": red, "width": 3}, "name": "after"},
        _at(fit.x[others], fit.before[others], rest, "other records"),
        _at(fit.x[[fit.replaced]], fit.before[[fit.replaced]], MUTED[theme], "the record, before"),
        _at(fit.x[[fit.replaced]], fit.after[[fit.replaced]], red, "the record, after"),
    ]
    layout = frame(theme, height) | {
        "margin": {"l": 40, "r": 8, "t": 8, "b": 112},
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": -48 / (height - 120), "yanchor": "top", "font": {"size": 13}},
        "xaxis": axis(theme) | {"title": {"text": "time", "standoff": 8}, "range": [-1.05, 1.05], "nticks": 5},
        "yaxis": axis(theme) | {"nticks": 6},
    }
    return Figure(traces, layout)


def _at(x: Array, y: Array, colour: str, name: str) -> dict[str, Any]:
    hollow = {"size": 11, "color": "rgba(0,0,0,0)", "line": {"color": colour, "width": 2}}
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, "name": name, "marker": hollow}
