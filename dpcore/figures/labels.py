"""Labels behind the ends of curves, apart from one another."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .style import BACKGROUND, Look, Theme, note, short_number, with_opacity
from .theorems import theorem

LABEL_HEIGHT = 17  # px of a line of text behind a curve

Ends = list[tuple[str, float, str, str, str]]


def end_labels(
    ends: Ends, axes: Mapping[str, Mapping[str, Any]], sizes: Mapping[str, float], theme: Theme
) -> tuple[list[Look], list[Look]]:
    """One label behind the right end of each curve, pushed apart where they would overlap; and what is still to be
    said where a legend takes the place of labels.

    ends: (axis, value, text, colour, layer or ""), the layer with its theorem. axes: of the panels, with their ranges.
    sizes: their heights in px.
    A curve that ends outside its axis has its label at the edge, with an arrow and its last value. So it has beside a
    legend, in one line inside the drawing.
    """
    labels, beyond = [], []
    for axis, made in axes.items():
        placed = []
        rows = {"↑": 0, "↓": 0}
        for on, value, text, colour, layer in ends:
            if on != axis or math.isnan(value):
                continue
            low, high = made["range"]
            position = value
            if made.get("type") == "log":
                position = math.log10(value) if value > 0 else -math.inf
            if not low - 1e-9 <= position <= high + 1e-9:
                arrow, last = "↑" if position > high else "↓", short_number(value)
                position = min(max(position, low), high)
                words = f"{arrow} {text.replace('<br>', ' ')} ({last})"
                beyond.append(at_edge(words, axis, position, colour, theme, rows[arrow]) | _named(layer))
                rows[arrow] += 1
                text = f"{arrow} {text}<br>({last})"
            placed.append(((position - low) / (high - low) * sizes[axis], position, text, colour, layer))
        placed.sort()
        heights = [LABEL_HEIGHT * (1 + text.count("<br>")) for _, _, text, *_ in placed]
        # None reaches below the axis, where the cursor says its value.
        centres = [max(p[0], height / 2) for p, height in zip(placed, heights, strict=True)]
        places = spread(centres, heights, sizes[axis])
        for (pixel, position, text, colour, layer), shown in zip(placed, places, strict=True):
            place = {"yref": axis, "align": "left", "yanchor": "middle", "xshift": 6, "yshift": shown - pixel}
            labels.append(note(text, x=1, y=position, colour=colour, size=13, **place) | _named(layer))
    return labels, beyond


def _named(layer: str) -> Look:
    proof = theorem(layer)
    return ({"name": layer.split()[0]} if layer else {}) | ({"hovertext": proof} if proof else {})


def at_edge(text: str, axis: str, edge: float, colour: str, theme: Theme, row: int = 0) -> Look:
    """Words that begin with an arrow, inside the drawing, at the right end of the axis's upper or lower edge.

    row: lines of text from there.
    """
    anchor, away = ("top", -1) if text.startswith("↑") else ("bottom", 1)
    place = {"yref": axis, "xanchor": "right", "yanchor": anchor, "xshift": -4, "borderpad": 0}
    shift, paper = away * (3 + LABEL_HEIGHT * row), with_opacity(BACKGROUND[theme], 0.8)
    return note(text, x=1, y=edge, colour=colour, size=12, yshift=shift, bgcolor=paper, **place)


def spread(centres: list[float], heights: Sequence[float], size: float) -> list[float]:
    """Move sorted label centres apart until none overlaps its neighbour and the last stays below `size`.

    >>> spread([10.0, 12.0], [16, 16], 100.0)
    [10.0, 26.0]
    """
    moved: list[float] = []
    for i, centre in enumerate(centres):
        floor = moved[-1] + (heights[i - 1] + heights[i]) / 2 if moved else centre
        moved.append(max(centre, floor))
    ceiling = size
    for i in reversed(range(len(moved))):
        moved[i] = min(moved[i], ceiling)
        ceiling = moved[i] - (heights[i] + heights[i - 1]) / 2 if i else ceiling
    return moved
