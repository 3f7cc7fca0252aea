"""Accounting of a run: epsilon against steps by every method."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from ..accounting.ledger import EpsilonCurve, Kind
from ..core.arrays import Array
from .chart import Chart
from .figure import Figure
from .labels import LABEL_HEIGHT, spread
from .log_chart import titled
from .style import Look, Theme, note, plain_number, with_opacity

# Name, line and width. Line is kind: proved ones are dashed the more loosely the looser they are, a claim is dotted.
_LOOKS: dict[Kind, tuple[str, str, float]] = {
    "basic": ("basic composition", "dash", 1.5),
    "advanced": ("advanced composition", "dashdot", 2),
    "kamath": ("Kamath's claim", "2px 5px", 2.5),
    "uniform": ("Rényi, random subset", "solid", 1.5),
    "poisson": ("Rényi, Poisson batch", "solid", 3),
    "exact": ("exact", "solid", 3),
}


_POWERS = -2.1, 3.0  # of ten on the axis of epsilon, whatever epsilon, n and mechanism are


def ledger_figure(
    curves: Sequence[EpsilonCurve],
    steps: Sequence[int],
    *,
    at: int,
    span: tuple[int, int],
    target: float,
    level: str = "target",
    theme: Theme,
    height: int,
    family: str = "gradient",
    counted: str = "steps T",
) -> Figure:
    """epsilon against the number of steps, on logarithmic axes, with a level at the target epsilon.

    curves: from `dpcore.accounting.ledger.ledger_of` for these steps. at: the number of steps under the cursor, one of
    them. span: ends of the axis. level: name of the level at `target`. family: of colours. counted: what a step is,
    with its letter.
    """
    what, letter = counted.rsplit(" ", 1)
    chart = Chart(theme, height, what, left=62, right=152, top=26)
    colour, plain, x = chart.colours[family], chart.colours["reference"], np.asarray(steps, float)
    full = any(curve.kind == "exact" for curve in curves)
    for curve in curves:
        name, (_, dash, width) = accounting_name(curve.kind, full=full), _LOOKS[curve.kind]
        width = 1.5 if full and curve.kind == "poisson" else width
        look: Look = {"label": name, "width": width, "dash": dash} | _cross_at_end(curve.epsilon, colour)
        chart.curve(x, curve.epsilon, colour, name, **look)
    across = f"{level}, ε = {target:g}"
    chart.level(span, target, plain, across, label=across, width=1)
    here = list(steps).index(at)
    heights = np.array([curve.epsilon for curve in curves])
    edge = {"color": chart.paper, "width": 1.5}
    look = {"color": colour, "size": 10, "symbol": "triangle-up", "line": edge}
    chart.marks(np.full(len(curves), at), heights[:, here], look, showlegend=False, hoverinfo="skip")
    ends, middle = _values(chart, float(at), heights[:, here], span, colour)
    chart.notes += ends
    for k, step in enumerate(steps):
        chart.elsewhere += itertools.chain(*_values(chart, float(step), heights[:, k], span, colour))
    chart.heading("ε by each accounting method")
    chart.cursor(at, f"{letter} = {at:,}")
    axes = chart.cursor_axes(span, at, (520, 230), room=68)
    return chart.beside(
        [titled(made, counted) for made in axes],
        chart.log_axis(*_POWERS),
        phone=(62, 52),  # half a flag on the right
        drop=54,
        wide=middle,
    )


def accounting_name(kind: Kind, *, full: bool) -> str:
    """Name of a curve; full batches draw nothing at random, so that the name of Renyi's has no sampling.

    >>> accounting_name("poisson", full=False), accounting_name("poisson", full=True)
    ('Rényi, Poisson batch', 'Rényi')
    """
    return "Rényi" if full and kind == "poisson" else _LOOKS[kind][0]


def _cross_at_end(heights: Array, colour: str) -> Look:
    """Look of a curve that stops before the last step."""
    drawn = np.flatnonzero(np.isfinite(heights))
    if not len(drawn) or drawn[-1] == len(heights) - 1:
        return {}
    sizes = np.zeros(len(heights))
    sizes[drawn[-1]] = 9.0
    cross = {"symbol": "x", "size": sizes, "color": colour, "opacity": 1, "line": {"width": 0}}
    return {"mode": "lines+markers", "marker": cross}


def _values(
    chart: Chart, at: float, heights: Array, span: tuple[int, int], colour: str
) -> tuple[list[Look], list[Look]]:
    """Values where curves meet the cursor, where rising curves leave room: the largest above on the left, the others
    below on the right, at an end of the axis all on its inner side. Those between the largest and the smallest, for
    which a phone has no room, come second."""
    (low, high), size = _POWERS, chart.panels["y"]
    shown = np.sort(heights[(heights > 10.0**low) & (heights < 10.0**high)])
    told = {plain_number(float(f"{height:.3g}")): math.log10(height) for height in shown}
    most, middle, ends, beside = list(told)[-1:], list(told)[1:-1], list[Look](), list[Look]()
    for on, away in (("right", -1.0), ("left", 1.0)):
        here = {
            text: power
            for text, power in told.items()
            if (on == "left") == (at > span[0] if text in most else at == span[1])
        }
        place: Look = {"xref": "x", "yref": "y", "xanchor": "left" if on == "right" else "right", "xshift": -8.0 * away}
        place |= {"yanchor": "middle", "bgcolor": with_opacity(chart.paper, 0.8), "borderpad": 0}
        pixels = [(power - low) / (high - low) * size for power in here.values()]
        apart = spread([pixel + 10.0 * away for pixel in pixels], [LABEL_HEIGHT] * len(here), size)
        for (text, power), pixel, moved in zip(here.items(), pixels, apart, strict=True):
            place |= {"x": math.log10(at), "y": power, "yshift": moved - pixel}
            (beside if text in middle else ends).append(note(text, colour=colour, size=13, **place))
    return ends, beside
