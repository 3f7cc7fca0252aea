"""Figures of the page Survey: error bounds against the number of people, and what the messages tell."""

import math

from ..studies.survey.estimates import AgainstPeople, Survey
from .chart import Chart
from .figure import Figure
from .style import Look, Theme, short_number

_LOCAL, _CENTRAL, _GUESS = "randomised response", "trusted server, Laplace noise", "a guess of 50%"


def survey_figure(
    curves: AgainstPeople, *, n: int, theme: Theme, height: int, room: tuple[int, float] | None = None
) -> Figure:
    """Error bound of a share, in percentage points, against the number of people, on logarithmic axes.

    room: number of phones of a real room, and the error bound of its messages.
    """
    chart = Chart(theme, height, "n", left=62, right=190)
    local, central = chart.colours["sampling"], chart.colours["reference"]
    people = curves.people
    chart.marked(
        people, 100 * curves.local, local, _LOCAL, {"symbol": "x", "size": 8, "color": local}, label=_LOCAL, width=3
    )
    chart.curve(people, 100 * curves.central, central, _CENTRAL, label="trusted server,<br>Laplace noise", width=3)
    chart.level(people, 50.0, chart.muted, _GUESS, label=_GUESS, dash="dash")
    at = int((people == n).argmax())
    for values, colour in ((curves.local, local), (curves.central, central)):
        chart.dot([n], [100 * values[at]], colour)
    mark: Look = {"symbol": "diamond", "size": 14, "color": local, "line": {"color": chart.text, "width": 2}}
    phones, bound = ([], []) if room is None else ([room[0]], [100 * room[1]])
    chart.marks(
        phones,
        bound,
        mark,
        mode="markers+text",
        text=["your room" for _ in phones],
        textposition="top right",
        textfont={"color": chart.text, "size": 14},
        name="your room",
        showlegend=False,
        cliponaxis=False,
        hovertemplate="your room: n = %{x}<br>error bound: %{y:.3~g} points<extra></extra>",
    )
    chart.heading("error bound, percentage points (95%)")
    chart.cursor(n, f"n = {n:,}")
    low = math.floor(2 * math.log10(100 * float(curves.central.min()))) / 2
    span = [min([float(people[0]), *phones]), float(people[-1])]
    return chart.beside(
        chart.cursor_axes(span, n, (600, 250), title="number of people n"), chart.log_axis(low, 2.05), phone=(56, 24)
    )


def estimate_figure(found: Survey, *, central: float, theme: Theme, height: int) -> Figure:
    """Share of messages that say yes, the estimate with its interval, and the answer of a trusted server with its own.

    central: the error bound of that server. A real room has none, and then only the width is told.
    """
    chart = Chart(theme, height, "share", left=24, right=24)
    local, other = chart.colours["sampling"], chart.colours["reference"]
    sent, best, width = 100 * found.yes / found.n, 100 * found.estimate, short_number(100 * central)
    known = found.server is not None
    server = 100 * found.server if found.server is not None else math.nan
    told = (
        f"messages that say yes: {sent:.0f}%",
        f"estimate: {best:.0f}%, 95% interval {100 * found.low:.0f}% to {100 * found.high:.0f}%",
        f"a trusted server would say: {server:.0f}% ± {width} points"
        if known
        else f"a trusted server: ± {width} points",
    )
    spans = (
        (sent, sent, chart.muted),
        (100 * found.low, 100 * found.high, local),
        (max(0.0, server - 100 * central), min(100.0, server + 100 * central), other),
    )
    for row, ((low, high, colour), words) in enumerate(zip(spans, told, strict=True)):
        chart.line([low, high], [row, row], colour, words, 7, "solid", showlegend=False, hoverinfo="skip")
        place: Look = {"yref": "y", "yanchor": "bottom", "yshift": 12, "align": "left", "xanchor": "left"}
        place |= {"bgcolor": chart.paper}
        chart.write(words, 0, row, colour, 14, **place)
    hover = "%{x:.3~g}%<extra></extra>"
    dots: Look = {"size": 13, "color": [colour for *_, colour in spans]}
    chart.marks([sent, best, server], [0, 1, 2], dots, name="share", showlegend=False, hovertemplate=hover)
    true = [] if found.share is None else [100 * found.share] * 2
    name = "" if found.share is None else f"true share of the simulated class: {100 * found.share:.0f}%"
    chart.line(true, [-0.2, 2.4][: len(true)], chart.text, name, 2, "dot", showlegend=bool(true), hoverinfo="skip")
    chart.heading(f"one class of {found.n:,} people")
    across = chart.axis(
        title="share of people whose true answer is yes, %", range=[-2, 102], tickvals=[0, 25, 50, 75, 100]
    )
    upright = chart.axis(range=[2.6, -0.95], tickvals=[], showgrid=False)
    return chart.below(across, upright, rows=1)
