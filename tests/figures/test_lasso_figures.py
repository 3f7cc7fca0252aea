"""Figures of private Frank-Wolfe: what is marked, and what leaves no trace."""

import dataclasses as dc

import numpy as np
import pytest

from dpcore.figures.lasso import excess_figure, path_figure

from .pictures import setting

THEMES = ["light", "dark"]


@pytest.fixture
def steps():
    return setting("steps")


@pytest.fixture
def crowd():
    return setting("people")


@pytest.fixture
def walked():
    return setting("path")


def named(figure, name):
    (found,) = [trace for trace in figure.data if trace.name == name]
    return found


def words(figure):
    return [annotation.text for annotation in figure.layout.annotations]


def test_the_axis_stays_whatever_the_curves_are_and_what_is_below_is_told(steps, crowd):
    deep = dc.replace(steps.private.measured, mean=np.array([0.1, 1e-3, 1e-5, 1e-9]))
    tiny = dc.replace(steps, private=dc.replace(steps.private, measured=deep))
    figures = [excess_figure(each, at=20, theme="light", height=430) for each in (steps, crowd, tiny)]
    assert len({tuple(figure.layout.yaxis.range) for figure in figures}) == 1
    assert np.isnan(named(figures[-1], "private, mean").y[-1]), "nothing is drawn outside"
    assert "↓ private" in words(figures[-1])


def test_the_band_for_these_records_reaches_from_the_lower_edge_to_its_end(steps):
    figure = excess_figure(steps, at=20, theme="light", height=430)
    band = named(figure, "proved range for these records")
    edge = figure.data[list(figure.data).index(band) - 1]
    assert np.array_equal(edge.y, steps.private.proved) and len(edge.y) == 4
    assert np.allclose(band.y, 10.0 ** figure.layout.yaxis.range[0])
    assert (steps.private.measured.mean < steps.private.proved).all()
    assert "proved range<br>for these<br>records" in words(figure)


def test_a_curve_that_does_not_exist_leaves_no_trace_of_itself(crowd):
    nothing = dc.replace(crowd, dense=np.full(4, np.nan), packing=np.full(4, np.nan))
    figure = excess_figure(nothing, at=200, theme="light", height=430)
    for name in ("every column matters, mean", "lower bound in the ball, hardest data"):
        assert not named(figure, name).showlegend
    assert not any("hard" in text or "every" in text for text in words(figure))


@pytest.mark.parametrize(("T", "every"), [(2, 1), (3, 1), (60, None)])
def test_few_steps_have_a_tick_each_and_no_half_ones(walked, T, every):
    few = dc.replace(walked, columns=np.resize(walked.columns, T - 1), signs=np.resize(walked.signs, T - 1))
    assert path_figure(few, theme="light", height=380).layout.xaxis.dtick == every


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
