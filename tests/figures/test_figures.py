"""The palette, the builder of charts and its labels, and the figure of the page Overview."""

import itertools
import math

import numpy as np
import pytest

import dpcore
from dpcore import Experiment, Problem
from dpcore.figures.chart import Chart
from dpcore.figures.labels import LABEL_HEIGHT, end_labels, spread
from dpcore.figures.overview import cost_figure
from dpcore.figures.style import BACKGROUND, FAMILIES, MUTED, TEXT

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


def draw(epsilon=1.0, theme="light", released=None, **changes):
    table = dpcore.run(experiment_of(**({"source": "synthetic", "n": 400, "repetitions": 10} | changes)))
    title = "people classified correctly, %"
    look = {"accuracy_title": title, "theme": theme, "height": 500, "released": released}
    figure = cost_figure(table, mechanism=table.mechanism.iloc[0], epsilon=epsilon, **look)
    return table, figure


@pytest.mark.parametrize("repetitions, banded", [(9, False), (10, True)])
def test_a_band_is_drawn_and_named_from_ten_releases_on(repetitions, banded):
    _, figure = draw(repetitions=repetitions)
    bands = [trace for trace in figure.data if trace.name == "8 of 10 runs"]
    assert [len(band.x) > 0 for band in bands] == [banded] and any(band.showlegend for band in bands) is banded
    assert any("8 of 10" in (a.text or "") for a in figure.layout.annotations) is banded


@pytest.mark.parametrize("key, open_below", [("objective_gaussian", False), ("noisy_sgd", True)])
def test_what_is_proved_for_the_records_lies_around_the_mean(key, open_below):
    """Where nothing is proved below, down to the lower edge of the axis."""
    table, figure = draw(mechanisms=(key,), proved=key)
    rows = table[table.metric == "excess_empirical_risk"]
    low, high = ([t for t in figure.data if t.yaxis == "y2" and t.line.width == 0][k] for k in (1, 0))
    assert low.name == "proved for these records" and len(high.y) == len(rows)
    assert any("proved" in (a.text or "") for a in figure.layout.annotations)
    slack = 4.0 * (rows.se + rows.proved_se).to_numpy(float)
    assert (np.array(high.y) >= rows["mean"] - slack).all() and (np.array(low.y) <= rows["mean"] + slack).all()
    at_the_edge = np.log10(low.y) == pytest.approx(figure.layout.yaxis2.range[0])
    assert at_the_edge is open_below and np.isneginf(rows.proved_low).all() == open_below


def test_of_a_method_that_proves_nothing_for_the_records_no_band_is_drawn():
    table, _ = draw()
    table["proved_high"] = None
    figure = cost_figure(table, mechanism="output_gaussian", epsilon=5.0, accuracy_title="", theme="light", height=500)
    assert not any("proved" in (a.text or "") for a in figure.layout.annotations)


def test_excess_at_or_below_0_is_a_triangle_at_the_edge_and_its_label_says_the_value():
    table, _ = draw()
    rows = table.metric == "excess_empirical_risk"
    for column in ("mean", "q10", "q90", "noiseless"):
        table.loc[rows & (table.x > 2.0), column] = -0.00123
    figure = cost_figure(table, mechanism="output_gaussian", epsilon=5.0, accuracy_title="", theme="light", height=500)
    floor = figure.layout.yaxis2.range[0]
    (below,) = [t for t in figure.data if t.name == "output perturbation: 0 or below"]
    assert set(below.x) == set(table.x[table.x > 2.0]) and set(below.customdata) == {-0.00123}
    assert np.log10(below.y) == pytest.approx(floor) and below.showlegend
    labels = {a.text: a for a in figure.layout.annotations}
    for text in ("output perturbation", "regularisation alone"):
        label = labels[f"↓ {text}<br>(−0.0012)"]
        assert label.yref == "y2" and label.y == pytest.approx(floor)
    band = [t for t in figure.data if t.yaxis == "y2" and t.line.width == 0]
    assert len(band) == 2 and all((np.log10(t.y) >= floor - 1e-9).all() for t in band), "no edge is left out"


def test_a_label_of_a_curve_that_ends_outside_its_axis_points_there():
    values = {"above": 3000.0, "below": 3e-7, "inside": 1.0, "nowhere": math.nan}
    ends = [("y", value, name, "#000000", "") for name, value in values.items()]
    labels, beyond = end_labels(ends, {"y": {"range": [-2.0, 1.0], "type": "log"}}, {"y": 300.0})
    assert {(label["text"], label["y"]) for label in labels} == {
        ("↑ above<br>(3k)", 1.0),
        ("↓ below<br>(3·10⁻⁷)", -2.0),
        ("inside", 0.0),
    }
    lowest = min(labels, key=lambda label: label["y"])
    assert lowest["yshift"] == LABEL_HEIGHT, "none of its two lines lies below the axis"
    assert [label["text"] for label in beyond] == ["↑ above (3k)", "↓ below (3·10⁻⁷)"]


