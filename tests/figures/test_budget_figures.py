"""The figures to decide by: what they draw, where an answer stands, and what they leave out when there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcore.figures.decide import budget_figure, uses_figure

from . import pictures
from .pictures import USES, smallest

LOOK = {"family": "output", "theme": "light", "height": 400}


def budget(**changes):
    return pictures.budget(**LOOK, **changes)


def named(figure, start):
    return next(trace for trace in figure.data if (trace.name or "").startswith(start))


def test_the_budget_to_sign_stands_on_what_may_be_lost():
    answer = smallest()
    figure = budget_figure(answer, **LOOK)
    diamond = figure.data[-1]
    assert diamond.marker.symbol == "diamond"
    assert (diamond.x[0], diamond.y[0]) == (answer.epsilon, pytest.approx(5.0))
    assert list(named(figure, "smallest budget, 95%").x) == [answer.found.low, min(answer.found.high, 10.0)]
    assert any(f"sign ε = {answer.epsilon:g}" in note.text for note in figure.layout.annotations)


def test_the_thick_line_is_nine_of_ten_and_the_dotted_one_the_mean():
    figure = budget()
    assert named(figure, "nine of ten").line.width == 3 and (named(figure, "nine of ten").y > pictures.LOST + 0.5).all()
    assert named(figure, "mean loss").line.dash == "dot" and np.allclose(named(figure, "mean loss").y, pictures.LOST)


@pytest.mark.parametrize(
    "gain, text",
    [(9.0, "always the larger class:<br>loss 9.0"), (45.2, "↑ always the larger class<br>(45)")],
)
def test_all_that_there_is_to_learn_is_a_line_or_its_label_at_the_edge(gain, text):
    figure = budget(gain=gain)
    assert list(named(figure, "always the larger class").y) == [pytest.approx(gain)] * 2
    (label,) = [a for a in figure.layout.annotations if "larger class" in a.text]
    assert label.text == text


def test_what_cannot_be_signed_is_not_marked():
    none = budget(lost=np.full(4, 40.0))
    assert len(named(none, "smallest budget, 95%").x) == 0 and math.isnan(none.data[-1].x[0])
    assert not any("sign ε" in note.text for note in none.layout.annotations)
    assert len(none.data) == len(budget().data), "a hidden trace stays the same trace"


@pytest.mark.parametrize("at_most", [0.5, 5.0, 20.0, 80.0])
def test_what_may_be_lost_and_the_curve_lie_inside_the_axis(at_most):
    figure = budget(at_most=at_most, gain=90.0)
    low, high = figure.layout.yaxis.range
    assert low <= 0.0 and at_most < high <= max(6.0 * at_most, 1.0) + 1e-9, "and does not lie flat"
    assert list(named(figure, "may be lost").y) == [pytest.approx(at_most)] * 2


def test_pairs_in_the_right_order_are_called_by_their_name():
    figure = budget_figure(smallest(metric="auc"), **LOOK)
    said = [note.text for note in figure.layout.annotations]
    assert any("AUC loss" in text for text in said) and not any("larger class" in text for text in said)


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
