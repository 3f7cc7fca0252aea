"""Figures of many classes: decisions, and what they leave out where nothing is guaranteed."""

import dataclasses as dc

import numpy as np
import pytest

from dpcore.figures.multiclass import (
    accuracy_figure,
    regions_figure,
)
from dpcore.figures.style import FAMILIES
from dpcore.studies.multiclass import curves, one_vs_rest
from dpcore.studies.multiclass.curves import Records

from .pictures import classified

THEMES = ["light", "dark"]
DRAWN = "gaussian_classes"
HEIGHT = 430
VALUES = {"epsilon": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0), "classes": (2, 3, 5, 10), "d": (2, 4, 8, 16)}


def accuracies(axis, learners=one_vs_rest.LEARNERS, delta=1e-5, source=DRAWN, runs=6):
    return curves.accuracy_against(
        axis, VALUES[axis], Records(source, 120, 0), epsilon=1.0, delta=delta, learners=learners, repetitions=runs
    )


@pytest.fixture
def drawn():
    return classified("drawn")


@pytest.fixture
def real():
    return classified("real")


def named(figure, name):
    (found,) = [trace for trace in figure.data if trace.name == name]
    return found


def words(figure):
    return [annotation.text for annotation in figure.layout.annotations]


def fits(figure, values, axis="yaxis"):
    """All values lie on the axis."""
    low, high = figure.layout[axis].range
    if figure.layout[axis].type == "log":
        low, high = 10.0**low, 10.0**high
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    assert len(values) and low <= values.min() and values.max() <= high


# Accuracy


def test_fewer_than_ten_releases_are_no_band():
    few, enough = (
        accuracy_figure(accuracies("epsilon", runs=runs), cursor=1.0, theme="light", height=HEIGHT) for runs in (4, 6)
    )  # on each of two draws of the records
    for figure, drawn in ((few, False), (enough, True)):
        assert any(trace.showlegend for trace in figure.data if trace.name == "8 of 10 runs") is drawn
        assert any(len(trace.x) for trace in figure.data if trace.line.width == 0) is drawn


def test_what_has_no_guarantee_leaves_no_trace_of_itself():
    found = accuracies("epsilon", learners=("ellipsoids", "pure"), delta=0.0)
    figure = accuracy_figure(found, cursor=1.0, theme="light", height=HEIGHT)
    assert not named(figure, "Gaussian classifier, private").showlegend
    assert "Gaussian classifier,<br>private" not in words(figure) and "Gaussian, δ = 0" in words(figure)
    assert [len(trace.x) for trace in figure.data if trace.line.width == 0] == [0, 0, 6, 6]
    assert [trace.name for trace in figure.data if trace.showlegend].count("8 of 10 runs") == 1
    nobody = accuracies("epsilon", learners=("ellipsoids", "split"), delta=0.0, source="iris")
    figure = accuracy_figure(nobody, cursor=1.0, theme="light", height=HEIGHT)
    assert {trace.name for trace in figure.data if trace.showlegend} == {
        "Gaussian classifier without privacy",
        "the largest class",
    }
    assert "Bayes classifier" not in words(figure)


def test_the_excess_has_a_panel_of_its_own_whose_traces_are_there_before_it_is():
    """With its bound and what learns nothing; all on the axis, and none on that of accuracies."""
    found = classified("classes")
    ahead = dc.replace(found, excess=curves.ExcessAlong(*np.full((3, 3), np.nan)))
    full, empty, alone = (
        accuracy_figure(each, cursor=3.0, theme="light", height=HEIGHT)
        for each in (found, ahead, dc.replace(found, excess=None))
    )
    below = [trace for trace in full.data if trace.yaxis == "y2"]
    assert [np.asarray(trace.y).tolist() for trace in below] == [
        getattr(found.excess, name).tolist() for name in ("bound", "nothing", "mean")
    ]
    for trace in below:
        fits(full, trace.y, "yaxis2")
    assert [(trace.name, trace.yaxis) for trace in full.data] == [(trace.name, trace.yaxis) for trace in empty.data]
    assert "upper bound" in words(full) and "upper bound" not in words(empty)
    assert not any(trace.yaxis == "y2" for trace in alone.data) and len(alone.data) == len(full.data) - 3


# Decisions


def test_decisions_are_shaded_where_privacy_changes_them_and_borders_are_the_leads(drawn):
    figure = regions_figure(drawn, theme="light", height=400)
    shade, *rest = figure.data
    differ = drawn.private.argmax(axis=0) != drawn.plain.argmax(axis=0)
    assert np.array_equal(np.asarray(shade.z), differ) and 0.0 < differ.mean() < 0.6
    borders = [trace for trace in rest if trace.type == "contour"]
    for trace, lead in zip(borders, [*drawn.plain[:2], *drawn.private[:2]], strict=True):
        step = np.abs(lead).max() / 32_767
        assert np.allclose(step * np.asarray(trace.z), lead, rtol=0.0, atol=0.51 * step)
    private = FAMILIES["light"]["objective"]
    assert [trace.line.color == private for trace in borders] == [False, False, True, True]
    assert named(figure, "private release").line.color == private
    assert words(figure) == ["A", "B", "C"] and figure.layout.yaxis.scaleanchor == "x"
    assert [(note.x, note.y) for note in figure.layout.annotations] == [tuple(at) for at in drawn.centres]
