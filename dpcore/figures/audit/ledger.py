"""A run's ledger: epsilon against steps by every accounting; and the noise of a label, published against proved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...accounting.ledger import EpsilonCurve, Kind, NoiseSource
from ...core.arrays import Array
from ..figure import Figure
from ..log_chart import titled
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
    last_drawn,
    line,
    log_axis,
    note,
    thinned,
    vertical,
)

NAMES: dict[Kind, str] = {
    "basic": "basic",
    "advanced": "advanced",
    "lecture": "the lecture's claim",
    "uniform": "Rényi, random subset",
    "poisson": "Rényi, Poisson batch",
    "exact": "exact",
}
NOISE_NAMES: dict[NoiseSource, str] = {
    "published": "as published",
    "uniform": "proved, one random index",
    "poisson": "proved, Poisson batch",
}
# Line is kind: proved ones are dashed the more loosely the looser they are, and a claim is dotted.
_LOOKS: dict[Kind, tuple[str, float]] = {
    "basic": ("dash", 1.5),
    "advanced": ("dashdot", 2),
    "lecture": ("2px 5px", 2.5),
    "uniform": ("solid", 1.5),
    "poisson": ("solid", 3),
    "exact": ("solid", 3),
}
_NOISE_LOOKS: dict[NoiseSource, tuple[str, float]] = {
    "published": ("2px 5px", 2.5),
    "uniform": ("solid", 1.5),
    "poisson": ("solid", 3),
}

_TOP, _BOTTOM, _LEFT, _RIGHT = 26, 54, 62, 152
_ABOVE, _DEEPEST = 4.0, 8.0  # powers of ten above the label, and on the axis in all
_FLAG = 100  # px on the axis that the cursor's flag takes, with gaps


def ledger_figure(
    curves: Sequence[EpsilonCurve],
    steps: Sequence[int],
    *,
    at: int,
    label: float,
    theme: Theme,
    height: int,
    family: str = "gradient",
    counted: str = "steps T",
) -> Figure:
    """epsilon against the number of steps, on logarithmic axes, with the epsilon on the label across.

    curves: from `dpcore.accounting.ledger.ledger_of` for these steps. at: the number of steps under the cursor, one of
    them. label: the epsilon on the label. family: of colours. counted: what a step is, with its letter. height: px.
    """
    colour, x = FAMILIES[theme][family], np.asarray(steps, float)
    what, letter = counted.rsplit(" ", 1)
    here = list(steps).index(at)
    full = any(curve.kind == "exact" for curve in curves)
    names = {curve.kind: accounting_name(curve.kind, full=full) for curve in curves}
    traces = [
        _curve(curve, x, names[curve.kind], colour, thin=full and curve.kind == "poisson", over=what)
        for curve in curves
    ]
    across = f"the label, ε = {label:g}"
    traces.append(line(x[[0, -1]], [label, label], FAMILIES[theme]["reference"], across, "y", width=1, over=what))
    heights = [float(curve.epsilon[here]) for curve in curves]
    traces.append(_dots([float(at)] * len(curves), heights, colour, theme))

    low, high = _powers(curves, label)
    ends = [("y", last_drawn(curve.epsilon), names[curve.kind], colour) for curve in curves]
    ends.append(("y", label, across, FAMILIES[theme]["reference"]))
    drawing = height - _TOP - _BOTTOM
    labels, beyond = end_labels(ends, {"y": ((low, high), drawing)}, theme, logarithmic=("y",))
    title = note("ε that each accounting finds", x=0, y=1, yshift=18, colour=TEXT[theme], size=14)
    cursor = flag(f"{letter} = {at:,}", at, TEXT[theme], BACKGROUND[theme])
    rows = sum(bool(trace["showlegend"]) for trace in traces)
    below = _BOTTOM + LEGEND_ROW * rows
    layout = frame(theme, height) | {
        "margin": {"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": _BOTTOM},
        "showlegend": False,
        "xaxis": titled(_steps_axis(theme, x, at, 520), counted),
        "yaxis": log_axis(theme, low, high),
        "shapes": [vertical(at, MUTED[theme])],
        "annotations": [title, cursor, *labels],
        "meta": {
            "narrow": {
                "height": height - _BOTTOM + below,
                "margin": {"l": _LEFT, "r": 52, "t": _TOP, "b": below},  # half a flag on the right
                "xaxis": titled(_steps_axis(theme, x, at, 230), counted),
                "annotations": [title, cursor, *beyond],
                "showlegend": True,
                "legend": LEGEND | {"y": -_BOTTOM / drawing},
            }
        },
    }
    return Figure(traces, layout)


def accounting_name(kind: Kind, *, full: bool) -> str:
    """What a curve is called; full batches draw nothing at random, so that Renyi's has no sampling to name.

    >>> accounting_name("poisson", full=False), accounting_name("poisson", full=True)
    ('Rényi, Poisson batch', 'Rényi')
    """
    return "Rényi" if full and kind == "poisson" else NAMES[kind]


def noise_figure(
    noises: Mapping[NoiseSource, tuple[Array, Array]],
    here: Mapping[NoiseSource, float],
    *,
    epsilon: float,
    theme: Theme,
    height: int,
) -> Figure:
    """Noise multipliers against epsilon, published and proved, on logarithmic axes.

    noises: from `dpcore.accounting.ledger.noise_curves`. here: the multipliers at the cursor's epsilon, nan where there
    is none. height: px.
    """
    colour = FAMILIES[theme]["gradient"]
    traces = [
        line(*noises[kind], colour, NOISE_NAMES[kind], "y", width=width, dash=dash)
        for kind, (dash, width) in _NOISE_LOOKS.items()
    ]
    traces.append(_dots([epsilon] * len(here), list(here.values()), colour, theme))
    x, y = (np.concatenate([curve[k] for curve in noises.values()]) for k in (0, 1))
    y = y[np.isfinite(y)] if np.isfinite(y).any() else np.array([1.0, 10.0])
    bottom = 36 + LEGEND_ROW * len(noises)
    title = note("noise, in parts of one record (z)", x=0, y=1, yshift=18, colour=TEXT[theme], size=14)
    cursor = flag(f"ε = {epsilon:g}", epsilon, TEXT[theme], BACKGROUND[theme])
    layout = frame(theme, height) | {
        "margin": {"l": 52, "r": 26, "t": _TOP, "b": bottom},
        "xaxis": log_axis(theme, math.log10(x.min()) - 0.05, math.log10(x.max()) + 0.05),
        "yaxis": log_axis(theme, math.log10(y.min()) - 0.1, math.log10(y.max()) + 0.1),
        "shapes": [vertical(epsilon, MUTED[theme])],
        "annotations": [title, cursor],
        "showlegend": True,
        "legend": LEGEND | {"y": -32 / (height - _TOP - bottom)},
    }
    return Figure(traces, layout)


def _curve(curve: EpsilonCurve, x: Array, name: str, colour: str, *, thin: bool, over: str) -> dict[str, Any]:
    """A curve that stops before the last step has a cross at its end."""
    dash, width = _LOOKS[curve.kind]
    trace = line(x, curve.epsilon, colour, name, "y", width=1.5 if thin else width, dash=dash, over=over)
    drawn = np.flatnonzero(np.isfinite(curve.epsilon))
    if not len(drawn) or drawn[-1] == len(x) - 1:
        return trace
    sizes = np.zeros(len(x))
    sizes[drawn[-1]] = 9.0
    cross = {"symbol": "x", "size": sizes, "color": colour, "opacity": 1, "line": {"width": 0}}
    return trace | {"mode": "lines+markers", "marker": cross}


def _dots(x: list[float], y: list[float], colour: str, theme: Theme) -> dict[str, Any]:
    """Where the curves meet the cursor."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": np.array(x),
        "y": np.array(y),
        "marker": {
            "color": colour,
            "size": 10,
            "symbol": "triangle-up",
            "line": {"color": BACKGROUND[theme], "width": 1.5},
        },
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _powers(curves: Sequence[EpsilonCurve], label: float) -> tuple[float, float]:
    """Exponents of an axis that holds the label and the curves near it; the label alone where no curve has a point."""
    values, middle = np.log10(np.concatenate([curve.epsilon for curve in curves])), math.log10(label)
    values = np.append(values[np.isfinite(values)], middle)
    high = min(values.max(), middle + _ABOVE)
    low = max(values.min(), high - _DEEPEST)
    return low - 0.3, high + 0.3


def _steps_axis(theme: Theme, x: Array, at: int, width: float) -> dict[str, Any]:
    """A log axis whose tick labels leave room for the cursor's flag where the drawing is `width` px wide or wider."""
    low, high = math.log10(x[0]) - 0.05, math.log10(x[-1]) + 0.05
    room = (_FLAG / 2 + 18) / width * (high - low)
    return thinned(log_axis(theme, low, high), at, room, width)
