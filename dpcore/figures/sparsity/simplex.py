"""Draws from a mixture: excess risk against their number, and the price of columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...studies.sparsity.simplex.excess_by_columns import PriceOfColumns
from ...studies.sparsity.simplex.excess_by_draws import On, Valley
from ..figure import Figure
from ..log_chart import BOTTOM, LEFT, RIGHT, TOP, band_of, cursor_axis, means, powers_of, through, with_legend
from ..style import (
    BACKGROUND,
    FAMILIES,
    MUTED,
    TEXT,
    Theme,
    end_labels,
    flag,
    frame,
    last_drawn,
    line,
    log_axis,
    note,
    plain_number,
    vertical,
    with_opacity,
)

_GAP = 58
_UPPER = 0.72  # of the drawing height
_ON = {"training": "on the training records", "fresh": "on fresh records"}
_SYMBOL = "x"


def draws_figure(valley: Valley, *, m: int, on: On, theme: Theme, height: int) -> Figure:
    """Mean excess risk against the number of draws, with its terms and bound, over what the draws cost or ask for.

    m: where the cursor stands. on: which records excess is measured on; fresh ones have a third term. height: px.
    A mean at or below 0, which a logarithmic axis cannot hold, is a triangle on the lower edge.
    """
    colour, muted = FAMILIES[theme]["sampling"], MUTED[theme]
    measured, bound = valley.measured(on), valley.bound(on)
    terms = [("sampling term", valley.sampling, "dot"), ("entropy term", valley.bias, "dashdot")]
    if on == "fresh":
        terms.append(("stability term", valley.stability, "longdash"))
    tops = np.array([values.max() for _, values, _ in terms])  # each term is seen somewhere
    powers = powers_of([measured.mean, tops], [bound, measured.q90])
    floor = 10.0 ** powers[0]
    curves = [
        *((name, values, colour, 1.5, dash) for name, values, dash in terms),
        ("proved bound", bound, colour, 2.0, "dash"),
        ("θ̂, before the draws", measured.noiseless, FAMILIES[theme]["reference"], 1.5, "solid"),
    ]
    traces, ends = band_of(valley.m, measured, colour, floor), []
    for name, values, ink, width, dash in curves:
        inside = np.where(values >= floor, values, np.nan)
        traces.append(line(valley.m, inside, ink, name, "y", width=width, dash=dash, over="m"))
        ends.append(("y", last_drawn(values), name, ink))
    traces += means(valley.m, measured, "measured mean", colour, floor, m, theme, _SYMBOL, "m")
    ends.append(("y", float(measured.mean[-1]), "measured mean", colour))

    drawing = height - TOP - BOTTOM - _GAP
    split, low_top = _panels(height)
    lower = valley.lam if valley.lam_is_free else valley.spent_epsilon
    name = "λ" if valley.lam_is_free else "spent ε"
    legend = not valley.lam_is_free  # beside another curve
    traces.append(line(valley.m, lower, colour, name, "y2", width=2.5, over="m", legend=legend))
    held = [lower]
    span = [float(valley.m[0]), float(valley.m[-1])]
    if not valley.lam_is_free:
        budget = f"budget ε = {plain_number(valley.epsilon)}"
        held.append(np.array([valley.epsilon]))
        traces.append(line(span, [valley.epsilon] * 2, muted, budget, "y2", dash="dot", over="m"))
        ends += [("y2", last_drawn(lower), name, colour), ("y2", valley.epsilon, budget, muted)]
    lower_powers = powers_of(held, [])
    words = "λ that m draws ask for" if valley.lam_is_free else "what m draws cost, ε"
    titles = [
        note(f"excess risk {_ON[on]}", x=0, y=1, yshift=18, colour=TEXT[theme], size=14),
        note(words, x=0, y=low_top, yshift=18, colour=TEXT[theme], size=14),
    ]
    closed = [_shade(*interval, muted) for interval, _ in _closed(valley)]
    refusals = [_at_right(text, interval, TEXT[theme]) for interval, text in _closed(valley)]
    cursor = flag(f"m = {m:,}", m, TEXT[theme], BACKGROUND[theme])
    panels = {"y": (powers, _UPPER * drawing), "y2": (lower_powers, (1 - _UPPER) * drawing)}
    labels, beyond = end_labels(ends, panels, theme, ("y", "y2"))
    title = {"text": "draws m  (more = finer, and dearer)", "standoff": 10, "font": {"size": 14}}
    layout = frame(theme, height) | {
        "margin": {"l": LEFT, "r": RIGHT, "t": TOP, "b": BOTTOM},
        "showlegend": False,
        "xaxis": cursor_axis(theme, span, m, 560) | {"anchor": "y2", "title": title},
        "yaxis": log_axis(theme, *powers) | {"domain": [split, 1]},
        "yaxis2": log_axis(theme, *lower_powers) | {"domain": [0, low_top]},
        "shapes": [*closed, vertical(m, muted)],
        "annotations": [*titles, cursor, *refusals, *labels],
    }
    narrow = with_legend(traces, height) | {
        "xaxis": cursor_axis(theme, span, m, 300) | {"anchor": "y2", "title": title},
        "annotations": [*titles, cursor, *refusals, *beyond],
    }
    return Figure(traces, layout | {"meta": {"narrow": narrow}})


def columns_figure(price: PriceOfColumns, *, p: int, theme: Theme, height: int) -> Figure:
    """Mean excess risk against the number of columns: draws from a mixture beside noise in the question.

    ln p and sqrt(p) are shapes, drawn through the first measured point of either. p: where the cursor stands.
    height: px. A mean at or below 0 is a triangle on the lower edge.
    """
    sampling, objective, muted = FAMILIES[theme]["sampling"], FAMILIES[theme]["objective"], MUTED[theme]
    measured = [price.sampling.mean, price.objective.mean, price.projected.mean]
    shapes = [
        ("ln p, shape only", through(np.log(price.p), price.sampling.mean), sampling),
        ("√p, shape only", through(np.sqrt(price.p), price.objective.mean), objective),
    ]
    powers = powers_of(measured, [price.nothing, *(values for _, values, _ in shapes)])
    floor = 10.0 ** powers[0]
    traces = [*band_of(price.p, price.sampling, sampling, floor), *band_of(price.p, price.objective, objective, floor)]
    traces[2]["showlegend"] = traces[3]["showlegend"] = False
    ends = []
    for name, values, ink in shapes:
        traces.append(line(price.p, values, ink, name, "y", width=1.5, dash="dash", over="p"))
        ends.append(("y", float(values[-1]), name, ink))
    traces.append(line(price.p, price.nothing, muted, "θ = 0, nothing learned", "y", dash="dot", over="p"))
    ends.append(("y", float(price.nothing[-1]), "nothing learned", muted))
    for name, label, curve, ink, symbol, dash in (
        (
            "question, on the simplex",
            "question,<br>on the simplex",
            price.projected,
            objective,
            "square-open",
            "dashdot",
        ),
        ("noise in the question", "question", price.objective, objective, "square", "solid"),
        ("draws from the mixture", "draws", price.sampling, sampling, _SYMBOL, "solid"),
    ):
        traces += means(price.p, curve, name, ink, floor, p, theme, symbol, "p", dash)
        ends.append(("y", float(curve.mean[-1]), label, ink))
    words = "excess risk on the training records"
    notes = [note(words, x=0, y=1, yshift=18, colour=TEXT[theme], size=14)]
    notes.append(flag(f"p = {p:,}", p, TEXT[theme], BACKGROUND[theme]))
    span = [float(price.p[0]), float(price.p[-1])]
    labels, beyond = end_labels(ends, {"y": (powers, height - TOP - BOTTOM)}, theme, ("y",))
    title = {"text": "columns p", "standoff": 10, "font": {"size": 14}}
    layout = frame(theme, height) | {
        "margin": {"l": LEFT, "r": RIGHT, "t": TOP, "b": BOTTOM},
        "showlegend": False,
        "xaxis": cursor_axis(theme, span, p, 560) | {"title": title},
        "yaxis": log_axis(theme, *powers),
        "shapes": [vertical(p, muted)],
        "annotations": [*notes, *labels],
    }
    narrow = with_legend(traces, height) | {
        "xaxis": cursor_axis(theme, span, p, 300) | {"title": title},
        "annotations": [*notes, *beyond],
    }
    return Figure(traces, layout | {"meta": {"narrow": narrow}})


def _panels(height: int) -> tuple[float, float]:
    """Where the upper panel begins and the lower one ends, as shares of the plot's height."""
    drawing = height - TOP - BOTTOM - _GAP
    return 1 - _UPPER * drawing / (height - TOP - BOTTOM), (1 - _UPPER) * drawing / (height - TOP - BOTTOM)


