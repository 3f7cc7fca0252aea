"""Intervals for the population that a file is a sample of: made of its records, and right in repeated files."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore import Problem
from dpcore.data import Declared, UploadedRecords, get_source, load, read_table
from dpcore.experiments.cell import run_cell
from dpcore.studies.decide.loss_curve import LostCurve, Setting, lost_curve
from dpcore.studies.decide.threshold_interval import error_in_population, limits

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)


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
    rows = curve.rows
    assert rows == pytest.approx(curve.mean + (lost - tested[:, None] * curve.mean) * records / tested.sum(), abs=1e-4)
    assert rows.mean(axis=0) == pytest.approx(curve.mean, abs=1e-4)


def test_splits_that_draw_new_records_are_draws_from_the_population():
    curve = lost_curve(Setting(Problem("synthetic", n=100), splits=4))
    assert not curve.in_file and not curve.no_population
    for one, other in zip(curve.band("population"), curve.band("file"), strict=True):
        assert np.array_equal(one, other)


def test_an_interval_for_the_population_is_wider_than_that_of_the_file_and_widest_for_households():
    curve = lost_curve(Setting(Problem("iris", n=80), splits=4, epsilons=(1.0, 3.0, 10.0)))
    assert not curve.no_population
    widths = [np.diff(curve.band(*asked), axis=0) for asked in (("file",), ("population",), ("population", 3))]
    assert (widths[0] < widths[1]).all() and (widths[1] < widths[2]).all()


def test_no_interval_for_the_population_where_a_class_is_rare_or_the_metric_is_auc():
    records = rarely_yes()
    share = lost_curve(Setting(Problem(records.key), splits=2, epsilons=(1.0,)))
    auc = lost_curve(Setting(Problem("iris", n=80), splits=2, epsilons=(1.0,), metric="auc"))
    assert "25%" in share.no_population and "22%" in share.no_population and "AUC" in auc.no_population
    for curve in (share, auc):
        with pytest.raises(ValueError, match="no interval"):
            curve.band("population")
        assert (curve.band("file")[0] <= curve.smooth).all()


def rarely_yes() -> UploadedRecords:
    """200 records, 44 of them yes."""
    rng, yes = np.random.default_rng(0), np.arange(200) < 44
    lines = ["a,y", *(f"{a:.6f},{'yes' if one else 'no'}" for a, one in zip(rng.random(200) + yes, yes, strict=True))]
    sheet = read_table("\n".join(lines).encode(), "sample.csv", "y")
    return UploadedRecords(sheet, Declared(("a",), (0.0,), (2.0,), "yes"), "sample.csv")


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
def test_intervals_for_the_population_cover_in_93_of_100_files_and_those_of_splits_do_not():
    """1,500 files: a true 95% has a standard error of 0.6%."""
    curves = [curve_of(pool) for pool in range(1_500)]
    truth = np.mean([curve.mean for curve in curves], axis=0)

    def coverage(scope: str) -> np.ndarray:
        ends = [limits(curve.lost, least=_error(curve) if scope == "population" else 0.0) for curve in curves]
        return np.mean([(low <= truth) & (truth <= high) for low, high in ends], axis=0)

    print(coverage("population"), coverage("file"), "expected:", truth)
    assert (coverage("population") >= 0.93).all() and (coverage("file") < 0.85).all()


def _error(curve: LostCurve) -> np.ndarray:
    return error_in_population(curve.lost, curve.rows)
