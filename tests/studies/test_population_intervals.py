"""Intervals for the population that a file is a sample of: made of its records, and right in repeated files."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore import Problem
from dpcore.data import Declared, UploadedRecords, get_source, load, read_table
from dpcore.experiments.cell import run_cell
from dpcore.studies.decide.loss_curve import LostCurve, Setting, lost_curve, smallest_budget
from dpcore.studies.decide.threshold_interval import crossing, falling, limits

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
AT_MOST = 6.0


def test_rows_are_those_of_the_records_and_their_mean_is_that_of_the_splits():
    setting = Setting(Problem("iris", n=80), "objective_gaussian", splits=3, epsilons=(1.0, 10.0))
    curve = lost_curve(setting)
    records = get_source("iris").size + 45
    lost, tested = np.zeros((records, 2)), np.zeros(records)
    for split, seed in enumerate(setting.seeds):
        test = load("iris", 80, 5, seed)
        accuracy = [row for row in run_cell(setting.cell(split)) if row["metric"] == "accuracy"]
        assert [np.mean(row["lost"]) for row in accuracy] == pytest.approx(0.01 * curve.lost[split], abs=1e-7)
        lost[test.tested] += 100.0 * np.stack([row["lost"] for row in accuracy], axis=1)
        tested[test.tested] += 1
    rows = curve.rows("population")
    assert rows == pytest.approx(curve.mean + (lost - tested[:, None] * curve.mean) * records / tested.sum(), abs=1e-4)
    assert rows.mean(axis=0) == pytest.approx(curve.mean, abs=1e-4)
    assert np.array_equal(curve.rows("file"), curve.lost)


def test_splits_that_draw_new_records_are_draws_from_the_population():
    curve = lost_curve(Setting(Problem("synthetic", n=100), splits=4))
    assert np.array_equal(curve.rows("population"), curve.rows("file"))
    assert smallest_budget(curve, 5.0) == smallest_budget(curve, 5.0, "file")


def curve_of(pool: int, splits: int = 20) -> LostCurve:
    """Of a file of 150 records drawn from one law."""
    rng = np.random.default_rng([150, pool])
    x = rng.uniform(-1.0, 1.0, (150, 2))
    y = rng.random(150) < 1.0 / (1.0 + np.exp(-6.0 * x[:, 0] - 2.0 * x[:, 1]))
    lines = ["a,b,y", *(f"{a:.6f},{b:.6f},{'yes' if one else 'no'}" for (a, b), one in zip(x, y, strict=True))]
    sheet = read_table("\n".join(lines).encode(), "sample.csv", "y")
    records = UploadedRecords(sheet, Declared(("a", "b"), (-1.0, -1.0), (1.0, 1.0), "yes"), "sample.csv")
    problem = Problem(records.key, n=105, seed=pool)
    return lost_curve(Setting(problem, "output_gaussian", splits=splits, epsilons=EPSILONS))


@pytest.mark.nightly
def test_intervals_for_the_population_cover_in_93_to_97_of_100_files():
    """4,000 files: a true 95% has a standard error of 0.34%. Limits at 90% and intervals of splits must miss.

    At the two smallest epsilons, where little is learned, more than 97% cover.
    """
    curves = [curve_of(pool) for pool in range(4_000)]
    truth = np.mean([curve.mean for curve in curves], axis=0)
    budget = crossing(np.array(EPSILONS), falling(truth), AT_MOST)
    assert EPSILONS[0] < budget < EPSILONS[-1]

    def coverage(scope: str, confidence: float = 0.95) -> np.ndarray:
        ends = [limits(curve.rows(scope), confidence=confidence) for curve in curves]
        return np.mean([(low <= truth) & (truth <= high) for low, high in ends], axis=0)

    answers = [smallest_budget(curve, AT_MOST) for curve in curves]
    of_budgets = np.mean([found.low <= budget <= found.high for found in answers])
    print(coverage("population"), of_budgets, coverage("file"), "expected:", truth, budget)
    covered = coverage("population")
    assert (covered >= 0.93).all() and (covered <= 0.985).all() and (covered[2:] <= 0.97).all()
    assert 0.93 <= of_budgets <= 0.97
    assert (coverage("population", 0.90)[2:] < 0.93).all() and (coverage("file") < 0.85).all()
