"""The geometry of l_p balls: excess against the norm order and against n, the ball and its noise, rates, tracing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..mechanisms import mechanism_class
from ..studies.geometry.ball_picture import BallPicture
from ..studies.geometry.excess_by_n import AgainstPeople
from ..studies.geometry.excess_by_norm import AgainstOrder, order_text
from ..studies.geometry.hardest_data import Tracing
from ..studies.geometry.noise_norms import NoiseLengths
from ..studies.geometry.table_1 import Row
from .figure import Figure
from .log_chart import BOTTOM, LEFT, RIGHT, TOP, cursor_axis, curves_chart, powers_of, through, with_legend
from .style import (
    BACKGROUND,
    FAMILIES,
    LEGEND,
    LEGEND_ROW,
    MUTED,
    SYMBOLS,
    TEXT,
    Theme,
    axis,
    end_labels,
    flag,
    frame,
    last_drawn,
    line,
    log_axis,
    note,
    plain_number,
    vertical,
    with_opacity,
)

# Norm orders whose tick labels have room; the places are 1/q* = 1 - 1/p.
_SECOND_ROW = 16  # px of a tick label's second line
_TICKS = {1.0: "1<br>Lasso", 1.25: "1.25", 1.5: "1.5", 2.0: "2<br>Euclid", 4.0: "4", math.inf: "∞<br>box"}


def place(p_norm: float) -> float:
    """Where a norm order stands on the axis: 1 - 1/p, from 0 at p = 1 to 1 at the box.

    >>> [place(p) for p in (1.0, 2.0, math.inf)]
    [0.0, 0.5, 1.0]
    """
    return 1.0 - 1.0 / p_norm


def order_figure(
    found: AgainstOrder, others: Sequence[AgainstOrder], *, p_norm: float, theme: Theme, height: int
) -> Figure:
    """Excess of linear losses against the norm order: a noisy corner, a noisy gradient, and nothing learned.

    others: the same at other d, the smallest first, of which what the bounds choose is drawn thin. p_norm: of the
    cursor. height: px.
    """
    corner, gradient, muted = FAMILIES[theme]["frank_wolfe"], FAMILIES[theme]["gradient"], MUTED[theme]
    x = np.array([place(p) for p in found.p_norm])
    powers = powers_of([found.vertices.mean, found.gaussian.mean, *(o.mean for o in others)], [found.signal])
    traces: list[dict[str, Any]] = []
    ends: list[tuple[str, float, str, str]] = []
    for other in reversed(others):  # the most columns first, as the curves lie
        at = np.array([place(p) for p in other.p_norm])
        name = f"best by its bound, d = {other.d:,}"
        traces.append(_curve(at, other.mean, other.p_norm, muted, name, width=1.2, dash="solid"))
        ends.append(("y", last_drawn(other.mean), f"d = {other.d:,}", muted))
    for side, name, ink, symbol in (
        (found.gaussian, "noise in the gradient", gradient, "triangle-up"),
        (found.vertices, "a random corner", corner, "diamond"),
    ):
        ends.append(("y", last_drawn(side.bound), f"{name.rpartition(' ')[2]}: proved bound", ink))
        traces.append(_curve(x, side.bound, found.p_norm, ink, f"{name}: proved bound", width=1.5, dash="dash"))
        shown = _curve(x, side.mean, found.p_norm, ink, f"{name}, mean", width=3.0, dash="solid")
        marker = {"symbol": symbol, "size": np.where(found.p_norm == p_norm, 13.0, 8.0), "color": ink, "opacity": 1}
        marker["line"] = {"width": 0}
        bars = {"type": "data", "array": 2.0 * side.se, "thickness": 1.2, "width": 0, "color": ink}
        traces.append(shown | {"mode": "lines+markers", "marker": marker, "error_y": bars, "cliponaxis": False})
        ends.append(("y", last_drawn(side.mean), f"{name.replace(' in the ', '<br>in the ')}", ink))
    traces.append(_curve(x, found.signal, found.p_norm, muted, "nothing learned", width=1.5, dash="dot"))
    ends.append(("y", last_drawn(found.signal), "nothing learned", muted))
    heading = "excess risk on the records, linear losses"
    return _order_chart(traces, ends, powers, heading=heading, p_norm=p_norm, theme=theme, height=height)


def rates_figure(rows: Sequence[Row], *, p_norm: float, theme: Theme, height: int) -> Figure:
    """Table 1 along the norm order, shape only: what sampling and what privacy costs, and the lower bound.

    p_norm: where the cursor stands. height: px.
    """
    sampling, privacy, muted = FAMILIES[theme]["reference"], FAMILIES[theme]["gradient"], MUTED[theme]
    orders = np.array([row.p_norm for row in rows])
    x = np.array([place(p) for p in orders])
    curves = [
        ("privacy adds", np.array([row.upper.privacy for row in rows]), privacy, 3.0, "solid"),
        ("sampling", np.array([row.upper.sampling for row in rows]), sampling, 2.0, "solid"),
        ("none has less,<br>hardest data", np.array([row.lower.value for row in rows]), muted, 1.5, "dot"),
    ]
    powers = powers_of([np.minimum(values, 1.0) for _, values, *_ in curves], [np.ones(1)])
    traces = [
        _curve(x, np.minimum(values, 1.0), orders, ink, name.replace("<br>", " "), width=width, dash=dash)
        for name, values, ink, width, dash in curves
    ]
    ends = [("y", last_drawn(trace["y"]), name, ink) for trace, (name, _, ink, *_) in zip(traces, curves, strict=True)]
    heading = "rates of Table 1 over L₀D, shape only"
    return _order_chart(traces, ends, powers, heading=heading, p_norm=p_norm, theme=theme, height=height)


def lengths_figure(found: NoiseLengths, *, p_norm: float, theme: Theme, height: int) -> Figure:
    """How long both laws of noise are on average, for a sensitivity of 1. p_norm: of the cursor. height: px."""
    x = np.array([place(p) for p in found.p_norm])
    curves = [
        ("generalised<br>Gaussian", found.generalized, FAMILIES[theme]["output"]),
        ("Gaussian", found.gaussian, FAMILIES[theme]["gradient"]),
    ]
    traces = [
        _curve(x, values, found.p_norm, ink, name.replace("<br>", " "), width=3.0, dash="solid")
        for name, values, ink in curves
    ]
    ends = [("y", float(values[-1]), name, ink) for name, values, ink in curves]
    powers = powers_of([found.gaussian, found.generalized], [])
    heading = "mean length of the noise"
    return _order_chart(traces, ends, powers, heading=heading, p_norm=p_norm, theme=theme, height=height)


def members_figure(found: Tracing, *, epsilon: float, theme: Theme, height: int) -> Figure:
    """How often a member scores above a stranger on the hardest records, and the excess. epsilon: of the cursor."""
    ink, plain, muted = FAMILIES[theme]["frank_wolfe"], FAMILIES[theme]["reference"], MUTED[theme]
    span = [float(found.epsilon[0]), float(found.epsilon[-1])]
    measured = line(found.epsilon, found.auc, ink, "a member scores above a stranger", "y", width=3)
    measured["error_y"] = {"type": "data", "array": 2.0 * found.auc_se, "thickness": 1.2, "width": 0, "color": ink}
    share = np.minimum(found.excess / found.signal, 1.2)
    traces = [
        line(span, [0.5, 0.5], muted, "guessing", "y", dash="dot"),
        line(found.epsilon, found.limit, ink, "proved limit", "y", width=2, dash="dash"),
        measured,
        line(found.epsilon, share, plain, "excess, of what θ = 0 has", "y", width=2),
    ]
    ends = [
        ("y", 0.5, "guessing", muted),
        ("y", float(found.limit[-1]), "proved limit", ink),
        ("y", float(found.auc[-1]), "member above<br>stranger", ink),
        ("y", float(share[-1]), "excess, of<br>what θ = 0 has", plain),
    ]
    head = note("hardest records: accurate means traceable", x=0, y=1, yshift=18, colour=TEXT[theme], size=14)
    notes = [head, flag(f"ε = {plain_number(epsilon)}", epsilon, TEXT[theme], BACKGROUND[theme])]
    title = {"text": "privacy budget ε", "standoff": 10, "font": {"size": 14}}
    within = (-0.03, 1.25)
    labels, beyond = end_labels(ends, {"y": (within, height - TOP - BOTTOM)}, theme, ())
    layout = frame(theme, height) | {
        "margin": {"l": LEFT, "r": RIGHT, "t": TOP, "b": BOTTOM},
        "showlegend": False,
        "xaxis": cursor_axis(theme, span, epsilon, 320) | {"title": title},
        "yaxis": axis(theme) | {"range": list(within), "tickformat": ".0%", "dtick": 0.25},
        "shapes": [vertical(epsilon, muted)],
        "annotations": [*notes, *labels],
    }
    narrow = with_legend(traces, height) | {
        "xaxis": cursor_axis(theme, span, epsilon, 280) | {"title": title},
        "annotations": [*notes, *beyond],
    }
    return Figure(traces, layout | {"meta": {"narrow": narrow}})


def ball_figure(found: BallPicture, *, theme: Theme, height: int) -> Figure:
    """The unit ball, noisy means of few people, and the models they lead to. height: px."""
    ink, model = FAMILIES[theme]["gradient"], FAMILIES[theme]["frank_wolfe"]
    spots, times = np.unique(found.models.round(9), axis=0, return_counts=True)
    sizes = 6.0 + 26.0 * np.sqrt(times / times.sum())
    traces = [
        _path(found.ball, TEXT[theme], f"the ball ‖x‖ ≤ 1, p = {order_text(found.p_norm)}", 2.0, "solid"),
        _path(found.level, ink, "its noise: a level of the density", 1.5, "dash"),
        _dots(found.noisy, ink, "noisy means", 4.0, 0.45, "circle"),
        _dots(spots, model, "their models: larger = more often", sizes, 0.6, "diamond")
        | {"customdata": times, "hovertemplate": "model (%{x:.2f}, %{y:.2f})<br>%{customdata} times<extra></extra>"},
        _dots(found.best[None], TEXT[theme], "the best model", 13.0, 1.0, "x-thin")
        | {"marker": {"symbol": "x-thin", "size": 13, "line": {"width": 3, "color": TEXT[theme]}}},
    ]
    rows = LEGEND_ROW * len(traces)
    reach = 1.15 * max(1.0, float(np.quantile(np.abs(found.noisy), 0.97)))
    both = axis(theme) | {"range": [-reach, reach], "tickvals": _ticks(reach)}
    layout = frame(theme, height) | {
        "margin": {"l": 34, "r": 16, "t": TOP, "b": 30 + rows},
        "showlegend": True,
        "legend": LEGEND | {"orientation": "v", "y": -28 / max(height - TOP - 30 - rows, 1)},
        "xaxis": both | {"constrain": "domain"},
        "yaxis": both | {"scaleanchor": "x", "constrain": "domain"},
        "annotations": [note("in two dimensions", x=0, y=1, yshift=18, colour=TEXT[theme], size=14)],
    }
    return Figure(traces, layout | {"meta": {"narrow": {}}})


def _ticks(reach: float) -> list[float]:
    """3 or 5 ticks of an axis from -reach to reach, round and a little inside its ends.

    >>> _ticks(1.15), _ticks(5.0), _ticks(52.0)
    ([-1.0, 0.0, 1.0], [-4.0, -2.0, 0.0, 2.0, 4.0], [-40.0, -20.0, 0.0, 20.0, 40.0])
    """
    inside = reach / 1.149
    power = 10.0 ** math.floor(math.log10(inside))
    step = max(step * power for step in (1.0, 2.0, 5.0) if step * power <= inside)
    most = int(inside / step)
    return [k * step for k in range(-most, most + 1)]


def learners_figure(found: AgainstPeople, *, n: int, theme: Theme, height: int) -> Figure:
    """Excess on fresh records against n: private, in 95 of 100 runs, without noise, proved; n: of the cursor."""
    family = mechanism_class(found.mechanism).family
    ink, plain, muted = FAMILIES[theme][family], FAMILIES[theme]["reference"], MUTED[theme]
    span, shape = [float(found.n[0]), float(found.n[-1])], through(found.rate, found.private.mean)
    lines: list[tuple[str, str, Any, Array, str, float, str]] = [
        ("proved bound on the mean", "proved bound", found.n, found.bound, ink, 2.0, "dash"),
        ("the paper's order, shape only", "paper's order,<br>shape only", found.n, shape, muted, 1.5, "dash"),
        ("95 of 100 runs stay below", "95 of 100 runs<br>stay below", found.n, found.q95, ink, 1.2, "dot"),
        ("the same without noise", "without noise", found.n, found.plain, plain, 1.5, "solid"),
        ("nothing learned", "nothing learned", span, np.full(2, found.nothing), muted, 1.5, "dot"),
    ]
    return curves_chart(
        found.n,
        [("private, mean", "private", found.private, ink, SYMBOLS[family], "solid")],
        lines,
        over="n",
        cursor=n,
        title="people n",
        must=[found.private.mean, np.array([found.nothing])],
        may=[found.bound],
        heading="excess risk on fresh records",
        theme=theme,
        height=height,
    )


def _order_chart(
    traces: list[dict[str, Any]],
    ends: list[tuple[str, float, str, str]],
    powers: tuple[float, float],
    *,
    heading: str,
    p_norm: float,
    theme: Theme,
    height: int,
) -> Figure:
    """Curves over the norm order on a log axis, labels behind their ends, and the cursor."""
    bottom = BOTTOM + _SECOND_ROW
    cursor = place(p_norm)
    head = note(heading, x=0, y=1, yshift=18, colour=TEXT[theme], size=14)
    words = _TICKS.get(p_norm, "").partition("<br>")[2]
    notes = [head, _flag(words or f"p = {order_text(p_norm)}", cursor, theme)]
    labels, beyond = end_labels(ends, {"y": (powers, height - TOP - bottom)}, theme, ("y",))
    layout = frame(theme, height) | {
        "margin": {"l": LEFT, "r": RIGHT, "t": TOP, "b": bottom},
        "showlegend": False,
        "xaxis": _order_axis(theme, cursor, 560.0, "norm order p"),
        "yaxis": log_axis(theme, *powers),
        "shapes": [vertical(cursor, MUTED[theme])],
        "annotations": [*notes, *labels],
    }
    rows = LEGEND_ROW * sum(bool(trace["showlegend"]) for trace in traces)
    narrow = {
        "height": height + rows,
        "margin": {"l": 54, "r": 34, "t": TOP, "b": bottom + 6 + rows},
        "xaxis": _order_axis(theme, cursor, 280.0, "norm order p"),
        "showlegend": True,
        "legend": LEGEND | {"y": -(bottom + 8) / (height - TOP - bottom - 6)},
        "annotations": [*notes, *beyond],
    }
    return Figure(traces, layout | {"meta": {"narrow": narrow}})


def _curve(x: Array, y: Array, orders: Array, ink: str, name: str, *, width: float, dash: str) -> dict[str, Any]:
    texts = [order_text(p) for p in orders]
    hover = f"p = %{{customdata}}<br>{name}: %{{y:.3~g}}<extra></extra>"
    return line(x, y, ink, name, "y", width=width, dash=dash) | {"customdata": texts, "hovertemplate": hover}


def _order_axis(theme: Theme, cursor: float, width: float, title: str) -> dict[str, Any]:
    """Tick labels leave room for the cursor's flag, on a drawing of `width` px, which is the range 1.08 wide."""
    room = 62.0 / width
    ticks = {place(p): text for p, text in _TICKS.items() if abs(place(p) - cursor) > room}
    ticks = {at: text for at, text in ticks.items() if width > 400 or "<br>" in text}
    return axis(theme) | {
        "range": [-0.04, 1.04],
        "tickvals": list(ticks),
        "ticktext": list(ticks.values()),
        "title": {"text": title, "standoff": 6, "font": {"size": 14}},
    }


def _flag(text: str, x: float, theme: Theme) -> dict[str, Any]:
    where = {"xref": "x", "x": x, "xanchor": "center", "yanchor": "top", "borderpad": 3}
    return note(text, x=0, y=0, yshift=-3, colour=BACKGROUND[theme], size=13, bgcolor=TEXT[theme]) | where


def _path(points: Array, ink: str, name: str, width: float, dash: str) -> dict[str, Any]:
    look = {"mode": "lines", "line": {"color": ink, "width": width, "dash": dash}, "hoverinfo": "skip"}
    return {"type": "scatter", "x": points[:, 0], "y": points[:, 1], "name": name, "showlegend": True} | look


def _dots(points: Array, ink: str, name: str, size: Any, opacity: float, symbol: str) -> dict[str, Any]:
    marker = {"color": with_opacity(ink, opacity), "size": size, "symbol": symbol, "line": {"width": 0}, "opacity": 1}
    shown = {"type": "scatter", "mode": "markers", "x": points[:, 0], "y": points[:, 1], "name": name}
    return shown | {"marker": marker, "showlegend": True, "hoverinfo": "skip"}
