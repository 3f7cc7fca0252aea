"""The proof of a bound as a chain of bars, from the measured excess to the bound."""

import math
from itertools import pairwise

import numpy as np

from ..experiments.proof_chain import ProofChain
from ..mechanisms.base import Family
from .chart import Chart
from .figure import Figure
from .log_chart import decades
from .style import Theme, pattern, short_number, with_opacity


def chain_figure(found: ProofChain, *, family: Family, theme: Theme, height: int) -> Figure:
    """A bar for each link, from the number before it to the number after it, and the words above it.

    family: of the mechanism. Links that put the worst records in the place of these are hatched.
    """
    chart = Chart(theme, height, left=14, right=14, top=26)
    steps, colour = found.steps, chart.colours[family]
    values = np.array([step.value for step in steps])
    low, high = decades([values, [found.nothing]])
    shown, places = np.maximum(values, 10.0**low), np.arange(len(steps), -1, -1)  # the last is the bound's

    def say(text: str, place: int) -> None:
        chart.write(text, 0, place + 0.25, yref="y", yanchor="middle", bgcolor=chart.paper)

    say(f"measured on these records: <b>{short_number(values[0])}</b>", places[0])
    for step, (before, after), place in zip(steps[1:], pairwise(shown), places[1:], strict=False):
        look = {"color": with_opacity(colour, 0.85), "line": {"color": colour, "width": 1.5}}
        chart.bars(
            [max(after - before, 0.0)],
            [place - 0.2],
            0.28,
            pattern(colour, 0.3, "/") if step.worst else look,
            "the worst records" if step.worst else "these records",
            f"{short_number(step.value)} after this step ({step.lemma})",
            orientation="h",
            base=[before],
            showlegend=False,
        )
        say(f"{step.claim}  <b>×{times(after / before)}</b>", place)
    say(f"bound for all records: <b>{short_number(values[-1])}</b>", places[-1])
    ends = {"color": colour, "size": 11, "symbol": ["circle", "diamond"]}
    chart.marks(shown[[0, -1]], places[[0, -1]] - 0.2, ends, hoverinfo="skip", cliponaxis=False)
    if found.nothing > 0.0:
        chart.vertical(found.nothing, dash="dash", color=chart.muted)
        at = math.log10(found.nothing)
        side = "right" if at > 0.5 * (low + high) else "left"  # where the drawing has more room
        chart.write("nothing learned", at, 1, chart.muted, xref="x", xanchor=side, yshift=16)
    across = chart.log_axis(low, high, title=found.quantity, standoff=8)
    up = chart.axis(range=[-0.5, len(steps) + 0.5], showticklabels=False, showgrid=False)
    return chart.figure(across, up, barmode="overlay", narrow={"height": height})


def times(factor: float) -> str:
    """
    >>> times(1.004), times(1.37), times(62.1), times(1234.0)
    ('1.00', '1.4', '62', '1,200')
    """
    if factor < 1.05:
        return f"{factor:.2f}"
    return f"{float(f'{factor:.2g}'):,g}"
