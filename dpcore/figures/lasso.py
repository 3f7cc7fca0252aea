"""Private Frank-Wolfe on the L1 ball: excess risk against T, n and p; one run."""

import numpy as np

from ..studies.dimension.lasso.curves import AgainstN, AgainstP, AgainstT, Excesses, Path
from .chart import Chart
from .figure import Figure
from .log_chart import Line, curves_chart
from .style import Theme

_SYMBOL = "diamond"
_UPPER = "upper frank_wolfe_polytope"
_TRAINING = "excess risk on the training records"
_LEAST = "lower bound in the ball, hardest data", "lower bound,<br>hardest data"
_WINDOW = (-6.0, 0.0)  # powers of ten, the same for all settings, so that these compare
_TITLES = {
    "T": ("steps T  (more: less bias, more noise in each)", "steps T"),
    "n": ("records n", ""),
    "p": ("dimension p", ""),
}


def excess_figure(found: Excesses, *, at: int, theme: Theme, height: int) -> Figure:
    """Excess against T, n or p with its bounds: beside no privacy (T), records on which every column matters (n), or
    noise in the whole gradient (p). at: the cursor's place."""
    chart = Chart(theme, height, found.axis)
    colour, muted = chart.colours["frank_wolfe"], chart.muted
    bound = "upper bound, one vertex" if found.axis == "p" else "upper bound"
    label = bound.replace(", ", ",<br>")
    lines: list[Line] = [(bound, label, found.x, found.private.bound, colour, 2.0, "dash", _UPPER)]
    curves = []
    if isinstance(found, AgainstT):
        steps, plain = np.arange(2.0, len(found.plain) + 1.0), chart.colours["reference"]
        lines.append(("non-private", "non-private", steps, found.plain[1:], plain, 1.5, "solid", ""))
    elif isinstance(found, AgainstN):
        dense = "every column matters, mean", "every column<br>matters"
        lines.append((*dense, found.x, found.dense, colour, 1.5, "solid", ""))
    elif isinstance(found, AgainstP):
        whole = "noise in the whole gradient, mean", "whole gradient"
        curves.append((*whole, found.whole, colour, f"{_SYMBOL}-open", "dashdot"))
    lines += [
        ("nothing learned, θ = 0", "nothing learned", found.x, found.nothing, muted, 1.5, "dash", ""),
        (*_LEAST, found.x, found.packing, muted, 1.5, "dot", "lower packing"),
    ]
    noise = "one vertex" if found.axis == "p" else "private"
    curves.append((f"{noise}, mean", noise, found.private, colour, _SYMBOL, "solid"))
    title, short = _TITLES[found.axis]
    chart.proved(found.x, np.full(len(found.x), -np.inf), found.private.proved, colour, floor=10.0 ** _WINDOW[0])
    chart.traces[-1]["showlegend"] = False  # the caption says what is shaded
    more = {"bands": False, "cursor": at, "title": title, "short": short, "window": _WINDOW}
    return curves_chart(chart, found.x, curves, lines, heading=_TRAINING, **more)  # type: ignore[arg-type]


def path_figure(path: Path, *, theme: Theme, height: int) -> Figure:
    """Vertex chosen in each step: a row for every relevant feature, one for all others."""
    chart = Chart(theme, height, left=92, right=16, bottom=56)
    colour, muted = chart.colours["frank_wolfe"], chart.muted
    places = np.flatnonzero(path.truth)
    stored = path.columns < len(path.truth)
    row = np.zeros(len(path.columns))
    for level, place in enumerate(places, start=1):
        row[path.columns == place] = level
    steps, wrong = np.arange(1.0, len(path.columns) + 1.0), (row > 0) & ~path.right
    for name, chosen, symbol, ink in (
        ("right column and sign", path.right, _SYMBOL, colour),
        ("right column, wrong sign", wrong, f"{_SYMBOL}-open", colour),
        ("irrelevant column", (row == 0) & stored, "circle-open", muted),
        ("column of zeros", ~stored, "line-ns-open", muted),
    ):
        chart.marks(
            steps[chosen],
            row[chosen],
            {"symbol": symbol, "size": 9, "color": ink, "line": {"width": 1.5, "color": ink}},
            customdata=path.columns[chosen] + 1,
            name=name,
            showlegend=bool(chosen.any()),
            cliponaxis=False,
            hovertemplate="step %{x}<br>column %{customdata:,}<extra>%{fullData.name}</extra>",
        )
    names = ["others", *(f"{'+' if path.truth[place] > 0 else '−'} column {place + 1}" for place in places)]
    chart.heading("vertex chosen in each step of one run")
    whole = {"dtick": 1} if len(steps) < 8 else {}  # more steps have whole ticks anyway
    return chart.below(
        chart.axis("step", 6, range=[0.0, len(steps) + 1.0], showgrid=False, **whole),
        chart.axis(tickvals=list(range(len(names))), ticktext=names, range=[-0.6, len(names) - 0.4]),
        drop=54,
        stacked=True,
    )
