"""What privacy costs: accuracy over excess risk against epsilon."""

import math

import numpy as np
import pandas as pd

from ..experiments.summary import LEAST_BANDED
from ..mechanisms import mechanism_class
from .chart import Chart
from .figure import Figure
from .log_chart import decades
from .style import LARGER, Look, Theme, plain_number, tied
from .theorems import constants


def cost_figure(
    table: pd.DataFrame,
    *,
    epsilon: float,
    accuracy_title: str,
    theme: Theme,
    height: int,
    decision: float | None = None,
) -> Figure:
    """Accuracy against epsilon over excess empirical risk against epsilon, with bands, bounds and a cursor, beside the
    best model and what learns nothing.

    table: of one mechanism swept over epsilon, as `dpcore.run` gives it. accuracy_title: what is counted, in words.
    decision: epsilon to mark as the budget question's answer.
    """
    chart = Chart(theme, height, left=52, right=150, upper=0.6)
    main, plain = chart.colours[mechanism_class(table.mechanism.iloc[0]).family], chart.colours["reference"]
    ok = table[table.status == "ok"]
    accuracy, excess = ok[ok.metric == "accuracy"], ok[ok.metric == "excess_empirical_risk"]
    nothing = _first(excess, "nothing_learned")
    percent, powers = _accuracy_range(accuracy), decades([excess["mean"], excess.bound, excess.noiseless, [nothing]])
    budgets, floor = table.x.unique(), 10.0 ** powers[0]
    right, average = 100 * accuracy["mean"], "private, on average"
    banded = "<br>(band: 8 of 10 runs)" if ok.repetitions.max() >= LEAST_BANDED else ""
    best, larger = (100 * _first(accuracy, column) for column in ("reference", "nothing_learned"))

    enough = accuracy[accuracy.repetitions >= LEAST_BANDED]
    chart.band(enough.x, 100 * enough.q10, 100 * enough.q90, main)
    chart.curve(accuracy.x, right, main, average, width=3)
    chart.curve(budgets, [best] * len(budgets), plain, "without privacy", label="without privacy", layer="plain")
    chart.curve(budgets, [larger] * len(budgets), chart.muted, LARGER, label=LARGER, dash="dot", layer="nothing")
    chart.end(right, f"{average}{banded}", main)
    enough = excess[excess.repetitions >= LEAST_BANDED]
    chart.band(enough.x, enough.q10, enough.q90, main, axis="y2", legend=False, floor=floor)
    chart.curve(excess.x, excess["mean"], main, average, axis="y2", label=average, width=3, legend=False)
    upper, alone = "upper bound", "regularisation alone"
    proved: Look = {"layer": f"upper {table.mechanism.iloc[0]}", "text": constants(excess)}
    chart.curve(excess.x, excess.bound, main, upper, axis="y2", label=upper, dash="dash", **proved)
    chart.curve(excess.x, excess.noiseless, plain, alone, axis="y2", label=alone, dash="dot", layer="plain")
    chart.against(excess.x, nothing, excess.lower_bound, "y2")
    chart.zero_or_below(excess.x, excess["mean"], main, average, floor, "y2")
    here, decided = accuracy[accuracy.x == epsilon], accuracy[accuracy.x == decision]
    chart.dot(here.x, 100 * here["mean"], main)
    here = excess[excess.x == epsilon]
    chart.dot(here.x, here["mean"], main, "y2")
    diamond: Look = {"color": chart.paper, "symbol": "diamond", "line": {"color": main, "width": 2}}
    chart.dot(decided.x, 100 * decided["mean"], main, **diamond)

    chart.heading(accuracy_title)
    chart.heading("excess risk above the best model's", "y2")
    chart.cursor(epsilon, f"ε = {plain_number(epsilon)}")
    if len(decided):
        _good_enough(chart, decided, main, percent)
    return chart.beside(
        [chart.log_axis(-2, 1, title="privacy budget ε  (smaller = more private)")] * 2,
        chart.axis(range=list(percent), dtick=10),
        chart.log_axis(*powers),
        phone=(44, 26),  # half a cursor flag on the right
        rows=5,
        taken=14,
        drop=58,
    )


def _accuracy_range(rows: pd.DataFrame) -> tuple[float, float]:
    """From 50%, below which no larger class is, or a round number below everything that is drawn, to one above it."""
    drawn = 100 * rows[["mean", "q10", "q90", "reference"]].to_numpy(float)
    low, top = (np.nanmin(drawn), np.nanmax(drawn)) if np.isfinite(drawn).any() else (50.0, 100.0)
    return min(50.0, 10.0 * math.floor(low / 10)), min(101.0, 5 * math.ceil((top + 1) / 5) + 0.5)


def _first(rows: pd.DataFrame, column: str) -> float:
    return float(rows[column].iloc[0]) if len(rows) else math.nan


def _good_enough(chart: Chart, decided: pd.DataFrame, colour: str, percent: tuple[float, float]) -> None:
    """Words below the budget question's answer (above it where the panel ends), tied to it by a thin line."""
    height = 100 * float(decided["mean"].iloc[0])
    low, high = percent
    x = math.log10(decided.x.iloc[0])
    anchor = "left" if x < -1.6 else "right" if x > 0.6 else "center"  # never over the chart's edge
    away = 44 if height - low > 0.35 * (high - low) else -44
    place = {"xref": "x", "yref": "y", "xanchor": anchor, **tied(colour, away, 7)}
    chart.write("good enough", x, height, colour, 14, **place)
