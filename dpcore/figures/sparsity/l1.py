"""Private Frank-Wolfe on the L1 ball: excess risk against T, n and p; one run; membership of single users."""

import numpy as np

from ...experiments.summary import middle
from ...studies.sparsity.l1.curves import AgainstN, AgainstP, AgainstT, Path
from ...studies.sparsity.l1.membership import Tracing
from ...studies.sparsity.simplex.beside_others import BesideSampling
from ..chart import Chart
from ..figure import Figure
from ..log_chart import curves_chart, markers, through
from ..style import Theme, plain_number

_SYMBOL = "diamond"
_UPPER = "upper frank_wolfe_polytope"
_TRAINING = "excess risk on the training records"
_LEAST = "lower bound in the ball, hardest data", "lower bound<br>in the ball"
_PLAIN = "non-private: upper bound", "non-private:<br>upper bound"
_LOW, _HIGH = 0.36, 1.03  # of tracing: guessing is 0.5, and chance goes below it


def steps_figure(found: AgainstT, *, T: int, theme: Theme, height: int) -> Figure:
    """Excess against T: private, non-private, and the bounds on both."""
    chart = Chart(theme, height, "T")
    colour, plain = chart.colours["frank_wolfe"], chart.colours["reference"]
    steps = np.arange(1.0, len(found.plain) + 1.0)[1:]
    lines = [
        ("upper bound", "upper bound", found.T, found.private.bound, colour, 2.0, "dash", _UPPER),
        (*_PLAIN, steps, found.plain_bound[1:], plain, 1.0, "dash", "plain"),
        ("non-private", "non-private", steps, found.plain[1:], plain, 1.5, "solid", "plain"),
        ("nothing learned, θ = 0", "nothing learned", found.T, found.nothing, chart.muted, 1.5, "dash", "nothing"),
        (*_LEAST, found.T, found.packing, chart.muted, 1.5, "dot", "lower packing"),
    ]
    return curves_chart(
        chart,
        found.T,
        [(f"{_noise(found)}, mean", _noise(found), found.private, colour, _SYMBOL, "solid")],
        lines,
        cursor=T,
        title="steps T  (more steps: less bias, more noise in each)",
        short="steps T",
        may=[found.private.bound, np.array([found.nothing])],
        heading=_TRAINING,
    )


def excess_by_n_figure(found: AgainstN, *, n: int, theme: Theme, height: int) -> Figure:
    """Excess against n: records where few columns matter, those where all do, bounds from above and below."""
    chart = Chart(theme, height, "n")
    colour, muted = chart.colours["frank_wolfe"], chart.muted
    shape = through((found.n * np.log(found.n)) ** (-2.0 / 3.0), found.dense)
    fresh = "generalisation gap, at most"
    lines = [
        ("upper bound", "upper bound", found.n, found.private.bound, colour, 2.0, "dash", _UPPER),
        ("every column matters, mean", "every column<br>matters", found.n, found.dense, colour, 1.5, "solid", ""),
        ("(n ln n)⁻²⁄³, shape only", "(n ln n)⁻²⁄³,<br>shape only", found.n, shape, muted, 1.5, "longdashdot", ""),
        (fresh, fresh.replace(", ", ",<br>"), found.n, found.sampling, muted, 1.5, "longdash", ""),
        ("nothing learned, θ = 0", "nothing learned", found.n, found.nothing, muted, 1.5, "dash", "nothing"),
        (*_LEAST, found.n, found.packing, muted, 1.5, "dot", "lower packing"),
    ]
    return curves_chart(
        chart,
        found.n,
        [("private, mean", "private", found.private, colour, _SYMBOL, "solid")],
        lines,
        cursor=n,
        title="records n",
        mark=(found.free, "privacy for free"),
        must=[found.dense],
        may=[found.private.bound, found.sampling],
        heading=_TRAINING,
        depth=6.0,
    )


