"""Figures of private Frank-Wolfe: what is marked, and what leaves no trace."""

import dataclasses as dc

import numpy as np
import pytest

from dpcore.figures.sparsity.l1 import excess_by_n_figure, path_figure, steps_figure, tracing_figure

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


def test_noise_as_published_is_not_called_private(steps):
    figure = steps_figure(dc.replace(steps, accounting="published"), T=20, theme="light", height=430)
    assert named(figure, "as published, mean") and "private" not in words(figure)


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


def test_the_band_of_tracing_is_8_of_10_runs():
    found = setting("tracing")
    upper, lower = tracing_figure(found, epsilon=3.0, theme="light", height=420).data[:2]
    assert np.allclose(upper.y, np.quantile(found.every_auc, 0.9, axis=1))
    assert np.allclose(lower.y, np.quantile(found.every_auc, 0.1, axis=1)) and lower.name == "8 of 10 runs"
