"""The regret of a lam: against runs at each lam of the grid."""

import pytest

import dpcore
from dpcore import Axis, Experiment, Problem
from dpcore.experiments.tuning_gap import LAMS, regret_at

from ..flat_fields import experiment_of

SMALL = dict(source="synthetic", n=200, p=3)


def test_regret_at_is_the_best_of_the_grid_minus_the_own_lam():
    own = dpcore.run(experiment_of(**SMALL, lam=0.5, sweep=Axis("epsilon", (1.0,)), repetitions=2))
    qualities = [
        dpcore.run(experiment_of(**SMALL, lam=lam, sweep=Axis("epsilon", (1.0,)), repetitions=2)).iloc[0]["mean"]
        for lam in LAMS
    ]
    expected = 100 * (max(qualities) - own.iloc[0]["mean"])
    assert regret_at(experiment_of(**SMALL, lam=0.5, repetitions=50), 1.0) == pytest.approx(expected, abs=1e-6)


def test_a_bad_lam_is_seen_and_a_lam_of_the_grid_loses_nothing_to_itself_at_best():
    bad = regret_at(experiment_of(**SMALL, lam=1e-5), 1.0)
    assert bad > 10
    assert min(regret_at(experiment_of(**SMALL, lam=lam), 1.0) for lam in LAMS) == pytest.approx(0.0, abs=1e-6)


def test_no_release_is_no_regret():
    with pytest.raises(dpcore.NotApplicable, match="no release at epsilon = 2"):
        regret_at(
            experiment_of(**SMALL, mechanisms=(dpcore.make_mechanism("output_gaussian", accounting="classical"),)), 2.0
        )


def test_points_are_counted_only_where_something_is_predicted():
    with pytest.raises(ValueError, match=r"source must .* predicted, got 'synthetic_location'"):
        regret_at(Experiment(Problem("synthetic_location", loss="mean")), 1.0)
