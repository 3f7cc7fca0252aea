"""Private players on streams: regret against the number of steps, and one stream step by step."""

import math

import numpy as np

from ...studies.selection.streaming.regret import Play, RegretCurve
from ..chart import Chart
from ..figure import Figure
from ..style import Look, Theme, plain_number, with_opacity

_RIGHT, _PHONE = 104, (52, 30)  # px of margins, on a phone left and right
_WINDOW = (0.0, 4.5)  # powers of ten, the same for all settings, so that these compare
_BELOW = 1e-9  # where a band's edge at or below 0 goes: below every axis
_SHARE = 0.42  # of a play's height for the upper panel
_MOST_DOTS = 2000


def regret_figure(curve: RegretCurve, plain: RegretCurve, *, steps: int, theme: Theme, height: int) -> Figure:
    """Mean regret against the length of the stream, with its bounds and that of an arm drawn uniformly, on log axes.

    plain: the non-private learner's, of the same lengths.
    """
    chart = Chart(theme, height, "T")
    colour = chart.colours["sampling"]
    chart.band(curve.steps, curve.q10, curve.q90, colour, floor=_BELOW, legend=False)  # the caption says what it is
    for values, name, ink, dash, layer in (
        (curve.bound, "upper bound", colour, "dash", "upper ftrl"),
        (plain.expected, "non-private", chart.colours["reference"], "solid", ""),
        (curve.nothing, "nothing learned", chart.muted, "dash", ""),
        (curve.least, "lower bound, hardest data", chart.muted, "dot", "lower least_regret"),
    ):
        shown = np.where(values > 0.0, values, np.nan)
        chart.curve(curve.steps, shown, ink, name, label=name.replace(", ", ",<br>"), dash=dash, layer=layer)
    sizes = np.where(curve.steps == steps, 12.0, 7.0)
    marker = {"symbol": "x", "size": sizes, "color": colour, "opacity": 1}
    chart.marked(curve.steps, np.where(curve.expected > 0, curve.expected, np.nan), colour, "private", marker, width=3)
    chart.end(curve.steps, curve.expected, "private", colour)
    chart.heading("mean regret, against the best arm")
    if hidden := int((curve.expected <= 0.0).sum()):
        text = f"not drawn: {hidden} of the means, which are not above 0"
        chart.write(text, 0.01, 0, chart.muted, 12, yshift=10)
    chart.cursor(steps, f"T = {steps:,}")
    span = curve.steps
    low, high = math.log10(span[0]) - 0.06, math.log10(span[-1]) + 0.06
    ticks: Look = {}
    if high - low < 4.0:
        places = [m * 10.0**k for k in range(math.floor(low), math.ceil(high)) for m in (1.0, 2.0, 5.0)]
        ticks = {"tickvals": places, "ticktext": [plain_number(place) for place in places]}
    return chart.beside(
        chart.cursor_axes(span, steps, (600, 250), beyond=0.06, room=55, spare=0.05, title="steps T", **ticks),
        chart.log_axis(*_WINDOW),
        phone=_PHONE,
        rows=chart.entries() + 1,
    )


def play_figure(play: Play, *, theme: Theme, height: int) -> Figure:
    """One stream: the arms that one run plays above its regret so far, beside the mean of all runs and its bound.

    The bound speaks of the end of the stream and stands there. Arms are counted from 1; of long streams every second,
    third, ... is drawn.
    """
    chart = Chart(theme, height, "step", right=_RIGHT, upper=_SHARE)
    colour, quiet = chart.colours["sampling"], chart.colours["reference"]
    every = math.ceil(len(play.arms) / _MOST_DOTS)
    T, p = float(play.plan.steps), play.plan.spec.p
    chart.curve(play.marks[1:], play.leader[1:] + 1, quiet, "best arm so far", width=2, legend=False)
    chart.traces[-1]["line"] |= {"shape": "hv"}
    chart.end(play.marks, play.leader + 1, "best arm", quiet)
    chart.marks(
        np.arange(1, len(play.arms) + 1, every),
        play.arms[::every] + 1,
        {"size": 4, "color": with_opacity(colour, 0.55)},
        name="arm played",
        showlegend=False,
        hovertemplate="step %{x}: arm %{y}<extra></extra>",
    )
    chart.curve(play.marks, play.expected, quiet, "mean", axis="y2", label="mean")
    chart.curve(play.marks, play.regret, colour, "this run", axis="y2", label="this run", width=3)
    name, look = "upper bound of the mean", {"symbol": "diamond", "size": 10, "color": colour}
    more = {"cliponaxis": False, "showlegend": True, "hovertemplate": f"{name}: %{{y:.4~g}}<extra></extra>"}
    chart.marks(np.array([T]), np.array([play.bound]), look, "y2", name=name, **more)
    chart.end([T], [play.bound], "upper bound", colour, "y2")
    heights = np.concatenate([play.expected, play.regret, [0.0, play.bound]])
    low, high = float(np.nanmin(heights)), float(np.nanmax(heights))
    panel = [low - 0.06 * (high - low), high + 0.06 * (high - low)]
    chart.heading("arm played, best arm so far (line)")
    chart.heading("regret so far", "y2")
    return chart.beside(
        [chart.axis("steps so far", range=[0.0, 1.01 * T], nticks=8, tickformat=","), {"nticks": 5}],
        chart.axis(range=[0.5 - 0.03 * p, 1.03 * p + 0.5], tickvals=sorted({1, (p + 1) // 2, p})),
        chart.axis(range=panel, nticks=6),
        phone=_PHONE,
        rows=chart.entries() + 1,
    )
