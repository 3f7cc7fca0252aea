"""Labels of curves: behind their ends where these are apart, otherwise beside them inside the drawing."""

import dataclasses as dc
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.arrays import Array
from .style import Look, note, short_number
from .theorems import theorem

LABEL_HEIGHT = 17  # px of a line of text beside a curve
_LETTER = 6.0  # px, the mean of a line of text
_DRAWING = 346.0  # px, the narrowest drawing that has labels; in a wider one all of them have more room
_STEP = 4.0  # px between the points at which a curve is looked at
_FAR = 5.0  # px: a label that would be moved farther from its curve's end stands inside
_SIDES = np.array([(across, up) for across in (0, -1, 1) for up in (0, -1, 1)][1:])
_AWAY = np.array([8.0, 4.0])  # px from a curve to its label inside, across and upright
_OWN, _OTHERS, _OPEN = 3.0, 9.0, 40.0  # px at least to the whole of its curve and to others, and more than enough


@dc.dataclass(frozen=True, eq=False)
class Curve:
    """Points in a panel, in the units of its axes."""

    axis: str
    x: Array
    y: Array


@dc.dataclass(frozen=True, eq=False)
class Label:
    """What a curve is called, or the band between it and the curve `down_to`; layer: the kind of a bound with its
    theorem, or "". at_cursor: whether it moves with the cursor, so that no other label may give way to it."""

    curve: Curve
    text: str
    colour: str
    layer: str = ""
    down_to: Curve | None = None
    at_cursor: bool = False


@dc.dataclass(frozen=True, eq=False)
class _End:
    """Where a curve ends beside the drawing: px above the lower edge, "↑" or "↓" where that is beyond it, and the last
    value of a curve that is not in sight at all, otherwise nan."""

    label: Label
    pixel: float
    arrow: str
    value: float

    @property
    def text(self) -> str:
        value = "" if math.isnan(self.value) else f"<br>({short_number(self.value)})"
        return f"{self.arrow} {self.label.text}{value}" if self.arrow else self.label.text


def place_labels(
    labels: Sequence[Label],
    curves: Sequence[Curve],
    notes: Sequence[Look],
    across: Mapping[str, Any],
    axes: Mapping[str, Mapping[str, Any]],
    sizes: Mapping[str, float],
    gap: float = 0.0,
) -> list[Look]:
    """One label for each curve of `labels`.

    A label stands behind the right end of its curve. Those that others would push away from there stand inside the
    drawing, beside their curve and off all others, where there is room; so do those of curves that end there or meet at
    the right, and those of bands. A curve that ends outside its axis has its label at the edge, with an arrow, and with
    its last value if nothing of it is in sight.

    curves, notes: all that is drawn. across, axes: the axes with their ranges. sizes: the panels' heights in px. gap:
    px between them; labels that do not fit beside the lower panel reach into it.
    """
    placed = []
    for axis, made in axes.items():
        size, ends = sizes[axis], _ends([it for it in labels if not it.at_cursor], axis, made, sizes[axis])
        drawing = _Drawing([it for it in curves if it.axis == axis], across, made, size)
        drawing.keep_off([it for it in notes if (it["xref"], it["yref"]) == ("x", axis)])
        early = [end for end in ends if drawing.has_end_of(end.label.curve)]
        inner = [end for end in ends if end.label.down_to or (not end.arrow and (end in early or _is_met(end, ends)))]
        tried: list[_End] = []
        while end := inner.pop() if inner else _most_moved(ends, _behind(ends, size, axis, gap), tried):
            tried.append(end)
            if beside := drawing.beside(end.label):
                placed.append(beside)
                ends.remove(end)
        for end, centre in zip(ends, _behind(ends, size, axis, gap), strict=True):
            low, high = made["range"]
            at = low + end.pixel / size * (high - low)
            place = {"yref": axis, "align": "left", "yanchor": "middle", "xshift": 6, "yshift": centre - end.pixel}
            words = note(end.text, x=1, y=at, colour=end.label.colour, size=13, **place)
            placed.append(words | _named(end.label.layer))
        moving = [drawing.beside(it) for it in labels if it.at_cursor and it.curve.axis == axis]
        placed += [it for it in moving if it]
    return placed