def width_figure(found: AgainstP, *, p: int, theme: Theme, height: int) -> Figure:
    """Excess against p: one vertex a step, beside noise in the whole gradient."""
    chart = Chart(theme, height, "p")
    colour = chart.colours["frank_wolfe"]
    lines = [
        ("one vertex: upper bound", "upper bound", found.p, found.private.bound, colour, 2.0, "dash", _UPPER),
        ("nothing learned, θ = 0", "nothing learned", found.p, found.nothing, chart.muted, 1.5, "dash", "nothing"),
        (*_LEAST, found.p, found.packing, chart.muted, 1.5, "dot", "lower packing"),
    ]
    curves = [
        ("noise in the whole gradient, mean", "whole gradient", found.whole, colour, f"{_SYMBOL}-open", "dashdot"),
        ("exponential mechanism over vertices, mean", "one vertex", found.private, colour, _SYMBOL, "solid"),
    ]
    may = [found.private.bound, found.nothing]
    return curves_chart(chart, found.p, curves, lines, cursor=p, title="dimension p", may=may, heading=_TRAINING)


def remark_figure(found: BesideSampling, *, theme: Theme, height: int) -> Figure:
    """Excess over the simplex against n: private Frank-Wolfe beside simplex sampling."""
    shown = {
        "frank_wolfe": (found.frank_wolfe, -2.0 / 3.0, "n⁻²⁄³, shape only", _SYMBOL, "Frank-Wolfe"),
        "sampling": (found.sampling, -1.0 / 3.0, "n⁻¹⁄³, shape only", "x", "simplex sampling"),
    }
    chart, lines, curves = Chart(theme, height, "n"), [], []
    for family, (measured, power, words, symbol, name) in shown.items():
        ink = chart.colours[family]
        shape = through(found.n**power, measured.mean)
        lines.append((words, words.replace(", ", ",<br>"), found.n, shape, ink, 1.5, "dash", ""))
        curves.append((name, name, measured, ink, symbol, "solid"))
    return curves_chart(chart, found.n, curves, lines, cursor=None, title="records n", may=[], heading=_TRAINING)


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
    return chart.below(
        chart.axis("step", 6, range=[0.0, len(steps) + 1.0], showgrid=False),
        chart.axis(tickvals=list(range(len(names))), ticktext=names, range=[-0.6, len(names) - 0.4]),
        drop=54,
        stacked=True,
    )


def tracing_figure(tracing: Tracing, *, epsilon: float, theme: Theme, height: int) -> Figure:
    """AUC of a membership attack against epsilon: private releases, the non-private model, guessing, and the limit of
    every attack on such releases."""
    chart = Chart(theme, height, right=136)
    colour, x = chart.colours["frank_wolfe"], tracing.epsilon
    low, high = middle(tracing.every_auc, 1)
    chart.band(x, low, high, colour)
    best = "best model, non-private"
    chart.level(x, tracing.exact, chart.colours["reference"], best, label=best.replace(", ", ",<br>"))
    chart.level(x, 0.5, chart.muted, "guessing", label="guessing", dash="dot")
    limit = "limit of every attack"
    chart.curve(x, tracing.limit, colour, limit, label=limit.replace("of ", "of<br>"), width=2, dash="dash")
    hover = (
        "ε = %{x}<br>private model: %{y:.3~g}<br>%{customdata[0]:.0f}% of the common signs"
        "<br>excess risk %{customdata[1]:.2~g}<extra></extra>"
    )
    chart.marked(
        *(x, tracing.auc, colour, "private model", markers(x, epsilon, colour, "diamond")),
        label="private model",
        width=3,
        customdata=np.column_stack([100 * tracing.agreement, tracing.excess]),
        hovertemplate=hover,
    )
    lowest = float(np.quantile(tracing.every_auc, 0.1, axis=1).min())
    chart.heading("AUC of the tracing attack")
    chart.cursor(epsilon, f"ε = {plain_number(epsilon)}")
    return chart.beside(
        chart.cursor_axes(x, epsilon, (560, 300), title="privacy budget ε  (smaller = more private)"),
        chart.axis(range=(max(min(lowest - 0.02, _LOW), 0.0), _HIGH), tickformat=".0%", dtick=0.1),
    )


def _noise(found: AgainstT) -> str:
    """Noise as published may cost more than the budget: then the curve is no private one."""
    return "as published" if found.accounting == "published" else "private"
