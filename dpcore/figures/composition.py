"""Accounting of a run: epsilon against steps by every method."""

from collections.abc import Sequence

import numpy as np

from ..accounting.ledger import EpsilonCurve, Kind
from ..core.arrays import Array
from .chart import Chart
from .figure import Figure
from .log_chart import titled
from .style import Look, Theme

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
    _dots(chart, [float(at)] * len(curves), [float(curve.epsilon[here]) for curve in curves], colour)
    chart.heading("ε by each accounting method")
    chart.cursor(at, f"{letter} = {at:,}")
    axes = chart.cursor_axes(span, at, (520, 230), room=68)
    return chart.beside(
        [titled(made, counted) for made in axes],
        chart.log_axis(*_POWERS),
        phone=(62, 52),  # half a flag on the right
        drop=54,
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


def _dots(chart: Chart, x: list[float], y: list[float], colour: str) -> None:
    edge = {"color": chart.paper, "width": 1.5}
    look = {"color": colour, "size": 10, "symbol": "triangle-up", "line": edge}
    chart.marks(np.array(x), np.array(y), look, showlegend=False, hoverinfo="skip")