def beyond_axes(labels: Sequence[Label], axes: Mapping[str, Mapping[str, Any]]) -> list[Look]:
    """A line of `above_legend` for each curve that ends outside its axis, where a legend takes the place of labels."""
    lines = []
    for axis, made in axes.items():
        for end in _ends(labels, axis, made, 1.0):
            if end.arrow:
                text = end.text.replace("<br>", " ")
                lines.append(note(text, x=1, y=0, colour=end.label.colour, size=12) | _named(end.label.layer))
    return lines


def _ends(labels: Sequence[Label], axis: str, made: Mapping[str, Any], size: float) -> list[_End]:
    """Where the curves of a panel of this height end, from below."""
    ends = []
    for label in labels:
        drawn = label.curve.y[np.isfinite(label.curve.y)]
        if label.curve.axis == axis and len(drawn):
            pixels, slack = _pixels(drawn, made, size), 1e-9 * size
            pixel = float(pixels[-1])
            arrow = "↑" if pixel > size + slack else "↓" if pixel < -slack else ""
            seen = ((pixels >= 0.0) & (pixels <= size)).any()
            ends.append(_End(label, min(max(pixel, 0.0), size), arrow, math.nan if seen else float(drawn[-1])))
    return sorted(ends, key=lambda end: end.pixel)


def _behind(ends: Sequence[_End], size: float, axis: str, gap: float) -> list[float]:
    """Centres of the labels behind the ends of their curves; none reaches below the axis, where the cursor says its
    value."""
    heights = [_size(end.text)[1] for end in ends]
    crowded = axis == "y2" and sum(heights) > size
    centres = [max(end.pixel, height / 2) for end, height in zip(ends, heights, strict=True)]
    return spread(centres, heights, size + (gap - LABEL_HEIGHT if crowded else 0.0))


def _is_met(end: _End, ends: Sequence[_End]) -> bool:
    """Whether another curve ends at the same place."""
    return any(abs(it.pixel - end.pixel) < _FAR for it in ends if it is not end and not it.label.down_to)


def _most_moved(ends: Sequence[_End], centres: Sequence[float], tried: Sequence[_End]) -> _End | None:
    """The label that stands farthest from its curve's end, of those not tried yet; None where none is far."""
    far = [
        (abs(centre - end.pixel), end)
        for end, centre in zip(ends, centres, strict=True)
        if not end.arrow and end not in tried
    ]
    most, end = max(far, key=lambda each: each[0], default=(0.0, None))
    return end if most > _FAR else None


def _size(text: str) -> tuple[float, float]:
    """Width and height of words in px, about."""
    lines = text.replace("<b>", "").replace("</b>", "").split("<br>")
    return _LETTER * max(len(line) for line in lines), LABEL_HEIGHT * len(lines)


