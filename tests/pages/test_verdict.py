"""The line below a chart that says where an upper bound says something."""

import math

import numpy as np
import pytest

from dpcore.studies.hardest.excess import Hardest
from pages.ui.verdict import hardest_line, lower_verdict, verdict
from tests.page_driver import tells

X = [0.1, 1.0, 10.0]


@pytest.mark.parametrize(
    ("bound", "nothing", "says"),
    [
        ([3.0, 0.2, 0.02], 0.25, "from ε = 1 on."),
        ([0.1, 0.2, 2.0], 0.25, "up to ε = 1."),
        ([0.3, 0.2, 0.3], 0.25, "at ε = 1 only."),
        ([0.1, 0.3, 0.1], 0.25, "at 2 of 3 points."),
        ([0.1, 0.2, 0.2], 0.25, "all along"),
        ([3.0, 2.0, 1.0], 0.25, "nowhere"),
        ([3.0, 2.0, 1.0], [4.0, 1.0, 1.5], "at 2 of 3 points."),
    ],
)
def test_it_says_where_the_bound_is_below_learning_nothing(bound, nothing, says):
    assert says in verdict(X, [("", [0.05] * 3, bound)], nothing, 1.0, "ε")


def test_it_says_how_far_the_bound_is_above_the_measurement_at_the_nearest_place():
    said = verdict(X, [("", [0.5, 0.1, 0.01], [3.0, 0.2, 0.05])], 1.0, 9.0, "ε")
    assert said.startswith("At ε = 10 the upper bound is 5 times the measurement;")
    assert "times" not in verdict(X, [("", [0.5, 0.1, -0.01], [3.0, 0.2, 0.05])], 1.0, 9.0, "ε")


def test_several_bounds_are_told_one_by_one_and_missing_ones_not_at_all():
    curves = [("one", [0.1] * 3, [0.2] * 3), ("two", [0.1] * 3, [math.nan] * 3), ("three", [0.1] * 3, [9.0] * 3)]
    said = verdict(X, curves, 1.0, 1.0, "ε")
    assert "“nothing learned” for one all along this axis, for three nowhere" in said and "two" not in said
    assert "the upper bounds are 2 (one) and 90 (three) times the measurement; they are below" in said
    assert "for one at 2 of 3" in verdict(X, curves, [[1.0, 0.1, 1.0]] + [[1.0] * 3] * 2, 1.0, "ε")
    assert verdict(X, [("", [0.1] * 3, [None] * 3)], 1.0, 1.0, "ε") == ""


def test_a_lower_bound_above_the_measurement_says_that_easier_data_may_fall_below_it():
    assert "1.5 times the lower bound" in lower_verdict(X, [0.3] * 3, [0.2] * 3, 1.0)
    assert tells(lower_verdict(X, [0.1] * 3, [0.25] * 3, 1.0), "2.5 times the measurement", "easier data")


def test_the_hardest_records_are_told_with_both_bounds_and_their_powers_of_n():
    found = Hardest(
        epsilon=np.array([0.1, 1.0, 10.0]),
        mean=np.array([math.nan, 0.05, 0.02]),
        se=np.zeros(3),
        family=("", "all records on one axis", "half of them"),
        bound=np.array([math.nan, 0.2, 0.03]),
        lower=np.array([0.0, 1e-3, 0.0]),
        powers=np.array([[math.nan, 0.5, math.nan], [math.nan, 1.0, math.nan]]),
        enough=np.array([math.nan, 5_000.0, math.nan]),
    )
    said = hardest_line(found, 1.4, 2_000)
    assert tells(said, "ε = 1 the upper bound is 4 times the mean, which is 50 times the lower bound; ten times")
    assert tells(said, "ten times the records divide the bounds by 3.2 and 10.", "from n = 5,000 on.")
    assert "from n =" not in hardest_line(found, 1.4, 5_000)
    assert tells(hardest_line(found, 10.0, 2_000), "1.5 times the mean.")
    assert "lower" not in hardest_line(found, 10.0, 2_000)
    assert hardest_line(found, 0.1, 2_000) == hardest_line(None, 1.0, 2_000) == ""
