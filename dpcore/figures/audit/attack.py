"""An attack on a guarantee: errors that it allows and that are measured, certified epsilons, betting test, scores."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...audit.betting import ALPHAS
from ...audit.report import Verdict
from ...core.arrays import Array
from ..chart import LEGEND_ROW, Chart
from ..figure import Figure
from ..style import FAMILIES, GRID, MUTED, Look, Theme, note, pattern, plain_number, power_of_ten, with_opacity

# How far a bar may go, in claims; a longer one is cut and says how long it is.
LONGEST = 3.0
_VERDICTS: dict[Verdict, str] = {
    "contradicted": "frank_wolfe",
    "suspicious": "output",
    "no contradiction found": "variance_reduced",
}
_LOWEST, _HIGHEST = 1e-4, 1e7  # of a bet's value that is drawn


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

    picked: the row that stands out.
    """
    chart = Chart(theme, height, left=168, right=158, top=26, bottom=50)
    most = LONGEST * claim
    inks = [ink_of(row.verdict, theme) for row in rows]
    pale = [with_opacity(ink, 0.45) for ink in inks]
    places = np.arange(float(len(rows)))
    for lengths, fills, name in (
        ([row.shown for row in rows], pale, "with confidence 95%"),
        ([row.flagged for row in rows], inks, "with confidence 99.9%"),
    ):
        look, hover = {"color": fills, "line": {"width": 0}}, f"at least ε = %{{x:.3g}} {name}"
        chart.bars(np.array(lengths, float), places, 0.62, look, name, hover, orientation="h")
    names = [f"<b>{row.name}</b>" if k == picked else row.name for k, row in enumerate(rows)]
    told = [f"<b>{row.told}</b>" if k == picked else row.told for k, row in enumerate(rows)]
    behind = {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "layer": "below", "line": {"width": 0}}
    behind |= {"y0": picked - 0.45, "y1": picked + 0.45, "fillcolor": GRID[theme]}
    chart.shapes.append(behind)
    chart.vertical(claim, color=chart.text, width=2, dash="dash")
    place: Look = {"xref": "x", "xanchor": "center", "yshift": 18}
    chart.write(f"claimed: ε = {plain_number(float(f'{claim:.3g}'))}", claim, 1, size=14, **place)
    label = chart.notes[:]
    ends = [
        note(text, x=1, y=k, xshift=8, colour=chart.text, size=13, yref="y", yanchor="middle")
        for k, text in enumerate(told)
    ]
    place = {"xref": "x", "xanchor": "right", "xshift": -4, "yref": "y", "yanchor": "middle"}
    for k, row in enumerate(rows):
        shown = float(f"{row.flagged:.2g}")
        if min(row.flagged, shown) > most:
            chart.write(f"{plain_number(shown)} →", most, k, chart.paper, 12, **place)
    cut = chart.notes[1:]
    upright = chart.axis(tickvals=places, range=[len(rows) - 0.5, -0.5], showgrid=False)
    narrow = {
        "height": max(height, chart.top + chart.bottom + 36 * len(rows)),
        "margin": {"l": 162, "r": 14, "t": chart.top, "b": chart.bottom},
        "xaxis": {"title": {"text": "certified: at least this ε"}, "nticks": 4},
        "yaxis": upright | {"ticktext": [f"{n}<br>{t}" for n, t in zip(names, told, strict=True)]},
        "annotations": [*label, *cut],
    }
    return chart.figure(
        chart.axis("certified: at least this ε leaks", 6, range=[0.0, most], nticks=7),
        upright | {"ticktext": names},
        barmode="overlay",
        annotations=[*label, *ends, *cut],
        narrow=narrow,
    )


