"""The table of every mechanism: nobody is missing, nobody is there without numbers or a reason."""

import dataclasses as dc
import math

import pytest

from dpcore import Experiment, Problem, list_mechanisms, make_mechanism, run
from dpcore.studies.decide import compare_mechanisms as table
from dpcore.studies.decide.loss_curve import Setting, lost_curve

PROBLEM = Problem("synthetic", n=300, p=4)
SMALL = {"splits": 2}


def compared(problem, **asked):
    *_, rows = table.CompareQuestion(problem, **SMALL | asked).snapshots()
    return rows


@pytest.fixture(scope="module")
def rows():
    return compared(PROBLEM)


def test_every_registered_mechanism_has_a_row_with_numbers_or_a_reason(rows):
    assert [row.mechanism for row in rows] == list_mechanisms()
    for row in rows:
        numbers = (row.score, row.without, row.lost, row.lost_se, row.limit)
        assert all(map(math.isnan, numbers)) == (row.status != "ok")
        assert bool(row.reason) == (row.status != "ok") == (row.guarantee == "")
    assert {row.mechanism for row in rows if row.status != "ok"} == {
        "ftrl",
        "generalized_gaussian",
        "gaussian_classifier",
    }
    assert {row.guarantee for row in rows if row.mechanism in ("output_gamma", "objective_gamma")} == {"pure"}


def test_numbers_are_those_of_the_curve_of_decide_and_of_experiments_on_its_splits(rows):
    row = next(row for row in rows if row.mechanism == "objective_gamma")
    setting = Setting(PROBLEM, "objective_gamma", **SMALL)
    curve = lost_curve(setting)
    assert row.lost == curve.lost_at(1.0) == pytest.approx(100 * (row.without - row.score))
    means, best = [], []
    for seed in setting.seeds:
        found = run(Experiment(dc.replace(PROBLEM, seed=seed), ("objective_gamma",), repetitions=4))
        accuracy = found[(found.metric == "accuracy") & (found.x == 1.0)].iloc[0]
        means.append(accuracy["mean"])
        best.append(accuracy["reference"])
    assert row.without == pytest.approx(sum(best) / 2)
    assert row.losses == pytest.approx([100 * (b - m) for b, m in zip(best, means, strict=True)])
    mechanism = make_mechanism("objective_gamma")
    assert row.limit == pytest.approx(100 * mechanism.attack_limit(PROBLEM.plan(mechanism, 1.0)))


def test_the_smallest_budgets_come_first_and_the_smallest_losses_are_marked():
    found = table.ranked(compared(PROBLEM, splits=4, at_most=5.0))
    known = found[found.status == "ok"]
    budgets = [row.value for row in known.smallest]
    assert budgets == sorted(budgets) and budgets[0] < 1.0 < budgets[-1] and len(found) == len(list_mechanisms())
    out_of_reach = known.lost[[budget == math.inf for budget in budgets]]
    assert list(out_of_reach) == sorted(out_of_reach)
    assert found.best[found.lost.idxmin()] and not found.best[found.status != "ok"].any()
    assert 1 <= found.best.sum() < len(known)


def test_as_good_is_decided_on_the_same_splits():
    least = (10.0, 20.0, 30.0)
    assert table._as_good(least, least)
    assert table._as_good((10.3, 19.9, 30.0), least)
    # One point more on every split is more, however much splits differ.
    assert not table._as_good((11.0, 21.1, 31.0), least)


def test_pure_budgets_leave_pure_mechanisms():
    found = {row.mechanism: row for row in compared(dc.replace(PROBLEM, delta=0.0))}
    assert {row.guarantee for row in found.values() if row.status == "ok"} == {"pure"}
    assert "delta" in found["output_gaussian"].reason and found["objective_gamma"].status == "ok"


def test_who_is_not_proved_for_the_loss_shows_another_and_says_so():
    found = {row.mechanism: row for row in compared(dc.replace(PROBLEM, loss="hinge"))}
    refused = found["objective_gaussian"]
    assert (refused.status, refused.loss) == ("ok", "logistic") and "hinge" in refused.reason
    assert (found["output_gaussian"].loss, found["output_gaussian"].reason) == ("hinge", "")
