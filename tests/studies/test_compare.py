"""The table of every mechanism: nobody is missing, nobody is there without a budget or a reason."""

import dataclasses as dc
import math

import pytest

from dpcore import Problem, list_mechanisms
from dpcore.studies.decide.compare_mechanisms import CompareQuestion, ranked
from dpcore.studies.decide.loss_curve import Setting, lost_curve, smallest_budget
from tests.decisions import last

PROBLEM = Problem("synthetic", n=300, p=4)


def compared(problem):
    return last(CompareQuestion(Setting(problem, splits=2), at_most=5.0))


@pytest.fixture(scope="module")
def rows():
    return compared(PROBLEM)


def test_every_registered_mechanism_has_a_row_with_a_budget_or_a_reason(rows):
    assert [row.mechanism for row in rows] == list_mechanisms()
    for row in rows:
        assert bool(row.reason) == (row.status != "ok") == (row.guarantee == "") == (row.smallest is None)
    refused = {row.mechanism for row in rows if row.status != "ok"}
    assert refused == {"ftrl", "generalized_gaussian", "gaussian_classifier"}
    assert {row.guarantee for row in rows if row.mechanism in ("output_gamma", "objective_gamma")} == {"pure"}


def test_budgets_are_those_of_the_curve_of_decide_and_the_smallest_come_first(rows):
    (row,) = [row for row in rows if row.mechanism == "objective_gamma"]
    assert row.smallest == smallest_budget(lost_curve(Setting(PROBLEM, "objective_gamma", splits=2)), 5.0)
    found = ranked(rows)
    budgets = [row.smallest.value for row in found if row.smallest]
    assert budgets == sorted(budgets) and budgets[0] < 1.0 < budgets[-1] and len(found) == len(rows)
    assert budgets[-1] == math.inf, "out of reach"
    assert all(row.smallest is None for row in found[len(budgets) :])


def test_pure_budgets_leave_pure_mechanisms():
    found = {row.mechanism: row for row in compared(dc.replace(PROBLEM, delta=0.0))}
    assert {row.guarantee for row in found.values() if row.status == "ok"} == {"pure"}
    assert "delta" in found["output_gaussian"].reason and found["objective_gamma"].status == "ok"


def test_who_is_not_proved_for_the_loss_shows_another_and_says_so():
    found = {row.mechanism: row for row in compared(dc.replace(PROBLEM, loss="hinge"))}
    refused = found["objective_gaussian"]
    assert (refused.status, refused.loss) == ("ok", "logistic") and "hinge" in refused.reason
    assert (found["output_gaussian"].loss, found["output_gaussian"].reason) == ("hinge", "")
