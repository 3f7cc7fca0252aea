"""Labels behind the ends of curves, apart from one another."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .style import Look, note, short_number
from .theorems import theorem

LABEL_HEIGHT = 17  # px of a line of text behind a curve

Ends = list[tuple[str, float, str, str, str]]


def end_labels(
    ends: Ends, axes: Mapping[str, Mapping[str, Any]], sizes: Mapping[str, float], gap: float = 0.0
) -> tuple[list[Look], list[Look]]:
    """One label behind the right end of each curve, pushed apart where they would overlap; and what is still to be
    said where a legend takes the place of labels.

    ends: (axis, value, text, colour, kind of bound with its theorem or ""). axes: of the panels, with their ranges.
    sizes: their heights in px. gap: px between them; labels that do not fit beside the lower panel reach into it.
    A curve that ends outside its axis has its label at the edge, with an arrow and its last value. Where there is a
    legend that is one line, for `above_legend`.
    """
    labels, beyond = [], []
    for axis, made in axes.items():
        placed = []
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
                beyond.append(note(words, x=1, y=0, colour=colour, size=12) | _named(layer))
                text = f"{arrow} {text}<br>({last})"
            placed.append(((position - low) / (high - low) * sizes[axis], position, text, colour, layer))
        placed.sort()
        heights = [LABEL_HEIGHT * (1 + text.count("<br>")) for _, _, text, *_ in placed]
        # None reaches below the axis, where the cursor says its value.
        centres = [max(p[0], height / 2) for p, height in zip(placed, heights, strict=True)]
        crowded = axis == "y2" and sum(heights) > sizes[axis]
        places = spread(centres, heights, sizes[axis] + (gap - LABEL_HEIGHT if crowded else 0.0))
        for (pixel, position, text, colour, layer), shown in zip(placed, places, strict=True):
            place = {"yref": axis, "align": "left", "yanchor": "middle", "xshift": 6, "yshift": shown - pixel}
            labels.append(note(text, x=1, y=position, colour=colour, size=13, **place) | _named(layer))
    return labels, beyond


def _named(layer: str) -> Look:
    proof = theorem(layer)
    return ({"name": layer.split()[0]} if layer else {}) | ({"hovertext": proof} if proof else {})


def above_legend(notes: Sequence[Look], drop: int) -> tuple[list[Look], int]:
    """Notes in lines of their own, the first `drop` px below the drawing, and how many px they move the legend down.

    notes: at the drawing's lower right corner.
    """
    place = {"xanchor": "right", "yanchor": "top", "xshift": -4, "borderpad": 0}
    placed = [each | place | {"yshift": -drop - LABEL_HEIGHT * k} for k, each in enumerate(notes)]
    return placed, LABEL_HEIGHT * len(placed)


def spread(centres: list[float], heights: Sequence[float], size: float) -> list[float]:
    """Move sorted label centres as little as possible, until none overlaps its neighbour and all are between 0 and
    `size`.

    >>> spread([10.0, 12.0], [16, 16], 100.0)
    [8.0, 24.0]
    """
    # Labels that touch move as one, around the mean of where they should be.
    groups: list[tuple[float, list[int]]] = []  # lower edge, members

    def placed(members: list[int]) -> tuple[float, list[int]]:
        below, wanted = 0.0, []
        for k in members:
            wanted.append(centres[k] - heights[k] / 2 - below)
            below += heights[k]
        return max(0.0, min(sum(wanted) / len(wanted), size - below)), members

    for k in range(len(centres)):
        groups.append(placed([k]))
        while len(groups) > 1 and groups[-2][0] + sum(heights[j] for j in groups[-2][1]) > groups[-1][0]:
            (_, lower), (_, upper) = groups[-2:]
            groups[-2:] = [placed([*lower, *upper])]
    moved = []
    for edge, members in groups:
        for k in members:
            moved.append(edge + heights[k] / 2)
            edge += heights[k]
    return moved