def plane_figure(
    false: Array,
    allowed: Array,
    measured: tuple[Array, Array],
    correct: tuple[Array, Array] | None,
    errors: tuple[float, float] | None,
    *,
    verdict: Verdict | None,
    theme: Theme,
    height: int,
) -> Figure:
    """Misses against false alarms: what the guarantee forbids, what guessing gives, and what the attack measured.

    allowed: the fewest misses that the guarantee allows at each share of false alarms, [k] both. measured: shares of
    false alarms and of misses at all thresholds, [j] both. correct: the same of the correct code, None where that is
    what was measured. errors: what is certified of one threshold, not before the last run.
    """
    chart = Chart(theme, height, "false alarms", left=50, right=20, top=26, bottom=60)
    ink, nothing = ink_of(verdict, theme), (np.empty(0), np.empty(0))
    hatched = {"shape": "/", "fgcolor": with_opacity(chart.muted, 0.5), "size": 9, "solidity": 0.15}
    look: Look = {"fill": "tozeroy", "fillcolor": with_opacity(chart.muted, 0.16), "fillpattern": hatched}
    chart.curve(false, allowed, chart.text, "limit of the guarantee", legend=False, hoveron="points", **look)
    chart.curve([0.0, 1.0], [1.0, 0.0], chart.muted, "random guess", width=1, dash="dot", legend=False)
    chart.curve(*(correct or nothing), chart.muted, "correct code", dash="dash")
    chart.curve(*measured, ink, "this code", width=3)
    x, y = errors or (math.nan, math.nan)
    chart.marks(
        np.array([x]),
        np.array([y]),
        {"symbol": "diamond", "size": 11, "color": ink, "line": {"color": chart.paper, "width": 1.5}},
        name="certified (95%)",
        showlegend=errors is not None,
        cliponaxis=False,
        hovertemplate="at most %{x:.3f} false alarms and %{y:.3f} misses<extra></extra>",
    )
    # The square is narrower than its place: its corners are not those of the paper.
    where: Look = {"xref": "x domain", "yref": "y domain", "yshift": 18}
    chart.write("misses", 0, 1, size=14, **where)
    low: Look = {"yanchor": "bottom", "align": "left", "bgcolor": with_opacity(chart.paper, 0.8)}
    place: Look = {"xref": "x", "yref": "y"}
    words = "<b>forbidden</b>"
    chart.write(f"{words}<br>by the claimed<br>guarantee", 0.03, 0.03, **place, **low)
    chart.write("random guess", 0.62, 0.48, chart.muted, **place)
    misses, long, guessing = chart.notes
    span: Look = {"range": [0.0, 1.0], "tickvals": [0, 0.25, 0.5, 0.75, 1], "tickformat": ".0%", "constrain": "domain"}
    # A legend that does not fit would take its room from the drawing, and come up to the axis's title.
    narrow = chart.legend(height + 2 * LEGEND_ROW, 4 * LEGEND_ROW, drop=60, stacked=True)
    return chart.below(
        chart.axis("false alarms", 6, **span),
        chart.axis(**span, scaleanchor="x"),
        rows=2,
        drop=60,
        narrow=narrow | {"annotations": [misses, long | {"text": words}, guessing]},
    )


def betting_figure(
    picked: tuple[Array, Array],
    correct: tuple[Array, Array] | None,
    *,
    runs: int,
    verdict: Verdict | None,
    theme: Theme,
    height: int,
) -> Figure:
    """The value of a bet against the guarantee, run by run, on logarithmic axes, with the levels of each verdict.

    picked, correct: runs and ln of the value, [k] each; correct is None where it is what was picked. runs: on the axis.
    """
    chart = Chart(theme, height, "runs", left=62, right=20, top=26, bottom=50)
    nothing, ends = (np.empty(0), np.empty(0)), [10.0, float(runs)]
    low, high = (math.log10(end) for end in (_LOWEST, _HIGHEST))
    chart.heading("value of a bet against the guarantee")
    for bet, ink, name, look in (
        (correct or nothing, chart.muted, "correct code", {"dash": "dash"}),
        (picked, ink_of(verdict, theme), "this code", {"width": 3}),
    ):
        chart.curve(*_value(*bet), ink, name, **look)
        power = float(bet[1][-1]) / math.log(10.0) if len(bet[1]) else 0.0  # may be more than a float holds
        if not low <= power <= high:
            chart.leaves(f"{'↑' if power > high else '↓'} {name} ({power_of_ten(round(power))})", ink)
    place: Look = {"xshift": 6, "yshift": 9, "yref": "y", "yanchor": "middle"}
    for alpha, word, share, dash in zip(
        ALPHAS, ("suspicious", "contradicted"), ("95%", "99.9%"), ("dash", "solid"), strict=True
    ):
        chart.level(ends, 1 / alpha, chart.text, word, dash=dash, legend=False)
        chart.write(f"{1 / alpha:,.0f}: {word} ({share})", 0, -math.log10(alpha), **place)
    rows = 1 if chart.outside else 2  # of a legend that has one row and room for another
    across = chart.log_axis(1.0, math.log10(runs), title="runs", standoff=6)
    return chart.below(across, chart.log_axis(low, high), rows=rows, drop=46)


def _value(runs: Array, logs: Array) -> tuple[Array, Array]:
    """Values to draw: from the first run on, and hardly beyond the axis."""
    return runs[runs > 0], np.clip(np.exp(np.minimum(logs[runs > 0], 700.0)), 0.1 * _LOWEST, 10.0 * _HIGHEST)


def scores_figure(edges: Array, zeros: Array, ones: Array, *, theme: Theme, height: int) -> Figure:
    """Distribution of the attacker's score on the two data sets. edges: of bins, [b + 1]; zeros, ones: shares, [b]."""
    chart = Chart(theme, height, left=56, right=20, top=26, bottom=50)
    for name, shares, family, shape in (
        ("runs on the first data set", zeros, "objective", ""),
        ("runs on the second", ones, "output", "/"),
    ):
        look = pattern(chart.colours[family], 0.5, shape)
        chart.histogram(edges, shares, look, name, f"{name}: %{{y:.2%}} of its runs near %{{x:.3g}}")
    chart.vertical(0.0)
    chart.heading("share of the runs")
    return chart.below(
        chart.axis("score: ← like the first · like the second →", 6, range=[edges[0], edges[-1]]),
        chart.axis(rangemode="tozero", tickformat=".0%"),
        rows=2,
        drop=46,
        barmode="overlay",
        bargap=0,
    )
