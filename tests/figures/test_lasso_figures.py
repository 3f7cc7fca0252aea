"""Figures of private Frank-Wolfe show the engine's numbers, and every mark that its legend names."""

import dataclasses as dc

import numpy as np
import pytest

from dpcore.figures.sparsity.l1 import excess_by_n_figure, path_figure, remark_figure, steps_figure, width_figure
from dpcore.figures.style import FAMILIES, MUTED
from dpcore.studies.sparsity.l1 import curves
from dpcore.studies.sparsity.l1.data import Setting
from dpcore.studies.sparsity.simplex import beside_others

SETTING = Setting(epsilon=1.0, delta=1e-6, radius=1.0, accounting="tight", seed=2, repetitions=10)
THEMES = ["light", "dark"]


@pytest.fixture(scope="module")
def steps():
    return curves.against_T(SETTING, n=2_000, p=64, Ts=(2, 8, 20, 50))


@pytest.fixture(scope="module")
def crowd():
    return curves.against_n(SETTING, p=64, T=8, ns=(50, 200, 1_000, 5_000))


@pytest.fixture(scope="module")
def width():
    return curves.against_p(SETTING, n=2_000, T=8, ps=(16, 256, 4_096))


@pytest.fixture(scope="module")
def walked():
    return curves.path(SETTING, n=2_000, p=4_096, T=30)


def named(figure, name):
    (found,) = [trace for trace in figure.data if trace.name == name]
    return found


def words(figure):
    return [annotation.text for annotation in figure.layout.annotations]


def inside(trace, values, figure):
    """The trace holds these values, where they are not below the axis."""
    floor = 10.0 ** figure.layout.yaxis.range[0]
    assert np.array_equal(np.asarray(trace.y), np.where(values >= floor, values, np.nan), equal_nan=True)


def measured(trace, curve, colour, cursor, grid):
    assert np.array_equal(np.asarray(trace.y), curve.measured.mean) and np.array_equal(np.asarray(trace.x), grid)
    assert (trace.line.width, trace.line.color, trace.marker.color) == (3, colour, colour)
    assert list(trace.marker.size) == [13.0 if at == cursor else 7.0 for at in grid]


@pytest.mark.parametrize("theme", THEMES)
def test_against_steps(steps, theme):
    figure = steps_figure(steps, T=20, theme=theme, height=430)
    colour, plain = FAMILIES[theme]["frank_wolfe"], FAMILIES[theme]["reference"]
    measured(named(figure, "private, mean"), steps.private, colour, 20, steps.T)
    bound = named(figure, "upper bound")
    assert np.array_equal(np.asarray(bound.y), steps.private.bound) and bound.line.dash == "dash"
    inside(named(figure, "non-private"), steps.plain[1:], figure)
    inside(named(figure, "non-private: upper bound"), steps.plain_bound[1:], figure)
    assert named(figure, "non-private").line.color == plain and named(figure, "non-private").x[0] == 2
    assert set(named(figure, "nothing learned, θ = 0").y) == {steps.nothing}
    upper, lower = figure.data[:2]
    assert np.array_equal(np.asarray(upper.y), steps.private.measured.q90) and lower.name == "8 of 10 runs"
    assert steps.packing > 0
    inside(named(figure, "lower bound in the ball, hardest data"), np.full(2, steps.packing), figure)
    for text in ("private", "upper bound", "non-private", "nothing learned", "lower bound<br>in the ball", "T = 20"):
        assert sum(said in (text, f"↓ {text}") or said.startswith(f"↓ {text}<br>") for said in words(figure)) == 1
    (cursor,) = figure.layout.shapes
    assert cursor.x0 == cursor.x1 == 20 and cursor.line.color == MUTED[theme]


def test_noise_as_published_is_not_called_private(steps):
    figure = steps_figure(dc.replace(steps, accounting="published"), T=20, theme="light", height=430)
    assert named(figure, "as published, mean") and "private" not in words(figure)


@pytest.mark.parametrize("theme", THEMES)
def test_against_n(crowd, theme):
    figure = excess_by_n_figure(crowd, n=200, theme=theme, height=430)
    colour = FAMILIES[theme]["frank_wolfe"]
    measured(named(figure, "private, mean"), crowd.private, colour, 200, crowd.n)
    hard = named(figure, "every column matters, mean")
    assert np.isnan(crowd.dense[0]) and np.isfinite(crowd.dense[1:]).all()
    assert np.array_equal(np.asarray(hard.y), crowd.dense, equal_nan=True)
    inside(named(figure, "lower bound in the ball, hardest data"), crowd.packing, figure)
    inside(named(figure, "generalisation gap, at most"), crowd.sampling, figure)
    shape = named(figure, "(n ln n)⁻²⁄³, shape only")
    law = (crowd.n * np.log(crowd.n)) ** (-2 / 3)
    assert np.asarray(shape.y) == pytest.approx(law * crowd.dense[1] / law[1]), "through the first hard point"
    assert (
        shape.line.dash == "longdashdot" and named(figure, "lower bound in the ball, hardest data").line.dash == "dot"
    )
    assert any("in the ball" in text for text in words(figure)) and any("shape only" in text for text in words(figure))


def test_the_n_from_which_privacy_is_free_is_marked_where_the_axis_reaches_it(crowd):
    assert crowd.free > crowd.n[-1]
    figure = excess_by_n_figure(crowd, n=200, theme="light", height=430)
    assert len(figure.layout.shapes) == 1 and "privacy for free" not in words(figure)
    figure = excess_by_n_figure(dc.replace(crowd, free=1_234.5), n=200, theme="light", height=430)
    cursor, mark = figure.layout.shapes
    assert (cursor.x0, mark.x0, mark.x1) == (200, 1_234.5, 1_234.5)
    (note,) = [each for each in figure.layout.annotations if each.text == "privacy for free"]
    assert note.x == pytest.approx(np.log10(1_234.5)) and note.xanchor == "right"
    assert any(each["text"] == note.text for each in figure.layout.meta["narrow"]["annotations"])


