"""The epsilon to sign: its sentence, its rule, and what it says where there is none."""

from __future__ import annotations

import dataclasses as dc
import functools

import numpy as np
import pytest

from dpcore import Problem
from dpcore.core.records import Data
from dpcore.data import Declared, UploadedRecords, read_table
from dpcore.experiments import metrics
from dpcore.experiments.cell import run_cell
from dpcore.experiments.summary import auc
from dpcore.mechanisms.base import Drawn
from dpcore.studies.decide.loss_curve import lost_curve, smaller_class
from dpcore.studies.decide.smallest_epsilon import SmallestEpsilon, usual_metric, usual_setting
from dpcore.studies.decide.usual_mechanism import usual_mechanism


def file_of(share: float, slope: float, rows: int = 3_000) -> Problem:
    """A file of one law: `share` of yes, in which column a matters by `slope`."""
    return Problem(_records(share, slope, rows).key)


@functools.cache  # which holds them
def _records(share: float, slope: float, rows: int) -> UploadedRecords:
    rng = np.random.default_rng(0)
    yes = np.arange(rows) < share * rows
    a = np.clip(0.5 + 0.15 * rng.standard_normal(rows) + slope * (yes - 0.5), 0.0, 1.0)
    lines = ["a,b,y", *(f"{x:.4f},{rng.random():.4f},{'yes' if one else 'no'}" for x, one in zip(a, yes, strict=True))]
    sheet = read_table("\n".join(lines).encode(), "sample.csv", "y")
    return UploadedRecords(sheet, Declared(("a", "b"), (0.0, 0.0), (1.0, 1.0), "yes"), "sample.csv")


def answered(problem: Problem, splits: int, keep: float = 0.9) -> SmallestEpsilon:
    return SmallestEpsilon(lost_curve(usual_setting(problem, splits)), keep)


@pytest.fixture(scope="module")
def found() -> SmallestEpsilon:
    return answered(file_of(0.5, 0.4), 10)


def test_the_answer_is_one_sentence_of_what_the_curve_and_the_mechanism_say(found):
    curve, setting = found.curve, found.curve.setting
    assert found.useful and not found.why and not found.change
    assert found.at_most == pytest.approx(0.1 * found.gain) and found.gain == curve.learnable
    assert found.usual_lost <= found.most_lost <= found.at_most
    plan = dc.replace(setting.problem, n=3_000).plan(setting.mechanism, found.epsilon)  # of all rows
    assert 100 * setting.mechanism.attack_limit(plan) <= found.attacker < 100 * setting.mechanism.attack_limit(plan) + 1
    right, without = 100 * found.score, 100 * found.without
    assert found.sentence() == (
        f"Sign ε = {found.epsilon:g}: {right:.1f}% right instead of {without:.1f}%; nine of ten "
        f"releases lose less than {found.most_lost:.1f} points; an attacker is right at most {found.attacker} times in "
        "100."
    )
    low, high = found.mean_limits
    assert low <= found.mean_lost <= high and "95% interval for the population" in found.remarks[0]
    assert "26%" in found.remarks[1], "10 splits that fail less often than 26% of the time may all hold"


def test_a_mean_that_a_few_ruined_releases_make_large_is_explained(found):
    single = found.curve.single.copy()
    single.reshape(-1, single.shape[-1])[:: found.curve.splits] -= 0.7  # fewer than one in ten releases
    ruined = dc.replace(found, curve=dc.replace(found.curve, single=single, private=single.mean(axis=1)))
    assert ruined.useful and ruined.mean_lost > ruined.most_lost
    assert "a few releases lose far more" in ruined.remarks[2] and float(ruined.remarks[2].split()[-2]) >= 70.0
    assert len(found.remarks) == 2


def test_keeping_more_needs_more(found):
    assert dc.replace(found, keep=0.95).found.value > found.found.value
    with pytest.raises(ValueError, match="keep"):
        dc.replace(found, keep=1.0)


