"""The builder of all charts: curves, bands, marks and words one after the other, then the layout, wide and narrow.

Traces and annotations are plain dictionaries with explicit colours; a template would bring its own.
"""

import dataclasses as dc
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.arrays import Array
from .figure import Figure
from .labels import Curve, Label, above_legend, beyond_axes, place_labels
from .style import BACKGROUND, FAMILIES, GRID, MUTED, TEXT, Look, Theme, note, short_number, with_opacity
from .theorems import theorem

LEGEND_ROW = 20  # px; on a phone every entry has its own
_LEGEND: Look = {"orientation": "h", "traceorder": "normal", "x": 0, "yanchor": "top", "font": {"size": 13}}
_PHONE_HEIGHT = 340  # px of one panel without its legend: the sentence below it is in sight
_DROP = 56  # px from a drawing's lower edge to the legend
_HIDDEN = {"showlegend": False, "hoverinfo": "skip"}


class Chart:
    """The parts of one chart so far, and its layout.

    height: px of the whole. over: what the x-axis holds, in hover texts. left, right, top, bottom: px of the margins,
    without a legend. upper: the share of the upper panel where there are two, `gap` px apart: "y" above "y2".
    """

    def __init__(
        self,
        theme: Theme,
        height: int,
        over: str = "ε",
        *,
        left: int = 58,
        right: int = 156,
        top: int = 30,
        bottom: int = 54,
        upper: float = 1.0,
        gap: int = 62,
    ) -> None:
        self.theme, self.height, self.over = theme, height, over
        self.colours, self.text, self.muted, self.paper = FAMILIES[theme], TEXT[theme], MUTED[theme], BACKGROUND[theme]
        self.left, self.right, self.top, self.bottom = left, right, top, bottom
        whole, self.gap = height - top - bottom, gap
        drawn = whole - (gap if upper < 1.0 else 0)
        self.panels = {"y": upper * drawn, "y2": (1 - upper) * drawn}  # their heights in px
        self.split, self.low_top = 1 - upper * drawn / whole, (1 - upper) * drawn / whole
        self.traces: list[Look] = []
        self.notes: list[Look] = []
        self.elsewhere: list[Look] = []  # words beside the cursor, wherever it may stand: labels keep off all of them
        self.outside: list[Look] = []  # said above a legend below the drawing
        self.shapes: list[Look] = []
        self.labels: list[Label] = []

    # Marks

    def curve(
        self,
        x: Any,
        y: Any,
        colour: str,
        name: str,
        *,
        axis: str = "y",
        label: str = "",
        width: float = 1.5,
        dash: str = "solid",
        legend: bool = True,
        floor: float = -math.inf,
        layer: str = "",
        **more: Any,
    ) -> None:
        """Add a line, drawn where it is at `floor` or above; one without any point has no place in the legend.

        label: behind its end. layer: of a bound, "upper" or "lower" with the name of its theorem: "upper ftrl". more:
        further plotly.js attributes of the trace; `text` has the constants of a bound's theorem.
        """
        heights = np.asarray(y, float)
        if label:
            self.end(x, heights, label, colour, axis, layer)
        if floor > -math.inf:
            heights = np.where(heights >= floor, heights, np.nan)
        proof = "".join(f"<br>{each}" for each in (theorem(layer), "%{text}" if "text" in more else "") if each)
        hover = more.pop("hovertemplate", f"{self.over} = %{{x}}<br>{name}: %{{y:.3~g}}<extra></extra>")
        told: Look = {"hovertemplate": hover.replace("<extra>", f"{proof}<extra>"), "yaxis": axis}
        told |= {"showlegend": legend and bool(np.isfinite(heights).any())}
        told |= {"meta": layer.split()[0]} if layer else {}
        self.line(np.asarray(x, float), heights, colour, name, width, dash, **told | more)

    def line(self, x: Any, y: Any, colour: str, name: str, width: float, dash: str, **more: Any) -> None:
        """Add a line through points, as they are."""
        look = {"line": {"color": colour, "width": width, "dash": dash}}
        self.traces.append({"type": "scatter", "mode": "lines", "x": x, "y": y, "name": name} | look | more)

    def level(self, x: Any, y: float, colour: str, name: str, **look: Any) -> None:
        """Add a horizontal line from the first place on the axis to the last."""
        self.curve([x[0], x[-1]], [y, y], colour, name, **look)

    def marked(self, x: Any, y: Any, colour: str, name: str, marker: Look, **look: Any) -> None:
        """Add a curve with markers at its points, none of them cut off by the edge of the drawing."""
        self.curve(x, y, colour, name, mode="lines+markers", marker=marker, cliponaxis=False, **look)

    def marks(self, x: Any, y: Any, marker: Look, axis: str = "y", **more: Any) -> None:
        """Add markers alone."""
        self.traces.append(
            {"type": "scatter", "mode": "markers", "x": x, "y": y, "yaxis": axis, "marker": marker} | more
        )

    def bars(self, x: Any, y: Any, width: Any, marker: Look, name: str, hover: str, **more: Any) -> None:
        """Add bars; hover: the words of one, as plotly.js fills them in."""
        bars = {"type": "bar", "x": x, "y": y, "width": width, "marker": marker, "name": name}
        self.traces.append(bars | {"hovertemplate": f"{hover}<extra></extra>"} | more)

    def histogram(self, edges: Array, heights: Array, marker: Look, name: str, hover: str) -> None:
        """Add a bar over each bin."""
        self.bars(0.5 * (edges[1:] + edges[:-1]), heights, edges[1:] - edges[:-1], marker, name, hover)

    def contours(self, x: Any, y: Any, z: Any, lowest: float, highest: float, line: Look) -> None:
        """Add lines of equal height z, 1 apart."""
        levels = {"start": lowest, "end": highest, "size": 1.0, "coloring": "none"}
        ground = {"type": "contour", "x": x, "y": y, "z": z, "contours": levels, "showscale": False}
        self.traces.append(ground | {"line": line | {"smoothing": 1.0}} | _HIDDEN)

    def dot(self, x: Any, y: Any, colour: str, axis: str = "y", **look: Any) -> None:
        """Add what stands where curves meet the cursor."""
        marker = {"color": colour, "size": 11, "line": {"color": self.paper, "width": 2}} | look
        self.marks(np.asarray(x, float), np.asarray(y, float), marker, axis, cliponaxis=False, **_HIDDEN)

    def band(
        self,
        x: Any,
        low: Any,
        high: Any,
        colour: str,
        name: str = "8 of 10 runs",
        *,
        axis: str = "y",
        legend: bool = True,
        floor: float = -math.inf,
        opacity: float = 0.2,
    ) -> None:
        """Add what lies between two curves where both are there, cut at `floor`: a log axis would leave out an edge at
        or below 0, such as that of a band that is open below, whose `low` is -inf."""
        x, low, high = (np.asarray(values, float) for values in (x, low, high))
        low = np.maximum(low, floor)
        known = np.isfinite(low) & np.isfinite(high)
        edge = {"type": "scatter", "mode": "lines", "x": x[known], "yaxis": axis, "line": {"width": 0}} | _HIDDEN
        opacity *= 1.6 if self.theme == "dark" else 1.0  # to be told from the paper
        fill = {"fill": "tonexty", "fillcolor": with_opacity(colour, opacity), "name": name}
        self.traces.append(edge | {"y": np.maximum(high[known], floor)})
        lower = {"y": low[known], "showlegend": legend and bool(known.any())}
        self.traces.append(edge | fill | lower)

    def proved(
        self,
        x: Any,
        low: Any,
        high: Any,
        colour: str,
        whose: str = "these records",
        *,
        floor: float,
    ) -> None:
        """Add the band in which means are proved to lie for these records; it reaches down to `floor` where `low` is
        -inf."""
        self.band(x, low, high, colour, f"proved range for {whose}", floor=floor, opacity=0.12)
        upper, lower = (Curve("y", np.asarray(x, float), np.asarray(edge, float)) for edge in (high, low))
        self.labels.append(Label(upper, f"proved range<br>for {whose.replace(' ', '<br>')}", colour, down_to=lower))

    def zero_or_below(self, x: Any, y: Any, colour: str, name: str, floor: float) -> None:
        """Add triangles on the lower edge of a log axis where a curve is at or below 0; hovering shows the value."""
        x, heights = np.asarray(x, float), np.asarray(y, float)
        hidden = heights <= 0
        self.marks(
            x[hidden],
            np.full(int(hidden.sum()), floor),
            {"symbol": "triangle-down-open", "size": 11, "color": colour, "line": {"width": 2}},
            customdata=heights[hidden],
            name=f"{name}: 0 or below",
            showlegend=bool(hidden.any()),
            cliponaxis=False,
            hovertemplate=f"{self.over} = %{{x}}<br>{name}: %{{customdata:.3~g}}<extra></extra>",
        )

    def against(self, x: Any, nothing: float, lower: Any, sources: Any) -> None:
        """Add the excess of a model that has learned nothing, and below which none can stay on the hardest data.

        sources: of the lower bound, place by place; the theorem of most is named.
        """
        x, least = np.asarray(x, float), np.asarray(lower, float)
        words, known = "lower bound, hardest data", np.isfinite(least)
        found = [source for source in sources if isinstance(source, str)]
        named = max(found, key=found.count, default="").replace(" ", "_")
        look: Look = {"label": words.replace(", ", ",<br>"), "dash": "dot", "layer": f"lower {named}".strip()}
        self.curve(x[known], least[known], self.muted, words, **look)
        if math.isfinite(nothing):
            words = "nothing learned"
            self.level(x, nothing, self.muted, words, label=words, dash="dash")

    def hardest(self, x: Any, y: Any, colour: str, **look: Any) -> None:
        """Add the mean excess on the hardest records known, thin, or at the cursor alone. After all other curves, as it
        may come later."""
        look |= {"label": "hardest records", "width": 1}
        self.curve(x, y, colour, "hardest records known", **look)
        self.labels[-1] = dc.replace(self.labels[-1], at_cursor=len(x) == 1)

    # Words

    def end(self, x: Any, y: Any, text: str, colour: str, axis: str = "y", layer: str = "") -> None:
        """Have a label for a curve, behind its last value where there is room."""
        curve = Curve(axis, np.asarray(x, float), np.asarray(y, float))
        self.labels.append(Label(curve, text, colour, layer))

    def write(self, text: str, x: float, y: float, colour: str = "", size: int = 13, **place: Any) -> None:
        """Add words, in the colour of text where none is given; their place is in shares of the drawing."""
        self.notes.append(note(text, x=x, y=y, colour=colour or self.text, size=size, **place))

    def heading(self, text: str, axis: str = "y") -> None:
        """Say above a panel what it shows; between two panels the cursor's line is not to cross it."""
        top = axis == "y"
        look = {} if top else {"bgcolor": self.paper}
        self.write(text, 0, 1 if top else self.low_top, size=14, yshift=22, **look)

    def cursor(self, at: float, words: str, *, logarithmic: bool = True) -> None:
        """Add a line across, and its value instead of a tick label.

        By the name "cursor" a browser finds both, to move them while a slider is dragged.
        """
        self.vertical(at)
        place: Look = {"name": "cursor", "xref": "x", "xanchor": "center", "yanchor": "top", "yshift": -3}
        x = math.log10(at) if logarithmic else at
        self.write(words, x, 0, self.paper, bgcolor=self.text, borderpad=3, **place)

    def vertical(self, x: float, **look: Any) -> None:
        """Add a line across the chart."""
        place = {"name": "cursor", "type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1}
        self.shapes.append(place | {"line": {"color": self.muted, "width": 1.5} | look})

    def shade(self, low: float, high: float, colour: str, opacity: float) -> None:
        """Shade an interval of the x-axis."""
        place = {"type": "rect", "xref": "x", "yref": "paper", "x0": low, "x1": high, "y0": 0, "y1": 1}
        self.shapes.append(place | {"layer": "below", "fillcolor": with_opacity(colour, opacity), "line": {"width": 0}})

    # Axes

    def axis(self, title: str = "", standoff: int = 10, **more: Any) -> Look:
        """Axis with a title `standoff` px from its tick labels; more: further attributes for plotly.js."""
        grid = GRID[self.theme]
        ticks = {"tickfont": {"color": self.text, "size": 13}, "automargin": False}
        made = {"gridcolor": grid, "linecolor": grid, "tickcolor": grid, "zeroline": False} | ticks | more
        return made | {"title": axis_title(title, standoff)} if title else made

    def log_axis(self, low: float, high: float, **more: Any) -> Look:
        """A log axis between two powers of ten."""
        decades = range(math.floor(low), math.ceil(high) + 1)
        # An axis that shows one power of ten at most needs ticks between them.
        mantissas = (1.0,) if sum(low <= k <= high for k in decades) > 1 else (1.0, 2.0, 5.0)
        ticks = [mantissa * 10.0**k for k in decades for mantissa in mantissas]
        shown: Look = {"tickvals": ticks, "ticktext": [short_number(tick) for tick in ticks]}
        return self.axis(type="log", range=[low, high], **shown | more)

    def cursor_axes(
        self,
        span: Sequence[float] | Array,
        at: float,
        widths: Sequence[float],
        *,
        beyond: float = 0.05,
        room: float = 0.0,
        spare: float = 0.0,
        **more: Any,
    ) -> list[Look]:
        """A log axis for drawings of these widths in px, whose tick labels leave room for the cursor's flag.

        beyond: powers of ten before and after the span. room, spare: px (0: by the flag), powers of ten kept free.
        """
        low, high = math.log10(span[0]) - beyond, math.log10(span[-1]) + beyond
        made = self.log_axis(low, high, **more)
        room = room or min(75.0, 38.0 + 3.6 * sum(len(it["text"]) for it in self.notes if it.get("name") == "cursor"))
        return [thinned(made, at, room / width * (high - low) + spare, width) for width in widths]

    # Layouts

    def figure(
        self,
        x: Look,
        y: Look,
        y2: Look | None = None,
        *,
        narrow: Look | None = None,
        **layout: Any,
    ) -> Figure:
        """The chart without a legend. narrow: changes for narrow screens. layout: further attributes."""
        font = {"color": self.text, "size": 14, "family": "Source Sans, Source Sans Pro, sans-serif"}
        made = {
            "height": self.height,
            "template": {},
            "paper_bgcolor": self.paper,
            "plot_bgcolor": self.paper,
            "font": font,
            "hovermode": "closest",
            "hoverlabel": {"bgcolor": self.paper, "font": font | {"size": 13}, "align": "left"},
            "uirevision": "keep",
            "margin": {"l": self.left, "r": self.right, "t": self.top, "b": self.bottom},
            "showlegend": False,
            "xaxis": x,
            "yaxis": y,
            "shapes": self.shapes,
            "annotations": self.notes,
        }
        if y2 is not None:
            made["yaxis2"] = y2
        return Figure(self.traces, made | layout | {"meta": {"narrow": narrow or {}}})

    def below(
        self,
        x: Look,
        y: Look,
        y2: Look | None = None,
        *,
        rows: int | None = None,
        row: int = LEGEND_ROW,
        drop: int = _DROP,
        stacked: bool = False,
        **layout: Any,
    ) -> Figure:
        """The chart with a legend below its axis; what ends outside the axis is said above the legend.

        rows: of the legend, one for each entry where it is None, of `row` px. drop, stacked: see `legend`.
        """
        more = row * (self.entries() if rows is None else rows)
        said, lines = above_legend([*beyond_axes(self.labels, {"y": y}), *self.outside], drop)
        legend = self.legend(self.height, more + lines, drop=drop + lines, stacked=stacked)
        return self.figure(x, y, y2, **legend | {"annotations": [*self.notes, *said]} | layout)

    def beside(
        self,
        x: Sequence[Look],
        y: Look,
        y2: Look | None = None,
        *,
        phone: tuple[int, int] = (54, 34),
        rows: int | None = None,
        row: int = LEGEND_ROW,
        drop: int = _DROP,
        taken: int = 0,
        wide: Sequence[Look] = (),
    ) -> Figure:
        """The chart with labels behind the ends of curves; where it is narrow, taller with a legend in their place.

        x: the axis wide and narrow. phone: margins left and right where it is narrow. rows, row, drop: see `below`.
        What ends outside its axis is said above the legend. taken: px that the drawing is lower there. wide: words that
        only a wide chart has.
        """
        drawn = [trace for trace in self.traces if trace["type"] == "scatter" and "lines" in trace["mode"]]
        curves = [Curve(it.get("yaxis", "y"), np.asarray(it["x"], float), np.asarray(it["y"], float)) for it in drawn]
        axes = {"y": y} if y2 is None else {"y": y, "y2": y2}
        words = [*self.notes, *self.elsewhere]
        labels = place_labels(self.labels, curves, words, x[0], axes, self.panels, self.gap)
        if y2 is not None:
            x = [each | {"anchor": "y2"} for each in x]
            y, y2 = y | {"domain": [self.split, 1]}, y2 | {"domain": [0, self.low_top]}
        more = row * (self.entries() if rows is None else rows)
        said, lines = above_legend(beyond_axes(self.labels, axes), drop)
        more += lines
        height = self.height if y2 is not None else min(self.height, _PHONE_HEIGHT)
        legend = self.legend(height + more, more + taken, drop=drop + lines, sides=phone)
        narrow = legend | {"xaxis": x[1], "annotations": [*self.notes, *said]}
        if y2 is not None and len(y2.get("tickvals", ())) > 5:  # a phone's lower panel has no room for every power
            shown = zip(y2["tickvals"], y2["ticktext"], strict=True)
            narrow["yaxis2"] = {"ticktext": ["" if round(math.log10(tick)) % 2 else text for tick, text in shown]}
        return self.figure(x[0], y, y2, narrow=narrow, annotations=[*self.notes, *wide, *labels])

    def entries(self) -> int:
        """Number of traces in the legend."""
        return sum(bool(trace.get("showlegend", True)) for trace in self.traces)

    def leaves(self, words: str, colour: str) -> None:
        """Say above the legend of `below` that a curve leaves its axis."""
        self.outside.append(note(words, x=1, y=0, colour=colour, size=12))

    def legend(
        self, height: int, more: int, *, drop: int = _DROP, stacked: bool = False, sides: tuple[int, int] | None = None
    ) -> Look:
        """Height, margins and legend of a chart with a legend of `more` px below its axis.

        drop: px from the drawing to the legend. stacked: each entry has a row. sides: other margins left and right.
        """
        (left, right), below = sides or (self.left, self.right), self.bottom + more
        legend = _LEGEND | {"y": -drop / max(height - self.top - below, 1)}
        return {
            "height": height,
            "margin": {"l": left, "r": right, "t": self.top, "b": below},
            "showlegend": True,
            "legend": legend | {"orientation": "v"} if stacked else legend,
        }


def axis_title(text: str, standoff: int) -> Look:
    """An axis's title, so many px from its tick labels."""
    return {"text": text, "standoff": standoff, "font": {"size": 14}}


def thinned(made: Look, at: float, room: float, width: float) -> Look:
    """A log axis without the tick labels that are closer than `room` powers of ten to the cursor `at`; on a drawing
    narrower than 300 px with less than 45 px for each, without every other one."""
    every = 2 if width < min(300, 45 * len(made["tickvals"])) else 1
    shown = [
        text if abs(math.log10(tick) - math.log10(at)) > room and k % every == 0 else ""
        for k, (tick, text) in enumerate(zip(made["tickvals"], made["ticktext"], strict=True))
    ]
    return made | {"ticktext": shown}