@pytest.mark.parametrize("theme", THEMES)
def test_against_columns(width, theme):
    figure = width_figure(width, p=256, theme=theme, height=430)
    colour = FAMILIES[theme]["frank_wolfe"]
    vertices, whole = (
        named(figure, "exponential mechanism over vertices, mean"),
        named(figure, "noise in the whole gradient, mean"),
    )
    measured(vertices, width.private, colour, 256, width.p)
    measured(whole, width.whole, colour, 256, width.p)
    assert (vertices.marker.symbol, whole.marker.symbol) == ("diamond", "diamond-open")
    assert (vertices.line.dash, whole.line.dash) == ("solid", "dashdot")
    assert np.array_equal(np.asarray(named(figure, "nothing learned, θ = 0").y), width.nothing)
    inside(named(figure, "lower bound in the ball, hardest data"), width.packing, figure)


def test_phones_get_a_legend_instead_of_labels(steps, crowd, width):
    for figure in (
        steps_figure(steps, T=8, theme="light", height=430),
        excess_by_n_figure(crowd, n=1_000, theme="light", height=430),
        width_figure(width, p=16, theme="light", height=430),
    ):
        narrow, shown = figure.layout.meta["narrow"], [trace.name for trace in figure.data if trace.showlegend]
        assert narrow["showlegend"] and narrow["height"] > 430
        kept = [a["text"] for a in narrow["annotations"] if a["text"][0] not in "↑↓"]
        assert len(kept) == 2 < len(figure.layout.annotations)
        assert len(shown) == len(set(shown)) >= 5


def test_the_title_of_an_axis_leaves_room_for_the_flag(steps, crowd):
    """On a phone the flag can take the place of every tick label; the title then stands below the flag."""
    between = excess_by_n_figure(dc.replace(crowd, n=np.array([2e2, 1e3, 3e3, 5e4])), n=3_000, theme="dark", height=430)
    narrow = between.layout.meta["narrow"]["xaxis"]
    shown = [text for tick, text in zip(narrow["tickvals"], narrow["ticktext"], strict=True) if 200 < tick < 50_000]
    assert len(shown) == 2 and not any(shown)
    assert narrow["title"]["standoff"] > 20 and narrow["title"]["text"] == "records n"
    assert between.layout.xaxis.title.standoff == 10 and "10k" in between.layout.xaxis.ticktext
    short = steps_figure(dc.replace(steps, T=np.array([2.0, 8.0, 30.0, 512.0])), T=30, theme="light", height=430)
    assert "100" in short.layout.meta["narrow"]["xaxis"]["ticktext"], "a short flag leaves a label"


def test_a_curve_that_does_not_exist_leaves_no_trace_of_itself(crowd):
    nothing = dc.replace(crowd, dense=np.full(4, np.nan), packing=np.full(4, np.nan))
    figure = excess_by_n_figure(nothing, n=200, theme="light", height=430)
    for name in ("every column matters, mean", "lower bound in the ball, hardest data", "(n ln n)⁻²⁄³, shape only"):
        assert not named(figure, name).showlegend
    assert not any("hard" in text or "every" in text for text in words(figure))


@pytest.mark.parametrize("theme", THEMES)
def test_the_path_shows_every_choice_once_in_its_row(walked, theme):
    figure = path_figure(walked, theme=theme, height=380)
    assert sum(len(trace.x) for trace in figure.data) == len(walked.columns) == 29
    places = np.flatnonzero(walked.truth)
    assert list(figure.layout.yaxis.ticktext[1:]) == [
        f"{'+' if walked.truth[place] > 0 else '−'} column {place + 1}" for place in places
    ]
    right = named(figure, "right column and sign")
    assert [int(x) - 1 for x in right.x] == np.flatnonzero(walked.right).tolist() and walked.right.any()
    for trace in figure.data:
        for x, y, column in zip(trace.x, trace.y, trace.customdata, strict=True):
            assert column == walked.columns[int(x) - 1] + 1
            assert y == (list(places).index(column - 1) + 1 if column - 1 in places else 0)
    idle = named(figure, "column of zeros")
    assert len(idle.x) == np.count_nonzero(walked.columns >= len(walked.truth)) > 0


def test_remark_2_shows_both_mechanisms_and_both_shapes():
    found = beside_others.beside_sampling(
        p=16, epsilon=1.0, delta=1e-6, loss="huber", seed=2, repetitions=10, ns=(300, 1_000, 3_000)
    )
    figure = remark_figure(found, theme="light", height=380)
    for name, curve, family in (
        ("Frank-Wolfe", found.frank_wolfe, "frank_wolfe"),
        ("simplex sampling", found.sampling, "sampling"),
    ):
        trace = named(figure, name)
        assert np.array_equal(np.asarray(trace.y), curve.mean) and trace.line.color == FAMILIES["light"][family]
    for power, words_, curve in (
        (-2 / 3, "n⁻²⁄³, shape only", found.frank_wolfe),
        (-1 / 3, "n⁻¹⁄³, shape only", found.sampling),
    ):
        first = curve.mean[0] / found.n[0] ** power
        assert np.asarray(named(figure, words_).y) == pytest.approx(first * found.n**power)
    assert figure.layout.shapes == ()
