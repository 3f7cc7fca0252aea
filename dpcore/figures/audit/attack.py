"""An attack on a claim: errors that it allows and that are measured, what is certified, the bet, and the scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...audit.betting import ALPHAS
from ...audit.report import Verdict
from ...core.arrays import Array
from ..figure import Figure
from ..style import (
    BACKGROUND,
    FAMILIES,
    GRID,
    LEGEND,
    LEGEND_ROW,
    MUTED,
    TEXT,
    Theme,
    at_edge,
    axis,
    frame,
    line,
    log_axis,
    note,
    plain_number,
    power_of_ten,
    vertical,
    with_opacity,
)

# How far a bar may go, in claims; a longer one is cut and says how long it is.
LONGEST = 3.0
_VERDICTS: dict[Verdict, str] = {
    "contradicted": "frank_wolfe",
    "suspicious": "output",
    "no contradiction found": "variance_reduced",
}
_TOP, _BOTTOM = 26, 50
_LEFT, _RIGHT = 168, 158
_LOWEST, _HIGHEST = 1e-4, 1e7  # of a wealth that is drawn


class Row(NamedTuple):
    """One version of the code. name, told: in words, what it is and how it stands. shown, flagged: the epsilon that is
    certified at 95% and at 99.9%, nan before the last run. verdict: None while there is none."""

    name: str
    told: str
    shown: float
    flagged: float
    verdict: Verdict | None


def ink_of(verdict: Verdict | None, theme: Theme) -> str:
    """The colour of a verdict, which never stands without its word.

    >>> ink_of("contradicted", "light") == FAMILIES["light"]["frank_wolfe"]
    True
    """
    return FAMILIES[theme][_VERDICTS[verdict]] if verdict else MUTED[theme]


def ruler_figure(rows: Sequence[Row], *, claim: float, picked: int, theme: Theme, height: int) -> Figure:
    """The epsilon that is certified of each version of the code, next to the one that is claimed.

    picked: the row that stands out. height: px.
    """
    most = LONGEST * claim
    where = np.arange(len(rows), dtype=float)
    inks = [ink_of(row.verdict, theme) for row in rows]
    traces = [
        _bars(
            where, [row.shown for row in rows], [with_opacity(ink, 0.45) for ink in inks], "with confidence 95%", 0.62
        ),
        _bars(where, [row.flagged for row in rows], inks, "with confidence 99.9%", 0.62),
    ]
    names = [f"<b>{row.name}</b>" if k == picked else row.name for k, row in enumerate(rows)]
    told = [f"<b>{row.told}</b>" if k == picked else row.told for k, row in enumerate(rows)]
    behind = {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "layer": "below", "line": {"width": 0}}
    behind |= {"y0": picked - 0.45, "y1": picked + 0.45, "fillcolor": GRID[theme]}
    ends = [
        note(text, x=1, y=0, xshift=8, colour=TEXT[theme], size=13) | {"yref": "y", "y": k, "yanchor": "middle"}
        for k, text in enumerate(told)
    ]
    cut = [
        note(f"{plain_number(float(f'{row.shown:.2g}'))} →", x=0, y=0, colour=BACKGROUND[theme], size=12)
        | {"xref": "x", "x": most, "xanchor": "right", "xshift": -4, "yref": "y", "y": k, "yanchor": "middle"}
        for k, row in enumerate(rows)
        if row.flagged > most
    ]
    label = note(
        f"the claim, ε = {plain_number(float(f'{claim:.3g}'))}", x=0, y=1, yshift=18, colour=TEXT[theme], size=14
    )
    label |= {"xref": "x", "x": claim, "xanchor": "center"}
    shared = axis(theme) | {"tickvals": where, "range": [len(rows) - 0.5, -0.5], "showgrid": False}
    title = {"text": "certified: it leaks at least this ε", "standoff": 6, "font": {"size": 14}}
    layout = frame(theme, height) | {
        "margin": {"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": _BOTTOM},
        "barmode": "overlay",
        "showlegend": False,
        "xaxis": axis(theme) | {"range": [0.0, most], "title": title, "nticks": 7},
        "yaxis": shared | {"ticktext": names},
        "shapes": [behind, vertical(claim, TEXT[theme]) | {"line": {"color": TEXT[theme], "width": 2, "dash": "dash"}}],
        "annotations": [label, *ends, *cut],
        "meta": {
            "narrow": {
                "height": height + 16 * len(rows),
                "margin": {"l": 162, "r": 14, "t": _TOP, "b": _BOTTOM},
                "xaxis": {"title": {"text": "at least this ε leaks"}, "nticks": 4},
                "yaxis": shared | {"ticktext": [f"{n}<br>{t}" for n, t in zip(names, told, strict=True)]},
                "annotations": [label, *cut],
            }
        },
    }
    return Figure(traces, layout)


def _bars(where: Array, lengths: Sequence[float], inks: Sequence[str], name: str, width: float) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "x": np.array(lengths, float),
        "y": where,
        "width": width,
        "name": name,
        "marker": {"color": list(inks), "line": {"width": 0}},
        "hovertemplate": f"at least ε = %{{x:.3g}} {name}<extra></extra>",
    }


def plane_figure(
    false: Array,
    allowed: Array,
    measured: tuple[Array, Array],
    honest: tuple[Array, Array] | None,
    corner: tuple[float, float] | None,
    *,
    verdict: Verdict | None,
    theme: Theme,
    height: int,
) -> Figure:
    """Misses against false alarms: what the claim forbids, what guessing gives, and what the attack measured.

    allowed: the fewest misses that the claim allows at each share of false alarms, [k] both. measured: shares of false
    alarms and of misses at all thresholds, [j] both. honest: the same of the honest code, None where that is what was
    measured. corner: what is certified of one threshold, not before the last run. height: px.
    """
    ink, muted = ink_of(verdict, theme), MUTED[theme]
    forbidden = line(
        false, allowed, TEXT[theme], "the claim's limit", "y", width=1.5, legend=False, over="false alarms"
    )
    forbidden |= {
        "fill": "tozeroy",
        "fillcolor": with_opacity(MUTED[theme], 0.16),
        "fillpattern": {"shape": "/", "fgcolor": with_opacity(MUTED[theme], 0.5), "size": 9, "solidity": 0.15},
        "hoveron": "points",
    }
    guessing = line(
        [0.0, 1.0], [1.0, 0.0], muted, "guessing", "y", width=1, dash="dot", legend=False, over="false alarms"
    )
    nothing = (np.empty(0), np.empty(0))
    thin = line(*(honest or nothing), muted, "the honest code", "y", width=1.5, dash="dash", over="false alarms")
    thick = line(*measured, ink, "this code", "y", width=3, over="false alarms")
    x, y = corner or (math.nan, math.nan)
    mark = {
        "type": "scatter",
        "mode": "markers",
        "x": np.array([x]),
        "y": np.array([y]),
        "name": "certified (95%)",
        "marker": {"symbol": "diamond", "size": 11, "color": ink, "line": {"color": BACKGROUND[theme], "width": 1.5}},
        "showlegend": corner is not None,
        "cliponaxis": False,
        "hovertemplate": "at most %{x:.3f} false alarms and %{y:.3f} misses<extra></extra>",
    }
    traces = [forbidden, guessing, thin, thick, mark]
    below = _BOTTOM + 2 * LEGEND_ROW
    span = axis(theme) | {"range": [0.0, 1.0], "tickvals": [0, 0.25, 0.5, 0.75, 1], "tickformat": ".0%"}
    low = {"xref": "x", "yref": "y", "x": 0.03, "y": 0.03, "yanchor": "bottom", "align": "left"}
    low |= {"bgcolor": with_opacity(BACKGROUND[theme], 0.8)}
    short, long = (
        note(text, x=0, y=0, colour=TEXT[theme], size=13) | low
        for text in ("<b>forbidden</b>", "<b>forbidden</b><br>no code that keeps<br>its claim gets here")
    )
    diagonal = note("guessing", x=0, y=0, colour=muted, size=13) | {"xref": "x", "yref": "y", "x": 0.62, "y": 0.48}
    # The square is narrower than its place: its corners are not those of the paper.
    corner_of = {"xref": "x domain", "yref": "y domain"}
    title = note("misses", x=0, y=1, yshift=18, colour=TEXT[theme], size=14) | corner_of
    layout = frame(theme, height) | {
        "margin": {"l": 50, "r": 20, "t": _TOP, "b": below},
        "showlegend": True,
        "legend": LEGEND | {"y": -(_BOTTOM - 4) / (height - _TOP - below)},
        "xaxis": span | {"title": {"text": "false alarms", "standoff": 6, "font": {"size": 14}}, "constrain": "domain"},
        "yaxis": span | {"scaleanchor": "x", "constrain": "domain"},
        "annotations": [title, long, diagonal],
        "meta": {"narrow": {"annotations": [title, short, diagonal]}},
    }
    return Figure(traces, layout)


def wealth_figure(
    picked: tuple[Array, Array],
    honest: tuple[Array, Array] | None,
    *,
    runs: int,
    verdict: Verdict | None,
    theme: Theme,
    height: int,
) -> Figure:
    """The wealth of a bet against the claim, run by run, on logarithmic axes, with what makes it suspicious or refuted.

    picked, honest: runs and ln of the wealth, [k] each; honest is None where it is what was picked. runs: on the axis.
    """
    ink, muted = ink_of(verdict, theme), MUTED[theme]
    nothing = (np.empty(0), np.empty(0))
    ends = [10.0, float(runs)]
    traces = [
        line(*_wealth(*(honest or nothing)), muted, "bet on the honest code", "y", dash="dash", over="runs"),
        line(*_wealth(*picked), ink, "bet on this code", "y", width=3, over="runs"),
        *(
            line(ends, [1 / alpha] * 2, TEXT[theme], word, "y", dash=dash, legend=False, over="runs")
            for alpha, word, dash in zip(ALPHAS, ("suspicious", "contradicted"), ("dash", "solid"), strict=True)
        ),
    ]
    low, high = (math.log10(end) for end in (_LOWEST, _HIGHEST))
    below = _BOTTOM + 2 * LEGEND_ROW
    levels = [
        note(f"{1 / alpha:,.0f}: {word}", x=0, y=0, xshift=6, yshift=9, colour=TEXT[theme], size=13)
        | {"yref": "y", "y": -math.log10(alpha), "yanchor": "middle"}
        for alpha, word in zip(ALPHAS, ("suspicious (95%)", "contradicted (99.9%)"), strict=True)
    ]
    beyond: list[dict[str, Any]] = []
    for (_, logs), trace in zip((honest or nothing, picked), traces, strict=False):
        power = float(logs[-1]) / math.log(10.0) if len(logs) else 0.0  # may be more than a float holds
        if not low <= power <= high:
            arrow, edge = ("↑", high) if power > high else ("↓", low)
            words = f"{arrow} {trace['name']} ({power_of_ten(round(power))})"
            beyond.append(at_edge(words, "y", edge, trace["line"]["color"], theme, len(beyond)))
    layout = frame(theme, height) | {
        "margin": {"l": 62, "r": 20, "t": _TOP, "b": below},
        "showlegend": True,
        "legend": LEGEND | {"y": -(_BOTTOM - 4) / (height - _TOP - below)},
        "xaxis": log_axis(theme, 1.0, math.log10(runs))
        | {"title": {"text": "runs", "standoff": 6, "font": {"size": 14}}},
        "yaxis": log_axis(theme, low, high),
        "annotations": [
            note("wealth of a bet against the claim", x=0, y=1, yshift=18, colour=TEXT[theme], size=14),
            *levels,
            *beyond,
        ],
        "meta": {"narrow": {}},
    }
    return Figure(traces, layout)


def _wealth(runs: Array, logs: Array) -> tuple[Array, Array]:
    """What is drawn: from the first run on, and hardly further than the axis goes."""
    return runs[runs > 0], np.clip(np.exp(np.minimum(logs[runs > 0], 700.0)), 0.1 * _LOWEST, 10.0 * _HIGHEST)


def scores_figure(edges: Array, zeros: Array, ones: Array, *, theme: Theme, height: int) -> Figure:
    """How the attacker's score falls on the two data sets. edges: of bins, [b + 1]; zeros, ones: shares, [b]. px."""
    centres, widths = 0.5 * (edges[1:] + edges[:-1]), edges[1:] - edges[:-1]
    traces = [
        {
            "type": "bar",
            "x": centres,
            "y": shares,
            "width": widths,
            "name": name,
            "marker": {
                "color": with_opacity(ink, 0.5),
                "line": {"color": ink, "width": 1},
                "pattern": {"shape": shape, "fgcolor": ink, "size": 6, "solidity": 0.25},
            },
            "hovertemplate": f"{name}: %{{y:.2%}} of its runs near %{{x:.3g}}<extra></extra>",
        }
        for name, shares, ink, shape in (
            ("runs on the first data set", zeros, FAMILIES[theme]["objective"], ""),
            ("runs on the second", ones, FAMILIES[theme]["output"], "/"),
        )
    ]
    below = _BOTTOM + 2 * LEGEND_ROW
    title = {"text": "score: ← like the first · like the second →", "standoff": 6, "font": {"size": 14}}
    layout = frame(theme, height) | {
        "margin": {"l": 56, "r": 20, "t": _TOP, "b": below},
        "barmode": "overlay",
        "bargap": 0,
        "showlegend": True,
        "legend": LEGEND | {"y": -(_BOTTOM - 4) / (height - _TOP - below)},
        "xaxis": axis(theme) | {"title": title, "range": [edges[0], edges[-1]]},
        "yaxis": axis(theme) | {"rangemode": "tozero", "tickformat": ".0%"},
        "shapes": [vertical(0.0, MUTED[theme])],
        "annotations": [note("share of the runs", x=0, y=1, yshift=18, colour=TEXT[theme], size=14)],
        "meta": {"narrow": {}},
    }
    return Figure(traces, layout)
