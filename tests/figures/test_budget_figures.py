"""The figures to decide by: what they draw, where an answer stands, and what they leave out when there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcore.figures.decide import uses_figure
from dpcore.studies.decide.threshold_interval import Answer

from . import pictures
from .pictures import LOST, USES

NOWHERE = Answer(math.inf, math.inf, math.inf, 0.01, 10.0)
LOOK = {"family": "output", "theme": "light", "height": 400}


def budget(lost=LOST, **changes):
    return pictures.budget(lost, **LOOK, **changes)


def named(figure, start):
    return next(trace for trace in figure.data if (trace.name or "").startswith(start))


def test_the_smallest_budget_stands_where_the_curve_meets_the_acceptable_loss():
    figure = budget()
    diamond = figure.data[-1]
    assert diamond.marker.symbol == "diamond" and (diamond.x[0], diamond.y[0]) == (0.8, 5.0)
    sure = named(figure, "smallest budget, 95%")
    assert list(sure.x) == [0.6, 1.2] and set(sure.y) == {5.0}
    assert any("smallest budget: ε = 0.8" in note.text for note in figure.layout.annotations)


@pytest.mark.parametrize(
    "learnable, text, edge",
    [
        (9.0, "always the larger class:<br>loss 9.0", 9.0),
        (45.2, "↑ always the larger class<br>(45)", 30.0),
        (-1.5, "always the larger class:<br>loss −1.5", -1.5),
    ],
)
def test_all_that_there_is_to_learn_is_a_line_or_its_label_at_the_edge(learnable, text, edge):
    figure = budget(learnable=learnable)
    low, high = figure.layout.yaxis.range
    assert set(named(figure, "always the larger class").y) == {learnable} and low < edge <= high
    (label,) = [a for a in figure.layout.annotations if "larger class" in a.text]
    assert label.text == text and label.y == edge


def test_an_interval_without_an_upper_end_goes_to_the_end_of_the_axis():
    assert list(named(budget(answer=Answer(9.0, 6.0, math.inf, 0.01, 10.0)), "smallest budget, 95%").x) == [6.0, 10.0]


def test_what_is_not_reachable_is_not_marked():
    figure = budget(answer=NOWHERE)
    assert len(named(figure, "smallest budget, 95%").x) == 0 and math.isnan(figure.data[-1].x[0])
    assert not any("smallest budget" in note.text for note in figure.layout.annotations)


@pytest.mark.parametrize("at_most", [0.5, 5.0, 20.0, 80.0])
def test_threshold_and_curve_lie_inside_the_axis(at_most):
    figure = budget(at_most=at_most)
    low, high = figure.layout.yaxis.range
    assert low <= 0.0 and max(at_most, 4.0) < high, "threshold and cursor"
    assert high <= max(6.0 * at_most, 1.3 * 4.0) or at_most == 80.0, "and neither lies flat"
    assert list(named(figure, "acceptable loss").y) == [at_most] * 2


def test_the_cursor_s_dot_lies_on_the_curve_between_grid_points_too():
    dot = budget(epsilon=10**-0.5).data[-2]
    assert dot.y[0] == pytest.approx(12.0)  # half-way between 20 and 4 on a logarithmic axis


def test_a_refused_part_of_the_curve_is_left_open():
    lost = np.array([math.nan, math.nan, 4.0, 0.5])
    figure = budget(lost=lost, epsilon=0.01)
    assert list(figure.data[0].x) == [1.0, 10.0] and math.isnan(figure.data[-2].y[0])


def test_equivalent_sizes_are_drawn_against_all_records_and_name_their_metric():
    figure = pictures.equivalent(**LOOK)
    assert list(named(figure, "all 1,000").y) == [1000.0] * 2
    assert any("log loss" in note.text for note in figure.layout.annotations)
    low, high = figure.layout.yaxis.range
    assert 10**low < 40.0 and 10**high > 1000.0
    assert list(figure.data[0].x) == [0.1, 1.0, 10.0]


def test_uses_are_sorted_and_say_their_unit():
    figure = uses_figure(USES, epsilon=1.0, theme="light")
    assert list(figure.data[0].x) == [0.15, 19.61]
    assert ["per query" in text for text in figure.layout.yaxis.ticktext] == [True, False]
    phone = figure.layout.meta["narrow"]
    assert sum("central" in note["text"] for note in phone["annotations"]) == len(USES)
