"""Noisy SGD on random batches: excess risk against the size of a batch, or against the number of steps."""

import pandas as pd

from ..experiments.summary import Summary
from .chart import Chart
from .figure import Figure
from .log_chart import curves_chart
from .style import SYMBOLS, Theme

_AXES = {"batch": ("b", "records in a batch, on average"), "steps": ("T", "steps T")}


def noisy_sgd_figure(table: pd.DataFrame, *, along: str, cursor: float, theme: Theme, height: int) -> Figure:
    """Mean excess risk of noisy_sgd along one of its knobs, beside its bound and noise in the gradient of all records.

    table: of noisy_sgd with several values of that knob, and of noisy_gd, at one epsilon, as `dpcore.run` gives it.
    along: "batch" or "steps".
    """
    letter, title = _AXES[along]
    chart = Chart(theme, height, letter)
    ink, plain = chart.colours["gradient"], chart.colours["reference"]
    rows = table[(table.status == "ok") & (table.metric == "excess_empirical_risk")]
    own = rows[rows.mechanism == "noisy_sgd"].sort_values(along)
    x, bound = own[along].to_numpy(float), own.bound.to_numpy(float)
    measured = Summary(*(own[name].to_numpy(float) for name in ("mean", "se", "q10", "q90", "noiseless")))
    lines = [
        ("upper bound", "upper bound", x, bound, ink, 2.0, "dash", "upper noisy_sgd"),
        ("the same without noise", "without noise", x, measured.noiseless, plain, 1.0, "dot", "plain"),
    ]
    for name, key, column, colour, dash, layer in (
        ("noisy GD, all records", "noisy_gd", "mean", ink, "dashdot", ""),
        ("nothing learned", "noisy_sgd", "nothing_learned", chart.muted, "dash", "nothing"),
    ):
        for level in rows[rows.mechanism == key][column].head(1).astype(float):
            lines.append((name, name.replace(", ", ",<br>"), x, level, colour, 1.5, dash, layer))
    return curves_chart(
        chart,
        x,
        [("noisy SGD, mean", "noisy SGD", measured, ink, SYMBOLS["gradient"], "solid")],
        lines,
        cursor=cursor,
        title=title,
        may=[bound, rows.nothing_learned.to_numpy(float)],
        heading="excess risk: training loss above F*",
    )