def test_labels_that_do_not_fit_beside_a_lower_panel_reach_into_the_gap_above_it():
    ends, axes = [("y2", 0.0, f"{k}<br>of five", "#000000", "") for k in range(5)], {"y2": {"range": [0.0, 1.0]}}
    heights = [sorted(each["yshift"] for each in end_labels(ends, axes, {"y2": 130.0}, gap)[0]) for gap in (17, 62)]
    assert heights[0][0] < LABEL_HEIGHT == heights[1][0], "the lowest is below the axis, unless there is a gap"
    assert heights[1][-1] == 9 * LABEL_HEIGHT < 130 + 62 - LABEL_HEIGHT


def test_a_legend_is_preceded_by_what_ends_outside_its_axis():
    chart = Chart("light", 400)
    for value, name, axis in ((3e-7, "low", "y2"), (3000.0, "high", "y2"), (-5.0, "first", "y"), (0.5, "inside", "y")):
        chart.end([value], name, "#000000", axis)
    across, upright, lower = chart.log_axis(-2, 1), chart.axis(range=[0, 1]), chart.log_axis(-2, 1)
    narrow = chart.beside([across, across], upright, lower, drop=50).layout.meta["narrow"]
    said = ["↓ first (−5)", "↓ low (3·10⁻⁷)", "↑ high (3k)"]
    places = [("paper", 0, "top", -50 - k * LABEL_HEIGHT) for k in range(3)]
    assert [(a["text"], (a["yref"], a["y"], a["yanchor"], a["yshift"])) for a in narrow["annotations"]] == [
        *zip(said, places, strict=True)
    ]
    drawing = narrow["height"] - narrow["margin"]["t"] - narrow["margin"]["b"]
    assert drawing == 400 - chart.top - chart.bottom, "no room is taken from the drawing"
    assert narrow["legend"]["y"] * drawing == pytest.approx(-50 - 3 * LABEL_HEIGHT)
    small = chart.below(across, upright, drop=50).layout
    assert [a.text for a in small.annotations] == said[:1]
    assert small.annotations[0].yshift == -50 and small.height == 400
    assert small.legend.y * (400 - small.margin.t - small.margin.b) == pytest.approx(-50 - LABEL_HEIGHT)


def test_a_mechanism_that_stops_applying_leaves_a_gap():
    classical = dpcore.make_mechanism("output_gaussian", accounting="classical")
    _, figure = draw(mechanisms=(classical,))
    private = next(t for t in figure.data if t.name == "output perturbation")
    assert max(private.x) < 1.0
    assert all(len(t.x) == 0 for t in figure.data if t.mode == "markers"), "no dot where nothing is released"
    nothing = dpcore.run(Experiment(Problem("synthetic", n=400, delta=0.0)))
    cost_figure(nothing, mechanism="output_gaussian", epsilon=1.0, accuracy_title="", theme="light", height=500)


def test_what_others_learn_is_drawn_where_the_chosen_mechanism_releases_nothing():
    table = dpcore.run(Experiment(Problem("synthetic", n=400, delta=0.0), ("output_gaussian", "output_gamma")))
    look = {"accuracy_title": "", "theme": "light", "height": 500}
    figure = cost_figure(table, mechanism="output_gaussian", epsilon=1.0, **look)
    (level,) = [t for t in figure.data if t.name == "nothing learned"]
    assert set(level.x) == {table.x.min(), table.x.max()} and np.isfinite(level.y).all()


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


@pytest.mark.parametrize("released", [None, 0.5, 0.87])
def test_one_release_is_marked_at_the_cursor(released):
    _, figure = draw(epsilon=0.5, released=released)
    diamonds = [trace for trace in figure.data if trace.marker.symbol == "diamond"]
    places = [(*trace.x, *trace.y) for trace in diamonds]
    assert places == ([] if released is None else [(0.5, 100 * released)])
    assert [a.text for a in figure.layout.annotations].count("one release") == len(diamonds)


@pytest.mark.parametrize("centres", [[0.0], [10.0, 11.0, 12.0], [95.0, 96.0, 97.0], [0.0, 50.0, 99.0], []])
def test_labels_never_overlap_and_stay_below_the_top(centres):
    heights = [16, 32, 16][: len(centres)]
    moved = spread(centres, heights, 100.0)
    assert moved == sorted(moved) and all(m <= 100.0 for m in moved)
    for (a, ha), (b, hb) in itertools.pairwise(zip(moved, heights, strict=True)):
        assert b - a >= (ha + hb) / 2 - 1e-9