def _closed(valley: Valley) -> list[tuple[tuple[float, float], str]]:
    """Intervals of m that the budget does not pay for, up to half-way to those that it does, and in which words."""
    edges = np.concatenate([valley.m[:1], np.sqrt(valley.m[:-1] * valley.m[1:]), valley.m[-1:]])
    refused = np.isnan(valley.training.mean)
    dear = ~valley.affordable & ~refused
    found = []
    for chosen, words in ((dear, f"would cost more than ε = {plain_number(valley.epsilon)}"), (refused, "refused")):
        if chosen.any():
            first, last = np.flatnonzero(chosen)[[0, -1]]
            found.append(((float(edges[first]), float(edges[last + 1])), words))
    return found


def _shade(low: float, high: float, colour: str) -> dict[str, Any]:
    place = {"type": "rect", "xref": "x", "yref": "paper", "x0": low, "x1": high, "y0": 0, "y1": 1, "layer": "below"}
    return place | {"fillcolor": with_opacity(colour, 0.14), "line": {"width": 0}}


def _at_right(text: str, interval: tuple[float, float], colour: str) -> dict[str, Any]:
    """Words in the upper right corner of a shaded interval, where no curve is."""
    place = {"xref": "x", "x": math.log10(interval[1]), "xanchor": "right", "yanchor": "top", "xshift": -4}
    return note(text, x=0, y=0.99, colour=colour, size=13) | place