class _Drawing:
    """A panel with its curves in px, and the labels that stand inside it so far."""

    def __init__(self, curves: Sequence[Curve], across: Mapping[str, Any], upright: Mapping[str, Any], height: float):
        self.across, self.upright, self.height = across, upright, height
        self.points = [self._points(curve) for curve in curves]
        self.taken: list[tuple[Array, Array]] = []  # centre, and half of the width and the height

    def _points(self, curve: Curve) -> Array:
        """Points of a curve in px, `_STEP` apart, those outside the drawing left out."""
        x, y = _pixels(curve.x, self.across, _DRAWING), _pixels(curve.y, self.upright, self.height)
        known = np.isfinite(x) & np.isfinite(y)
        x, y = x[known], y[known]
        far = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
        along = np.arange(0.0, far[-1] + _STEP, _STEP) if len(x) else far[:0]
        points = np.column_stack([np.interp(along, far, values) if len(x) else along for values in (x, y)])
        within = ((points >= 0.0) & (points <= (_DRAWING, self.height))).all(axis=1)
        return points[within]

    def _inside(self, upper: Curve, lower: Curve, margin: float) -> Array:
        """Points of a band in px, not nearer to its left and right ends than the margin."""
        x = _pixels(upper.x, self.across, _DRAWING)
        high, low = (np.clip(_pixels(it.y, self.upright, self.height), 0.0, self.height) for it in (upper, lower))
        known = np.isfinite(x + high + low)
        if not known.any():
            return np.empty((0, 2))
        across = np.arange(x[known].min() + margin, x[known].max() - margin, _STEP)
        high, low = (np.interp(across, x[known], edge[known]) for edge in (high, low))
        return np.concatenate([np.column_stack([across, low + part * (high - low)]) for part in (0.3, 0.5, 0.7)])

    def keep_off(self, notes: Sequence[Look]) -> None:
        """Leave the places of other words free."""
        lows, highs = self._ends
        for it in notes:
            half = 0.5 * np.array(_size(it["text"]))
            at = (np.array([it["x"], it["y"]]) - lows) / (highs - lows) * (_DRAWING, self.height)
            shift = it.get("xshift", 0), it.get("yshift", 0)
            side = (
                {"left": 1, "right": -1}.get(it["xanchor"], 0),
                {"bottom": 1, "top": -1}.get(it.get("yanchor", ""), 0),
            )
            self.taken.append((at + shift + side * half, half))

    @property
    def _ends(self) -> Array:
        """The lower and the upper ends of both axes."""
        return np.array([self.across["range"], self.upright["range"]]).T

    def has_end_of(self, curve: Curve) -> bool:
        """Whether a curve has its end in the drawing, far from its right side."""
        points = self._points(curve)
        return len(points) > 0 and points[:, 0].max() < 0.8 * _DRAWING

    def beside(self, label: Label) -> Look | None:
        """The label on a side of its curve, where other curves are farthest; None without room."""
        size, half = np.array([_DRAWING, self.height]), 0.5 * np.array(_size(label.text))
        if label.down_to:
            own, away = self._inside(label.curve, label.down_to, half[0]), np.zeros((1, 2))
        else:
            own, away = self._points(label.curve), _SIDES * (half + _AWAY)
        centres = (own[:, None] + away).reshape(-1, 2)
        room = np.full(len(centres), _OPEN)
        for points in self.points:
            if not np.array_equal(points, own):
                room = np.minimum(room, _distances(centres, points, half))
        for centre, taken in self.taken:
            room = np.minimum(room, _distances(centres, centre[None], half + taken))
        within = ((centres >= half) & (centres <= size - half)).all(axis=1)
        room[~within] = 0.0
        if not label.down_to:
            room[_distances(centres, own, half) < _OWN] = 0.0
        if not (room >= (_OWN if label.at_cursor else _OTHERS)).any():  # it has one place only, and is needed there
            return None
        best = len(room) - 1 - int(np.argmax(room[::-1]))  # of several the one farthest to the right
        self.taken.append((centres[best], half))
        lows, highs = self._ends
        x, y = lows + own[best // len(away)] / size * (highs - lows)
        right, up = away[best % len(away)]
        place = {"xref": "x", "yref": label.curve.axis, "xanchor": "center", "yanchor": "middle"}
        place |= {"xshift": right, "yshift": up}
        return note(label.text, x=x, y=y, colour=label.colour, size=13, **place) | _named(label.layer)


def _distances(centres: Array, points: Array, half: Array) -> Array:
    """px from each box to the nearest of some points."""
    if not len(points):
        return np.full(len(centres), math.inf)
    apart = np.maximum(np.abs(centres[:, None] - points) - half, 0.0)
    return np.asarray(np.hypot(apart[..., 0], apart[..., 1]).min(axis=1))


def _pixels(values: Array, axis: Mapping[str, Any], size: float) -> Array:
    """Places on an axis in px from its start; nan at or below 0 of a log axis, -inf for its last place there."""
    low, high = axis["range"]
    if axis.get("type") == "log":
        values = np.log10(values, where=values > 0, out=np.full(len(values), -math.inf))
    return (values - low) / (high - low) * size


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
