"""The regret of automatic settings: against runs at each lam or schedule, and its table."""

import numpy as np
import pytest

import dpcore
from dpcore import Axis, Experiment, Problem
from dpcore.experiments import tuning_gap
from dpcore.experiments.tuning_gap import (
    EPSILONS,
    LAMS,
    STEP_SIZES,
    STEPS,
    alternatives,
    cases,
    regret_at,
    regret_table,
)
from dpcore.mechanisms.gradient.schedules import RULES

from ..flat_fields import experiment_of

SMALL = dict(source="synthetic", n=200, p=3)
BY_LAM = ("output_gaussian", "output_gamma", "objective_gaussian", "objective_gamma")


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


def test_the_table_has_a_row_per_case_and_epsilon(monkeypatch):
    monkeypatch.setattr("dpcore.experiments.tuning_gap.LAMS", (1e-3, 1e-1))
    steps = []
    table = regret_table(("iris", "diabetes"), seeds=2, mechanisms=BY_LAM, on_step=lambda: steps.append(1))
    known = cases(("iris", "diabetes"), BY_LAM)
    assert len(steps) == len(known) == 2 * (3 + 3) + 2 * (2 + 1) and len(table) == len(known) * len(EPSILONS)
    assert set(table[table.source == "diabetes"].loss) == {"squared", "huber", "absolute"}
    row = table[(table.source == "iris") & (table.loss == "logistic") & (table.mechanism == "output_gamma")].iloc[2]
    assert row.epsilon == EPSILONS[2]

    def quality(lam, seed):
        sweep = Axis("epsilon", (row.epsilon,))
        facts = dict(mechanisms=("output_gamma",), lam=lam, sweep=sweep, repetitions=2, seed=seed)
        return dpcore.run(experiment_of(source="iris", **facts)).iloc[0]["mean"]

    ours, grid = (np.array([[quality(lam, s) for s in range(2)] for lam in lams]) for lams in (("auto",), (1e-3, 1e-1)))
    best = grid[grid.mean(axis=1).argmax()]
    lost = 100 * (best - ours[0])
    assert row.regret == pytest.approx(lost.mean(), abs=1e-3)
    assert row.se == pytest.approx(lost.std(ddof=1) / np.sqrt(2), abs=1e-3)
    assert row.quality == pytest.approx(100 * ours.mean(), abs=1e-3)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="seeds must be an integer >= 2, got 1"):
        regret_table(("iris",), seeds=1)
    with pytest.raises(ValueError, match=r"source must .*moon"):
        regret_table(("moon",))
    with pytest.raises(ValueError, match=r"mechanism must .*output_gaussian, .*, got 'oracle'"):
        regret_table(("iris",), mechanisms=("oracle",))


def test_an_unknown_rule_is_refused_and_a_source_named_twice_counts_once(monkeypatch):
    with pytest.raises(ValueError, match=r"rule must .*auto, published, population, got 'best'"):
        regret_table(("iris",), rule="best")
    monkeypatch.setattr("dpcore.experiments.tuning_gap.LAMS", (1e-2,))
    table = regret_table(("diabetes", "diabetes"), seeds=2, mechanisms=BY_LAM)
    gaps = len(cases(["diabetes"], BY_LAM)) * len(EPSILONS) - len(table)
    assert gaps == 4, "lam = 0.01 is too small for objective perturbation at epsilon = 0.1 and 0.3"


def test_sampled_means_take_more_than_two_releases(monkeypatch):
    asked = {}
    monkeypatch.setattr("dpcore.experiments.tuning_gap.LAMS", (1.0,))
    real = tuning_gap.run

    def watched(experiment):
        asked.setdefault(experiment.mechanisms[0].key, set()).add(experiment.repetitions)
        return real(experiment)

    monkeypatch.setattr(tuning_gap, "run", watched)
    for key in ("objective_gaussian", "output_gaussian"):
        regret_at(experiment_of(**SMALL, mechanisms=(key,), repetitions=6), 1.0)
    assert asked == {"objective_gaussian": {6}, "output_gaussian": {2}}
    asked.clear()
    regret_table(("iris",), seeds=2, mechanisms=("objective_gamma", "output_gamma"))
    assert asked["objective_gamma"] == {40} and asked["output_gamma"] == {2}


def test_alternatives_of_gradient_perturbation_are_schedules_and_rules_and_others_are_lams():
    for key in BY_LAM:
        assert [(choice.name, choice.lam) for choice in alternatives(key)] == [(lam, lam) for lam in LAMS]
    choices = {choice.name: choice for choice in alternatives("noisy_gd")}
    assert len(choices) == len(STEPS) * len(STEP_SIZES) + len(RULES) - 1
    assert all(choice.lam == "auto" for choice in choices.values())
    by_hand = choices["100 steps of 0.316"].mechanism
    assert (by_hand.key, by_hand.rule, by_hand.steps, by_hand.step) == ("noisy_gd", "auto", 100, 0.316)
    smooth = choices["smooth"].mechanism
    assert (smooth.rule, smooth.steps, smooth.step) == ("smooth", "auto", "auto")


def test_the_regret_of_gradient_perturbation_is_against_the_best_schedule(monkeypatch):
    monkeypatch.setattr(tuning_gap, "STEPS", (5,))
    monkeypatch.setattr(tuning_gap, "STEP_SIZES", (1e-3, 2.0))
    monkeypatch.setattr(tuning_gap, "_REPETITIONS", 6)
    table = regret_table(("iris",), seeds=2, mechanisms=["noisy_gd"])
    assert len(table) == 3 * len(EPSILONS) and set(table.mechanism) == {"noisy_gd"}
    assert set(table.best) <= {"5 steps of 0.001", "5 steps of 2", "smooth", "averaging", "last_iterate"}
    assert "smooth" not in set(table[table.loss == "hinge"].best), "which hinge loss has not"
    row = table[table.loss == "logistic"].iloc[3]

    def quality(seed, **knobs):
        sweep = Axis("epsilon", (row.epsilon,))
        mechanism = dpcore.make_mechanism("noisy_gd", **knobs)
        run = Experiment(Problem("iris", seed=seed), mechanisms=(mechanism,), sweep=sweep, repetitions=6)
        return dpcore.run(run).iloc[0]["mean"]

    settings = [{"steps": 5, "step": step} for step in (1e-3, 2.0)]
    settings += [{"rule": rule} for rule in ("smooth", "averaging", "last_iterate")]
    grid = np.array([[quality(seed, **knobs) for seed in range(2)] for knobs in settings])
    best, ours = grid[grid.mean(axis=1).argmax()], np.array([quality(seed) for seed in range(2)])
    assert row.regret == pytest.approx(100 * (best - ours).mean(), abs=1e-6)
    assert row.quality == pytest.approx(100 * ours.mean(), abs=1e-6)
