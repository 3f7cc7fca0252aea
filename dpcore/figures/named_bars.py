"""Bars with names beside them."""

from __future__ import annotations

from collections.abc import Sequence

from .chart import LEGEND_ROW, Chart
from .figure import Figure
from .style import Look


def named_bars(
    chart: Chart, names: Sequence[str], across: Look, *, size: int, small: int, above: int, room: float
) -> Figure:
    """The chart with a name beside each of its bars, top to bottom; where it is narrow, `above` px above it.

    across: the axis. size, small: px of the names, beside and above. room: above the uppermost bar, in bars.
    """
    for name, place in zip(names, range(len(names) - 1, -1, -1), strict=True):
        chart.write(name, 0, place, size=size, align="right", yref="y", xanchor="right", xshift=-10)
    changes = {"xanchor": "left", "xshift": 0, "yshift": above, "bgcolor": chart.paper}
    labels = [label | changes | {"font": label["font"] | {"size": small}} for label in chart.notes]
    margin = {"l": 12, "r": 12, "t": chart.top + 10, "b": chart.bottom + LEGEND_ROW * chart.entries()}
    return chart.below(
        across,
        chart.axis(range=[-0.6, len(names) - room], showticklabels=False, showgrid=False),
        drop=50,
        stacked=True,
        barmode="overlay",
        narrow={"margin": margin, "annotations": [it | {"text": it["text"].replace("<br>", " ")} for it in labels]},
    )
