"""Figures for plotly.js, written without plotly.

plotly's own figure validates and copies every attribute. The browser does the same again, and a page that is drawn
anew at each move of a slider would spend a fourth of its time on it. So plotly is asked only by those who look into a
figure or show it outside the dashboard; in the tests that is every figure.
"""

from __future__ import annotations

import base64
import copy
import json
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import plotly.graph_objects as go

_SHORT_TYPES = {"float64": "f8", "float32": "f4", "int16": "i2", "uint8": "u1"}  # plotly.js reads these from base64


class Figure:
    """Traces and a layout as plotly.js names them, all names spelled out and nested; plotly's shorthands are not known.

    data: dictionaries whose values may be arrays; the `meta` of a bound says which kind it is, "upper" or "lower".
    layout: a dictionary.

    >>> figure = Figure([{"type": "scatter", "y": np.array([1.0, np.nan]), "name": "line"}], {"height": 300})
    >>> figure.data[0].name, figure.layout.height
    ('line', 300)
    """

    def __init__(self, data: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> None:
        self._data, self._layout = list(data), dict(layout)

    @cached_property
    def plotly(self) -> go.Figure:
        """plotly's own, with each attribute validated."""
        import plotly.graph_objects as go

        return go.Figure(copy.deepcopy({"data": self._data, "layout": self._layout}))  # it writes into what it is given

    @property
    def data(self) -> tuple[Any, ...]:
        """The traces as plotly's objects."""
        return self.plotly.data

    @property
    def layout(self) -> go.Layout:
        """The layout as plotly's object."""
        return self.plotly.layout

    @property
    def cursor(self) -> float | None:
        """Where the cursor stands."""
        lines = self._layout.get("shapes", ())
        return next((float(line["x0"]) for line in lines if line.get("name") == "cursor"), None)

    @property
    def proved(self) -> list[str]:
        """Value at the cursor and theorem of each bound that the figure has there.

        >>> line = {"type": "scatter", "x": [1.0, 2.0], "y": [0.5, 0.25], "meta": "upper", "name": "bound"}
        >>> said = {"hovertemplate": "x = %{x}<br>bound: %{y}<br>≤ 1/2x<extra></extra>"}
        >>> Figure([line | said], {"shapes": [{"name": "cursor", "x0": 2.0}]}).proved
        ['bound: 0.25 ≤ 1/2x']
        """
        at = self.cursor or 0.0
        found = []
        for trace in self._data:
            if trace.get("meta") in ("upper", "lower") and len(trace["x"]):
                k = int(np.argmin(np.abs(np.asarray(trace["x"], float) - at)))
                said = trace["hovertemplate"].removesuffix("<extra></extra>").split("<br>", 2)[2:]
                told = "".join(said).replace("%{text}", str(np.broadcast_to(trace.get("text", ""), len(trace["x"]))[k]))
                for start in ("Assumes", "Source", "Here"):
                    told = told.replace(f"<br>{start}", f". {start}")
                if np.isfinite(value := float(np.asarray(trace["y"], float)[k])):
                    found.append(f"{trace['name']}: {value:.3g} {told.replace('<br>', ' ')}".rstrip())
        return found

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The forms in which a notebook draws a figure that ends a cell: those of plotly's own."""
        bundle: dict[str, Any] = self.plotly._repr_mimebundle_(include, exclude)
        return bundle

    def show(self) -> None:
        """Show the figure in a notebook, or in a new browser window."""
        self.plotly.show()

    def to_dict(self) -> dict[str, Any]:
        """A copy with plain values only, fit for JSON: arrays of numbers in base64, nan elsewhere as None."""
        return {"data": _plain(self._data), "layout": _plain(self._layout)}

    def to_json(self) -> str:
        """JSON for plotly.js.

        >>> Figure([], {"height": 300}).to_json()
        '{"data":[],"layout":{"height":300}}'
        """
        return self._json

    @cached_property
    def _json(self) -> str:
        return json.dumps(self.to_dict(), separators=(",", ":"), allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, str | bool | int | None):
        return value
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    array = np.asarray(value)  # also those of pandas
    short = _SHORT_TYPES.get(array.dtype.name)
    if short is None or not array.size:
        return [_plain(each) for each in array.tolist()]
    made = {"dtype": short, "bdata": base64.b64encode(array.tobytes()).decode("ascii")}
    return made if array.ndim == 1 else made | {"shape": ", ".join(map(str, array.shape))}
