"""Cost of privacy under several mechanisms: accuracy over excess risk against epsilon."""

import math

import numpy as np
import pandas as pd

from ..experiments.summary import LEAST_BANDED
from ..mechanisms import mechanism_class
from ..studies.hardest.excess import Hardest
from .chart import Chart
from .figure import Figure
from .log_chart import decades
from .style import LARGER, PERTURBATIONS, Look, Theme, plain_number, with_opacity
from .theorems import constants


def cost_figure(
    table: pd.DataFrame,
    *,
    mechanism: str,
    epsilon: float,
    accuracy_title: str,
    theme: Theme,
    height: int,
    released: float | None = None,
    hardest: Hardest | None = None,
) -> Figure:
    """Accuracy against epsilon over excess empirical risk against epsilon, with a cursor, beside the best model without
    privacy and what learns nothing.

    table: of one or several mechanisms swept over epsilon, as `dpcore.run` gives it. mechanism: the key of the one that
    has a thick curve, bands and bounds. accuracy_title: what is counted, in words. released: accuracy of one release
    at the cursor, from 0 to 1. hardest: of that mechanism.
    """
    chart = Chart(theme, height, left=52, right=156, upper=0.6)
    plain = chart.colours["reference"]
    names = {key: PERTURBATIONS[mechanism_class(key).place] for key in [mechanism, *table.mechanism.unique()]}
    inks = {key: chart.colours[mechanism_class(key).family] for key in names}
    main, name, budgets = inks[mechanism], names[mechanism], table.x.unique()
    ok = table[table.status == "ok"]
    accuracies, risks = ok[ok.metric == "accuracy"], ok[ok.metric == "excess_empirical_risk"]
    accuracy, excess = (rows[rows.mechanism == mechanism] for rows in (accuracies, risks))
    nothing = _first(risks, "nothing_learned")
    percent = _accuracy_range(accuracies, accuracy)
    powers = decades([risks["mean"], excess.bound, excess.noiseless, [nothing]], depth=7)
    floor = 10.0 ** powers[0]
    best, larger = (100 * _first(accuracies, column) for column in ("reference", "nothing_learned"))

    enough, proved = accuracy[accuracy.repetitions >= LEAST_BANDED], excess[excess.proved_high.notna()]
    chart.band(enough.x, 100 * enough.q10, 100 * enough.q90, main)
    chart.proved(proved.x, proved.proved_low, proved.proved_high, main, axis="y2", legend=False, floor=floor)
    for key in reversed(names):  # the one that is shown in full lies on top
        for rows, scale, axis in ((accuracies, 100, "y"), (risks, 1, "y2")):
            mine, thick = rows[rows.mechanism == key], 3.0 if key == mechanism else 1.5
            chart.curve(mine.x, scale * mine["mean"], inks[key], names[key], axis=axis, width=thick, legend=axis == "y")
    banded = "<br>(band: 8 of 10 runs)" if len(enough) else ""
    for key in names:
        words = f"{names[key]}{banded}" if key == mechanism else names[key]
        chart.end(accuracies[accuracies.mechanism == key]["mean"] * 100, words, inks[key])
    chart.curve(budgets, [best] * len(budgets), plain, "without privacy", label="without privacy")
    chart.curve(budgets, [larger] * len(budgets), chart.muted, LARGER, label=LARGER, dash="dot")
    chart.end(excess["mean"], name, main, "y2")
    upper = "upper bound"
    alone = "stopping early" if mechanism_class(mechanism).family == "gradient" else "regularisation alone"
    chart.curve(
        excess.x,
        excess.bound,
        main,
        upper,
        axis="y2",
        label=upper,
        dash="dash",
        layer=f"upper {mechanism}",
        text=constants(excess),
    )
    chart.curve(excess.x, excess.noiseless, plain, alone, axis="y2", label=alone, dash="dot")
    lower = excess.set_index("x").lower_bound.reindex(budgets)
    chart.against(budgets, nothing, lower, excess.lower_source, "y2")
    here = accuracy[accuracy.x == epsilon]
    chart.dot(here.x, 100 * here["mean"], main)
    here = excess[excess.x == epsilon]
    chart.dot(here.x, here["mean"], main, "y2")
    # Last, where they can be missing without taking another curve's place: an empty one takes time to draw, too.
    if (excess["mean"] <= 0.0).any():
        chart.zero_or_below(excess.x, excess["mean"], main, name, floor, "y2")
    if hardest:
        chart.hardest(hardest.epsilon, hardest.mean, main, "y2", floor=floor)
    drawn = [] if released is None else [100 * released]
    if drawn:
        diamond: Look = {"color": chart.paper, "symbol": "diamond", "line": {"color": main, "width": 2}}
        chart.dot([epsilon], drawn, main, **diamond)

    chart.heading(accuracy_title)
    chart.heading("excess risk above the best model's", "y2")
    chart.cursor(epsilon, f"ε = {plain_number(epsilon)}")
    left, shift = ("right", -12) if epsilon > 1.5 else ("left", 12)  # never over the chart's edge
    place: Look = {"xref": "x", "yref": "y", "xanchor": left, "xshift": shift, "yanchor": "middle"}
    for each in drawn:
        chart.write("one release", math.log10(epsilon), each, main, 14, bgcolor=with_opacity(chart.paper, 0.8), **place)
    return chart.beside(
        [chart.log_axis(-2, 1, title="privacy budget ε  (smaller = more private)")] * 2,
        chart.axis(range=list(percent), dtick=10),
        chart.log_axis(*powers),
        phone=(48, 26),  # half a cursor flag on the right
        taken=14,
        drop=58,
    )


def _accuracy_range(means: pd.DataFrame, banded: pd.DataFrame) -> tuple[float, float]:
    """Range from 50%, the smallest share of a larger class, or a round number below the curves, to one above them."""
    drawn = 100 * np.concatenate([means[["mean", "reference"]], banded[["q10", "q90"]]]).astype(float)
    low, top = (np.nanmin(drawn), np.nanmax(drawn)) if np.isfinite(drawn).any() else (50.0, 100.0)
    return min(50.0, 10.0 * math.floor(low / 10)), min(101.0, 5 * math.ceil((top + 1) / 5) + 0.5)


def _first(rows: pd.DataFrame, column: str) -> float:
    return float(rows[column].iloc[0]) if len(rows) else math.nan
