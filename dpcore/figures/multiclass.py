"""Many classes: accuracy and excess risk of the Gaussian classifier, and one release of it."""

import numpy as np

from ..core.facts import facts_beside
from ..studies.multiclass.curves import Accuracies
from ..studies.multiclass.decision_regions import Picture
from ..studies.multiclass.one_vs_rest import LearnerKey
from .chart import Chart, axis_title
from .figure import Figure
from .log_chart import markers
from .style import Look, Theme, plain_number, with_opacity

# Learner -> name, label behind the curve, family, symbol, dash.
LOOKS: dict[LearnerKey, tuple[str, ...]] = {
    row.pop("learner"): tuple(row.values()) for row in facts_beside(__file__, "learners.csv")
}
_TITLES = {
    "epsilon": ("privacy budget ε  (smaller = more private)", "budget ε"),
    "classes": ("classes C", "classes C"),
    "d": ("dimension d", "dimension d"),
}
_EXCESS = (-2.2, 1.3)  # powers of ten of excess risk, whatever ε and n
_LETTERS = {"epsilon": "ε", "classes": "C", "d": "d"}


def accuracy_figure(found: Accuracies, *, cursor: float, theme: Theme, height: int) -> Figure:
    """Accuracy on test records along an axis: private learners with their bands, and models without privacy; below it,
    where it was asked for, the excess risk of the Gaussian classifier with its bound."""
    letter = _LETTERS[found.axis]
    excess = found.excess
    chart = Chart(theme, height, letter, upper=1.0 if excess is None else 0.58)
    inks = {key: chart.colours[LOOKS[key][2]] for key in found.learners}
    for key, measured in found.learners.items():
        named = any(trace["showlegend"] for trace in chart.traces)
        chart.band(found.x, measured.q10, measured.q90, inks[key], legend=not named, opacity=0.15)
    for name, label, heights, ink, dash in (
        ("Gaussian classifier without privacy", "without privacy", found.plain, chart.colours["reference"], "solid"),
        ("the largest class", "the largest class", found.chance, chart.muted, "dot"),
    ):
        hover = _share(letter, name)
        chart.curve(found.x, heights, ink, name, label=label, dash=dash, hovertemplate=hover)
    for key, measured in found.learners.items():
        name, label, _, symbol, dash = LOOKS[key]
        look = {"label": label, "width": 3, "dash": dash, "hovertemplate": _share(letter, name)}
        chart.marked(found.x, measured.mean, inks[key], name, markers(found.x, cursor, inks[key], symbol), **look)
    if excess is not None:
        name, _, family, symbol, dash = LOOKS["ellipsoids"]
        ink = chart.colours[family]
        upper, nothing = "upper bound", "nothing learned"
        place: Look = {"axis": "y2", "dash": "dash"}
        chart.curve(found.x, excess.bound, ink, upper, label=upper, layer="upper gaussian_classifier", **place)
        chart.curve(found.x, excess.nothing, chart.muted, nothing, label=nothing, **place)
        place = {"label": "private", "width": 3, "dash": dash, "axis": "y2", "legend": False}
        chart.marked(found.x, excess.mean, ink, name, markers(found.x, cursor, ink, symbol), **place)
        chart.heading("excess risk above the best model's", "y2")
    chart.heading("accuracy on test records")
    title, short = _TITLES[found.axis]
    if found.axis == "epsilon":
        chart.cursor(cursor, f"ε = {plain_number(cursor)}")
        wide, narrow = chart.cursor_axes(found.x, cursor, (560, 300))
    else:
        chart.cursor(cursor, f"{letter} = {cursor:g}", logarithmic=False)
        start, end = float(found.x[0]), float(found.x[-1])
        text = ["" if abs(tick - cursor) <= 0.04 * (end - start) else f"{tick:g}" for tick in found.x]
        wide = narrow = chart.axis(range=[start - 0.3, end + 0.3], tickvals=found.x, ticktext=text)
    return chart.beside(
        [wide | {"title": axis_title(title, 10)}, narrow | {"title": axis_title(short, 10)}],
        chart.axis(range=[0.0, 1.01], tickformat=".0%", dtick=0.1 if excess is None else 0.2),
        None if excess is None else chart.log_axis(*_EXCESS),
    )


def _share(letter: str, name: str) -> str:
    return f"{letter} = %{{x}}<br>{name}: %{{y:.1%}}<extra></extra>"


def regions_figure(found: Picture, *, theme: Theme, height: int) -> Figure:
    """Class of each point by a private release and without privacy; differences are shaded."""
    chart = Chart(theme, height, left=62, right=16, top=14, bottom=50)
    place = {"xref": "x", "yref": "y", "xanchor": "center", "yanchor": "middle"}
    for name, (x, y) in zip(found.names, found.centres, strict=True):
        chart.write(name, float(x), float(y), size=14, bgcolor=with_opacity(chart.paper, 0.7), **place)
    private, plain = chart.colours["objective"], chart.colours["reference"]
    differ = (found.private.argmax(axis=0) != found.plain.argmax(axis=0)).astype(np.uint8)
    shade = {
        "type": "heatmap",
        "x": found.axis,
        "y": found.axis,
        "z": differ,
        "colorscale": [[0.0, with_opacity(private, 0.0)], [1.0, with_opacity(private, 0.22)]],
        "zmin": 0.0,
        "zmax": 1.0,
        "showscale": False,
        "hoverinfo": "skip",
    }
    chart.traces.append(shade)
    for leads, line in (
        (found.plain, {"color": plain, "width": 1.5, "dash": "dash"}),
        (found.private, {"color": private, "width": 2.0, "dash": "solid"}),
    ):
        # Around the region of each class but the last; neighbours draw their border twice. In 16 bits the browser is
        # sent a quarter as much, and that is far finer than a pixel.
        for lead in leads[:-1]:
            steps = np.rint(lead * (32_767 / (np.abs(lead).max() or 1.0))).astype(np.int16)
            chart.contours(found.axis, found.axis, steps, 0.0, 0.0, line)
    for name, ink, dash in (("private release", private, "solid"), ("without privacy", plain, "dash")):
        chart.line([None], [None], ink, name, 2.0, dash)  # in the legend alone
    chart.marks(
        [None],
        [None],
        {"symbol": "square", "size": 12, "color": with_opacity(private, 0.22)},
        name="privacy changes the decision",
    )
    reach = float(found.axis[-1])
    sides: Look = {"range": [-reach, reach], "constrain": "domain", "nticks": 5, "showgrid": False}
    across, up = (chart.axis(f"column {k + 1}", 8, **sides) for k in found.columns)
    return chart.below(across, up | {"scaleanchor": "x"}, rows=3, drop=46, stacked=True)
