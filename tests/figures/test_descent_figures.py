"""Gradient perturbation from inside: its path, and Kamath's bound."""

import dataclasses as dc
import math

import numpy as np
import pytest

import dpcore
from dpcore import Axis, Experiment, NotApplicable, Problem, data
from dpcore.accounting import kamath
from dpcore.core.losses import get_loss
from dpcore.core.rng import generator
from dpcore.figures.perturbation import (
    release_scatter_figure,
)
from dpcore.mechanisms.gradient.base import schedule_of
from dpcore.studies.perturbation.published_rates import kamath_bound
from dpcore.studies.perturbation.release_scatter import release_scatter
from dpcore.theory import gradient_descent as theory

from ..flat_fields import experiment_of

EPSILONS = (0.1, 1.0, 10.0)
HEIGHT = 390


def experiment(**changes) -> Experiment:
    fields = {"source": "synthetic", "n": 200, "repetitions": 4, "seed": 1} | changes
    return experiment_of(mechanisms=(dpcore.make_mechanism("noisy_gd"),), sweep=Axis("epsilon", EPSILONS), **fields)


def named(figure, name):
    (found,) = [trace for trace in figure.data if trace.name == name]
    return found


def test_kamath_s_bound_is_theorem_2_with_its_noise_and_stops_where_its_accounting_does():
    """n = 200, B = 10, LR = 1: D sqrt(1 + p z^2) (2.5 + 1.5 ln n^2) / n up to the constants of `bounds`."""
    found = kamath_bound(next(experiment(p=5, delta=1e-4).cells()))
    for k, epsilon in enumerate(EPSILONS):
        budget = dpcore.Budget(epsilon, 1e-4)
        if epsilon < 2.0 * math.sqrt(math.log(1e4)):
            z = math.sqrt(32.0 * math.log(200 / 1e-4) * math.log(1e4)) / epsilon
            expected = theory.last_iterate_bound(20.0, math.sqrt(1.0 + 5.0 * z**2), 200**2)
            assert found[k] == pytest.approx(expected, rel=1e-12)
        else:
            assert math.isnan(found[k])
            with pytest.raises(NotApplicable):
                kamath.kamath_multiplier(200, budget)
    assert np.isnan(found).sum() == 1
    wider = kamath_bound(next(experiment(p=5, delta=1e-4, theta_norm=5.0).cells()))
    assert wider[0] == pytest.approx(found[0] / 2.0)


def test_a_walk_starts_at_zero_ends_at_the_release_and_stays_in_the_picture():
    problem = Problem("synthetic", n=300, p=2, seed=3)
    mechanisms = (dpcore.make_mechanism("noisy_gd"),)
    made = release_scatter(mechanisms, problem, 1.0)
    (each,) = made.mechanisms
    first = each.plan.descent.first
    assert each.path.shape == each.quiet_path.shape == (each.plan.steps + 1, 2)
    assert not each.path[0].any() and not each.quiet_path[0].any()
    assert each.path[first:].mean(axis=0) == pytest.approx(each.thetas[0], rel=1e-6), "in single precision"
    assert each.quiet_path[first:].mean(axis=0) == pytest.approx(each.theta_hat, rel=1e-6)
    train, loss, theta = data.load("synthetic", 300, 2, 3).train, get_loss("logistic"), np.zeros(2)
    for quiet in each.quiet_path:
        assert quiet == pytest.approx(theta, abs=1e-12), "plain descent"
        theta = theta - each.plan.descent.step * (loss.derivative(train.X @ theta, train.y) @ train.X) / 300
    assert np.linalg.norm(each.path - each.quiet_path, axis=1).max() > 0.01
    assert made.x[0] < 0.0 < made.x[-1] and made.y[0] < 0.0 < made.y[-1], "the start is in the window"
    figure = release_scatter_figure(made, theme="light", height=HEIGHT)
    assert np.array_equal(named(figure, "one run, step by step").x, each.path[:, 0])
    assert np.array_equal(named(figure, "the same without noise").y, each.quiet_path[:, 1])


@pytest.mark.parametrize("knobs", [{"batch": 30.0}, {"batches": "single", "steps": 200}])
def test_a_path_of_noisy_sgd_ends_in_its_release_and_without_noise_has_the_same_batches(knobs):
    mechanism, problem = dpcore.make_mechanism("noisy_sgd", **knobs), Problem("synthetic", n=300, p=2)
    plan, train = problem.plan(mechanism, 1.0), problem.load().train
    prepared, first = mechanism.prepare(plan, train), schedule_of(plan).first
    path, quiet = mechanism.paths(plan, prepared, generator(0, "path", 0))
    (released,) = mechanism.release_many(plan, prepared, [generator(0, "path", 0)])
    assert path[first:].mean(axis=0) == pytest.approx(released)
    little, _ = mechanism.paths(dc.replace(plan, scale=1e-7 * plan.scale), prepared, generator(0, "path", 0))
    assert np.abs(little - quiet).max() < 1e-4 * np.abs(path - quiet).max(), "other batches would lead elsewhere"
