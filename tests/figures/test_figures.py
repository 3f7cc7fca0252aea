"""The palette, the builder of charts and its labels, and the figure of the page Overview."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import ArrayLike

import dpcore
from dpcore import Experiment, Problem
from dpcore.figures.chart import Chart
from dpcore.figures.labels import LABEL_HEIGHT, Curve, Label, beyond_axes, place_labels, spread
from dpcore.figures.overview import bells_figure, price_figure
from dpcore.figures.style import BACKGROUND, FAMILIES, MUTED, TEXT, note, short_number

from ..flat_fields import experiment_of

LARGE_TEXT_CONTRAST = 3.0
LEAST_DIFFERENCE = 15.9

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
VISIONS = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


def linear_rgb(colour: str) -> np.ndarray:
    c = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """WCAG 2 contrast ratio."""
    light, dark = sorted((linear_rgb(c) @ [0.2126, 0.7152, 0.0722] for c in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    )
    x = to_xyz @ np.clip(rgb, 0, 1) / [0.95047, 1.0, 1.08883]
    f = np.where(x > 216 / 24389, np.cbrt(x), (24389 / 27 * x + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def ciede2000(one: np.ndarray, other: np.ndarray) -> float:
    """Colour difference (Sharma, Wu and Dalal 2005)."""
    (L1, a1, b1), (L2, a2, b2) = one, other
    mean_chroma = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    g = 0.5 * (1 - math.sqrt(mean_chroma**7 / (mean_chroma**7 + 25**7)))
    a1, a2 = (1 + g) * a1, (1 + g) * a2
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = math.degrees(math.atan2(b1, a1)) % 360, math.degrees(math.atan2(b2, a2)) % 360
    dh = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    dL, dC, dH = L2 - L1, c2 - c1, 2 * math.sqrt(c1 * c2) * math.sin(math.radians(dh / 2))
    L, C = (L1 + L2) / 2, (c1 + c2) / 2
    h = h1 + h2 if c1 * c2 == 0 else (h1 + dh / 2) % 360
    t = 1 - 0.17 * math.cos(math.radians(h - 30)) + 0.24 * math.cos(math.radians(2 * h))
    t += 0.32 * math.cos(math.radians(3 * h + 6)) - 0.2 * math.cos(math.radians(4 * h - 63))
    sL = 1 + 0.015 * (L - 50) ** 2 / math.sqrt(20 + (L - 50) ** 2)
    sC, sH = 1 + 0.045 * C, 1 + 0.015 * C * t
    turn = math.sin(math.radians(60 * math.exp(-(((h - 275) / 25) ** 2))))
    rT = -2 * math.sqrt(C**7 / (C**7 + 25**7)) * turn
    return math.sqrt((dL / sL) ** 2 + (dC / sC) ** 2 + (dH / sH) ** 2 + rT * dC / sC * dH / sH)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_palette_is_readable_and_distinct(theme):
    palette = FAMILIES[theme]
    for colour in palette.values():
        assert contrast(colour, BACKGROUND[theme]) >= LARGE_TEXT_CONTRAST
    for vision, matrix in VISIONS.items():
        seen = {name: lab(np.clip(matrix @ linear_rgb(colour), 0, 1)) for name, colour in palette.items()}
        for one, other in itertools.combinations(palette, 2):
            assert ciede2000(seen[one], seen[other]) >= LEAST_DIFFERENCE, f"{one} and {other} in {vision} vision"
    for text in (TEXT, MUTED):
        assert contrast(text[theme], BACKGROUND[theme]) >= 4.5


def draw(epsilon=1.0, theme="light", released=(), **changes):
    table = dpcore.run(experiment_of(**({"source": "synthetic", "n": 400, "repetitions": 10} | changes)))
    return table, price_figure(table, epsilon=epsilon, theme=theme, height=500, released=released)


@pytest.mark.parametrize("key, open_below", [("objective_gaussian", False), ("noisy_sgd", True)])
def test_what_is_proved_for_the_records_lies_around_the_mean(key, open_below):
    """Where nothing is proved below, down to 0."""
    table, figure = draw(mechanisms=(key,), proved=key)
    rows = table[(table.metric == "excess_empirical_risk") & (table.status == "ok")]
    low, high = ([t for t in figure.data if t.line.width == 0][k] for k in (1, 0))
    assert low.name == "proved range for these records" and len(high.y) == len(rows)
    assert any("proved" in (a.text or "") for a in figure.layout.annotations)
    slack = 4.0 * (rows.se + rows.proved_se).to_numpy(float)
    assert (np.array(high.y) >= rows["mean"] - slack).all() and (np.array(low.y) <= rows["mean"] + slack).all()
    assert bool(max(low.y) == 0.0) is open_below and np.isneginf(rows.proved_low).all() == open_below


def test_of_a_method_that_proves_nothing_for_the_records_no_band_is_drawn():
    table, _ = draw()
    table["proved_high"] = None
    figure = price_figure(table, epsilon=5.0, theme="light", height=500)
    assert not any("proved" in (a.text or "") for a in figure.layout.annotations)


def test_the_axis_is_one_for_every_epsilon_and_ends_above_learning_nothing():
    table, figure = draw()
    nothing = table.nothing_learned[table.metric == "excess_empirical_risk"].iloc[0]
    ranges = {price_figure(table, epsilon=e, theme="light", height=500).layout.yaxis.range for e in table.x.unique()}
    ((low, top),) = ranges
    assert low == 0.0 and nothing < top < 2.0 * nothing
    (above,) = (shape for shape in figure.layout.shapes if shape.type == "rect")
    assert (above.y0, above.y1) == (nothing, top), "where nothing is learned"


def test_a_bar_at_the_cursor_parts_what_remains_without_noise_from_the_noise():
    table, figure = draw(epsilon=5.0)
    row = table[(table.metric == "excess_empirical_risk") & (table.x == 5.0)].iloc[0]
    parts = [(s.x0, s.y0, s.y1) for s in figure.layout.shapes if s.type == "line" and s.name != "cursor"]
    assert parts == [(5.0, 0.0, row.noiseless), (5.0, row.noiseless, row["mean"])]
    (words,) = (a.text for a in figure.layout.annotations if "floor" in a.text)
    shares = (100 * each / row.nothing_learned for each in (row["mean"] - row.noiseless, row.noiseless))
    added, floor = (f"{short_number(share)}%" for share in shares)
    assert f"noise {added}<" in words and f"floor {floor}" in words


@pytest.mark.parametrize("limit", [0.5, 0.57, 0.8, 0.95])
def test_bells_are_as_far_apart_as_their_limit_says_on_one_axis(limit):
    figure = bells_figure(limit, family="objective", theme="light", height=250)
    substitute, record = figure.data
    peaks = [float(np.asarray(t.x)[np.argmax(t.y)]) for t in (substitute, record)]
    apart = peaks[1] - peaks[0]
    assert 0.5 * (1.0 + math.erf(0.5 * apart / math.sqrt(2.0))) == pytest.approx(limit, abs=0.02)
    assert (
        figure.layout.xaxis.range == bells_figure(0.6, family="objective", theme="dark", height=250).layout.xaxis.range
    )


def named(text: str, x: ArrayLike, y: ArrayLike, axis: str = "y") -> Label:
    return Label(Curve(axis, np.asarray(x), np.asarray(y)), text, "#000000", "")


def test_a_label_of_a_curve_that_ends_outside_its_axis_points_there():
    values = {"above": 3000.0, "below": 3e-7, "inside": 1.0, "nowhere": math.nan}
    ends = [named(name, [0.0], [value]) for name, value in values.items()]
    axes = {"y": {"range": [-2.0, 1.0], "type": "log"}}
    labels = place_labels(ends, [], [], {"range": [0.0, 1.0]}, axes, {"y": 300.0})
    assert {(label["text"], label["y"]) for label in labels} == {
        ("↑ above<br>(3k)", 1.0),
        ("↓ below<br>(3·10⁻⁷)", -2.0),
        ("inside", 0.0),
    }
    lowest = min(labels, key=lambda label: label["y"])
    assert lowest["yshift"] == LABEL_HEIGHT, "none of its two lines lies below the axis"
    assert [label["text"] for label in beyond_axes(ends, axes)] == ["↓ below (3·10⁻⁷)", "↑ above (3k)"]


def test_labels_of_curves_that_end_together_stand_beside_their_curves_and_off_all_others():
    x = np.linspace(0.0, 1.0, 50)
    ends = [named(f"power {k}", x, 0.2 + 0.6 * (1.0 - x) ** k) for k in (1, 2, 8)]
    words = note("in the way", x=0.6, y=0.8, colour="#000000", size=13, xref="x", yref="y", xanchor="center")
    axes, across, height = {"y": {"range": [0.0, 1.0]}}, {"range": [0.0, 1.0]}, 300.0
    labels = place_labels(ends, [it.curve for it in ends], [words], across, axes, {"y": height})
    assert {it["text"] for it in labels} == {it.text for it in ends}
    boxes = [(400 * words["x"], height * words["y"])]
    for it in labels:
        centre = 400 * it["x"] + it["xshift"], height * it["y"] + it["yshift"]
        away = {}
        for end in ends:
            across_, up = (400 * end.curve.x - centre[0], height * end.curve.y - centre[1])
            half = 6.0 * len(it["text"]) / 2, LABEL_HEIGHT / 2
            away[end.text] = np.hypot(
                *(np.maximum(abs(d) - h, 0) for d, h in zip((across_, up), half, strict=True))
            ).min()
        own = away.pop(it["text"])
        assert 0.0 < own < 12.0 and min(away.values()) >= 8.0, "nearer to its own curve than to any other"
        assert all(abs(centre[0] - x) > 60 or abs(centre[1] - y) >= LABEL_HEIGHT for x, y in boxes)
        boxes.append(centre)


def test_labels_that_do_not_fit_beside_a_lower_panel_reach_into_the_gap_above_it():
    ends = [named(f"{k}<br>of five", [math.nan], [0.0], "y2") for k in range(5)]
    across, axes = {"range": [0.0, 1.0]}, {"y2": {"range": [0.0, 1.0]}}
    heights = sorted(each["yshift"] for each in place_labels(ends, [], [], across, axes, {"y2": 130.0}, 62))
    assert heights[0] == LABEL_HEIGHT, "none is below the axis"
    assert heights[-1] == 9 * LABEL_HEIGHT < 130 + 62 - LABEL_HEIGHT


def test_a_legend_is_preceded_by_what_ends_outside_its_axis():
    chart = Chart("light", 400, upper=0.5)
    for value, name, axis in ((3e-7, "low", "y2"), (3000.0, "high", "y2"), (-5.0, "first", "y"), (0.5, "inside", "y")):
        chart.end([0.0], [value], name, "#000000", axis)
    across, upright, lower = chart.log_axis(-2, 1), chart.axis(range=[0, 1]), chart.log_axis(-2, 1)
    narrow = chart.beside([across, across], upright, lower, drop=50).layout.meta["narrow"]
    said = ["↓ first (−5)", "↓ low (3·10⁻⁷)", "↑ high (3k)"]
    places = [("paper", 0, "top", -50 - k * LABEL_HEIGHT) for k in range(3)]
    assert [(a["text"], (a["yref"], a["y"], a["yanchor"], a["yshift"])) for a in narrow["annotations"]] == [
        *zip(said, places, strict=True)
    ]
    drawing = narrow["height"] - narrow["margin"]["t"] - narrow["margin"]["b"]
    assert drawing == 400 - chart.top - chart.bottom, "no room is taken from a drawing of two panels"
    assert narrow["legend"]["y"] * drawing == pytest.approx(-50 - 3 * LABEL_HEIGHT)
    small = chart.below(across, upright, drop=50).layout
    assert [a.text for a in small.annotations] == said[:1]
    assert small.annotations[0].yshift == -50 and small.height == 400
    assert small.legend.y * (400 - small.margin.t - small.margin.b) == pytest.approx(-50 - LABEL_HEIGHT)


def test_a_mechanism_that_stops_applying_leaves_a_gap_and_says_so():
    classical = dpcore.make_mechanism("output_gaussian", accounting="classical")
    _, figure = draw(mechanisms=(classical,))
    private = next(t for t in figure.data if t.name == "measured")
    assert max(private.x) < 1.0 and any("no guarantee" in a.text for a in figure.layout.annotations)
    assert all(len(t.x) == 0 for t in figure.data if t.mode == "markers"), "no dot where nothing is released"
    nothing = dpcore.run(Experiment(Problem("synthetic", n=400, delta=0.0)))
    price_figure(nothing, epsilon=1.0, theme="light", height=500)


@pytest.mark.parametrize(
    "low, high, expected",
    [
        (-2, 1, ["0.01", "0.1", "1", "10"]),
        (-0.9, 0.7, ["0.2", "0.5", "1", "2", "5"]),
        (-8.5, -5.5, ["10⁻⁸", "10⁻⁷", "10⁻⁶"]),  # all decimals would not fit beside the axis
    ],
)
def test_a_log_axis_of_any_length_has_ticks(low, high, expected):
    made = Chart("light", 300).log_axis(low, high)
    inside = [t for v, t in zip(made["tickvals"], made["ticktext"], strict=True) if low <= math.log10(v) <= high]
    assert inside == expected


@pytest.mark.parametrize(("logarithmic", "place"), [(True, 2.0), (False, 100.0)])
def test_the_cursor_s_flag_stands_at_its_line(logarithmic, place):
    """plotly takes the powers of ten of words on a logarithmic axis, and the numbers themselves of lines."""
    chart = Chart("light", 400)
    chart.cursor(100.0, "here", logarithmic=logarithmic)
    (line,), (flag,) = chart.shapes, chart.notes
    assert line["x0"] == line["x1"] == 100.0 and flag["x"] == place and flag["text"] == "here"


def test_releases_stay_as_dots_and_those_beyond_the_axis_lie_on_its_edge():
    _, figure = draw(epsilon=0.5, released=[(0.5, 0.02), (0.1, 77.0)])
    (dots,) = [trace for trace in figure.data if trace.marker.symbol == "diamond"]
    assert [*zip(dots.x, dots.y, strict=True)] == [(0.5, 0.02), (0.1, figure.layout.yaxis.range[1])]


@pytest.mark.parametrize("centres", [[0.0], [10.0, 11.0, 12.0], [95.0, 96.0, 97.0], [0.0, 50.0, 99.0], []])
def test_labels_never_overlap_and_stay_inside(centres):
    heights = [16, 32, 16][: len(centres)]
    moved = spread(centres, heights, 100.0)
    assert moved == sorted(moved)
    assert all(h / 2 <= m <= 100.0 - h / 2 for m, h in zip(moved, heights, strict=True))
    for (a, ha), (b, hb) in itertools.pairwise(zip(moved, heights, strict=True)):
        assert b - a >= (ha + hb) / 2 - 1e-9