def test_there_is_no_useful_budget_where_nothing_is_learned_or_none_is_reachable():
    nothing = answered(file_of(0.4, 0.0, 300), 4)
    assert nothing.found is None and not nothing.useful
    assert "No useful budget" in nothing.sentence() and "larger class" in nothing.why and "columns" in nothing.change
    far = answered(Problem("breast_cancer", n=200), 4, 0.99)
    assert not far.useful and not far.found.reachable and "even at ε = 10" in far.why and "More records" in far.change


def test_an_epsilon_that_protects_nothing_after_all_releases_is_none_to_sign(found):
    many = dc.replace(found, releases=1_000)
    assert many.attacker == 100 and many.epsilon == found.epsilon and not many.useful
    assert many.sentence() == (
        f"No useful budget: after 1,000 releases at ε = {found.epsilon:g} nothing is protected, as an attacker may be "
        "right 100 times in 100. Fewer releases or more records could change that."
    )


def test_a_rare_class_is_measured_by_auc_in_which_a_model_that_never_says_yes_learns():
    problem = file_of(0.04, 0.2)
    assert smaller_class(problem) == pytest.approx(0.04) and usual_metric(problem) == "auc"
    assert usual_metric(file_of(0.25, 0.4)) == "accuracy"
    rare = answered(problem, 6, 0.8)
    assert rare.floor == 0.5 and rare.gain > 20.0 and "AUC 0." in rare.sentence()
    assert rare.one_record == pytest.approx(100 / 36, rel=0.5), "a record of the smaller class"
    assert rare.mean_limits is None and "no interval" in rare.remarks[0].lower()


def test_aucs_are_shares_of_pairs_and_their_records_have_the_same_mean():
    rng = np.random.default_rng(1)
    y = np.where(rng.random(60) < 0.3, 1.0, -1.0)
    scores = np.round(rng.standard_normal((5, 60)), 1)  # with ties
    shares = metrics.separated(scores, y)
    for row, values in zip(shares, scores, strict=True):
        expected = auc(values[y > 0], values[y < 0])
        assert row[y > 0].mean() == pytest.approx(expected) and row[y < 0].mean() == pytest.approx(expected)
    problem = file_of(0.1, 0.3, 600)
    cell = usual_setting(problem, 2).cell(0)
    rows, test = [row for row in run_cell(cell) if row["metric"] == "auc"], problem.load().test
    assert rows[0]["reference"] == metrics.auc(problem.learner(), test) and rows[0]["nothing_learned"] == 0.5
    for row in rows:
        assert row["mean"] == pytest.approx(row["draws"].mean())
        assert row["lost"].mean() == pytest.approx(row["reference"] - row["mean"], abs=1e-6)


def test_records_of_an_auc_vary_like_the_two_samples_that_it_is_made_of():
    """Files drawn again: 300 records, a tenth of them yes; the error of the loss is that of its records."""
    rng, law, losses, errors = np.random.default_rng(2), np.array([1.0, 0.3]), [], []
    for _ in range(400):
        y = np.where(rng.random(300) < 0.1, 1.0, -1.0)
        data = Data(rng.standard_normal((300, 2)) + 0.8 * (y > 0)[:, None] * law, y)
        releases = Drawn(np.zeros((1, 2)), np.array([[[0.2, 1.0], [0.3, 1.0]]]))
        (row,) = metrics.influences(law, data, releases)
        losses.append(row.mean())
        errors.append(row.var(ddof=1) / len(row))
    assert np.std(losses) == pytest.approx(np.sqrt(np.mean(errors)), rel=0.1)


def test_auc_needs_both_classes():
    with pytest.raises(ValueError, match="both classes"):
        metrics.auc(np.ones(1), Data(np.ones((3, 1)), np.ones(3)))


def test_the_mechanism_follows_from_public_facts():
    problem = Problem("synthetic", n=5_000, p=8)
    keys = {
        "objective_gamma": [dc.replace(problem, delta=0.0), problem],
        "objective_gaussian": [dc.replace(problem, p=30), dc.replace(problem, p=100)],
        "output_gamma": [dc.replace(problem, loss="hinge", delta=0.0)],
    }
    for key, problems in keys.items():
        for each in problems:
            mechanism, why = usual_mechanism(each)
            assert mechanism.key == key and why
            assert usual_mechanism(dc.replace(each, seed=9))[0].key == key, "whatever the records are"
