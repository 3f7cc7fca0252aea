"""Private classifiers of many classes: the tables of docs/formulas.md, computed anew."""

import re

import numpy as np
import pytest

from dpcore.studies.multiclass.curves import Records, accuracy_against
from tests.harness import ROOT

EPSILONS = (1.0, 10.0, 30.0)
SOURCES = {"iris": (105, (0.61, 0.90, 0.95)), "wine": (125, (0.68, 0.95, 0.97)), "digits": (1_258, (0.66, 0.91, 0.93))}


def rows_of(heading):
    """Cells of the lines of a table in docs/formulas.md that begin like this."""
    text = (ROOT / "docs" / "formulas.md").read_text()
    (part,) = re.findall(rf"### {heading}\n(.*?)\n##", text, re.DOTALL)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line[:1] == "|"]


def documented(source, what):
    (row,) = [row for row in rows_of("Accuracy") if row[0] == f"`{source}`" and row[1] == what]
    return np.array([float(cell) for cell in row[2:]])


@pytest.mark.parametrize("source", ["iris", "wine", pytest.param("digits", marks=pytest.mark.nightly)])
def test_the_table_of_accuracies(source):
    """Computed as published: two digits, and 0.005 for decisions that rounding turns. Goals less 0.05 are reached."""
    n, goals = SOURCES[source]
    shared = {"delta": 1e-5, "learners": ("ellipsoids",), "repetitions": 10, "datasets": 10}
    found = accuracy_against("epsilon", EPSILONS, Records(source, n, 0), epsilon=1.0, **shared)
    mean = found.learners["ellipsoids"].mean
    assert documented(source, '`lam="auto"`') == pytest.approx(mean, abs=0.01)
    assert documented(source, "multinomial logistic regression, not private") == pytest.approx(found.logistic, abs=0.01)
    assert documented(source, "ellipsoids, not private") == pytest.approx(found.plain, abs=0.01)
    assert (mean >= np.array(goals) - 0.05).all()


@pytest.mark.nightly
def test_the_table_of_what_a_split_budget_loses():
    """As documented within 0.01. With ten classes the split loses 0.29 more than ellipsoids; 0.1 is asked for."""
    keys = ("ellipsoids", "split", "split_answer")
    records = Records("gaussian_classes", 2_000, 0)
    shared = {"epsilon": 1.0, "delta": 1e-6, "learners": keys, "repetitions": 6, "datasets": 8}
    found = accuracy_against("classes", (2, 3, 5, 10), records, **shared)
    rows = {row[0]: row[1:] for row in rows_of("Accuracy")}
    for k, C in enumerate((2, 3, 5, 10)):
        lost = [found.plain[k] - found.learners[key].mean[k] for key in keys]
        assert [float(cell) for cell in rows[f"{C}"]] == pytest.approx([found.plain[k], *lost], abs=0.01)
        # 32,000 test records: sd of the difference of two shares at most 1 / sqrt(32,000) = 0.0056; 4.5 of them fail
        # in 4e-6 of all draws.
        assert found.bayes[k] >= found.plain[k] - 0.025 and found.bayes[k] >= found.logistic[k] - 0.025
        assert found.plain[k] > found.chance[k] + 0.1
    assert found.learners["ellipsoids"].mean[3] > max(found.learners[key].mean[3] for key in keys[1:]) + 0.1
